"""Suspending and resuming a direct call."""

import logging

import pytest

from toolhead import (
    AgentToolExecutionContext,
    ToolSuspended,
    ValidationError,
    WorkflowToolExecutionContext,
    create_tool,
)
from toolhead.suspend import Suspension

PAYLOAD = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
ANSWER = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "by": {"type": "string", "default": "nobody"}},
    "required": ["approved"],
}
INPUT = {"type": "object", "properties": {"a": {"type": "integer"}, "d": {"type": "string", "default": "filled"}}}


def made(execute, **options):
    return create_tool(
        id="t", description="d", suspend_schema=PAYLOAD, resume_schema=ANSWER, execute=execute, **options
    )


events: list[str] = []


async def suspends(_, context):
    try:
        try:
            context.suspend({"message": "m"}, resume_label="L")
        except Exception:
            events.append("caught")
        events.append("went on")
    finally:
        events.append("finally")


async def suspends_in_the_namespace(_, context):
    return await context.agent.suspend({"message": "m"})


def suspends_in_a_thread(_, context):
    context.suspend({"message": "m"})


@pytest.fixture(autouse=True)
def _no_events():
    events.clear()


async def test_a_direct_call_raises_tool_suspended_and_the_body_ends_there():
    with pytest.raises(ToolSuspended) as raised:
        await made(suspends).execute(1)
    assert raised.value.payload == {"message": "m"}
    assert raised.value.options == {"resume_label": "L"}
    assert raised.value.tool_id == "t"
    assert events == ["finally"]
    assert raised.value.__cause__ is None


async def test_on_every_path():
    for execute, options in (
        (suspends, {}),
        (suspends, {"timeout": 5}),
        (suspends_in_a_thread, {}),
        (suspends_in_a_thread, {"run_sync_in": "inline"}),
        (suspends_in_a_thread, {"timeout": 5}),
    ):
        for context in (None, {}):
            with pytest.raises(ToolSuspended):
                await made(execute, **options).execute(1, context)
    with pytest.raises(ToolSuspended):
        await made(suspends_in_the_namespace).execute(1, AgentToolExecutionContext())
    for context in (None, {}):
        with pytest.raises(ToolSuspended):
            made(suspends_in_a_thread).execute_sync(1, context)
        with pytest.raises(ToolSuspended):
            made(suspends_in_a_thread, timeout=5).execute_sync(1, context)


@pytest.mark.parametrize("payload", [None, 0, "", False, {}, {"message": 1}])
async def test_an_invalid_payload_is_what_a_direct_call_returns(payload, caplog):
    async def body(_, context):
        context.suspend(payload)

    with caplog.at_level(logging.WARNING, "toolhead"):
        for context in (None, {}):
            result = await made(body).execute(1, context)
            assert isinstance(result, ValidationError)
            assert (result.phase, result.value) == ("suspend", payload)
    assert "suspend_schema" in caplog.text
    with pytest.raises(ValidationError):
        await made(body).execute_or_raise(1)


async def test_without_a_schema_any_payload_suspends():
    async def body(_, context):
        context.suspend()

    with pytest.raises(ToolSuspended) as raised:
        await create_tool(id="t", description="d", execute=body).execute(1)
    assert raised.value.payload is None


async def test_the_callers_own_suspend_is_called_first():
    calls = []

    def sync_suspend(payload, **options):
        calls.append((payload, options))

    async def async_suspend(payload, **options):
        calls.append((payload, options))

    for own in (sync_suspend, async_suspend):
        for context in (
            {"suspend": own},
            AgentToolExecutionContext(suspend=own),
            WorkflowToolExecutionContext(suspend=own),
        ):
            with pytest.raises(ToolSuspended):
                await made(suspends).execute(1, context)
    assert calls == [({"message": "m"}, {"resume_label": "L"})] * 6
    calls.clear()
    with pytest.raises(ToolSuspended):
        made(suspends_in_a_thread).execute_sync(1, {"suspend": sync_suspend})
    assert calls == [({"message": "m"}, {})]


async def test_what_the_callers_suspend_raises_propagates():
    def own(payload):
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        await made(suspends_in_a_thread).execute(1, {"suspend": own})


async def test_resume_data_is_validated_parsed_and_given_with_the_payload():
    seen = []

    async def body(value, context):
        seen.append((value, context.resume_data, context.suspend_payload, context.agent))
        return "done"

    tool = made(body, input_schema=INPUT)
    context = {"resume_data": {"approved": True}, "suspend_payload": {"message": "m"}, "agent": {}}
    assert await tool.execute({"a": 1}, context) == "done"
    value, data, payload, agent = seen[0]
    assert value == {"a": 1, "d": "filled"}
    assert data == {"approved": True, "by": "nobody"}
    assert payload == {"message": "m"}
    assert agent.resume_data is data


async def test_invalid_resume_data_has_its_own_first_line():
    result = await made(suspends).execute(1, {"resume_data": {"approved": "yes"}})
    assert result.phase == "resume"
    assert result.message.startswith("Tool resume data validation failed for t. Please fix")
    assert [issue.path for issue in result.issues] == [("approved",)]


async def test_resume_data_is_repaired_where_it_is_allowed():
    tool = create_tool(
        id="t", description="d", resume_schema={"type": "array"}, execute=lambda _, context: context.resume_data
    )
    assert await tool.execute(1, {"resume_data": "[1]"}) == [1]
    assert (await tool.replace(repair_input=False).execute(1, {"resume_data": "[1]"})).phase == "resume"


async def test_a_resumed_call_gets_its_input_validated():
    result = await made(suspends, input_schema=INPUT).execute({"a": "x"}, {"resume_data": {"approved": True}})
    assert result.phase == "input"


async def test_none_is_no_resume_data_and_false_is():
    tool = create_tool(
        id="t", description="d", resume_schema={"type": "boolean"}, execute=lambda _, context: context.resume_data
    )
    assert await tool.execute(1, {"resume_data": None}) is None
    assert await tool.execute(1, {"resume_data": False}) is False


async def test_a_nested_call_that_suspends_raises_in_the_outer_body():
    inner = made(suspends)

    async def outer(_):
        with pytest.raises(ToolSuspended):
            await inner.execute(1)
        return "went on"

    assert await create_tool(id="outer", description="d", execute=outer).execute(1) == "went on"


def test_a_suspension_is_no_exception():
    assert not issubclass(Suspension, Exception)
