"""The chunks of a run as the AI SDK's UI message stream."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from toolhead.runs.chunks import Chunk
from toolhead.runs.runner import ToolRunner
from toolhead.runs.ui_stream import HEADERS, ui_stream
from toolhead.tool import create_tool

ARGS = {"customerId": "42", "internalPath": "/srv/x"}
OUTPUT = {"displayName": "Acme", "apiKey": "secret-value"}
SCHEMA = {
    "type": "object",
    "properties": {"customerId": {"type": "string"}, "internalPath": {"type": "string"}},
    "required": ["customerId", "internalPath"],
}


def pick(member: str, *keys: str) -> Any:
    return lambda event: {key: value for key, value in getattr(event, member).items() if key in keys}


def deltas(args: Any = ARGS) -> list[dict[str, Any]]:
    text = json.dumps(args, separators=(",", ":"))
    half = len(text) // 2

    def event(function: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        delta = {"tool_calls": [{"index": 0, "id": "c1", "function": function}]}
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    return [
        {"choices": [{"index": 0, "delta": {"content": "Let me look."}}]},
        event({"name": "cust", "arguments": text[:half]}),
        event({"arguments": text[half:]}, "tool_calls"),
    ]


async def parts(stream: Any, **options: Any) -> list[dict[str, Any]]:
    async def execute(input: dict[str, Any]) -> Any:
        return OUTPUT

    given = {"id": "lookup-customer", "description": "Looks up", "input_schema": SCHEMA, "execute": execute, **options}
    run = ToolRunner({"cust": create_tool(**given)}).run(run_id="r1")
    return [part async for part in ui_stream(run.step(stream, provider="openai-chat"))]


def of_tools(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [part for part in made if part["type"].startswith(("tool-", "data-"))]


async def test_a_call_is_shown_from_its_first_letter_to_its_output():
    made = await parts(deltas())
    assert [part["type"] for part in made] == [
        "start", "start-step", "text-start", "text-delta", "text-end", "tool-input-start", "tool-input-delta",
        "tool-input-delta", "tool-input-available", "tool-output-available", "finish-step", "finish",
    ]  # fmt: skip
    start, first, second, available, output = of_tools(made)
    assert start == {"type": "tool-input-start", "toolCallId": "c1", "toolName": "cust", "dynamic": False}
    assert json.loads(first["inputTextDelta"] + second["inputTextDelta"]) == ARGS
    assert available == {"type": "tool-input-available", "toolCallId": "c1", "toolName": "cust", "input": ARGS}
    assert output == {"type": "tool-output-available", "toolCallId": "c1", "output": OUTPUT}
    assert made[3] == {"type": "text-delta", "id": made[2]["id"], "delta": "Let me look."}


async def test_what_a_transform_hides_reaches_no_part():
    shown = {"input": pick("input", "customerId"), "output": pick("output", "displayName")}
    made = of_tools(await parts(deltas(), transform={"display": shown}))
    assert [part["type"] for part in made] == ["tool-input-start", "tool-input-available", "tool-output-available"]
    assert made[1]["input"] == {"customerId": "42"}
    assert made[2]["output"] == {"displayName": "Acme"}


async def test_a_delta_that_a_transform_passes_is_shown_as_it_says():
    upper = {"input_delta": lambda event: event.input_text_delta.upper()}
    made = of_tools(await parts(deltas(), transform={"display": upper}))
    assert [part["inputTextDelta"] for part in made[1:3]] == [
        part["inputTextDelta"].upper() for part in of_tools(await parts(deltas()))[1:3]
    ]


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (None, "db at 10.0.0.1"),
        ({"display": {"error": lambda event: {"message": "failed"}}}, '{"message":"failed"}'),
        ({"display": {"error": lambda event: "failed"}}, "failed"),
    ],
)
async def test_an_error_is_text(transform: Any, text: str):
    def execute(input: Any) -> Any:
        raise RuntimeError("db at 10.0.0.1")

    made = of_tools(await parts(deltas(), execute=execute, transform=transform))
    assert made[-1] == {"type": "tool-output-error", "toolCallId": "c1", "errorText": text}


async def test_an_invalid_call_is_an_output_that_says_why():
    made = of_tools(await parts(deltas({"customerId": "42"})))
    assert made[-1]["type"] == "tool-output-available"
    assert made[-1]["output"]["error"] is True


async def test_a_request_for_approval_and_a_suspension_are_shown():
    made = of_tools(
        await parts(deltas(), require_approval=True, transform={"display": {"approval": lambda event: {"ask": 1}}})
    )
    assert made[-2] == {"type": "tool-approval-request", "approvalId": "r1::c1", "toolCallId": "c1"}
    assert made[-1]["type"] == "data-tool-call-approval"
    assert made[-1]["id"] == "c1"
    assert made[-1]["data"]["args"] == {"ask": 1}
    assert made[-1]["data"]["resumeSchema"]["required"] == ["approved"]

    async def execute(input: Any, context: Any) -> Any:
        context.suspend({"message": "w", "token": "t"})

    made = of_tools(await parts(deltas(), execute=execute))
    assert made[-1] == {
        "type": "data-tool-call-suspended",
        "id": "c1",
        "data": {
            "state": "data-tool-call-suspended",
            "runId": "r1",
            "toolCallId": "c1",
            "toolName": "cust",
            "suspendPayload": {"message": "w", "token": "t"},
        },
    }


async def test_a_body_sends_parts_of_its_own():
    async def execute(input: Any, context: Any) -> Any:
        await context.writer.custom({"type": "data-note", "data": 1})
        await context.writer.custom({"type": "finish"})
        await context.writer.write({"half": True})
        return "done"

    made = await parts(deltas(), execute=execute)
    assert {"type": "data-note", "data": 1} in made
    assert [part["type"] for part in made].count("finish") == 1
    (partial,) = [part for part in made if part["type"] == "data-tool-output"]
    assert partial["data"]["output"] == {"half": True}


async def test_server_sent_events_end_with_their_mark_and_hide_what_failed():
    async def breaks() -> AsyncIterator[Chunk]:
        raise RuntimeError("secret")
        yield

    events: list[bytes] = []
    with pytest.raises(RuntimeError):
        await drained(ui_stream(breaks(), sse=True, message_id="m1"), events)
    assert events == [
        b'data: {"type": "start", "messageId": "m1"}\n\n',
        b'data: {"type": "error", "errorText": "The stream has failed."}\n\n',
    ]
    run = ToolRunner([]).run()
    events = [event async for event in ui_stream(run.step([], provider="openai-chat"), sse=True)]
    assert events[-2:] == [b'data: {"type": "finish"}\n\n', b"data: [DONE]\n\n"]
    assert HEADERS["x-vercel-ai-ui-message-stream"] == "v1"


async def drained(stream: AsyncIterator[bytes], into: list[bytes]) -> None:
    async for item in stream:
        into.append(item)  # noqa: PERF401  what came before a raise is what the test is about
