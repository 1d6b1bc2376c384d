"""The pieces that runs are made of: hooks, transforms, model output, approval, spans."""

import asyncio
import logging

import pytest

import toolhead
from toolhead import (
    AbortSignal,
    InputAvailableEvent,
    OutputEvent,
    ToolExecutionContext,
    ToolPayloadTransform,
    TransformPolicy,
    ValidationError,
    create_tool,
    model_output,
    project,
)
from toolhead.approval import ApprovalAnswer, answered, call_digest, needs_approval
from toolhead.call import Accepted, check_input, run
from toolhead.context import prepared_context
from toolhead.hooks import InputStartEvent, run_hook
from toolhead.model_output import checked_model_output, map_output
from toolhead.suspend import Suspension, suspend
from toolhead.transforms import PHASES, TargetTransform, wire_phase


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.WARNING, "toolhead")
    return caplog


# ---------------------------------------------------------------------------------------------- hooks


async def test_hooks_are_awaited_and_what_they_raise_is_logged(log):
    event = InputAvailableEvent(tool_call_id="c", abort_signal=AbortSignal(), input={"a": 1})
    seen = []

    async def later(given):
        await asyncio.sleep(0)
        seen.append(given)

    await run_hook("t", "on_input_available", seen.append, event)
    await run_hook("t", "on_input_available", later, event)
    await run_hook("t", "on_input_available", None, event)
    assert seen == [event, event]
    for raises in (lambda _: 1 / 0, lambda _: suspend({})):
        log.clear()
        await run_hook("t", "on_output", raises, event)
        assert "on_output of the tool 't'" in log.text


async def test_a_cancellation_passes_through_a_hook():
    def cancelled(_):
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await run_hook("t", "on_output", cancelled, None)


def test_events_are_frozen_and_typed():
    event = OutputEvent(tool_call_id="c", abort_signal=AbortSignal(), tool_name="n", output=1)
    with pytest.raises(AttributeError):
        event.output = 2
    assert not hasattr(event, "messages")
    assert InputStartEvent(tool_call_id="c", abort_signal=AbortSignal()).messages == ()
    with pytest.raises(TypeError):
        InputStartEvent(tool_call_id="c", abort_signal=AbortSignal(), nonsense=1)


# ----------------------------------------------------------------------------------------- transforms


async def test_nothing_configured_means_the_payload_as_it_is():
    for transform in (None, ToolPayloadTransform(), ToolPayloadTransform(transcript=TargetTransform())):
        assert await project(transform, "display", "input", {"input": 1}) is None


@pytest.mark.parametrize("phase", PHASES)
async def test_a_configured_target_hides_by_default(phase, log):
    def raises(event):
        raise LookupError("secret")

    for callback, failed in ((None, False), (lambda event: None, False), (raises, True)):
        transform = ToolPayloadTransform(display=TargetTransform(**{phase: callback}))
        shown = await project(transform, "display", phase, {"input": "secret"}, tool_name="n")
        assert shown.is_hidden
        assert shown.failed is failed
        assert "secret" not in str(shown.to_dict())
        assert shown.to_dict().get("failed", False) is failed
        assert ("suppress" in shown.to_dict()) is (phase == "input_delta")
    assert f"the display transform of 'n' raised for {phase}" in log.text


@pytest.mark.parametrize("value", [{"p": 1}, "", False, 0, []])
async def test_what_a_callback_returns_is_shown(value):
    async def later(event):
        return value

    for callback in (lambda event: value, later):
        shown = await project(ToolPayloadTransform(display=TargetTransform(output=callback)), "display", "output", {})
        assert (shown.value, shown.is_hidden, shown.to_dict()) == (value, False, {"transformed": value})


async def test_a_callback_gets_one_typed_event_with_a_copy():
    payload = {"input": {"a": [1]}, "output": {"b": 2}}
    seen = []

    def callback(event):
        seen.append(event)
        event.input["a"].append("changed")
        return event.output

    transform = ToolPayloadTransform(transcript=TargetTransform(output=callback))
    await project(transform, "transcript", "output", payload, tool_name="n", tool_call_id="c")
    assert (seen[0].target, seen[0].phase, seen[0].tool_name, seen[0].tool_call_id) == (
        "transcript",
        "output",
        "n",
        "c",
    )
    assert seen[0].error is None
    assert payload == {"input": {"a": [1]}, "output": {"b": 2}}


async def test_a_policy_is_asked_first():
    tool_transform = ToolPayloadTransform(display=TargetTransform(output=lambda event: "tool"))

    def raises(event):
        raise LookupError

    async def shown(policy, target="display"):
        result = await project(tool_transform, target, "output", {}, policy=policy)
        return result and result.value

    assert await shown(TransformPolicy(lambda event: "policy")) == "policy"
    assert await shown(TransformPolicy(lambda event: None)) == "tool"
    assert "not shown" in (await shown(TransformPolicy(raises)))["message"]
    assert await shown(TransformPolicy(lambda event: "policy", ("transcript",))) == "tool"
    assert await shown(TransformPolicy(lambda event: "policy", ("display",)), "transcript") is None


async def test_unknown_targets_and_phases():
    with pytest.raises(ValueError, match="target"):
        await project(None, "screen", "input", {})
    with pytest.raises(ValueError, match="phase"):
        await project(None, "display", "inputs", {})
    assert [wire_phase(phase) for phase in PHASES[:3]] == ["input-available", "input-delta", "output-available"]


# --------------------------------------------------------------------------------------- model output


def test_helpers_make_the_three_shapes():
    parts = model_output.content(
        "hello",
        model_output.image_url("https://x/a.png"),
        model_output.image_data(b"abc", "image/png"),
        model_output.file_url("https://x/a.pdf"),
        model_output.file_data("YWJj", filename="a"),
        model_output.file_id("f"),
        model_output.image_file_id("i"),
        model_output.custom(providerOptions={"x": 1}),
    )
    for output in (parts, model_output.text("x"), model_output.json({"a": None})):
        assert checked_model_output(output) is output
    assert parts["value"][0] == {"type": "text", "text": "hello"}
    assert parts["value"][2] == {"type": "image-data", "data": "YWJj", "mediaType": "image/png"}
    assert parts["value"][4]["filename"] == "a"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("bare", "expected {'type'"),
        ([1], "got list"),
        ({"type": "weird", "value": 1}, "type: expected"),
        ({"type": "text"}, "value: is missing"),
        ({"type": "text", "value": 5}, "value: expected a string"),
        ({"type": "content", "value": "x"}, "value: expected a list"),
        ({"type": "content", "value": [1]}, "value.0: expected a part"),
        ({"type": "content", "value": [{"type": "text"}]}, "value.0.text: expected"),
    ],
)
async def test_wrong_shapes_are_logged_and_the_raw_output_is_used(output, text, log):
    with pytest.raises(ValueError, match=text):
        checked_model_output(output)
    assert await map_output("t", lambda _: output, 1) is None
    assert "to_model_output of the tool 't'" in log.text


async def test_mapping(log):
    async def later(output):
        return model_output.text(str(output))

    assert await map_output("t", later, 0) == {"type": "text", "value": "0"}
    assert await map_output("t", None, 1) is None
    assert await map_output("t", lambda _: None, 1) is None
    assert await map_output("t", later, None) is None
    assert log.text == ""
    assert await map_output("t", lambda _: 1 / 0, 1) is None
    assert "ZeroDivisionError" in log.text


# ------------------------------------------------------------------------------------------- approval


async def test_needs_approval(log):
    context = ToolExecutionContext()
    seen = []

    async def later(value, given):
        return seen.append((value, given)) or []

    assert await needs_approval("t", True, {}, context) is True
    assert await needs_approval("t", False, {}, context) is False
    assert await needs_approval("t", lambda value, _: value, 1, context) is True
    assert await needs_approval("t", later, {"a": 1}, context) is False
    assert seen == [({"a": 1}, context)]
    assert await needs_approval("t", lambda value, _: 1 / 0, 1, context) is True
    assert "require_approval of the tool 't' raised" in log.text
    with pytest.raises(Suspension):
        await needs_approval("t", lambda value, given: given.suspend(1), 1, context)


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        ({"approved": True}, ApprovalAnswer(True)),
        ({"approved": False, "reason": "no"}, ApprovalAnswer(False, "no")),
        ({"approved": False, "reason": " "}, ApprovalAnswer(False)),
        ({"approved": False, "declineContext": {"reason": "deep"}}, ApprovalAnswer(False, "deep")),
        ({"approved": "true"}, None),
        ({"approved": 1}, None),
        ({}, None),
        (None, None),
        (True, None),
    ],
)
def test_answers(data, answer):
    assert answered(data) == answer


def test_a_digest_is_bound_to_tool_id_and_arguments():
    one = call_digest("t", "c", {"a": 1, "b": 2})
    assert one == call_digest("t", "c", {"b": 2, "a": 1})
    assert len({one, call_digest("u", "c", {"a": 1, "b": 2}), call_digest("t", "d", {"a": 1, "b": 2})}) == 3
    assert one != call_digest("t", "c", {"a": 1, "b": 3})


# ----------------------------------------------------------------------------------- the steps of a call


async def test_the_steps_that_a_run_takes():
    async def body(value, context):
        if value["a"] == 2:
            context.suspend({"why": 1})
        return value["a"]

    tool = create_tool(
        id="t",
        description="d",
        input_schema={"type": "object", "properties": {"a": {"type": "integer"}, "n": {"type": "string"}}},
        suspend_schema={"type": "string"},
        execute=body,
    )
    assert isinstance(check_input(tool, {"a": "x"}), ValidationError)
    accepted = check_input(tool, '{"a": 1, "n": null}', is_text=True)
    assert isinstance(accepted, Accepted)
    assert accepted.value == {"a": 1}
    assert len(accepted.repairs) == 1
    assert await run(tool, accepted.value, prepared_context(None)) == 1
    with pytest.raises(Suspension) as raised:
        await run(tool, {"a": 2}, prepared_context({}))
    assert raised.value.payload == {"why": 1}
    assert raised.value.error.phase == "suspend"


async def test_a_body_left_behind_is_told():
    import threading

    leave = threading.Event()
    tool = create_tool(id="t", description="d", execute=lambda _: leave.wait(5), timeout=0.01, grace=0)
    left = []
    with pytest.raises(toolhead.ToolTimeoutError):
        await run(tool, 1, prepared_context(None), left_behind=left.append)
    assert len(left) == 1
    assert not left[0].done()
    leave.set()
    assert await asyncio.wait_for(left[0], 2) is True


# --------------------------------------------------------------------------------------------- observe


async def test_spans_with_the_real_sdk():
    trace_sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import trace
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from toolhead.observe import is_configured

    assert not is_configured()
    exporter = InMemorySpanExporter()
    provider = trace_sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace._set_tracer_provider(provider, log=False)
    try:
        assert is_configured()

        async def body(value, context):
            with context.observe.span("inner", kind="x", skipped=object()) as span:
                span.set_attributes(more=1)
                context.observe.log("warn", "careful", secret=value)
            if value == "fail":
                raise LookupError("gone")
            return "result"

        tool = create_tool(id="traced", description="d", execute=body)
        assert await tool.execute("argument") == "result"
        assert await tool.execute("argument", {"tool_call_id": "c1"}) == "result"
        with pytest.raises(LookupError):
            await tool.execute("fail")
        assert create_tool(id="s", description="d", execute=len).execute_sync("ab") == 2
    finally:
        trace._TRACER_PROVIDER_SET_ONCE._done = False
        trace._TRACER_PROVIDER = None
    spans = exporter.get_finished_spans()
    inner, outer = spans[:2]
    assert (inner.name, outer.name) == ("inner", "execute_tool traced")
    assert inner.parent.span_id == outer.context.span_id
    assert dict(inner.attributes) == {"kind": "x", "skipped": "<object>", "more": 1}
    assert inner.events[0].name == "careful"
    assert outer.attributes["gen_ai.operation.name"] == "execute_tool"
    assert outer.attributes["gen_ai.tool.name"] == "traced"
    assert "gen_ai.tool.call.id" not in outer.attributes
    assert spans[3].attributes["gen_ai.tool.call.id"] == "c1"
    assert not spans[5].status.is_ok
    assert spans[6].name == "execute_tool s"
    assert not any("argument" in str(value) or "result" in str(value) for value in outer.attributes.values())
