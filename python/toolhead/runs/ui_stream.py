"""A run's chunks as the UI message stream of the AI SDK, so that its front-end components show a Python service.

Rules: spec/api.md section 6; behaviour document section 16. Only the display view of a chunk goes out: a payload that a
transform hides cannot reach a part.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, overload

from toolhead.runs.chunks import FAILED, Chunk, Custom, ToolResultPlaceholder
from toolhead.runs.sendable import sendable

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable

Part = dict[str, Any]

HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-vercel-ai-ui-message-stream": "v1",
    "x-accel-buffering": "no",
}
"""The headers of an HTTP response that carries the stream as server-sent events."""


@overload
def ui_stream(
    chunks: AsyncIterable[Chunk], *, sse: Literal[False] = False, message_id: str | None = None
) -> AsyncIterator[Part]: ...
@overload
def ui_stream(
    chunks: AsyncIterable[Chunk], *, sse: Literal[True], message_id: str | None = None
) -> AsyncIterator[bytes]: ...
def ui_stream(
    chunks: AsyncIterable[Chunk], *, sse: bool = False, message_id: str | None = None
) -> AsyncIterator[Part] | AsyncIterator[bytes]:
    """The parts of one UI message.

    Args:
        chunks: what `run.step` or an answer yields; of several steps, one after the other.
        sse: whether to yield server-sent events as bytes (send them with `HEADERS`) instead of parts.
        message_id: the id of the message.

    A response that failed becomes an `error` part that does not repeat the provider's words, which are not written for
    a user; so does an exception of `chunks`, which is raised then.
    """
    parts = _parts(chunks, message_id)
    return _events(parts) if sse else parts


async def _parts(chunks: AsyncIterable[Chunk], message_id: str | None) -> AsyncIterator[Part]:
    yield {"type": "start", **({} if message_id is None else {"messageId": message_id})}
    try:
        async for chunk in chunks:
            for part in parts_of(chunk):
                yield part
    except Exception:
        yield {"type": "error", "errorText": FAILED}
        raise
    yield {"type": "finish"}


async def _events(parts: AsyncIterator[Part]) -> AsyncIterator[bytes]:
    async for part in parts:
        yield b"data: " + json.dumps(part).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def parts_of(chunk: Chunk) -> list[Part]:
    """The parts that one chunk becomes: none, one, or two."""
    if isinstance(chunk, Custom):
        data = sendable(chunk.chunk)
        # The protocol knows `data-` parts of an application's own, nothing else.
        return [data] if isinstance(data, dict) and str(data.get("type", "")).startswith("data-") else []
    make = PARTS.get(chunk.type)
    if make is None or chunk.hides("display"):
        return []
    return make(chunk, chunk.to_dict()["payload"])


def _named(kind: str, **names: str) -> Callable[[Chunk, Part], list[Part]]:
    """A part of `kind` with these members, each from the payload's member of the given name, where it is there."""
    return lambda _, payload: [{"type": kind, **{to: payload[name] for to, name in names.items() if name in payload}}]


def _data(kind: str, *names: str) -> Callable[[Chunk, Part], list[Part]]:
    """A data part about a call: the protocol has no part of its own for what it says."""

    def make(chunk: Chunk, payload: Part) -> list[Part]:
        data = {"state": kind, "runId": chunk.run_id, **{name: payload[name] for name in names if name in payload}}
        if isinstance(data.get("resumeSchema"), str):
            data["resumeSchema"] = json.loads(data["resumeSchema"])
        return [{"type": kind, "id": payload["toolCallId"], "data": data}]

    return make


def _input_start(_: Chunk, payload: Part) -> list[Part]:
    optional: Part = {name: payload[name] for name in ("title", "providerExecuted") if name in payload}
    names = {"toolCallId": payload["toolCallId"], "toolName": payload["toolName"]}
    return [{"type": "tool-input-start", **names, "dynamic": False, **optional}]


def _approval(chunk: Chunk, payload: Part) -> list[Part]:
    approval_id = f"{chunk.run_id}::{payload['toolCallId']}"
    request = {"type": "tool-approval-request", "approvalId": approval_id, "toolCallId": payload["toolCallId"]}
    return [
        request,
        *_data("data-tool-call-approval", "toolCallId", "toolName", "args", "resumeSchema")(chunk, payload),
    ]


def _error(_: Chunk, payload: Part) -> list[Part]:
    error = payload["error"]
    if isinstance(error, dict) and error.get("id") == "TOOL_EXECUTION_FAILED":
        error = error["message"]
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False, separators=(",", ":"))
    return [{"type": "tool-output-error", "toolCallId": payload["toolCallId"], "errorText": text}]


def _result(chunk: Chunk, payload: Part) -> list[Part]:
    part = {"type": "tool-output-available", "toolCallId": payload["toolCallId"], "output": payload["result"]}
    # A deferred call's result replaces its placeholder.
    return [part | {"preliminary": True}] if isinstance(chunk, ToolResultPlaceholder) else [part]


PARTS: dict[str, Callable[[Chunk, Part], list[Part]]] = {
    "step-start": _named("start-step"),
    "error": _named("error", errorText="error"),
    "abort": _named("abort"),
    "step-finish": _named("finish-step"),
    "text-start": _named("text-start", id="id"),
    "text-delta": _named("text-delta", id="id", delta="text"),
    "text-end": _named("text-end", id="id"),
    "reasoning-start": _named("reasoning-start", id="id"),
    "reasoning-delta": _named("reasoning-delta", id="id", delta="text"),
    "reasoning-end": _named("reasoning-end", id="id"),
    "tool-call-input-streaming-start": _input_start,
    "tool-call-delta": _named("tool-input-delta", toolCallId="toolCallId", inputTextDelta="argsTextDelta"),
    "tool-call": _named(
        "tool-input-available",
        toolCallId="toolCallId",
        toolName="toolName",
        input="args",
        title="title",
        providerExecuted="providerExecuted",
    ),
    "tool-result": _result,
    "tool-error": _error,
    "tool-output-denied": _named("tool-output-denied", toolCallId="toolCallId"),
    "tool-call-approval": _approval,
    "tool-call-suspended": _data(
        "data-tool-call-suspended", "toolCallId", "toolName", "suspendPayload", "resumeSchema"
    ),
    "tool-output": _data("data-tool-output", "toolCallId", "toolName", "output"),
}
"""What each type of chunk becomes; the others say nothing to a user."""
