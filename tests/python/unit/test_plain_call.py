"""A plain call stays plain: no Python frame but the body's, no helper task, thread, span or context variable, and next
to nothing allocated."""

import asyncio
import contextvars
import gc
import sys
import threading
import tracemalloc
from typing import Any

import pytest

from toolhead import create_tool

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
VALUE = {"a": 1, "b": "x"}
TEXT = '{"a": 1, "b": "x"}'


async def asynchronous(input: Any) -> Any:
    return input


async def with_context(input: Any, context: Any) -> Any:
    return input


def synchronous(input: Any) -> Any:
    return input


def made(execute: Any, **options: Any) -> Any:
    given = {"id": "t", "description": "d", "input_schema": SCHEMA, "output_schema": SCHEMA, "execute": execute}
    return create_tool(**given, **options)


BODIES = {
    "asynchronous": made(asynchronous),
    "with_context": made(with_context),
    "synchronous": made(synchronous, run_sync_in="inline"),
}
CALLS = {
    "dict": lambda tool: tool.execute(VALUE),
    "text": lambda tool: tool.execute_json(TEXT),
    "bytes": lambda tool: tool.execute_json(TEXT.encode()),
}


@pytest.fixture(params=[(body, call) for body in BODIES for call in CALLS], ids="-".join)
def plain(request: pytest.FixtureRequest) -> tuple[str, Any]:
    body, call = request.param
    return body, lambda: CALLS[call](BODIES[body])


async def test_no_python_frame_but_the_bodys_and_no_c_function_of_another_module(plain: tuple[str, Any]):
    body, call = plain
    assert await call() == VALUE
    pending = call()
    events = []
    sys.setprofile(lambda frame, event, arg: events.append((event, frame.f_code.co_name, arg)))
    try:
        await pending
    finally:
        sys.setprofile(None)
    assert [name for event, name, _ in events if event == "call"] == [body]
    assert [arg.__name__ for event, _, arg in events if event == "c_call"] == ["setprofile"]


async def test_no_task_thread_or_context_variable(plain: tuple[str, Any]):
    _, call = plain
    before = asyncio.all_tasks(), threading.active_count(), dict(contextvars.copy_context())
    pending = call()
    assert pending.__await__() is not None
    # Whatever would be scheduled would need the loop; the call ends without going back to it.
    with pytest.raises(StopIteration) as ended:
        pending.send(None)
    assert ended.value.value == VALUE
    assert (asyncio.all_tasks(), threading.active_count(), dict(contextvars.copy_context())) == before


async def test_nothing_stays_allocated_and_little_is_at_any_time(plain: tuple[str, Any]):
    _, call = plain
    gc.collect()
    gc.disable()
    try:
        # Behind the collector, which empties the interpreter's lists of spare objects.
        for _ in range(200):
            await call()
        blocks = sys.getallocatedblocks()
        for _ in range(1_000):
            await call()
        left = sys.getallocatedblocks() - blocks
        tracemalloc.start()
        try:
            await call()  # what tracing itself keeps is there now
            begin, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            await call()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    finally:
        gc.enable()
    assert left <= 10
    assert peak - begin <= 600, "bytes: the coroutine, its frame, the value and the call"


async def test_the_blocks_that_a_call_holds_while_its_body_runs():
    counts: dict[str, int] = {}

    async def measuring(input: Any) -> Any:
        counts["now"] = sys.getallocatedblocks()
        return input

    async def held(call: Any) -> int:
        for _ in range(50):
            await call()
        before = sys.getallocatedblocks()
        await call()
        return counts["now"] - before

    tool = made(measuring)
    bare = await held(lambda: measuring(VALUE))
    assert await held(lambda: tool.execute(VALUE)) - bare <= 4
    assert await held(lambda: tool.execute_json(TEXT)) - bare <= 6  # the value is made from the text
