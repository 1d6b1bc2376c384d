"""Anthropic messages, also inside Bedrock's invoke stream.

Rules: spec/api.md section 6. Each call is a content block with its own start and stop; an input that stands in the
start is a placeholder when text follows, and the arguments when none does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead.providers.answers import Answer, Part, data_of, to_json, url_of
from toolhead.providers.reader import Call, Reader
from toolhead.providers.schemas import ANTHROPIC_STRICT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolhead.providers.definitions import Definition
    from toolhead.providers.events import FinishReason

FINISH: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "pause_turn": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}

CALL_BLOCKS: Mapping[str, bool] = {"tool_use": False, "server_tool_use": True, "mcp_tool_use": True}
"""Block types that are tool calls, and whether the provider runs them."""

GROWING: Mapping[str, str] = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""Delta type, and the field of the block that it makes grow."""


class AnthropicReader(Reader):
    """Reads messages."""

    finish_reasons = FINISH

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[_Block] = []  # the message's content, in the order of the start events
        self._open: dict[int, _Block] = {}
        self._started = False

    def read(self, payload: dict[str, Any]) -> None:
        """An event, or a whole message."""
        match payload.get("type"):
            case "content_block_start":
                self._block_start(payload["index"], payload["content_block"])
            case "content_block_delta":
                self._block_delta(payload["index"], payload["delta"])
            case "content_block_stop":
                block = self._open.pop(payload["index"], None)
                if block is not None and block.call is not None:
                    self.end_marked(block.call)
            case "message_start":
                self._message_start(payload["message"])
            case "message":
                self._whole(payload)
            case "error":
                self.other(payload)
                self.fail(payload.get("error"))
            case "message_delta" if payload["delta"].get("stop_reason"):
                self.finish(payload["delta"]["stop_reason"])
            case _:
                self.other(payload)

    def _message_start(self, message: Mapping[str, Any]) -> None:
        # A second start in one stream is a retry or a continuation: what was open will not be ended any more.
        self._sure(cut_off=True)
        self.complete_all(cut_off=True)
        self._open.clear()
        if not self._started:
            self._started = True
            self._whole(message)  # a call made by code that the provider runs comes whole in the start

    def _whole(self, message: Mapping[str, Any]) -> None:
        for block in message.get("content") or ():
            position = -1 - len(self._blocks)
            self._block_start(position, block)
            text = block.get("text") if block.get("type") == "text" else block.get("thinking")
            if isinstance(text, str):
                self.text(text, reasoning=block["type"] != "text")
            self.read({"type": "content_block_stop", "index": position})
        if message.get("stop_reason"):
            self.finish(message["stop_reason"])

    def _block_start(self, index: int, start: Mapping[str, Any]) -> None:
        kind = start.get("type", "")
        block = _Block(start)
        self._blocks.append(block)
        self._open[index] = block
        if kind in CALL_BLOCKS:
            block.call = self.start(start.get("id"), start.get("name") or "", kind, server=CALL_BLOCKS[kind])
            if start.get("input"):
                self.merge(block.call, start["input"])
        elif kind not in ("text", "thinking"):
            self.other({"type": "content_block_start", "index": index, "content_block": dict(start)})

    def _block_delta(self, index: int, delta: Mapping[str, Any]) -> None:
        kind = delta.get("type", "")
        block = self._open.get(index)
        if block is None:
            self.other({"type": "content_block_delta", "index": index, "delta": dict(delta)})
        elif kind == "input_json_delta":
            if block.call is not None:
                self.delta(block.call, delta.get("partial_json") or "")
        elif kind in GROWING:
            piece = delta.get(GROWING[kind]) or ""
            block.pieces.setdefault(GROWING[kind], []).append(piece)
            if kind != "signature_delta":
                self.text(piece, reasoning=kind == "thinking_delta")
        else:
            if kind == "citations_delta":
                block.citations.append(delta.get("citation"))
            self.other({"type": "content_block_delta", "index": index, "delta": dict(delta)})

    def assistant(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """One assistant message with all its blocks."""
        content = [block.whole(ids) for block in self._blocks]
        content = [block for block in content if block.get("type") != "text" or block.get("text")]  # none may be empty
        return [{"role": "assistant", "content": content}] if content else []


class _Block:
    """One content block: its start, and what grew since."""

    __slots__ = ("call", "citations", "pieces", "start")

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.start = start
        self.pieces: dict[str, list[str]] = {}
        self.citations: list[Any] = []
        self.call: Call | None = None

    def whole(self, ids: Sequence[str]) -> dict[str, Any]:
        block = dict(self.start)
        for field, pieces in self.pieces.items():
            block[field] = (block.get(field) or "") + "".join(pieces)
        if self.citations:
            block["citations"] = [*(block.get("citations") or ()), *self.citations]
        if self.call is not None:
            block.update(id=ids[self.call.number], input=self.call.arguments())
        return block


def definitions(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    """The `tools` of a request."""
    out = []
    for tool in tools:
        schema, strict = tool.strict_schema("anthropic", ANTHROPIC_STRICT)
        entry: dict[str, Any] = {"name": tool.name, "description": tool.description, "input_schema": schema}
        if tool.strict is not None:
            entry["strict"] = strict
        if tool.examples:
            entry["input_examples"] = list(tool.examples)
        out.append({**entry, **tool.options_for("anthropic")})
    return out


def answers(results: Sequence[Answer]) -> list[dict[str, Any]]:
    """One user message with a `tool_result` block a result."""
    content = []
    for answer in results:
        parts = answer.parts
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": answer.id}
        block["content"] = answer.text if parts is None else [_part(part) for part in parts]
        if answer.is_error:
            block["is_error"] = True
        content.append(block)
    return [{"role": "user", "content": content}] if content else []


def _part(part: Part) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"type": "text", "text": part["text"]}
    if (data := data_of(part)) is not None:
        kind = "image" if data[0].startswith("image/") else "document"
        return {"type": kind, "source": {"type": "base64", "media_type": data[0], "data": data[1]}}
    if (url := url_of(part)) is not None:
        return {"type": "image" if url[0] else "document", "source": {"type": "url", "url": url[1]}}
    if part.get("type") in ("file-id", "image-file-id") and isinstance(part.get("fileId"), str):
        kind = "image" if part["type"] == "image-file-id" else "document"
        return {"type": kind, "source": {"type": "file", "file_id": part["fileId"]}}
    return {"type": "text", "text": to_json(part)}
