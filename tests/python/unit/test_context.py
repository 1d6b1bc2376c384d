"""What a body finds in its context, and how the request context travels."""

import asyncio
import contextvars
import gc
import threading

import pytest

from toolhead import (
    AbortController,
    AbortSignal,
    AgentToolExecutionContext,
    MCPToolExecutionContext,
    RequestContext,
    ToolAbortedError,
    ToolExecutionContext,
    ValidationError,
    WorkflowToolExecutionContext,
    create_tool,
)

MEMBERS = [
    "request_context",
    "abort_signal",
    "agent",
    "workflow",
    "mcp",
    "observe",
    "writer",
    "tool_call_id",
    "repairs",
    "suspend",
    "resume_data",
    "suspend_payload",
    "idempotency_key",
]


async def context_of(given=None, **options):
    seen = []

    async def body(_, context):
        seen.append(context)

    await create_tool(id="t", description="d", execute=body, **options).execute(1, given)
    return seen[0]


async def test_all_members_are_there_and_usable_in_a_direct_call():
    context = await context_of()
    assert isinstance(context, ToolExecutionContext)
    for member in MEMBERS:
        getattr(context, member)
    assert context.agent is context.workflow is context.mcp is context.tool_call_id is None
    assert context.repairs == ()
    assert isinstance(context.request_context, RequestContext)
    assert isinstance(context.abort_signal, AbortSignal)
    assert context.request_context is context.request_context
    assert context.abort_signal is context.abort_signal
    assert await context.writer.write({"x": 1}) is None
    with context.observe.span("s", a=1) as span:
        span.set_attributes(b=2)
    async with context.observe.span("s"):
        context.observe.log("info", "m", x=1)
    with pytest.raises(ValueError, match="level"):
        context.observe.log("loud", "m")


async def test_contexts_of_all_forms():
    agent = AgentToolExecutionContext(agent_id="a", tool_call_id="c1", messages=[1], thread_id="th")
    for given in (
        ToolExecutionContext(agent=agent),
        agent,
        {"agent": agent},
        {"agent": {"agent_id": "a", "tool_call_id": "c1", "messages": [1], "thread_id": "th"}},
        {"agent_id": "a", "tool_call_id": "c1", "messages": [1], "thread_id": "th"},
    ):
        context = await context_of(given)
        assert context.agent.agent_id == "a"
        assert context.agent.thread_id == "th"
        assert context.agent.tool_call_id == context.tool_call_id == "c1"
        assert context.agent.suspend is context.suspend
        assert context.workflow is None
    workflow = await context_of({"workflow_id": "w", "run_id": "r", "state": {"x": 1}})
    assert (workflow.workflow.workflow_id, workflow.workflow.state) == ("w", {"x": 1})
    assert await workflow.workflow.set_state({}) is None
    assert (await context_of(WorkflowToolExecutionContext(run_id="r"))).workflow.run_id == "r"
    mcp = (await context_of(MCPToolExecutionContext(request_id=5))).mcp
    assert mcp.request_id == 5
    assert await mcp.progress(1, 2) is None
    with pytest.raises(RuntimeError, match="no MCP client"):
        await mcp.elicit("?")


async def test_a_call_id_without_messages_is_not_an_agents():
    context = await context_of({"tool_call_id": "c1"})
    assert context.agent is None
    assert context.tool_call_id == "c1"


async def test_flat_members_without_their_namespace_have_no_place():
    context = await context_of({"tool_call_id": "c1", "agent_id": "a", "background": {"task_id": "t"}})
    assert (context.agent, context.workflow, context.tool_call_id) == (None, None, "c1")
    context = await context_of({"tool_call_id": "c1", "messages": [], "workflow_id": "w", "is_background_task": True})
    assert context.agent.is_background_task
    assert context.workflow is None


async def test_members_at_the_top_and_in_a_namespace_are_the_same():
    data, payload = {"approved": True}, {"p": 1}
    for given in (
        {"agent": {"resume_data": data, "suspend_payload": payload}},
        {"workflow": {"resume_data": data, "suspend_payload": payload}},
        {"resume_data": data, "suspend_payload": payload, "agent": {}, "workflow": {}},
    ):
        context = await context_of(given)
        assert context.resume_data is data
        assert context.suspend_payload is payload
        for namespace in (context.agent, context.workflow):
            if namespace is not None:
                assert namespace.resume_data is data
                assert namespace.suspend_payload is payload


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (5, "context: expected a ToolExecutionContext"),
        ({"nonsense": 1}, "context: unknown member 'nonsense'"),
        ({"runtime_context": 1}, "unknown member 'runtime_context'"),
        ({"agent": 5}, "context.agent: expected"),
        ({"agent": {"nonsense": 1}}, "context.agent: unknown member 'nonsense'"),
        ({"request_context": 5}, "context.request_context: expected"),
        ({"abort_signal": 5}, "context.abort_signal: expected"),
    ],
)
async def test_a_wrong_context_is_named(given, text):
    with pytest.raises(TypeError, match=text):
        await context_of(given)


def test_a_context_is_frozen_and_refuses_unknown_members():
    with pytest.raises(AttributeError):
        ToolExecutionContext().tool_call_id = "x"
    with pytest.raises(TypeError):
        ToolExecutionContext(nonsense=1)
    with pytest.raises(AttributeError):
        AgentToolExecutionContext().agent_id = "x"
    assert repr(ToolExecutionContext(tool_call_id="c")) == "ToolExecutionContext(tool_call_id='c')"


# ------------------------------------------------------------------------------------- request context


async def test_without_a_schema_the_body_sees_the_very_request_context():
    given = RequestContext({"k": 1})
    assert (await context_of({"request_context": given})).request_context is given
    assert (await context_of({"request_context": {"k": 1}})).request_context["k"] == 1


async def test_nested_calls_inherit_the_request_context():
    seen = []

    async def inner(_, context):
        seen.append(context.request_context)

    inner_tool = create_tool(id="inner", description="d", execute=inner)

    async def outer(_, context):
        await inner_tool.execute(1)
        await inner_tool.execute(1, {"request_context": RequestContext({"other": 1})})
        await inner_tool.execute(1, {"tool_call_id": "x"})

    outer_tool = create_tool(id="outer", description="d", execute=outer)
    given = RequestContext({"user": "u"})
    await outer_tool.execute(1, {"request_context": given})
    assert seen[0] is given
    assert seen[1].all == {"other": 1}
    assert seen[2] is given


async def test_a_request_context_that_a_body_begins_is_inherited_and_ends_with_the_call():
    seen = []

    async def inner(_, context):
        seen.append(context.request_context.get("k"))

    inner_tool = create_tool(id="inner", description="d", execute=inner)

    async def outer(_, context):
        context.request_context.set("k", 5)
        await inner_tool.execute(1)

    await create_tool(id="outer", description="d", execute=outer).execute(1)
    await inner_tool.execute(1)
    assert seen == [5, None]


async def test_request_contexts_are_isolated_between_concurrent_calls():
    async def body(value, context):
        context.request_context.set("n", value)
        await asyncio.sleep(0)
        return context.request_context["n"]

    def sync_body(value, context):
        context.request_context.set("n", value)
        return context.request_context["n"]

    for execute in (body, sync_body):
        tool = create_tool(id="t", description="d", execute=execute)
        assert await asyncio.gather(*(tool.execute(n) for n in range(50))) == list(range(50))


def test_request_contexts_are_isolated_between_threads():
    tool = create_tool(id="t", description="d", execute=lambda _, context: len(context.request_context))

    def work():
        results.append(tool.execute_sync(1, {"request_context": {"a": 1}}))
        results.append(tool.execute_sync(1))

    results: list[int] = []
    threads = [threading.Thread(target=contextvars.copy_context().run, args=(work,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0] * 8 + [1] * 8


async def test_a_context_made_by_a_user_leaves_no_request_context_behind():
    ToolExecutionContext().request_context.set("leak", 1)
    assert (await context_of()).request_context.all == {}


SCHEMA = {
    "type": "object",
    "properties": {"tier": {"enum": ["free", "pro"], "default": "free"}},
}


async def test_with_a_schema_the_body_sees_validated_values_written_through():
    source = RequestContext({"x": 1})

    async def body(_, context):
        view = context.request_context
        assert view.all == {"x": 1, "tier": "free"}
        view.set("tier", "pro")
        view["y"] = 2
        with pytest.raises(ValidationError, match="Request context validation failed for t"):
            view.set("tier", "gold")
        assert view["tier"] == "pro"
        assert view.delete("x") is True
        assert view.delete("x") is False
        return view

    tool = create_tool(id="t", description="d", execute=body, request_context_schema=SCHEMA)
    view = await tool.execute(1, {"request_context": source})
    assert not isinstance(view, ValidationError)
    assert view is not source
    assert source.all == {"tier": "pro", "y": 2}
    view.clear()
    assert source.all == {}


async def test_values_that_are_no_data_are_the_applications_own_where_they_are_not_declared():
    client, seen = object(), []

    def body(_, context):
        seen.append((context.request_context["client"], context.request_context["tier"]))
        context.request_context["more"] = 1
        context.request_context["client"] = print

    schema = {"type": "object", "properties": {"tier": {"type": "string", "default": "free"}}}
    source = RequestContext({"client": client, "broken": float("nan")})
    tool = create_tool(id="t", description="d", execute=body, request_context_schema=schema)
    assert await tool.execute({}, {"request_context": source}) is None
    assert seen == [(client, "free")]
    assert (source["more"], source["client"]) == (1, print)
    for refused in (
        {"type": "object", "properties": {"client": {"type": "object"}}},
        {"type": "object", "additionalProperties": False},
        {"type": "object", "additionalProperties": {"type": "string"}},
    ):
        error = await tool.replace(request_context_schema=refused).execute({}, {"request_context": {"client": client}})
        assert isinstance(error, ValidationError)
        assert error.phase == "request_context"


async def test_the_request_context_is_checked_after_the_input_and_before_the_resume_data():
    tool = create_tool(
        id="t",
        description="d",
        input_schema={"type": "object"},
        resume_schema={"type": "boolean"},
        request_context_schema=SCHEMA,
        execute=lambda _: 1,
        run_sync_in="inline",
    )
    wrong = {"request_context": {"tier": "gold"}, "resume_data": "no"}
    assert (await tool.execute(5, wrong)).phase == "input"
    assert (await tool.execute({}, wrong)).phase == "request_context"
    assert (await tool.execute({}, {**wrong, "request_context": {}})).phase == "resume"
    assert tool.execute_sync({}, wrong).phase == "request_context"
    assert await tool.execute({}, {"resume_data": False}) == 1


def test_request_context_is_an_ordered_mapping():
    context = RequestContext([("a", 1), ("b", 2)])
    context.set("a", 3)
    context["c"] = 4
    assert list(context.items()) == [("a", 3), ("b", 2), ("c", 4)]
    assert context == {"a": 3, "b": 2, "c": 4}
    assert context.all is not context.all
    assert context.has("a")
    assert "z" not in context
    with pytest.raises(TypeError, match="must be a string"):
        context.set(1, 2)
    with pytest.raises(TypeError, match="must be a string"):
        RequestContext({1: 2})
    assert "3" not in repr(context)


def test_request_context_to_json_leaves_out_what_is_no_data():
    import datetime as dt

    one, other = RequestContext(), RequestContext({"v": 1})
    one.set("other", other)
    other.set("one", one)
    cyclic: list[object] = []
    cyclic.append(cyclic)
    context = RequestContext(
        {"n": None, "d": dt.date(2026, 1, 2), "f": len, "c": cyclic, "o": one, "k": RequestContext({"x": 1})}
    )
    assert context.to_json() == {"n": None, "d": "2026-01-02", "k": {"x": 1}}


# ---------------------------------------------------------------------------------------------- abort


async def test_abort_signal():
    controller = AbortController()
    signal = controller.signal
    called = []
    remove = signal.add_callback(lambda: called.append("removed"))
    remove()
    signal.add_callback(lambda: called.append(1))
    signal.add_callback(lambda: 1 / 0)
    signal.raise_if_aborted()
    waiter = asyncio.create_task(signal.wait())
    await asyncio.sleep(0)
    reason = LookupError("why")
    threading.Thread(target=controller.abort, args=(reason,)).start()
    assert await asyncio.wait_for(waiter, 2) is reason
    controller.abort("again")
    assert signal.reason is reason
    assert signal.aborted
    with pytest.raises(ToolAbortedError, match="why") as raised:
        signal.raise_if_aborted()
    assert raised.value.__cause__ is reason
    signal.add_callback(lambda: called.append(2))
    assert called == [1, 2]
    assert await signal.wait() is reason


async def test_a_waiter_that_is_cancelled_lets_go_of_the_signal():
    signal = AbortController().signal
    waiter = asyncio.create_task(signal.wait())
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)
    assert signal._callbacks == []


def test_contexts_are_collected():
    class Node:
        pass

    import weakref

    node = Node()
    gone = weakref.ref(node)
    node.context = ToolExecutionContext(agent=AgentToolExecutionContext(messages=[node]), resume_data=node)
    del node
    gc.collect()
    assert gone() is None
