"""A thousand streams open at once in one event loop, and streams by the ten thousand: nothing mixed, nothing left."""

import asyncio
import contextlib
import gc
import json
import sys
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

from toolhead import InputStream, ToolheadError, ToolRunner, Validator, create_tool

AT_ONCE = 1_000
SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "text": {"type": "string"}, "rows": {"type": "array"}},
    "required": ["id"],
    "additionalProperties": False,
}


def value_of(number: int) -> dict[str, Any]:
    return {"id": number, "text": f"no. {number} é漢😀 " * (number % 7), "rows": [{"n": number}] * (number % 5)}


async def test_a_thousand_streams_open_at_once():
    validator = Validator(SCHEMA)
    everyone = asyncio.Barrier(AT_ONCE)

    async def read(number: int) -> Any:
        stream = validator.stream() if number % 2 else InputStream()
        text = json.dumps(value_of(number), ensure_ascii=number % 3 == 0).encode()
        at = 0
        for turn in range(len(text) // 5 + 1):
            if turn == 2:
                await everyone.wait()  # all are open now
            stream.push(text[at : at + 5])
            at += 5
            if turn % 3 == 0:
                await asyncio.sleep(0)
        stream.changes()
        return stream.finish()

    found = await asyncio.gather(*map(read, range(AT_ONCE)))
    assert found == list(map(value_of, range(AT_ONCE)))


async def test_a_thousand_runs_open_at_once():
    async def execute(input: dict[str, Any]) -> Any:
        return input["id"]

    tool = create_tool(id="t", description="Takes", input_schema=SCHEMA, execute=execute)
    runner = ToolRunner([tool])
    everyone = asyncio.Barrier(AT_ONCE)

    async def response(number: int) -> AsyncIterator[dict[str, Any]]:
        text = json.dumps(value_of(number))
        call: dict[str, Any] = {"index": 0, "id": f"c{number}", "function": {"name": "t", "arguments": text[:4]}}
        yield {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
        await everyone.wait()
        for at in range(4, len(text), 32):
            piece = {"index": 0, "function": {"arguments": text[at : at + 32]}}
            yield {"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]}
            await asyncio.sleep(0)
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}

    async def run(number: int) -> Any:
        chunks = [chunk async for chunk in runner.run().step(response(number), provider="openai-chat")]
        (result,) = [chunk for chunk in chunks if chunk.type == "tool-result"]
        return result.to_dict()["payload"]["result"]

    assert await asyncio.gather(*map(run, range(AT_ONCE))) == list(range(AT_ONCE))


def test_an_open_stream_is_small():
    validator = Validator(SCHEMA)
    text = '{"id": 1, "rows": [{"n": ['
    validator.stream().push(text)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        streams = [validator.stream() for _ in range(AT_ONCE)]
        for stream in streams:
            stream.push(text)
        each = (tracemalloc.get_traced_memory()[0] - before) / AT_ONCE
    finally:
        tracemalloc.stop()
    assert each < 4_000


def test_ten_thousand_streams_leave_nothing():
    validator = Validator(SCHEMA)
    texts = [
        json.dumps(value_of(6), ensure_ascii=False).encode(),
        b'{"id": 1, "text": "cut of',
        b'{"id": "wrong", "other": 1}',
        b'{"id": 1, "rows": [1, nope',
        b'{"rows": "[1, 2]", "id": 1}',
        b'"{\\"id\\": 1, \\"rows\\": [1, {\\"a',
    ]

    def run(count: int) -> None:
        for number in range(count):
            text = texts[number % len(texts)]
            stream = validator.stream(repair=("double-encoding", "trailing-commas")) if number % 2 else InputStream()
            for at in range(0, len(text), 9):
                stream.push(text[at : at + 9])
                if number % 3 == 0:
                    stream.changes()
            kept = stream.value, stream.snapshot(), stream.issues, stream.completed, stream.repairs
            with contextlib.suppress(ToolheadError):
                stream.finish()
            del kept

    run(600)
    gc.collect()
    objects, blocks = len(gc.get_objects()), sys.getallocatedblocks()
    run(10_000)
    gc.collect()
    assert len(gc.get_objects()) - objects < 10
    assert sys.getallocatedblocks() - blocks < 50
