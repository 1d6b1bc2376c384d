"""Turns that wait for somebody: approval, suspension, results from outside, in this process and across processes."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

from toolhead import (
    Agent,
    AlreadyResolvedError,
    MemoryStore,
    NotSuspendedError,
    RunNotFoundError,
    SQLiteStore,
    ValidationError,
    create_tool,
)
from toolhead.testing import ScriptedCall, ScriptedModel

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def tool(execute: Any = None, **options: Any) -> Any:
    return create_tool(**{"id": "t", "description": "d", "input_schema": NUMBER, "execute": execute, **options})


async def taken(turn: Any) -> list[Any]:
    return [chunk async for chunk in turn]


def types(chunks: list[Any]) -> list[str]:
    return [chunk.type for chunk in chunks]


def asks(execute: Any = lambda given: {"n": given["n"]}, **options: Any) -> Any:
    return tool(execute, require_approval=True, **options)


def suspends(context: Any) -> Any:
    return context.suspend({"ask": "which?"}) if context.resume_data is None else context.resume_data


def waits(**options: Any) -> Any:
    return tool(lambda given, context: {"n": given["n"], **suspends(context)}, resume_schema=NUMBER, **options)


CALL = ScriptedCall("t", {"n": 1}, id="c1")
TAIL = ["step-start", "text-start", "text-delta", "text-end", "step-finish", "finish"]


async def test_approval_ends_the_stream_and_approve_goes_on_with_the_turn():
    model = ScriptedModel(CALL, "Done.")
    agent = Agent(model, [asks()])
    turn = agent.stream("?")
    chunks = await taken(turn)
    assert types(chunks)[-2:] == ["tool-call", "tool-call-approval"]
    assert (turn.result.finish_reason, turn.result.messages) == ("suspended", [])
    assert [(call.kind, call.args) for call in turn.result.pending] == [("approval", {"n": 1})]
    rest = agent.approve_tool_call(turn.run_id)
    assert types(await taken(rest)) == ["tool-result", "step-finish", *TAIL]
    assert rest.result.text == "Done."
    assert [message["role"] for message in rest.result.messages] == ["assistant", "tool", "assistant"]
    assert [message["role"] for message in model.requests[1].messages] == ["user", "assistant", "tool"]


async def test_declining_tells_the_model_the_reason():
    ran: list[Any] = []
    agent = Agent(ScriptedModel(CALL, "I see."), [asks(ran.append)])
    first = await agent.generate("?")
    rest = agent.decline_tool_call(first.run_id, "c1", reason="Not today.")
    chunks = await taken(rest)
    assert types(chunks) == ["tool-output-denied", "step-finish", *TAIL]
    assert rest.result.messages[1]["content"] == "Not today."
    assert ran == []


async def test_resume_data_decides_an_approval_and_other_data_asks_again():
    agent = Agent(ScriptedModel(CALL, "Done."), [asks()])
    first = await agent.generate("?")
    again = agent.resume(first.run_id, {"approved": "true"})
    chunks = await taken(again)
    assert types(chunks) == ["tool-call-approval"]
    assert chunks[0].to_dict()["payload"]["args"] == {"n": 1}
    assert (again.result.finish_reason, len(again.result.pending)) == ("suspended", 1)
    declined = await agent.resume(first.run_id, {"approved": False, "reason": "no"})
    assert declined.messages[1]["content"] == "no"
    agent = Agent(ScriptedModel(CALL, "Done."), [asks()])
    first = await agent.generate("?")
    approved = await agent.resume(first.run_id, {"approved": True})
    assert json.loads(approved.messages[1]["content"]) == {"n": 1}


async def test_suspend_and_resume():
    agent = Agent(ScriptedModel(CALL, "Done."), [waits()])
    first = await agent.generate("?")
    assert [(call.kind, call.payload) for call in first.pending] == [("suspended", {"ask": "which?"})]
    with pytest.raises(ValidationError, match="resume data validation failed"):
        await agent.resume(first.run_id, {"n": "x"})
    rest = agent.resume(first.run_id, {"n": 7})
    assert types(await taken(rest)) == ["tool-result", "step-finish", *TAIL]
    assert rest.result.results[0].output == {"n": 7}


async def test_approved_then_suspended_waits_again():
    agent = Agent(ScriptedModel(CALL, "Done."), [waits(require_approval=True)])
    first = await agent.generate("?")
    second = agent.approve_tool_call(first.run_id)
    assert types(await taken(second)) == ["tool-call-suspended"]
    assert second.result.finish_reason == "suspended"
    assert (await agent.resume(first.run_id, {"n": 2})).text == "Done."


async def test_a_result_from_outside_goes_on_with_the_turn():
    client = create_tool(id="t", description="d", input_schema=NUMBER, output_schema=NUMBER)
    model = ScriptedModel(CALL, "Done.")
    agent = Agent(model, [client])
    first = await agent.generate("?")
    assert (first.finish_reason, [call.kind for call in first.pending]) == ("tool-calls", ["client"])
    with pytest.raises(ValidationError):
        await agent.provide_result(first.run_id, {"n": "x"})
    last = await agent.provide_result(first.run_id, {"n": 5})
    assert (last.text, last.messages[1]["content"]) == ("Done.", '{"n": 5}')


async def test_several_calls_wait_and_the_turn_goes_on_after_the_last_answer():
    model = ScriptedModel([CALL, ScriptedCall("t", {"n": 2}, id="c2")], "Done.")
    agent = Agent(model, [asks()])
    first = await agent.generate("?")
    with pytest.raises(NotSuspendedError, match="several do: c1, c2"):
        await agent.approve_tool_call(first.run_id)
    second = await agent.approve_tool_call(first.run_id, "c2")
    assert (second.finish_reason, [call.tool_call_id for call in second.pending]) == ("suspended", ["c1"])
    assert len(model.requests) == 1
    last = await agent.decline_tool_call(first.run_id, "c1", reason="no")
    assert last.text == "Done."
    assert [message["content"] for message in last.messages if message["role"] == "tool"] == ["no", '{"n": 2}']


async def test_of_two_who_answer_different_calls_at_once_one_goes_on():
    gate = asyncio.Event()

    async def execute(input: dict[str, Any]) -> dict[str, Any]:
        await gate.wait()
        return input

    model = ScriptedModel([CALL, ScriptedCall("t", {"n": 2}, id="c2")], "Done.")
    agent = Agent(model, [asks(execute)])
    first = await agent.generate("?")
    answers = [asyncio.ensure_future(agent.approve_tool_call(first.run_id, call)._awaited()) for call in ("c1", "c2")]
    await asyncio.sleep(0.02)
    gate.set()
    results = await asyncio.gather(*answers)
    assert sorted(result.finish_reason for result in results) == ["elsewhere", "stop"]
    assert len(model.requests) == 2


async def test_an_answer_is_used_once():
    store = MemoryStore()
    ran: list[Any] = []
    agent = Agent(ScriptedModel(CALL, "Done."), [asks(lambda given: ran.append(given))], store=store)
    first = await agent.generate("?")
    await agent.approve_tool_call(first.run_id, "c1")
    with pytest.raises(AlreadyResolvedError):
        await agent.approve_tool_call(first.run_id, "c1")
    assert len(ran) == 1


async def test_wrong_answers_are_refused_and_the_call_still_waits():
    agent = Agent(ScriptedModel(CALL, "Done."), [asks()])
    first = await agent.generate("?")
    with pytest.raises(RunNotFoundError):
        await agent.approve_tool_call("nope")
    with pytest.raises(NotSuspendedError):
        await agent.approve_tool_call(first.run_id, "zzz")
    with pytest.raises(NotSuspendedError, match="none does"):
        await agent.provide_result(first.run_id, 1)
    assert (await agent.approve_tool_call(first.run_id)).text == "Done."
    with pytest.raises(RunNotFoundError):
        await agent.approve_tool_call(first.run_id)
    assert agent._store._runs == {}


async def test_the_turn_can_be_answered_when_its_question_is_told():
    agent = Agent(ScriptedModel(CALL, "Done."), [asks()])
    async for chunk in agent.stream("?"):
        if chunk.type == "tool-call-approval":
            assert (await agent.approve_tool_call(chunk.run_id)).text == "Done."


async def test_a_reader_that_goes_away_after_the_question_can_be_answered_by_another():
    async def late(input: dict[str, Any]) -> None:
        await asyncio.sleep(30)

    model = ScriptedModel([CALL, ScriptedCall("late", {})], "Done.")
    agent = Agent(model, [asks(), create_tool(id="late", description="d", execute=late, grace=0.01)])
    turn = agent.stream("?")
    async for chunk in turn:
        if chunk.type == "tool-call" and chunk.tool_name == "late":
            await asyncio.sleep(0.01)
            break
    await turn.aclose()
    last = await agent.approve_tool_call(turn.run_id, "c1")
    assert [result.status for result in last.results] == ["ok", "error"]
    assert last.text == "Done."


async def test_max_steps_counts_the_steps_before_the_answer():
    model = ScriptedModel(CALL, ScriptedCall("t", {"n": 2}, id="c2"))
    agent = Agent(model, [asks()], max_steps=2)
    first = await agent.generate("?")
    second = await agent.approve_tool_call(first.run_id)
    last = await agent.approve_tool_call(first.run_id)
    assert (second.finish_reason, last.finish_reason, len(model.requests)) == ("suspended", "tool-calls", 2)
    assert [step.number for step in last.steps] == [2]


async def test_the_transcript_of_a_turn_that_waited_is_whole():
    agent = Agent(ScriptedModel(["See:", CALL], "Done."), [asks()])
    first = await agent.generate("?")
    call = {"toolCallId": "c1", "toolName": "t", "args": {"n": 1}}
    said = {"type": "text", "text": "See:"}
    part = {"type": "tool-invocation", "toolInvocation": {"state": "call", **call}}
    assert first.transcript == [{"role": "assistant", "parts": [said, part]}]
    last = await agent.approve_tool_call(first.run_id)
    done = {"state": "result", **call, "result": {"n": 1}, "approval": {"id": "c1", "approved": True}}
    assert last.transcript[0]["parts"] == [
        said,
        {"type": "tool-invocation", "toolInvocation": done},
        {"type": "step-start"},
        {"type": "text", "text": "Done."},
    ]


async def test_a_turn_goes_on_with_a_model_of_the_same_provider():
    class Other(ScriptedModel):
        provider = "anthropic"

    store = MemoryStore()
    first = await Agent(ScriptedModel(CALL), [asks()], store=store).generate("?")
    with pytest.raises(ValueError, match="was begun with a model of openai-chat"):
        await Agent(Other("Done."), [asks()], store=store).approve_tool_call(first.run_id)


async def test_the_id_of_a_turn_is_used_once():
    store = MemoryStore()
    agent = Agent(ScriptedModel(CALL, CALL), [asks()], store=store)
    await agent.generate("?", run_id="mine")
    with pytest.raises(RuntimeError, match="somebody else"):
        await agent.generate("?", run_id="mine")


async def test_messages_that_cannot_be_stored_are_named_when_a_turn_waits():
    agent = Agent(ScriptedModel(CALL), [asks()])
    with pytest.raises(TypeError, match="stored as JSON"):
        await agent.generate([{"role": "user", "content": b"bytes"}])


PROGRAM = """
import asyncio, json, sys
from toolhead import Agent, SQLiteStore, create_tool
from toolhead.testing import ScriptedCall, ScriptedModel

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

def execute(input, context):
    if context.resume_data is None:
        context.suspend({"ask": "which?"})
    return [input["n"], context.resume_data["n"], context.suspend_payload, context.request_context["user"],
            context.agent.thread_id, context.agent.messages]

t = create_tool(id="t", description="d", input_schema=NUMBER, resume_schema=NUMBER, require_approval=True,
                execute=execute)
path, action, *rest = sys.argv[1:]
store = SQLiteStore(path)

async def main():
    if action == "ask":
        agent = Agent(ScriptedModel(ScriptedCall("t", {"n": 1}, id="c1")), [t], store=store)
        result = await agent.generate("?", thread_id="th", request_context={"user": "ada"})
    elif action == "approve":
        result = await Agent(ScriptedModel(), [t], store=store).approve_tool_call(rest[0])
    else:
        agent = Agent(ScriptedModel("Done."), [t], store=store)
        result = await agent.resume(rest[0], {"n": 9}, request_context={"user": "bob"})
    print(json.dumps([result.run_id, result.finish_reason, result.text, result.messages]))
    store.close()

asyncio.run(main())
"""


def test_each_answer_may_come_from_another_process(tmp_path):
    def process(*arguments: str) -> Any:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "runs.db"), *arguments]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    run_id, reason, *_ = process("ask")
    assert reason == "suspended"
    assert process("approve", run_id)[1] == "suspended"
    _, reason, text, messages = process("resume", run_id)
    assert (reason, text) == ("stop", "Done.")
    told = json.loads(messages[1]["content"])
    assert told == [1, 9, {"ask": "which?"}, "bob", "th", [{"role": "user", "content": "?"}]]


async def test_of_two_processes_that_answer_one_call_one_is_told(tmp_path):
    store = SQLiteStore(tmp_path / "runs.db")
    agents = [Agent(ScriptedModel("Done."), [asks()], store=SQLiteStore(store.path)) for _ in range(2)]
    first = await Agent(ScriptedModel(CALL), [asks()], store=store).generate("?")
    answers = [agent.approve_tool_call(first.run_id, "c1")._awaited() for agent in agents]
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["AgentResult", "AlreadyResolvedError"]
    for agent in agents:
        agent._store.close()
    store.close()
