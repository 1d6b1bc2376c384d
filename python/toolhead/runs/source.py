"""From whatever an application has of a model's response to one asynchronous stream of items.

Rules: spec/api.md section 6 (`run.step`): raw bytes, event dicts or SDK objects, streamed or whole, sync or async.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from typing import Any, cast

_END = object()


async def items_of(stream: Any) -> AsyncGenerator[Any, None]:
    """The items of `stream`: an (async) iterable of them, an HTTP response, one whole response, or a coroutine of one.

    Raises `TypeError` for anything else.
    """
    if inspect.isawaitable(stream):
        stream = await stream
    if isinstance(stream, (bytes, bytearray, memoryview, str, Mapping)) or hasattr(stream, "model_dump"):
        yield stream  # one whole response; SDK models are iterable too, over their fields
    elif hasattr(stream, "aiter_bytes"):
        async for item in stream.aiter_bytes():
            yield item
    elif hasattr(stream, "__aiter__"):
        async for item in stream:
            yield item
    elif isinstance(stream, (list, tuple)):
        for item in stream:
            yield item
    elif hasattr(stream, "__iter__"):
        # A synchronous stream waits for the network, so it waits in a thread.
        iterator: Iterator[Any] = iter(cast("Iterable[Any]", stream))
        while (item := await asyncio.to_thread(next, iterator, _END)) is not _END:
            yield item
    else:
        raise TypeError(
            f"A model's response is bytes, a dict, an SDK's object or a stream of them; got {type(stream).__name__}"
        )
