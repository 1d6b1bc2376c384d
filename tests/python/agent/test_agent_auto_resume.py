"""`auto_resume_suspended_tools`: a suspended call is resumed by a new call that the user's next message leads to."""

import json
from typing import Any

import pytest

from toolhead import Agent, AlreadyResolvedError, BackgroundManager, MemoryStore, SQLiteStore, create_tool
from toolhead.testing import ScriptedCall, ScriptedModel, record_hooks

INPUT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
RESUME = {"type": "object", "properties": {"v": {"type": "integer"}}, "required": ["v"]}
CALL = ScriptedCall("w", {"a": "x"}, id="c1")


def waits(seen: list[Any], **options: Any) -> Any:
    def execute(input: Any, context: Any) -> Any:
        seen.append((input, context.tool_call_id, context.resume_data, context.suspend_payload))
        return context.suspend({"m": "wait"}) if context.resume_data is None else {"ok": context.resume_data["v"]}

    schemas = {"input_schema": INPUT, "resume_schema": RESUME}
    return create_tool(**{"id": "w", "description": "d", "execute": execute, **schemas, **options})


def resuming(data: Any, **members: Any) -> ScriptedCall:
    return ScriptedCall("w", {"a": "x", "resumeData": data, **members}, id="c2")


async def both(
    *second: Any, seen: list[Any], store: Any = None, tool: Any = None
) -> tuple[Any, Any, ScriptedModel, Any]:
    """The turn that suspends, and the next one of the same thread."""
    model = ScriptedModel(CALL, *second)
    agent = Agent(model, [tool or waits(seen)], auto_resume_suspended_tools=True, store=store, instructions="Be nice.")
    first = await agent.generate("Do it", thread_id="th")
    turn = agent.stream("It is 5", thread_id="th")
    chunks = [chunk async for chunk in turn]
    return first, (turn.result, chunks), model, agent


async def test_the_model_resumes_with_a_new_call_under_its_own_id():
    seen: list[Any] = []
    first, (result, chunks), _, agent = await both(resuming({"v": 5}), "Done.", seen=seen)
    assert first.finish_reason == "suspended"
    assert seen == [({"a": "x"}, "c1", None, None), ({"a": "x"}, "c2", {"v": 5}, None)]
    assert [(r.tool_call_id, r.output) for r in result.results] == [("c2", {"ok": 5})]
    assert result.text == "Done."
    called = next(chunk for chunk in chunks if chunk.type == "tool-call")
    assert called.args == {"a": "x", "resumeData": {"v": 5}}
    assert "tool-input-rejected" not in [chunk.type for chunk in chunks]
    assert agent._store._runs.keys() == {'thread:[null, "th"]'}


async def test_a_call_in_the_background_resumes_as_any_other():
    seen: list[Any] = []
    tool = waits(seen, background={"enabled": True, "default_disposition": "awaited"})
    model = ScriptedModel(CALL, resuming({"v": 5}), "Done.")
    agent = Agent(model, [tool], auto_resume_suspended_tools=True, engine=BackgroundManager())
    await agent.generate("Do it", thread_id="th")
    result = await agent.generate("It is 5", thread_id="th")
    assert seen == [({"a": "x"}, "c1", None, None), ({"a": "x"}, "c2", {"v": 5}, None)]
    assert [(r.tool_call_id, r.output) for r in result.results] == [("c2", {"ok": 5})]
    members = ["a", "_background", "suspendedToolCallId", "suspendedToolRunId", "resumeData"]
    assert list(model.requests[1].tools[0]["schema"]["properties"]) == members


async def test_the_model_is_told_only_while_something_is_suspended():
    seen: list[Any] = []
    first, _, model, agent = await both(resuming({"v": 5}), "Done.", "Hello.", seen=seen)
    await agent.generate("Hi", thread_id="th")
    before, told, *after = model.requests
    assert [len(request.instructions) for request in model.requests] == [1, 2, 1, 1]
    reminder = told.instructions[1]
    line = json.loads(reminder.splitlines()[-1].removeprefix("- "))
    assert line == {
        "toolName": "w",
        "suspendedToolCallId": "c1",
        "suspendedToolRunId": first.run_id,
        "args": {"a": "x"},
        "suspendPayload": {"m": "wait"},
        "resumeSchema": RESUME,
    }
    for request in (before, *after):
        assert request.tools[0]["schema"] == INPUT
    schema = told.tools[0]["schema"]
    assert list(schema["properties"]) == ["a", "suspendedToolCallId", "suspendedToolRunId", "resumeData"]
    assert schema["required"] == ["a"]


async def test_another_thread_and_another_resource_are_not_told():
    seen: list[Any] = []
    model = ScriptedModel(CALL, "Hi.", "Hi.")
    agent = Agent(model, [waits(seen)], auto_resume_suspended_tools=True)
    await agent.generate("Do it", thread_id="th", resource_id="ada")
    await agent.generate("Hi", thread_id="th", resource_id="bob")
    await agent.generate("Hi", thread_id="other", resource_id="ada")
    assert [list(request.instructions) for request in model.requests] == [[], [], []]


async def test_invalid_resume_data_is_the_calls_result_and_the_suspension_stands():
    seen: list[Any] = []
    second = (resuming({"v": "bad"}), ScriptedCall("w", {"a": "x", "resumeData": {"v": 6}}, id="c3"), "Done.")
    _, (result, _), _, _ = await both(*second, seen=seen)
    assert [(r.tool_call_id, r.status) for r in result.results] == [("c2", "invalid"), ("c3", "ok")]
    assert result.results[0].error.phase == "resume"
    assert [data for _, _, data, _ in seen] == [None, {"v": 6}]


async def test_a_resumed_call_is_answered_once():
    seen: list[Any] = []
    first, _, _, agent = await both(resuming({"v": 5}), "Done.", seen=seen, store=MemoryStore())
    with pytest.raises(AlreadyResolvedError):
        await agent.resume(first.run_id, {"v": 7}, "c1")
    run = await agent._runner.load(first.run_id)
    assert [(r.tool_call_id, r.output) for r in run.results] == [("c1", {"resumedBy": "c2"})]
    assert len(seen) == 2


async def test_resume_data_with_nothing_to_resume_is_an_error_of_that_call():
    seen: list[Any] = []
    second = (resuming({"v": 5}), ScriptedCall("w", {"a": "x", "resumeData": {"v": 6}}, id="c3"), "Done.")
    _, (result, _), _, _ = await both(*second, seen=seen)
    assert [(r.tool_call_id, r.status) for r in result.results] == [("c2", "ok"), ("c3", "error")]
    assert type(result.results[1].error).__name__ == "NotSuspendedError"
    assert len(seen) == 2


async def test_the_named_call_is_the_one_that_is_resumed():
    seen: list[Any] = []
    store = MemoryStore()
    calls = [CALL, ScriptedCall("w", {"a": "y"}, id="c9")]
    model = ScriptedModel(calls, resuming({"v": 5}, suspendedToolCallId="c1"), "Done.")
    agent = Agent(model, [waits(seen)], auto_resume_suspended_tools=True, store=store)
    first = await agent.generate("Do it", thread_id="th")
    await agent.generate("5", thread_id="th")
    run = await agent._runner.load(first.run_id)
    assert [call.tool_call_id for call in run.pending] == ["c9"]


async def test_a_call_without_resume_data_is_a_new_call():
    seen: list[Any] = []
    _, (result, _), _, _ = await both(ScriptedCall("w", {"a": "x", "resumeData": None}, id="c2"), seen=seen)
    assert (result.finish_reason, [call.tool_call_id for call in result.pending]) == ("suspended", ["c2"])
    assert [data for _, _, data, _ in seen] == [None, None]


async def test_hooks_and_approval_see_the_input_without_the_resumption():
    seen: list[Any] = []
    recorder = record_hooks()
    asked: list[Any] = []
    tool = recorder.watch(waits(seen, require_approval=lambda given, context: bool(asked.append(given))))
    await both(resuming({"v": 5}), "Done.", seen=seen, tool=tool)
    assert [event.input for event in recorder.of("on_input_available")] == [{"a": "x"}, {"a": "x"}]
    assert asked == [{"a": "x"}, {"a": "x"}]


async def test_a_resuming_call_that_waits_for_approval_resumes_in_another_process(tmp_path):
    seen: list[Any] = []
    needs = [False]
    store = SQLiteStore(tmp_path / "runs.db")
    tool = waits(seen, require_approval=lambda given, context: needs[0])
    model = ScriptedModel(CALL, resuming({"v": 5}))
    agent = Agent(model, [tool], auto_resume_suspended_tools=True, store=store)
    await agent.generate("Do it", thread_id="th")
    needs[0] = True
    second = await agent.generate("5", thread_id="th")
    assert [call.kind for call in second.pending] == ["approval"]
    other = Agent(ScriptedModel("Done."), [tool], auto_resume_suspended_tools=True, store=SQLiteStore(store.path))
    assert (await other.approve_tool_call(second.run_id)).results[0].output == {"ok": 5}
    other._store.close()
    store.close()


async def test_a_resuming_call_may_suspend_again():
    def execute(input: Any, context: Any) -> Any:
        return context.suspend({"had": context.resume_data}) if context.resume_data != {"v": 2} else "fine"

    tool = create_tool(id="w", description="d", input_schema=INPUT, resume_schema=RESUME, execute=execute)
    _, (result, _), _, agent = await both(resuming({"v": 1}), "Done.", seen=[], tool=tool)
    assert [(call.tool_call_id, call.payload) for call in result.pending] == [("c2", {"had": {"v": 1}})]
    last = await agent.resume(result.run_id, {"v": 2})
    assert last.results[0].output == "fine"


async def test_a_tool_with_nothing_suspended_keeps_members_of_these_names():
    seen: list[Any] = []
    other = create_tool(id="other", description="d", execute=lambda given: given)
    model = ScriptedModel(CALL, ScriptedCall("other", {"resumeData": 1}), "Done.")
    agent = Agent(model, [waits(seen), other], auto_resume_suspended_tools=True)
    await agent.generate("Do it", thread_id="th")
    result = await agent.generate("?", thread_id="th")
    assert [r.output for r in result.results] == [{"resumeData": 1}]
    assert "resumeData" not in str(model.requests[1].tools[1])


async def test_without_the_option_the_members_are_the_tools_own():
    seen: list[Any] = []
    tool = create_tool(id="w", description="d", execute=lambda given: given)
    agent = Agent(ScriptedModel(resuming({"v": 5}), "Done."), [tool])
    result = await agent.generate("?")
    assert result.results[0].output == {"a": "x", "resumeData": {"v": 5}}
    assert seen == []


async def test_the_option_needs_a_thread():
    with pytest.raises(ValueError, match="^thread_id: expected the conversation's id"):
        Agent(ScriptedModel(), auto_resume_suspended_tools=True).stream("?")


@pytest.mark.parametrize("is_kept", [True, False])
async def test_the_task_of_a_call_that_another_one_resumed_ends(is_kept: bool):
    seen: list[Any] = []
    hooks = record_hooks()
    tool = hooks.watch(waits(seen, background={"enabled": True, "default_disposition": "awaited"}))
    manager = BackgroundManager()
    model = ScriptedModel(CALL, resuming({"v": 5}), "Done.")
    store = MemoryStore() if is_kept else None
    agent = Agent(model, [tool], auto_resume_suspended_tools=True, engine=manager, store=store)
    turn = agent.stream("Do it", thread_id="th")
    await turn
    (task,) = turn._run.tasks
    assert task.status == "suspended"
    result = await agent.generate("It is 5", thread_id="th")
    assert [(r.tool_call_id, r.output) for r in result.results] == [("c2", {"ok": 5})]
    state = await manager.engine.state(task.id)
    assert (task.status, state and state.status) == ("cancelled", "cancelled")
    (old,) = turn._run.results
    assert (old.status, old.output) == ("ok", {"resumedBy": "c2"})  # what the store says, and no error
    assert [event.tool_call_id for event in hooks.of("on_output")] == ["c2"]
    assert hooks.of("on_error") == []
