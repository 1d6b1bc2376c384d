"""A run tells of arguments that can no longer become valid at the byte that made them so; it answers early if asked."""

import json
from typing import Any

from toolhead.runs.chunks import Chunk
from toolhead.runs.runner import ToolRunner
from toolhead.tool import create_tool

BOOKING = {
    "type": "object",
    "properties": {"days": {"type": "integer", "maximum": 30}, "note": {"type": "string"}},
    "required": ["days"],
    "additionalProperties": False,
}
TEXT = '{"days": 45, "note": "' + "a long note " * 20 + '"}'


def booking(**options: Any) -> Any:
    async def execute(input: dict[str, Any]) -> dict[str, Any]:
        return input

    return create_tool(id="book", description="Books", input_schema=BOOKING, execute=execute, **options)


def deltas(text: str, size: int) -> list[dict[str, Any]]:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    calls = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    calls[0] = {"index": 0, "id": "c1", "function": {"name": "book", "arguments": pieces[0]}}
    return [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]


END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


async def collect(runner: ToolRunner, items: list[Any]) -> list[Chunk]:
    return [chunk async for chunk in runner.run().step(items, provider="openai-chat")]


def types(chunks: list[Chunk]) -> list[str]:
    return [chunk.type for chunk in chunks if chunk.type != "raw"]


async def test_stream_of_a_run_tells_the_byte_that_made_a_call_impossible() -> None:
    chunks = await collect(ToolRunner([booking()]), [*deltas(TEXT, 4), END])
    rejected = [chunk for chunk in chunks if chunk.type == "tool-input-rejected"]
    assert len(rejected) == 1
    assert rejected[0].offset == TEXT.index(",")
    assert [dict(issue) for issue in rejected[0].issues] == [
        {"pointer": "/days", "keyword": "maximum", "message": "Expected at most 30"}
    ]
    # It came with the delta that holds the byte, long before the end of the text.
    told = types(chunks)
    assert told[: told.index("tool-input-rejected")].count("tool-call-delta") == TEXT.index(",") // 4 + 1
    assert told[-2] == "tool-error" or told[-2] == "tool-result"


async def test_stream_of_a_run_is_answered_early_where_asked() -> None:
    stopped = await collect(ToolRunner([booking()], reject_early=True), deltas(TEXT, 4)[:6])
    told = types(stopped)
    assert "tool-input-rejected" in told
    assert "tool-result" in told or "tool-error" in told


async def test_stream_of_a_valid_call_is_never_told_to_be_impossible() -> None:
    text = json.dumps({"days": 3, "note": "x"})
    chunks = await collect(ToolRunner([booking()], reject_early=True), [*deltas(text, 1), END])
    assert "tool-input-rejected" not in types(chunks)
    assert types(chunks)[-2] == "tool-result"


async def test_stream_that_repair_may_mend_is_not_told_to_be_impossible() -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "array"}}}

    async def execute(input: dict[str, Any]) -> Any:
        return input["rows"]

    tool = create_tool(id="book", description="Books", input_schema=schema, execute=execute)
    chunks = await collect(ToolRunner([tool], reject_early=True), [*deltas('{"rows": "[1]"}', 3), END])
    assert "tool-input-rejected" not in types(chunks)
    assert chunks[-2].to_dict()["payload"]["result"] == [1]


async def test_stream_that_repair_may_mend_in_a_branch_is_not_told_to_be_impossible() -> None:
    rows = {"type": "object", "properties": {"rows": {"type": "array"}}}
    count = {"type": "object", "properties": {"count": {"maximum": 3}, "rows": False}}

    async def execute(input: dict[str, Any]) -> Any:
        return input["rows"]

    tool = create_tool(id="book", description="Books", input_schema={"anyOf": [rows, count]}, execute=execute)
    chunks = await collect(ToolRunner([tool], reject_early=True), [*deltas('{"rows": "[1]", "count": 9}', 3), END])
    assert "tool-input-rejected" not in types(chunks)
