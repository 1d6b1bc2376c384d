"""Cohere chat, version 2.

Rules: spec/api.md section 6. Calls have their own start and end events, numbered by an index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolhead.providers.reader import Call, Reader
from toolhead.providers.schemas import object_schema

if TYPE_CHECKING:
    from toolhead.providers.answers import Answer
    from toolhead.providers.definitions import Definition
    from toolhead.providers.events import FinishReason

FINISH: Mapping[str, FinishReason] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "TOOL_CALL": "tool-calls",
    "MAX_TOKENS": "length",
    "ERROR": "error",
    "TIMEOUT": "error",
}


class CohereReader(Reader):
    """Reads chat events."""

    finish_reasons = FINISH

    def __init__(self) -> None:
        super().__init__()
        self._by_index: dict[int, Call] = {}
        self._plan: list[str] = []
        self._content: list[str] = []

    def read(self, payload: dict[str, Any]) -> None:
        """An event, or a whole response."""
        kind = payload.get("type")
        delta = payload.get("delta") or {}
        message = delta.get("message") or {}
        if kind == "tool-call-start":
            self._by_index[payload["index"]] = self._call(message["tool_calls"])
        elif kind == "tool-call-delta":
            self.delta(self._by_index[payload["index"]], _one(message["tool_calls"])["function"].get("arguments") or "")
        elif kind == "tool-call-end":
            self.end_marked(self._by_index[payload["index"]])
        elif kind == "tool-plan-delta":
            self._plan_piece(message.get("tool_plan") or "")
        elif kind == "content-delta":
            self._content_piece(message.get("content") or {})
        elif kind == "message-end":
            self._finish(delta.get("finish_reason"), delta.get("error"))
        elif kind is None and isinstance(payload.get("message"), Mapping):
            self._whole(payload["message"], payload.get("finish_reason"))
        else:
            self.other(payload)

    def _call(self, entry: Any) -> Call:
        entry = _one(entry)
        function = entry.get("function") or {}
        call = self.start(entry.get("id"), function.get("name") or "")
        if function.get("arguments"):
            self.delta(call, function["arguments"])
        return call

    def _plan_piece(self, text: str) -> None:
        self._plan.append(text)
        self.text(text, reasoning=True)

    def _content_piece(self, content: Mapping[str, Any]) -> None:
        if isinstance(content.get("text"), str):
            self._content.append(content["text"])
            self.text(content["text"])
        elif isinstance(content.get("thinking"), str):
            self.text(content["thinking"], reasoning=True)

    def _whole(self, message: Mapping[str, Any], reason: str | None) -> None:
        self._plan_piece(message.get("tool_plan") or "")
        for content in message.get("content") or ():
            self._content_piece(content)
        for entry in message.get("tool_calls") or ():
            self.complete(self._call(entry))
        self._finish(reason, None)

    def _finish(self, reason: str | None, error: Any) -> None:
        if error or FINISH.get(reason or "") == "error":
            self.fail(error or f"The response ended with {reason}")
        else:
            self.finish(reason)
            self.complete_all(cut_off=True)

    def assistant(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """One assistant message with plan, text and calls."""
        message: dict[str, Any] = {"role": "assistant"}
        if plan := "".join(self._plan):
            message["tool_plan"] = plan
        if content := "".join(self._content):
            message["content"] = content
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": ids[call.number],
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.text or "{}"},
                }
                for call in self.calls
            ]
        return [message] if len(message) > 1 else []


def _one(entry: Any) -> Mapping[str, Any]:
    """The event holds one call; the REST form gives it bare, a version of the SDK in a list."""
    one: Mapping[str, Any] = entry[0] if isinstance(entry, list) else entry
    return one


def definitions(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    """The `tools` of a request."""
    out = []
    for tool in tools:
        if tool.strict:
            tool.warn("cohere", "strict", "there it belongs to the request (strict_tools)")
        tool.no_examples("cohere")
        function = {"name": tool.name, "description": tool.description, "parameters": object_schema(tool.schema)}
        out.append({"type": "function", "function": {**function, **tool.options_for("cohere")}})
    return out


def answers(results: Sequence[Answer]) -> list[dict[str, Any]]:
    """One `tool` message a result."""
    return [
        {"role": "tool", "tool_call_id": answer.id, "content": [{"type": "text", "text": answer.text}]}
        for answer in results
    ]
