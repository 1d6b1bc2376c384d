"""An agent's calls in the background: what the turn has of them after its end, and how the model learns of it."""

import asyncio
from typing import Any

import pytest

from toolhead import (
    AbortController,
    Agent,
    AlreadyResolvedError,
    BackgroundManager,
    MemoryStore,
    RunNotFoundError,
    SQLiteStore,
    create_tool,
    ui_stream,
)
from toolhead.testing import ScriptedCall, ScriptedModel, record_hooks
from virtual_time import now, virtual_time

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
RESUME = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
CALL = ScriptedCall("work", {"n": 1}, id="c1")


def work(seconds: float = 10, *, asks: bool = False, after: asyncio.Event | None = None, **options: Any) -> Any:
    async def execute(input: dict[str, Any], context: Any) -> dict[str, Any]:
        await (asyncio.sleep(seconds) if after is None else after.wait())
        if asks and context.resume_data is None:
            context.suspend({"may": input["n"]})
        if input["n"] == 13:
            raise LookupError("bad luck")
        return {"n": input["n"] + 1} if context.resume_data is None else {"got": context.resume_data["ok"]}

    given = {"id": "work", "description": "Works", "input_schema": NUMBER, "resume_schema": RESUME, "execute": execute}
    return create_tool(**{**given, "background": {"enabled": True}, **options})


def agent(*turns: Any, tool: Any = None, store: Any = None, **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(*turns)
    return Agent(model, [tool or work()], store=store, **{"engine": BackgroundManager(), **options}), model


async def taken(turn: Any) -> list[Any]:
    return [chunk async for chunk in turn]


def answers(messages: Any) -> list[str]:
    return [message["content"] for message in messages if message["role"] == "tool"]


def background(chunks: list[Any]) -> list[str]:
    kept = ("background", "tool-result", "tool-error", "tool-call-suspended", "finish")
    return [chunk.type for chunk in chunks if chunk.type.startswith(kept)]


# ----------------------------------------------------------------------------------------- after the turn's end


@virtual_time
async def test_the_results_of_a_turn_come_when_its_tasks_have_ended():
    made, model = agent(CALL, "I wait.")
    turn = made.stream("hi")
    assert turn.tasks == ()
    with pytest.raises(RuntimeError, match="end"):
        await taken(turn.until_idle())
    first = await turn
    assert (first.finish_reason, first.results, "task" in answers(first.messages)[0]) == ("stop", (), True)
    assert (first.tasks, [task.status for task in turn.tasks]) == (turn.tasks, ["running"])
    assert background(await taken(turn.until_idle())) == ["background-task-running", "background-task-completed"]
    last = turn.result
    assert answers(last.messages) == ['{"n": 2}']
    assert [call.output for call in last.results] == [{"n": 2}]
    assert answers(last.steps[0].messages) == ['{"n": 2}']
    assert (last.finish_reason, last.text, now(), len(model.requests)) == ("stop", "I wait.", 10, 2)
    assert made._store._runs == {}  # an agent without a store keeps nothing


@virtual_time
async def test_a_task_that_ends_while_the_turn_goes_on_leaves_the_turn_alone():
    async def slowly(_: Any) -> str:
        await asyncio.sleep(20)
        return "Ready."

    made, _ = agent(CALL, slowly)
    result = await made.stream("hi")
    assert (answers(result.messages), result.finish_reason) == (['{"n": 2}'], "stop")
    assert made._store._runs == {}


@virtual_time
async def test_the_model_reads_a_result_that_is_there_when_it_is_asked_next():
    async def slowly(_: Any) -> Any:
        await asyncio.sleep(20)
        return ScriptedCall("work", {"n": 5}, id="c2")

    made, model = agent(CALL, slowly, "Well.", store=MemoryStore())
    result = await made.generate("hi")
    assert [answers(request.messages)[:1] for request in model.requests[2:]] == [['{"n": 2}']]
    assert [message["role"] for message in result.messages] == ["assistant", "tool"] * 2 + ["assistant"]


@pytest.mark.parametrize("kind", ["memory", "sqlite", None])
async def test_a_deferred_call_that_asks_after_the_turns_end_is_answered(kind: str | None, tmp_path: Any):
    store = {"memory": MemoryStore(), "sqlite": SQLiteStore(tmp_path / "runs.db"), None: None}[kind]
    hooks = record_hooks()
    ended = asyncio.Event()
    made, model = agent(CALL, "I wait.", tool=hooks.watch(work(asks=True, after=ended)), store=store)
    turn = made.stream("hi", run_id="r")
    first = await turn
    assert (first.finish_reason, first.pending) == ("stop", ())
    ended.set()
    await taken(turn.until_idle())
    (pending,) = turn.result.pending
    assert (pending.kind, pending.payload) == ("suspended", {"may": 1})
    with pytest.raises(ValueError, match="resume data"):
        await made.resume("r", {"ok": 1})
    answered = made.resume("r", {"ok": True}, "c1")
    assert [chunk.type for chunk in await taken(answered)] == ["background-task-resumed"]
    assert (answered.result.finish_reason, answered.result.pending) == ("stop", ())
    await taken(answered.until_idle())
    assert answers(answered.result.messages) == ['{"got": true}']
    assert [message["role"] for message in answered.result.messages] == ["assistant", "tool", "assistant"]
    assert hooks.names[-3:] == ["on_input_available", "on_suspend", "on_output"]  # each once
    assert len(model.requests) == 2
    with pytest.raises(RunNotFoundError if store is None else AlreadyResolvedError):
        await made.resume("r", {"ok": True}, "c1")
    if store is None:
        assert made._store._runs == {}


@virtual_time
async def test_another_agent_answers_a_deferred_call_over_the_same_store():
    store, tool = MemoryStore(), work(1, asks=True)
    made, _ = agent(CALL, "I wait.", tool=tool, store=store)
    await made.generate("hi", run_id="r")
    await asyncio.sleep(5)
    other, _ = agent(tool=tool, store=store)  # with an engine of its own: the task is started again
    turn = other.resume("r", {"ok": False})
    assert (await turn).finish_reason == "stop"
    await taken(turn.until_idle())
    assert answers(turn.result.messages) == ['{"got": false}']


@virtual_time
async def test_a_deferred_call_that_asks_while_the_turn_goes_on_is_answered_without_a_second_turn():
    asked = asyncio.Event()

    async def slowly(_: Any) -> str:
        await asyncio.sleep(20)
        return "Ready."

    made, model = agent(
        CALL, ScriptedCall("work", {"n": 2}, id="c2"), slowly, tool=work(1, asks=True), store=MemoryStore()
    )

    async def first() -> Any:
        turn = made.stream("hi", run_id="r")
        async for chunk in turn:
            if chunk.type == "tool-call-suspended" and chunk.tool_call_id == "c1":
                asked.set()
        return turn.result

    running = asyncio.ensure_future(first())
    await asyncio.wait_for(asked.wait(), 100)
    answered = made.resume("r", {"ok": True}, "c1")
    assert (await answered).finish_reason == "elsewhere"
    result = await running
    assert (result.finish_reason, result.text, len(model.requests)) == ("stop", "Ready.", 3)
    assert answers(result.messages)[0] == '{"got": true}'


# --------------------------------------------------------------------------------------- the model goes on


@pytest.mark.parametrize("streams", [True, False])
@virtual_time
async def test_the_model_is_asked_again_when_the_work_has_ended(streams: bool):
    made, model = agent(CALL, "I wait.", "It is 2.")
    if streams:
        turn = made.stream("hi", follow_up=True)
        chunks = await taken(turn)
        assert background(chunks) == [
            *("background-task-started", "tool-result", "background-task-running", "tool-result"),
            *("background-task-completed", "finish"),
        ]
        result = turn.result
    else:
        result = await made.generate("hi", follow_up=True)
    assert (result.text, result.finish_reason, now(), len(result.steps)) == ("It is 2.", "stop", 10, 3)
    roles = ["assistant", "tool", "assistant", "user", "assistant"]
    assert [message["role"] for message in result.messages] == roles
    assert answers(result.messages) == ['{"n": 2}']
    assert "work (c1)" in result.messages[3]["content"]
    assert list(model.requests[2].messages) == [{"role": "user", "content": "hi"}, *result.messages[:4]]
    assert made._store._runs == {}


@virtual_time
async def test_the_model_is_followed_up_until_nothing_works_any_more():
    more = [ScriptedCall("work", {"n": 13}, id="c2"), "Again."]
    made, model = agent([CALL], "I wait.", *more, "It failed.")
    result = await made.generate("hi", follow_up=True)
    assert (result.text, len(model.requests), now()) == ("It failed.", 5, 20)
    assert answers(result.messages) == ['{"n": 2}', "bad luck"]


@virtual_time
async def test_a_front_end_sees_the_result_take_the_placeholders_place():
    made, _ = agent(CALL, "I wait.", "It is 2.")
    parts = [part async for part in ui_stream(made.stream("hi", follow_up=True))]
    outputs = [
        (part.get("preliminary", False), part["output"]) for part in parts if part["type"] == "tool-output-available"
    ]
    assert [preliminary for preliminary, _ in outputs] == [True, False]
    assert outputs[1][1] == {"n": 2}


@virtual_time
async def test_the_steps_of_a_turn_are_limited_whatever_follows():
    made, model = agent(CALL, "I wait.", max_steps=2, store=MemoryStore())
    result = await made.generate("hi", run_id="r", follow_up=True)
    assert (result.text, len(model.requests)) == ("I wait.", 2)
    model._turns.append("It is 2.")
    assert (await made.follow_up("r")).text == "It is 2."


@virtual_time
async def test_an_abort_ends_the_wait_and_leaves_the_work():
    made, _ = agent(CALL, "I wait.", store=MemoryStore())
    control = AbortController()
    asyncio.get_running_loop().call_later(3, control.abort)
    turn = made.stream("hi", follow_up=True, abort_signal=control.signal)
    result = await turn
    assert (result.finish_reason, now(), [task.status for task in result.tasks]) == ("abort", 3, ["running"])
    await taken(turn.until_idle())
    assert answers(turn.result.messages) == ['{"n": 2}']


@virtual_time
async def test_a_turn_that_has_ended_is_followed_up_by_its_id_once():
    store = MemoryStore()
    made, model = agent(CALL, "I wait.", "It is 2.", store=store)
    first = await made.generate("hi", run_id="r")
    turns = [made.follow_up("r"), made.follow_up("r")]
    results = await asyncio.gather(*(taken(turn) for turn in turns), return_exceptions=True)
    reasons = [
        "raised" if isinstance(r, RuntimeError) else t.result.finish_reason for r, t in zip(results, turns, strict=True)
    ]
    assert sorted(reasons) in (["elsewhere", "stop"], ["raised", "stop"])
    result = turns[reasons.index("stop")].result
    assert (result.text, len(model.requests), now()) == ("It is 2.", 3, 10)
    assert answers(result.messages) == ['{"n": 2}']
    assert [message["role"] for message in result.messages] == ["assistant", "tool", "assistant", "user", "assistant"]
    again = await made.follow_up("r")  # nothing is new: the model is not asked
    assert (again.finish_reason, len(model.requests), first.run_id) == ("stop", 3, "r")


@virtual_time
async def test_another_process_follows_up_from_the_store_alone():
    store, tool = MemoryStore(), work()
    made, _ = agent(CALL, "I wait.", tool=tool, store=store)
    await made.generate("hi", run_id="r")
    await asyncio.sleep(20)  # its result is in the store; nobody of this turn waits for it
    other, model = agent("It is 2.", tool=tool, store=store)
    result = await other.follow_up("r")
    assert (result.text, answers(model.requests[0].messages)) == ("It is 2.", ['{"n": 2}'])


@virtual_time
async def test_a_turn_that_is_followed_up_asks_the_model_after_a_suspension_too():
    made, _ = agent(CALL, "I wait.", "Got it.", tool=work(1, asks=True), store=MemoryStore())
    first = await made.generate("hi", run_id="r", follow_up=True)
    assert (first.text, [pending.payload for pending in first.pending]) == ("I wait.", [{"may": 1}])
    result = await made.resume("r", {"ok": True})
    assert (result.text, result.finish_reason, answers(result.messages)) == ("Got it.", "stop", ['{"got": true}'])


async def test_who_cannot_be_followed_up_is_told():
    made, _ = agent(CALL, "I wait.")
    with pytest.raises(RuntimeError, match="store"):
        made.follow_up("r")
    kept, _ = agent(CALL, "I wait.", tool=work(require_approval=True), store=MemoryStore())
    with pytest.raises(RunNotFoundError):
        await kept.follow_up("unknown")
    await kept.generate("hi", run_id="r")
    with pytest.raises(RuntimeError, match="wait for an answer"):
        await kept.follow_up("r")


@virtual_time
async def test_a_deferred_call_that_asked_after_its_turn_is_resumed_by_the_next_message():
    store, seen = MemoryStore(), work(1, asks=True)
    resuming = {"n": 1, "resumeData": {"ok": True}, "_background": {"disposition": "awaited"}}
    made, _ = agent(
        CALL, "I wait.", ScriptedCall("work", resuming, id="c2"), "Done.", "I see.",
        tool=seen, store=store, auto_resume_suspended_tools=True,
    )  # fmt: skip
    turn = made.stream("hi", thread_id="th")
    await turn
    await taken(turn.until_idle())
    result = await made.generate("Yes.", thread_id="th")
    assert [(call.tool_call_id, call.output) for call in result.results] == [("c2", {"got": True})]
    assert [task.status for task in turn.tasks] == ["cancelled"]
    assert answers((await made.follow_up(turn.run_id)).messages) == ['{"resumedBy": "c2"}']


@virtual_time
async def test_a_response_that_failed_is_not_followed_up():
    made, model = agent(CALL, {"error": {"message": "boom"}}, store=MemoryStore())
    result = await made.generate("hi", run_id="r", follow_up=True)
    assert (result.finish_reason, result.error, now(), len(model.requests)) == ("error", "boom", 0, 2)


@virtual_time
async def test_a_thread_remembers_a_turn_whose_deferred_call_has_not_asked_yet():
    made, _ = agent(
        CALL, "I wait.", ScriptedCall("work", {"n": 2}, id="c2"), "I wait too.", "What?",
        tool=work(5, asks=True), store=MemoryStore(), auto_resume_suspended_tools=True,
    )  # fmt: skip
    turns = [made.stream(text, thread_id="th") for text in ("hi", "and this")]
    for turn in turns:
        await turn
    await asyncio.sleep(10)
    await made.generate("Well?", thread_id="th")
    reminder = made.model.requests[-1].instructions[-1]  # type: ignore[attr-defined]
    assert [turn.run_id in reminder for turn in turns] == [True, True]
