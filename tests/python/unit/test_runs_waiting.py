"""Calls that wait for somebody: approval, suspension, tools without a body; one answer, one result."""

import asyncio
import json
from typing import Any

import pytest

from asking_source import Asks
from toolhead.errors import AlreadyResolvedError, NotSuspendedError, ToolSuspended, ValidationError
from toolhead.runs.runner import ToolRunner
from toolhead.runs.ui_stream import parts_of
from toolhead.tool import create_tool

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def call(index: int, name: str, args: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(args)}
    return {
        "choices": [{"index": 0, "delta": {"tool_calls": [{"index": index, "id": f"c{index}", "function": function}]}}]
    }


END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


async def taken(chunks: Any) -> list[Any]:
    return [chunk async for chunk in chunks]


def types(chunks: list[Any]) -> list[str]:
    return [chunk.type for chunk in chunks]


def counter(**options: Any) -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    async def execute(input: dict[str, Any]) -> dict[str, Any]:
        seen.append(input)
        return {"n": input["n"] + 1}

    tool = create_tool(
        **{"id": "count", "description": "Counts", "input_schema": NUMBER, "execute": execute, **options}
    )
    return tool, seen


async def asked(tool: Any, *numbers: int, **options: Any) -> tuple[Any, list[Any]]:
    run = ToolRunner([tool], **options).run()
    chunks = await taken(
        run.step([*(call(i, "count", {"n": n}) for i, n in enumerate(numbers)), END], provider="openai-chat")
    )
    return run, chunks


async def test_a_call_waits_for_approval_and_then_runs_once():
    available: list[Any] = []
    tool, seen = counter(require_approval=True, on_input_available=lambda event: available.append(event.input))
    run, chunks = await asked(tool, 1)
    assert types(chunks)[-1] == "tool-call-approval"
    payload = chunks[-1].to_dict()["payload"]
    assert payload["args"] == {"n": 1}
    assert json.loads(payload["resumeSchema"])["required"] == ["approved"]
    assert (run.status, seen, run.results) == ("waiting", [], ())
    (pending,) = run.pending
    assert (pending.kind, pending.args, pending.tool_call_id) == ("approval", {"n": 1}, "c0")
    with pytest.raises(RuntimeError, match="c0"):
        run.messages()
    with pytest.raises(RuntimeError, match="c0"):
        run.step([], provider="openai-chat")
    assert types(await taken(run.approve("c0"))) == ["tool-result", "step-finish"]
    assert (run.status, seen, available) == ("done", [{"n": 1}], [{"n": 1}])
    assert run.messages()[1]["content"] == '{"n": 2}'
    with pytest.raises(AlreadyResolvedError):
        run.approve("c0")


async def test_a_declined_call_never_runs_and_the_model_reads_the_reason():
    tool, seen = counter(require_approval=True)
    run, _ = await asked(tool, 1)
    chunks = await taken(run.decline("c0", "not today"))
    assert types(chunks) == ["tool-output-denied", "step-finish"]
    assert chunks[0].to_dict()["payload"] == {
        "toolCallId": "c0",
        "toolName": "count",
        "args": {"n": 1},
        "approval": {"id": "c0", "approved": False, "reason": "not today"},
    }
    assert seen == []
    assert run.messages()[1]["content"] == "not today"
    assert run.results[0].status == "denied"
    run, _ = await asked(tool, 1)
    await taken(run.decline("c0", "  "))
    assert "not approved" in run.messages()[1]["content"]


async def test_an_approval_holds_back_only_its_own_call():
    tool, seen = counter(require_approval=lambda given, _: given["n"] == 2)
    run, chunks = await asked(tool, 1, 2, 3)
    assert seen == [{"n": 1}, {"n": 3}]
    ends = [chunk.tool_call_id for chunk in chunks if chunk.type in ("tool-result", "tool-call-approval")]
    assert ends == ["c0", "c1", "c2"]
    assert [result.tool_call_id for result in run.results] == ["c0", "c2"]
    await taken(run.approve("c1"))
    assert [message["content"] for message in run.messages()[1:]] == ['{"n": 2}', '{"n": 3}', '{"n": 4}']


async def test_approval_is_asked_with_the_validated_input_and_never_for_an_invalid_one():
    asked_for: list[Any] = []

    def predicate(input: Any, context: Any) -> bool:
        asked_for.append((input, context.tool_call_id))
        return False

    schema = {**NUMBER, "properties": {"n": {"type": "integer"}, "m": {"default": 7}}}
    tool, _ = counter(require_approval=predicate, input_schema=schema)
    run = ToolRunner([tool]).run()
    await taken(run.step([call(0, "count", {"n": 1}), call(1, "count", {"n": "x"}), END], provider="openai-chat"))
    assert asked_for == [({"n": 1, "m": 7}, "c0")]
    assert [result.status for result in run.results] == ["ok", "invalid"]


@pytest.mark.parametrize(
    ("general", "own", "waits"),
    [
        (True, False, True),
        (None, True, True),
        (False, True, True),
        (lambda request: request.input["n"] > 0, False, True),
        (lambda request: request.tool_name == "other", False, False),
        (True, lambda *_: False, False),
        (lambda request: 1 / 0, False, True),
        (None, lambda *_: 1 / 0, True),
    ],
)
async def test_the_flags_add_up_and_a_tools_own_function_decides_alone(general: Any, own: Any, waits: bool):
    tool, _ = counter(require_approval=own)
    run, _ = await asked(tool, 1, require_approval=general)
    assert bool(run.pending) is waits


async def test_an_answer_counts_once_even_when_two_are_given_at_once():
    tool, seen = counter(require_approval=True)
    run, _ = await asked(tool, 1)
    first, second = run.approve("c0"), run.decline("c0")
    results = await asyncio.gather(taken(first), taken(second), return_exceptions=True)
    assert types(results[0]) == ["tool-result", "step-finish"]
    assert isinstance(results[1], AlreadyResolvedError)
    assert len(seen) == 1


async def test_wrong_answers_are_refused():
    tool, _ = counter(require_approval=True)
    run, _ = await asked(tool, 1)
    with pytest.raises(NotSuspendedError, match="no call 'x'"):
        run.approve("x")
    with pytest.raises(NotSuspendedError, match="approval"):
        run.resume("c0", {})
    with pytest.raises(NotSuspendedError):
        run.provide_result("c0", {})


def suspending(**options: Any) -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    async def execute(input: dict[str, Any], context: Any) -> dict[str, Any]:
        seen.append((input, context.resume_data, context.suspend_payload))
        if context.resume_data is None:
            context.suspend({"question": input["n"]}, resume_label="ask")
        return {"answer": context.resume_data["ok"]}

    resume = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    default = {
        "id": "count",
        "description": "Asks",
        "input_schema": NUMBER,
        "resume_schema": resume,
        "execute": execute,
    }
    return create_tool(**{**default, **options}), seen


async def test_a_body_suspends_and_runs_again_with_the_answer():
    suspended: list[Any] = []
    tool, seen = suspending(on_suspend=lambda event: suspended.append(event.payload))
    run, chunks = await asked(tool, 1)
    assert types(chunks)[-1] == "tool-call-suspended"
    payload = chunks[-1].to_dict()["payload"]
    assert payload["suspendPayload"] == {"question": 1}
    assert chunks[-1].to_dict()["metadata"]["toolhead"]["resumeLabel"] == "ask"
    assert json.loads(payload["resumeSchema"])["required"] == ["ok"]
    (pending,) = run.pending
    assert (pending.kind, pending.payload) == ("suspended", {"question": 1})
    assert types(await taken(run.resume("c0", {"ok": True}))) == ["tool-result", "step-finish"]
    assert seen == [({"n": 1}, None, None), ({"n": 1}, {"ok": True}, {"question": 1})]
    assert suspended == [{"question": 1}]
    assert run.results[0].output == {"answer": True}


async def test_resume_data_that_is_refused_leaves_the_call_suspended():
    tool, seen = suspending()
    run, _ = await asked(tool, 1)
    with pytest.raises(ValidationError) as caught:
        await taken(run.resume("c0", {"ok": "maybe"}))
    assert caught.value.phase == "resume"
    assert run.pending[0].kind == "suspended"
    assert len(seen) == 1
    await taken(run.resume("c0", {"ok": False}))
    assert run.results[0].output == {"answer": False}


async def test_two_suspensions_of_one_step_never_mix():
    tool, _ = suspending()
    run, _ = await asked(tool, 1, 2)
    assert [call.payload for call in run.pending] == [{"question": 1}, {"question": 2}]
    await asyncio.gather(taken(run.resume("c1", {"ok": False})), taken(run.resume("c0", {"ok": True})))
    assert [result.output for result in run.results] == [{"answer": True}, {"answer": False}]
    assert run.status == "done"


async def test_a_payload_that_its_schema_refuses_still_suspends(caplog: pytest.LogCaptureFixture):
    tool, _ = suspending(suspend_schema={"type": "object", "required": ["reason"]})
    run, chunks = await asked(tool, 1)
    assert chunks[-1].to_dict()["metadata"]["toolhead"]["error"]["error"] is True
    assert "suspend_schema" in caplog.text
    await taken(run.resume("c0", {"ok": True}))
    assert run.results[0].status == "ok"


async def test_approval_then_suspension_then_result():
    tool, seen = suspending(require_approval=True)
    run, _ = await asked(tool, 1)
    chunks = await taken(run.approve("c0"))
    assert types(chunks) == ["tool-call-suspended"]
    await taken(run.resume("c0", {"ok": True}))
    assert len(seen) == 2
    assert run.status == "done"


async def test_somebody_else_gives_the_result_of_a_tool_without_a_body():
    outputs: list[Any] = []
    tool = create_tool(
        id="count",
        description="Client",
        input_schema=NUMBER,
        output_schema=NUMBER,
        on_output=lambda e: outputs.append(e.output),
    )
    run, chunks = await asked(tool, 1)
    assert types(chunks)[-1] == "tool-call"
    assert run.pending[0].kind == "client"
    with pytest.raises(ValidationError):
        run.provide_result("c0", {"n": "x"})
    assert types(await taken(run.provide_result("c0", {"n": 5}))) == ["tool-result", "step-finish"]
    assert outputs == [{"n": 5}]
    assert run.results[0].output == {"n": 5}


SECRET = "s3cret"


async def test_a_display_with_transforms_never_sees_a_payload():
    async def execute(input: dict[str, Any], context: Any) -> Any:
        if input["n"] in (1, 4):
            return {"out": SECRET}
        if input["n"] == 2:
            raise ValueError(SECRET)
        if context.resume_data is None:
            context.suspend({"payload": SECRET})
        return {"out": SECRET}

    tool = create_tool(
        id="count",
        description="Hides",
        input_schema={**NUMBER, "properties": {"n": {"type": "integer", "maximum": 9}, "s": {"type": "string"}}},
        suspend_schema={"type": "object", "required": ["other"]},
        execute=execute,
        require_approval=lambda given, _: given["n"] == 4,
        transform={"display": {}, "transcript": {}},
        to_model_output=lambda output: {"type": "text", "value": output["out"]},
        show_data=True,
    )
    run = ToolRunner([tool]).run()
    calls = [call(i, "count", {"n": n, "s": SECRET}) for i, n in enumerate([1, 2, 3, 4, "x", 99])]
    repeated = {"type": "response.echo", "arguments": SECRET}
    chunks = await taken(run.step([*calls, repeated, END], provider="openai-chat"))
    chunks += await taken(run.resume("c2", {"r": SECRET}))
    pending = [call.to_dict() for call in run.pending]
    chunks += await taken(run.approve("c3"))
    shown = json.dumps([chunk.to_dict() for chunk in chunks])
    assert SECRET not in shown
    assert SECRET not in json.dumps(pending)
    assert SECRET not in json.dumps(run.transcript())
    assert SECRET not in json.dumps([chunk.to_dict(view="transcript") for chunk in chunks])
    assert SECRET not in json.dumps([part for chunk in chunks for part in parts_of(chunk)])
    assert SECRET in json.dumps([chunk.to_dict(view="raw") for chunk in chunks])
    assert SECRET in json.dumps(run.messages())


async def test_projections_are_what_the_callbacks_return_and_each_is_called_once():
    called: list[str] = []

    def note(phase: str, value: Any) -> Any:
        def callback(event: Any) -> Any:
            called.append(f"{event.target}.{event.phase}")
            return value

        return callback

    tool, _ = counter(
        transform={
            "display": {
                "input": note("input", {"n": "?"}),
                "input_delta": note("d", "*"),
                "output": note("output", {"seen": 1}),
            }
        }
    )
    run, chunks = await asked(tool, 1)
    payloads = {chunk.type: chunk.to_dict()["payload"] for chunk in chunks}
    assert payloads["tool-call-delta"]["argsTextDelta"] == "*"
    assert payloads["tool-call"]["args"] == {"n": "?"}
    assert payloads["tool-result"]["args"] == {"n": "?"}
    assert payloads["tool-result"]["result"] == {"seen": 1}
    assert sorted(called) == ["display.input", "display.input_delta", "display.output"]
    raw = next(chunk for chunk in chunks if chunk.type == "tool-result").to_dict(view="raw")
    assert raw["payload"]["result"] == {"n": 2}
    assert raw["metadata"]["mastra"]["toolPayloadTransform"]["display"] == {
        "input-available": {"transformed": {"n": "?"}},
        "output-available": {"transformed": {"seen": 1}},
    }
    assert run.transcript()[0]["parts"][0]["toolInvocation"]["result"] == {"n": 2}


async def test_each_suspension_of_a_call_is_shown_as_itself():
    async def execute(input: dict[str, Any], context: Any) -> Any:
        if context.resume_data != "enough":
            context.suspend({"asked": context.resume_data})
        return "well"

    shown: list[Any] = []

    def suspend(event: Any) -> Any:
        shown.append(event.suspend_payload)
        return {"shown": event.suspend_payload["asked"]}

    tool, _ = counter(execute=execute, transform={"display": {"suspend": suspend}})
    run, _ = await asked(tool, 1)
    for answer in ("first", "second"):
        (chunk,) = await taken(run.resume("c0", answer))
        assert chunk.to_dict()["payload"]["suspendPayload"] == {"shown": answer}
        assert run.pending[0].payload == {"shown": answer}
    await taken(run.resume("c0", "enough"))
    assert [payload["asked"] for payload in shown] == [None, "first", "second"]


async def test_the_policy_of_the_runner_is_asked_first():
    tool, _ = counter(transform={"display": {"output": lambda event: {"own": True}}})
    policy = lambda event: {"policy": True} if event.phase == "output" else None  # noqa: E731
    _, chunks = await asked(tool, 1, transform_policy=policy)
    result = next(chunk for chunk in chunks if chunk.type == "tool-result")
    assert result.to_dict()["payload"]["result"] == {"policy": True}


async def test_a_body_that_returns_anothers_refused_resume_data_has_failed_and_does_not_wait():
    inner = create_tool(id="inner", description="d", execute=lambda _: 1, resume_schema=NUMBER)

    async def execute(_: Any) -> Any:
        return await inner.execute({}, {"resume_data": {"n": "x"}})

    outer = create_tool(id="outer", description="d", execute=execute)
    run = ToolRunner([outer]).run()
    chunks = await taken(run.step([call(0, "outer", {}), END], provider="openai-chat"))
    assert types(chunks)[-2:] == ["tool-result", "step-finish"]
    assert (run.status, run.results[0].status) == ("done", "invalid")


async def test_a_check_of_a_result_from_outside_that_asks_is_told_and_the_call_stays_open():
    tool = create_tool(id="work", description="d", input_schema=True, output_schema=Asks())
    run = ToolRunner([tool]).run()
    function = {"name": "work", "arguments": "{}"}
    delta = {"tool_calls": [{"index": 0, "id": "c0", "function": function}]}
    await taken(
        run.step([{"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}], provider="openai-chat")
    )
    with pytest.raises(ToolSuspended) as caught:
        run.provide_result("c0", {"n": 1})
    assert (caught.value.payload, run.pending[0].kind) == ({"may": "I?"}, "client")
    await taken(run.provide_result("c0", {"n": 1}))
    assert run.results[0].output == {"n": 1}
