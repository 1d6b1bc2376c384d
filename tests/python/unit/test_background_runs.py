"""Calls of a run in the background: dispositions, what is told of them and when, one result a call."""

import asyncio
import contextvars
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhead import (
    AbortController,
    BackgroundManager,
    LocalEngine,
    MemoryStore,
    ToolAbortedError,
    ToolRunner,
    create_tool,
    ui_stream,
)
from toolhead.background.override import without_override
from toolhead.suspend import suspend
from virtual_time import now, virtual_time

NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
DONE = [{"choices": [{"index": 0, "delta": {"content": "well"}, "finish_reason": "stop"}]}]


def call(index: int, args: Any, name: str = "work") -> dict[str, Any]:
    function = {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)}
    delta = {"tool_calls": [{"index": index, "id": f"c{index}", "function": function}]}
    return {"choices": [{"index": 0, "delta": delta}]}


async def taken(chunks: Any) -> list[Any]:
    return [chunk async for chunk in chunks]


async def step(run: Any, *calls: Any) -> list[Any]:
    return await taken(run.step([*(call(i, args) for i, args in enumerate(calls)), END], provider="openai-chat"))


def ends(chunks: list[Any]) -> list[str]:
    """The chunks after the calls themselves."""
    told = [chunk.type for chunk in chunks]
    return [name for name in told if name.startswith(("background", "tool-result", "tool-error", "tool-call-s"))]


def working(seconds: float = 10, background: dict[str, Any] | None = None, **options: Any) -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    async def execute(input: dict[str, Any], context: Any) -> dict[str, Any]:
        seen.append((input, context.agent.is_background_task))
        await asyncio.sleep(seconds)
        if input["n"] == 13:
            raise LookupError("bad luck")
        return {"n": input["n"] + 1}

    given = {"id": "work", "description": "Works", "input_schema": NUMBER, "execute": execute, **options}
    return create_tool(**given, background={"enabled": True, **(background or {})}), seen


def contents(run: Any, **options: Any) -> list[str]:
    return [message["content"] for message in run.messages(**options) if message["role"] == "tool"]


# -------------------------------------------------------------------------------------------- dispositions


@virtual_time
async def test_the_model_goes_on_with_a_placeholder_and_the_result_is_told_when_it_is_there():
    outputs: list[Any] = []
    tool, seen = working(on_output=lambda event: outputs.append((event.output, now())))
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    chunks = await step(run, {"n": 1})
    assert ends(chunks) == ["background-task-started", "tool-result"]
    placeholder = chunks[-2].to_dict()["payload"]
    (task,) = run.tasks
    assert task.id in placeholder["result"]
    assert placeholder["providerMetadata"]["mastra"]["backgroundTask"] == {"taskId": task.id, "status": "running"}
    assert (now(), run.status, run.results, outputs) == (0, "done", (), [])
    assert contents(run) == [placeholder["result"]]
    assert run.transcript()[0]["parts"][0]["toolInvocation"]["state"] == "call"
    assert [chunk.type for chunk in await taken(run.until_idle())] == [
        "background-task-running",
        "background-task-completed",
    ]
    assert (now(), seen, outputs) == (10, [({"n": 1}, True)], [({"n": 2}, 10)])
    assert [(result.status, result.output) for result in run.results] == [("ok", {"n": 2})]
    assert contents(run) == ['{"n": 2}']
    assert run.transcript()[0]["parts"][0]["toolInvocation"]["result"] == {"n": 2}
    assert ends(await taken(run.step(DONE, provider="openai-chat"))) == []
    assert contents(run, every_step=True) == ['{"n": 2}']
    assert contents(run) == []


@virtual_time
async def test_a_result_that_comes_during_a_later_step_is_told_there():
    tool, _ = working(5)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    await step(run, {"n": 1}, {"n": 13})

    async def slow() -> Any:
        await asyncio.sleep(20)
        for event in DONE:
            yield event

    chunks = await taken(run.step(slow(), provider="openai-chat"))
    assert [chunk.type for chunk in chunks][:3] == ["step-start", "tool-result", "tool-error"]
    assert chunks[1].to_dict()["payload"]["providerMetadata"]["mastra"]["backgroundTask"]["status"] == "completed"
    assert chunks[2].to_dict()["payload"]["error"] == {"name": "Error", "message": "bad luck"}
    await step(run, {"n": 2})
    await asyncio.sleep(60)
    chunks = await taken(run.step(DONE, provider="openai-chat"))
    assert [chunk.type for chunk in chunks][:2] == ["step-start", "tool-result"]


@virtual_time
async def test_an_awaited_call_has_one_result():
    tool, seen = working(3, {"default_disposition": "awaited"})
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    chunks = await step(run, {"n": 1}, {"n": 13})
    assert ends(chunks) == ["background-task-started", "background-task-started", "tool-result", "tool-error"]
    assert now() == 3
    assert [is_background for _, is_background in seen] == [True, True]
    assert contents(run) == ['{"n": 2}', "bad luck"]
    assert isinstance(run.results[1].error.__cause__, LookupError)
    assert [task.status for task in run.tasks] == ["completed", "failed"]


@virtual_time
async def test_an_awaited_call_that_takes_too_long_is_deferred():
    tool, _ = working(30, {"default_disposition": "awaited", "wait_timeout": 4})
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    assert ends(await step(run, {"n": 1})) == ["background-task-started", "tool-result"]
    assert (now(), run.tasks[0].status, run.results) == (4, "running", ())
    await taken(run.until_idle())
    assert (now(), contents(run)) == (30, ['{"n": 2}'])
    general, _ = working(30, {"default_disposition": "awaited"})
    run = ToolRunner([general], engine=BackgroundManager(wait_timeout=2)).run()
    await step(run, {"n": 1})
    assert now() == 32


@pytest.mark.parametrize(
    ("background", "override", "is_background", "is_deferred"),
    [
        ({}, {}, True, True),
        ({}, {"disposition": "foreground"}, False, False),
        ({}, {"enabled": False}, False, False),
        ({}, {"disposition": "awaited"}, True, False),
        ({}, None, True, True),
        ({}, {"disposition": None, "timeoutMs": None}, True, True),
        ({"default_disposition": "foreground"}, {}, False, False),
        ({"default_disposition": "foreground"}, {"enabled": True}, True, True),
        ({"default_disposition": "foreground"}, {"disposition": "deferred"}, True, True),
        ({"default_disposition": "awaited"}, {"enabled": True}, True, False),
        ({"enabled": False}, {"enabled": True, "disposition": "deferred"}, False, False),
    ],
)
@virtual_time
async def test_what_a_call_says_of_itself(background: Any, override: Any, is_background: bool, is_deferred: bool):
    tool, seen = working(1, background)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    chunks = await step(run, {"n": 1, "_background": override})
    assert (bool(run.tasks), run.results == ()) == (is_background, is_deferred)
    await taken(run.until_idle())
    assert seen == [({"n": 1}, is_background)]
    assert [chunk.type for chunk in chunks if chunk.type == "tool-input-rejected"] == []
    assert contents(run) == ['{"n": 2}']


@virtual_time
async def test_a_call_may_shorten_its_time_and_ask_for_retries():
    tool, _ = working(9)
    run = ToolRunner([tool], engine=BackgroundManager(retry_delay=1, backoff=1)).run()
    ask = {"disposition": "awaited"}
    await step(
        run,
        {"n": 1, "_background": {**ask, "timeoutMs": 1500}},
        {"n": 13, "_background": {**ask, "maxRetries": 2}},
        {"n": 1, "_background": {"timeoutMs": "x"}},
        {"n": 1, "_background": {"maxRetries": -1}},
        {"n": 1, "_background": 5},
        {"n": 1, "_background": {"later": True}},
    )
    assert [task.status for task in run.tasks] == ["timed_out", "failed"]
    assert (run.tasks[1].to_dict()["retryCount"], now()) == (2, 9 * 3 + 2)
    assert "1.5 seconds" in contents(run)[0]
    assert [result.status for result in run.results] == ["error", "error", *["invalid"] * 4]
    assert "- _background.timeoutMs: " in contents(run)[2]


@virtual_time
async def test_without_an_engine_every_call_is_an_ordinary_one():
    tool, seen = working(1, input_schema={**NUMBER, "additionalProperties": True})
    run = ToolRunner([tool]).run()
    await step(run, {"n": 1, "_background": {}})
    assert seen == [({"n": 1, "_background": {}}, False)]
    assert ToolRunner([tool]).definitions("openai-chat") == ToolRunner([tool]).toolset.definitions("openai-chat")
    assert ToolRunner([tool]).instructions == ""


@virtual_time
async def test_a_tool_with_an_argument_of_that_name_keeps_it():
    schema = {"type": "object", "properties": {"n": {}, "_background": {"type": "integer"}}}
    tool, seen = working(1, input_schema=schema)
    runner = ToolRunner([tool], engine=LocalEngine())
    assert runner.definitions("openai-chat") == runner.toolset.definitions("openai-chat")
    run = runner.run()
    await step(run, {"n": 1, "_background": 5})
    await taken(run.until_idle())
    assert seen == [({"n": 1, "_background": 5}, True)]


@pytest.mark.parametrize(
    ("text", "rest", "value"),
    [
        ('{"a": 1, "_background": {"x": "}"}, "b": 2}', '{"a": 1, "b": 2}', {"x": "}"}),
        ('{"_background": null, "b": 2.50}', '{ "b": 2.50}', None),
        ('{"_background":{}}', "{}", {}),
        ('{"a": 1e400, "_background": 1}', '{"a": 1e400}', 1),
        (' { "a":1 , "\\u005fbackground" : true } ', ' { "a":1  } ', True),
        ('{"a": {"_background": 1}}', '{"a": {"_background": 1}}', None),
        ('{"_background": 1, "_background": 2}', '{"_background": 1, "_background": 2}', None),
        ('[{"_background": 1}]', '[{"_background": 1}]', None),
        ('{"a": 1, "_background": {', '{"a": 1, "_background": {', None),
        ('"_background"', '"_background"', None),
        ("", "", None),
    ],
)
def test_the_override_is_cut_out_of_the_text_and_the_rest_stays(text: str, rest: str, value: Any):
    assert without_override(text) == (rest, value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    members=st.lists(st.tuples(st.text() | st.just("_background "), JSON), max_size=4, unique_by=lambda item: item[0]),
    value=JSON,
    at=st.integers(0, 4),
    indent=st.sampled_from([None, 0, 2]),
    plain=st.booleans(),
)
def test_the_override_is_found_in_any_text(members: Any, value: Any, at: int, indent: Any, plain: bool):
    members = [member for member in members if member[0] != "_background"]
    whole = dict([*members[:at], ("_background", value), *members[at:]])
    rest, found = without_override(json.dumps(whole, indent=indent, ensure_ascii=plain))
    assert found == value
    assert json.loads(rest) == dict(members)


# ----------------------------------------------------------------------------------- who may, and how many


@virtual_time
async def test_invalid_input_is_refused_before_anything_is_dispatched():
    tool, seen = working()
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    chunks = await step(run, {"n": "x"})
    assert ends(chunks) == ["tool-result"]
    assert (run.tasks, seen, run.results[0].status) == ((), [], "invalid")


@pytest.mark.parametrize(
    ("options", "is_background"),
    [
        ({}, False),
        ({"tools": "all"}, True),
        ({"tools": {"work": True}}, True),
        ({"tools": {"work": {"enabled": True}}}, True),
        ({"tools": {"other": True}}, False),
        ({"tools": "all", "enabled": False}, False),
    ],
)
@virtual_time
async def test_a_manager_may_say_it_of_tools_that_do_not(options: Any, is_background: bool):
    tool, _ = working(1, {"enabled": False})
    runner = ToolRunner([tool], engine=BackgroundManager(**options))
    run = runner.run()
    await step(run, {"n": 1})
    assert bool(run.tasks) is is_background
    schema = runner.definitions("openai-chat")[0]["function"]["parameters"]
    assert ("_background" in schema["properties"]) is is_background
    assert ("- work: deferred" in runner.instructions) is is_background
    await taken(run.until_idle())


@virtual_time
async def test_a_manager_outweighs_a_tool_and_leaves_open_what_it_does_not_say():
    tool, _ = working(9, {"timeout": 2})
    assert await _is_background(tool, tools={"work": False}) == []
    (task,) = await _is_background(tool, tools={"work": {"enabled": True, "default_disposition": "awaited"}})
    assert (task.status, now()) == ("timed_out", 2)


async def _is_background(tool: Any, **options: Any) -> list[Any]:
    run = ToolRunner([tool], engine=BackgroundManager(**options)).run()
    await step(run, {"n": 1}) if options["tools"]["work"] else None
    return list(run.tasks)


@virtual_time
async def test_a_call_beyond_the_limit_waits_fails_or_runs_at_once():
    answers = {}
    for backpressure in ("queue", "reject", "fallback-sync"):
        began = now()
        tool, seen = working(5)
        manager = BackgroundManager(per_agent_concurrency=1, backpressure=backpressure)
        run = ToolRunner([tool], engine=manager).run(agent_id="a")
        await step(run, {"n": 1}, {"n": 2})
        answers[backpressure] = (
            [task.status for task in run.tasks],
            [result.status for result in run.results],
            now() - began,
        )
        await taken(run.until_idle())
        where = {"queue": [True, True], "reject": [True], "fallback-sync": [False, True]}
        assert sorted(is_background for _, is_background in seen) == where[backpressure]
        assert now() - began == (10 if backpressure == "queue" else 5)
    assert answers["queue"] == (["running", "pending"], [], 0)
    assert answers["reject"] == (["running"], ["error"], 0)
    assert len(answers["fallback-sync"][0]) == 1
    assert answers["fallback-sync"][2] == 5  # the call in the foreground was waited for


@virtual_time
async def test_a_running_task_counts_for_its_agent_alone():
    tool, _ = working(5)
    runner = ToolRunner([tool], engine=BackgroundManager(per_agent_concurrency=1, backpressure="reject"))
    first, second = runner.run(agent_id="a"), runner.run(agent_id="b")
    await step(first, {"n": 1})
    await step(second, {"n": 1})
    assert [run.tasks[0].status for run in (first, second)] == ["running", "running"]
    await taken(first.until_idle())
    await taken(second.until_idle())
    await step(runner.run(agent_id="a"), {"n": 1})


@pytest.mark.parametrize("provider", ["openai-chat", "openai-responses", "anthropic", "bedrock", "mistral", "mcp"])
def test_a_strict_provider_is_told_of_it_too(provider: Any):
    tool, _ = working(strict=True)
    (definition,) = ToolRunner([tool], engine=BackgroundManager()).definitions(provider)
    assert '"maxRetries"' in json.dumps(definition)
    assert "_background" not in json.dumps(ToolRunner([tool]).definitions(provider))


def test_what_is_no_engine_is_refused():
    with pytest.raises(TypeError, match="engine: expected a BackgroundManager or a LocalEngine, got int"):
        ToolRunner([], engine=5)
    assert ToolRunner([], engine=LocalEngine()).background is not None


# ------------------------------------------------------------------------------------------------- the ends


@virtual_time
async def test_the_model_is_told_of_a_timeout():
    tool, _ = working(60, {"timeout": 2})
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    await step(run, {"n": 1})
    chunks = await taken(run.until_idle())
    assert chunks[-1].type == "background-task-failed"
    assert chunks[-1].to_dict()["payload"]["status"] == "timed_out"
    assert "did not end within 2 seconds" in contents(run)[0]
    assert run.results[0].status == "error"


@virtual_time
async def test_the_time_that_a_runner_gives_to_bodies_is_not_that_of_tasks():
    tool, _ = working(60)
    run = ToolRunner([tool], engine=BackgroundManager(), timeout=2).run()
    await step(run, {"n": 1}, {"n": 1, "_background": {"disposition": "foreground"}})
    assert (now(), run.results[0].status) == (2, "error")
    await taken(run.until_idle())
    assert [result.status for result in run.results] == ["ok", "error"]
    tool = tool.replace(timeout=3)
    run = ToolRunner([tool], engine=BackgroundManager(), timeout=2).run()
    await step(run, {"n": 1, "_background": {"disposition": "awaited"}})
    assert (run.tasks[0].status, now()) == ("timed_out", 63)


@virtual_time
async def test_a_cancelled_task_is_the_calls_error():
    tool, _ = working(60)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    await step(run, {"n": 1})
    assert await run.tasks[0].cancel()
    assert isinstance(run.results[0].error, ToolAbortedError)
    assert (await taken(run.until_idle()))[-1].type == "background-task-cancelled"


@virtual_time
async def test_an_abort_of_the_run_ends_awaited_tasks_and_leaves_deferred_ones():
    tool, _ = working(60)
    controller = AbortController()
    run = ToolRunner([tool], engine=BackgroundManager()).run(abort_signal=controller.signal)
    asyncio.get_running_loop().call_later(3, controller.abort)
    await step(run, {"n": 1, "_background": {"disposition": "awaited"}}, {"n": 2})
    assert now() == 3
    assert [task.status for task in run.tasks] == ["cancelled", "running"]
    assert [type(result.error) for result in run.results] == [ToolAbortedError]
    await taken(run.until_idle())
    assert run.results[1].output == {"n": 3}


@virtual_time
async def test_a_reader_that_goes_away_ends_awaited_tasks_and_every_call_has_its_result():
    tool, _ = working(60)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    calls = [call(0, {"n": 1, "_background": {"disposition": "awaited"}}), call(1, {"n": 2}), END]
    reading = run.step(calls, provider="openai-chat")
    async for chunk in reading:
        if chunk.type == "background-task-started":
            break
    await asyncio.sleep(1)
    await reading.aclose()
    assert [task.status for task in run.tasks] == ["cancelled", "running"]
    await taken(run.until_idle())
    assert [result.status for result in run.results] == ["error", "ok"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("seconds", [0, 5])
@virtual_time
async def test_what_a_reader_that_went_away_was_not_told_the_next_step_tells(seconds: float):
    tool, _ = working(2)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    reading = run.step([call(0, {"n": 1}), END], provider="openai-chat")
    async for chunk in reading:
        if chunk.type == "background-task-started":
            break
    await asyncio.sleep(seconds)
    await reading.aclose()
    await asyncio.sleep(5)
    chunks = await taken(run.step(DONE, provider="openai-chat"))
    assert [chunk.type for chunk in chunks][:2] == ["step-start", "tool-result"]
    assert chunks[1].result == {"n": 2}


@virtual_time
async def test_a_call_that_was_dispatched_before_is_not_run_again():
    tool, seen = working(5)
    runner = ToolRunner([tool], engine=BackgroundManager())
    first, second = runner.run(run_id="r"), runner.run(run_id="r")
    await step(first, {"n": 1})
    await step(second, {"n": 1, "_background": {"disposition": "awaited"}})
    assert [result.output for run in (first, second) for result in run.results] == [{"n": 2}, {"n": 2}]
    third = runner.run(run_id="r")
    assert ends(await step(third, {"n": 1})) == ["background-task-started", "tool-result"]
    assert (third.results[0].output, len(seen)) == ({"n": 2}, 1)


@virtual_time
async def test_a_model_that_asks_again_with_the_same_call_starts_nothing():  # pr-238
    tool, seen = working(10, {"default_disposition": "awaited", "wait_timeout": 0.5})
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    await step(run, {"n": 1})
    assert run.tasks[0].id in contents(run)[0]
    await step(run, {"n": 1})  # the same id
    assert (now(), run.tasks[0].id in contents(run)[0]) == (1, True)
    await asyncio.sleep(20)
    await step(run, {"n": 1})
    assert contents(run) == ['{"n": 2}']
    assert seen == [({"n": 1}, True)]
    assert contents(run, every_step=True) == ['{"n": 2}'] * 3
    await step(run, {"n": 5})  # another call that has the id of the first
    assert len(seen) == 2
    await taken(run.until_idle())


CALLER: contextvars.ContextVar[str] = contextvars.ContextVar("CALLER", default="nobody")


@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_body_sees_the_context_variables_of_its_own_caller(in_thread: bool):  # pr-192
    seen: list[str] = []

    def see(input: Any) -> None:
        seen.append(CALLER.get())
        CALLER.set("a body")

    async def see_soon(input: Any) -> None:
        await asyncio.sleep(0.001)
        see(input)

    tool, _ = working(execute=see if in_thread else see_soon)
    manager = BackgroundManager(global_concurrency=1)

    async def caller(name: str) -> None:
        CALLER.set(name)
        await (await manager.start(tool, {"n": 1})).result()

    names = ["ada", "bob", "cleo", "dan"]
    await asyncio.gather(*(caller(name) for name in names))
    assert seen == names
    assert CALLER.get() == "nobody"


@virtual_time
async def test_a_result_that_cannot_be_told_is_an_error_of_its_call(caplog: pytest.LogCaptureFixture):
    class Odd(dict):
        def __deepcopy__(self, memo: Any) -> Any:
            raise BufferError("no copy")

        def items(self) -> Any:
            raise BufferError("nothing to see")

    async def execute(input: Any) -> Any:
        return Odd(a=1)

    tool, _ = working(execute=execute)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    await step(run, {"n": 1})
    await taken(run.until_idle())
    assert run.results[0].status == "error"


@virtual_time
async def test_an_approved_call_goes_to_the_background():
    tool, _ = working(5, require_approval=True)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    assert ends(await step(run, {"n": 1})) == []
    told = [chunk.type for chunk in await taken(run.approve("c0"))]
    assert told == ["background-task-started", "tool-result", "step-finish"]
    assert run.status == "done"
    await taken(run.until_idle())
    assert contents(run) == ['{"n": 2}']


# --------------------------------------------------------------------------------------- suspend and resume


def asking(background: dict[str, Any] | None = None) -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    async def execute(input: dict[str, Any], context: Any) -> Any:
        seen.append((context.resume_data, context.suspend_payload, context.agent.is_background_task))
        if context.resume_data is None:
            context.suspend({"ask": input["n"]})
        return {"got": context.resume_data["ok"]}

    resume = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    given = {"id": "work", "description": "Asks", "input_schema": NUMBER, "execute": execute, "resume_schema": resume}
    return create_tool(**given, background={"enabled": True, **(background or {})}), seen


@pytest.mark.parametrize("by", ["run", "task", "other run"])
@virtual_time
async def test_a_deferred_call_suspends_without_holding_up_the_conversation(by: str):
    tool, seen = asking()
    runner = ToolRunner([tool], engine=BackgroundManager(), store=MemoryStore())
    run = runner.run()
    await step(run, {"n": 1})
    await asyncio.sleep(1)
    assert (run.status, len(contents(run))) == ("done", 1)
    assert ends(await taken(run.step(DONE, provider="openai-chat"))) == ["tool-call-suspended"]
    (pending,) = run.pending
    assert (pending.kind, pending.payload, pending.tool_call_id) == ("suspended", {"ask": 1}, "c0")
    if by == "task":
        await run.tasks[0].resume({"ok": True})
    else:
        answering = run if by == "run" else await runner.load(run.id)
        with pytest.raises(ValueError, match="resume data"):
            await taken(answering.resume("c0", {"ok": 1}))
        assert [chunk.type for chunk in await taken(answering.resume("c0", {"ok": True}))] == [
            "background-task-resumed"
        ]
    await taken(run.until_idle())
    assert seen == [(None, None, True), ({"ok": True}, {"ask": 1}, True)]
    assert contents(run, every_step=True) == ['{"got": true}']
    assert (run.pending, run.tasks[0].status) == ((), "completed")
    again = await runner.load(run.id)
    assert again._state.by_id["c0"].result.output == {"got": True}


@virtual_time
async def test_an_awaited_call_that_suspends_waits_as_any_other():
    tool, seen = asking({"default_disposition": "awaited"})
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    assert ends(await step(run, {"n": 1})) == ["background-task-started", "tool-call-suspended"]
    assert run.status == "waiting"
    chunks = await taken(run.resume("c0", {"ok": False}))
    assert [chunk.type for chunk in chunks] == ["background-task-resumed", "tool-result", "step-finish"]
    assert (contents(run), len(seen)) == (['{"got": false}'], 2)


@virtual_time
async def test_a_suspended_task_whose_engine_is_gone_is_started_again():
    tool, seen = asking()
    store = MemoryStore()
    run = ToolRunner([tool], engine=BackgroundManager(), store=store).run()
    await step(run, {"n": 1})
    await asyncio.sleep(1)
    other = ToolRunner([tool], engine=BackgroundManager(), store=store)
    loaded = await other.load(run.id)
    assert [chunk.type for chunk in await taken(loaded.resume("c0", {"ok": True}))] == ["background-task-started"]
    await taken(loaded.until_idle())
    assert seen[1:] == [({"ok": True}, {"ask": 1}, True)]
    assert loaded.results[0].output == {"got": True}
    plain = ToolRunner([tool], store=store)
    assert (await plain.load(run.id)).results[0].output == {"got": True}


@virtual_time
async def test_a_task_is_cancelled_while_its_suspension_is_being_told():
    tool, _ = asking()
    tool = tool.replace(on_suspend=lambda event: asyncio.sleep(5))
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    await step(run, {"n": 1})
    await asyncio.sleep(1)
    assert await run.tasks[0].cancel() is True
    assert (run.tasks[0].status, now(), run.pending) == ("cancelled", 5, ())
    assert isinstance(run.results[0].error, ToolAbortedError)


@virtual_time
async def test_two_objects_of_one_run_may_both_answer_a_suspended_task():
    tool, seen = asking()
    told: list[Any] = []
    tool = tool.replace(on_output=told.append, on_suspend=told.append)
    runner = ToolRunner([tool], engine=BackgroundManager(), store=MemoryStore())
    run = runner.run()
    await step(run, {"n": 1})
    loaded = await runner.load(run.id)  # before the body suspends
    await asyncio.sleep(1)
    await taken(loaded.resume("c0", {"ok": True}))
    await taken(loaded.until_idle())
    assert (loaded.results[0].output, run.results[0].output, len(seen)) == ({"got": True}, {"got": True}, 2)
    assert [type(event).__name__ for event in told] == [
        "SuspendEvent",
        "OutputEvent",
    ]  # once a call, not once an object


class Asking:
    """A schema source whose check asks a person the first time."""

    vendor, version = "tests", 1

    def __init__(self) -> None:
        self.__standard_schema__ = self
        self.asked = 0

    def json_schema(self, mode: str = "input") -> dict[str, Any]:
        return {"type": "object"}

    def validate(self, value: Any) -> Any:
        self.asked += 1
        if self.asked == 1:
            suspend({"may": "I?"})
        return value


@pytest.mark.parametrize("disposition", ["awaited", "deferred"])
@pytest.mark.parametrize("option", ["input_schema", "request_context_schema", "output_schema"])
@virtual_time
async def test_a_question_of_a_schemas_own_check_is_one_of_the_call(option: str, disposition: str):
    tool, seen = working(0, {"default_disposition": disposition}, **{option: Asking()})
    runner = ToolRunner([tool], engine=BackgroundManager(), store=MemoryStore())
    run = runner.run()
    await step(run, {"n": 1})
    await asyncio.sleep(1)
    assert [(pending.kind, pending.payload) for pending in run.pending] == [("suspended", {"may": "I?"})]
    assert run.status == ("done" if disposition == "deferred" and option != "input_schema" else "waiting")
    loaded = await runner.load(run.id)
    await taken(loaded.resume("c0", {"yes": True}))
    await taken(loaded.until_idle())
    assert [(result.status, result.output) for result in loaded.results] == [("ok", {"n": 2})]
    assert seen == [({"n": 1}, True)] * (2 if option == "output_schema" else 1)


@virtual_time
async def test_the_check_of_an_answer_may_ask_in_its_turn():
    tool, seen = asking()
    run = ToolRunner([tool.replace(resume_schema=Asking())], engine=BackgroundManager()).run()
    await step(run, {"n": 1})
    await asyncio.sleep(1)
    (chunk,) = await taken(run.resume("c0", {"ok": True}))
    assert (chunk.type, chunk.suspend_payload) == ("tool-call-suspended", {"may": "I?"})
    assert [(pending.payload, run.tasks[0].status) for pending in run.pending] == [({"may": "I?"}, "suspended")]
    await taken(run.resume("c0", {"ok": True}))
    await taken(run.until_idle())
    assert (run.results[0].output, len(seen)) == ({"got": True}, 2)


@virtual_time
async def test_whoever_approves_a_call_in_the_background_sees_the_validated_input():
    shown: list[Any] = []
    transform = {"display": {"approval": lambda event: shown.append(event.input)}}
    tool, seen = working(0, require_approval=True, transform=transform)
    store = MemoryStore()
    runner = ToolRunner([tool], engine=BackgroundManager(), store=store)
    run = runner.run()
    chunks = await step(run, {"n": 1, "_background": {"disposition": "awaited"}})
    assert (chunks[-1].type, chunks[-1].args) == ("tool-call-approval", {"n": 1})
    loaded = await runner.load(run.id)
    assert (shown, loaded.pending[0].kind, seen) == ([{"n": 1}] * 2, "approval", [])
    await taken(loaded.approve("c0"))
    assert (loaded.results[0].output, seen) == ({"n": 2}, [({"n": 1}, True)])


@virtual_time
async def test_messages_of_all_steps_have_each_its_own_providers_form():
    tool, _ = working(1)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    await step(run, {"n": 1})
    block = {"type": "tool_use", "id": "t1", "name": "work", "input": {"n": 2}}
    whole = {
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": "tool_use",
        "model": "m",
        "id": "i",
    }
    await taken(run.step(whole, provider="anthropic"))
    await taken(run.until_idle())
    first, second, third, fourth = run.messages(every_step=True)
    assert (first["role"], second) == ("assistant", {"role": "tool", "tool_call_id": "c0", "content": '{"n": 2}'})
    assert third["content"] == [block]
    assert fourth["content"][0]["tool_use_id"] == "t1"


@virtual_time
async def test_an_engine_that_loses_a_task_costs_its_call_no_result(caplog: pytest.LogCaptureFixture):
    class Losing(LocalEngine):
        async def stream(self, job_id: str) -> Any:
            async for state in super().stream(job_id):
                yield state
                raise ConnectionError("the database is gone")

    tool, _ = working()
    run = ToolRunner([tool], engine=BackgroundManager(Losing())).run()
    await step(run, {"n": 1})
    await taken(run.until_idle())
    assert (run.results[0].status, run.tasks[0].status) == ("error", "failed")
    assert "the engine lost the task" in caplog.text


# ------------------------------------------------------------------------------------------- store and views


@virtual_time
async def test_the_stored_call_is_updated_and_another_run_object_learns_of_it():
    tool, _ = working(10)
    runner = ToolRunner([tool], engine=BackgroundManager(), store=MemoryStore())
    run = runner.run()
    await step(run, {"n": 1})
    loaded = await runner.load(run.id)
    assert (loaded.results, loaded.tasks[0].id) == ((), run.tasks[0].id)
    assert contents(loaded) == contents(run)
    await taken(loaded.until_idle())
    assert loaded.results[0].output == {"n": 2}
    assert (await runner.load(run.id)).results[0].output == {"n": 2}
    stranger = await ToolRunner([tool], store=runner.store).load(run.id)
    assert stranger.results[0].output == {"n": 2}


@virtual_time
async def test_a_run_that_is_loaded_after_the_task_ended_gets_its_result():
    tool, _ = working(10)
    engine, store = LocalEngine(), MemoryStore()
    run = ToolRunner([tool], engine=BackgroundManager(engine), store=store).run()
    await step(run, {"n": 1})
    records = dict(store._runs[run.id])
    await taken(run.until_idle())
    store._runs[run.id] = records  # as if the process had died before it could write
    loaded = await ToolRunner([tool], engine=BackgroundManager(engine), store=store).load(run.id)
    assert loaded.results[0].output == {"n": 2}


@virtual_time
async def test_model_output_and_transforms_see_the_result_and_never_the_placeholder():
    mapped: list[Any] = []
    shown: list[Any] = []

    def display(event: Any) -> Any:
        shown.append((event.phase, event.output))
        return {"phase": event.phase}

    tool, _ = working(
        5,
        to_model_output=lambda output: mapped.append(output) or {"type": "text", "value": f"got {output['n']}"},
        transform={"display": {"output": display}},
    )
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    chunks = await step(run, {"n": 1})
    assert (mapped, shown) == ([], [])
    payload = next(chunk for chunk in chunks if chunk.type == "tool-result").to_dict()["payload"]
    assert "background" in payload["result"]
    later = await taken(run.until_idle())
    assert later[-1].to_dict()["payload"]["result"] == {"phase": "output"}
    assert later[-1].to_dict(view="raw")["payload"]["result"] == {"n": 2}
    assert later[0].to_dict()["payload"]["args"] != {"n": 1}
    assert (mapped, shown, contents(run)) == ([{"n": 2}], [("output", {"n": 2})], ["got 2"])


@virtual_time
async def test_a_front_end_takes_the_placeholder_as_preliminary():
    tool, _ = working(5)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    chunks = run.step([call(0, {"n": 1}), END], provider="openai-chat")
    parts = [part async for part in ui_stream(chunks) if part["type"] == "tool-output-available"]
    assert [part.get("preliminary") for part in parts] == [True]
    await asyncio.sleep(9)
    later = [part async for part in ui_stream(run.step(DONE, provider="openai-chat"))]
    assert [part["output"] for part in later if part["type"] == "tool-output-available"] == [{"n": 2}]
    assert all("preliminary" not in part for part in later)


@virtual_time
async def test_partial_output_reaches_who_reads_the_run():
    async def execute(input: Any, context: Any) -> None:
        await context.writer.write("half")

    tool, _ = working(1, {"default_disposition": "awaited"}, execute=execute)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    assert "tool-output" in [chunk.type for chunk in await step(run, {"n": 1})]


@virtual_time
async def test_partial_output_of_a_deferred_call_is_told_by_whichever_step_is_read():
    async def execute(input: Any, context: Any) -> None:
        for part in range(10):
            await asyncio.sleep(1)
            await context.writer.write(part)

    tool, _ = working(execute=execute)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    await step(run, {"n": 1})
    await asyncio.sleep(3.5)

    async def slow() -> Any:
        await asyncio.sleep(3)
        for event in DONE:
            yield event

    chunks = await taken(run.step(slow(), provider="openai-chat"))
    assert [chunk.output for chunk in chunks if chunk.type == "tool-output"] == [3, 4, 5]
    await taken(run.until_idle())


@virtual_time
async def test_typed_outputs_stay_typed():
    class Out(msgspec.Struct):
        n: int

    async def execute(input: Any) -> Out:
        return Out(n=input["n"])

    tool, _ = working(1, execute=execute, output_schema=Out)
    run = ToolRunner([tool], engine=BackgroundManager()).run()
    await step(run, {"n": 4})
    await taken(run.until_idle())
    assert run.results[0].output == Out(n=4)
    assert await run.tasks[0].result() == Out(n=4)
