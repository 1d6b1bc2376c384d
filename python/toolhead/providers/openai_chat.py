"""OpenAI chat completions, and the many servers that speak the same form.

Rules: spec/api.md section 6; the quirks are from recorded streams. The API never says that one call's arguments end:
the reason of the finish ends them all, and a new call ends those whose text is a whole JSON value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolhead.providers.answers import Answer, Part, data_of, to_json, url_of
from toolhead.providers.reader import CUT, Call, Reader
from toolhead.providers.schemas import OPENAI_STRICT

if TYPE_CHECKING:
    from toolhead.providers.definitions import Definition
    from toolhead.providers.events import FinishReason

FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "length": "length",
    "model_length": "length",
    "content_filter": "content-filter",
}


class OpenAIChatReader(Reader):
    """Reads chat completions."""

    finish_reasons = FINISH

    def __init__(self) -> None:
        super().__init__()
        self._by_index: dict[int, Call] = {}
        self._by_id: dict[str, Call] = {}
        self._last: Call | None = None
        self._content: list[str] = []
        self._reasoning: dict[str, list[str]] = {}

    def read(self, payload: dict[str, Any]) -> None:
        """A chunk, or a whole completion."""
        if "choices" not in payload and isinstance(payload.get("data"), Mapping):
            payload = dict(payload["data"])  # Mistral's SDK wraps each event
        choice = next((choice for choice in payload.get("choices") or () if not choice.get("index")), None)
        error = payload.get("error") or (payload if payload.get("object") == "error" else None)
        if choice is None:
            self.other(payload)
            if error:
                self.fail(error)
            return
        self._message(choice.get("delta") or choice.get("message") or {})
        reason = choice.get("finish_reason")
        if error or reason == "error":
            self.fail(error or choice.get("error"))
        elif reason:
            self.complete_all(cut_off=FINISH.get(reason) in CUT)
            self.finish(reason)

    def end(self, *, failed: bool) -> None:
        """Ends open calls where the end mark stands for the reason of a finish."""
        # Some servers leave the reason out and only send the end mark; an SDK's stream hides the mark and just ends.
        if not failed and not self.finished and getattr(self._wire, "done", True):
            self.complete_all(cut_off=False)

    def _message(self, message: Mapping[str, Any]) -> None:
        for field in ("reasoning_content", "reasoning"):
            reasoning = message.get(field)
            if isinstance(reasoning, str) and reasoning:
                self._reasoning.setdefault(field, []).append(reasoning)
                self.text(reasoning, reasoning=True)
        for text in _texts(message.get("content")):
            self._content.append(text)
            self.text(text)
        touched: set[Call] = set()
        for entry in message.get("tool_calls") or ():
            touched.add(self._entry(entry, touched))

    def _entry(self, entry: Mapping[str, Any], touched: set[Call]) -> Call:
        function = entry.get("function") or entry.get("custom") or {}
        arguments = function.get("arguments", function.get("input"))
        name = function.get("name") or ""
        index, call_id = entry.get("index"), entry.get("id") or None
        call = self._continued(index, call_id, name, arguments, touched)
        if call is None:
            for earlier in self.calls:
                if earlier.open and (earlier.merged is not None or earlier.has_value):
                    self.complete(earlier)
            call = self._last = self.start(call_id, name, "custom" if "custom" in entry else "function")
            if entry.get("extra_content") is not None:  # Gemini's thought signature in its OpenAI form
                call.extra["extra_content"] = entry["extra_content"]
            if index is not None:
                self._by_index[index] = call
            if call_id is not None:
                self._by_id[call_id] = call
        self._last = call
        if isinstance(arguments, str):
            self.delta(call, arguments)
        elif isinstance(arguments, Mapping):
            self.merge(call, arguments)
        return call

    def _continued(
        self, index: int | None, id: str | None, name: str, arguments: Any, touched: set[Call]
    ) -> Call | None:
        """The call that an entry continues, or None when it starts one.

        An index may be missing, always 0, or the tool's position; an id may be missing or repeated in every piece.
        So the index names the call, else the id, else it is the last one; but another id or another name is another
        call, and so is a name with further text after a whole JSON value (a server that numbers nothing).
        """
        if index is not None:
            call = self._by_index.get(index)
        elif id is not None:
            call = self._by_id.get(id)
        else:
            call = self._last if self._last not in touched else None
        if call is None or (id and call.id and id != call.id):
            return None
        if not name or (index is not None and id and id == call.id):
            return call
        if name != call.name or (arguments and isinstance(arguments, str) and (not call.open or call.has_value)):
            return None
        return call

    def assistant(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """One assistant message with its calls."""
        content = "".join(self._content)
        message: dict[str, Any] = {"role": "assistant", "content": content or None}
        if self.calls:  # models that think between calls want their thoughts back
            message.update((field, "".join(pieces)) for field, pieces in self._reasoning.items())
        if self.calls:
            message["tool_calls"] = [self._call_out(call, ids[call.number]) for call in self.calls]
        return [message] if content or self.calls else []

    def _call_out(self, call: Call, id: str) -> dict[str, Any]:
        if call.kind == "custom":
            return {"id": id, "type": "custom", "custom": {"name": call.name, "input": call.text}}
        function = {"name": call.name, "arguments": call.text or "{}"}
        return {"id": id, "type": "function", "function": function, **call.extra}


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        if content:
            yield content
    elif isinstance(content, list):  # parts, as Mistral sends them
        for part in content:
            if isinstance(part, Mapping) and isinstance(part.get("text"), str):
                yield part["text"]


def definitions(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    """The `tools` of a request."""
    return [chat_definition(tool, "openai-chat", ("openai", "openai-chat")) for tool in tools]


def chat_definition(tool: Definition, provider: str, option_keys: Sequence[str]) -> dict[str, Any]:
    """The OpenAI form, which others took over."""
    parameters, strict = tool.strict_schema(provider, OPENAI_STRICT)
    function: dict[str, Any] = {"name": tool.name, "description": tool.description, "parameters": parameters}
    if tool.strict is not None:
        function["strict"] = strict
    tool.no_examples(provider)
    return {"type": "function", "function": {**function, **tool.options_for(*option_keys)}}


def answers(results: Sequence[Answer]) -> list[dict[str, Any]]:
    """One `tool` message a result, then what cannot stand in them."""
    messages: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []  # a tool message holds text only; what is not text follows as the user's
    for answer in results:
        parts = answer.parts
        texts = [part["text"] for part in parts or () if part.get("type") == "text"]
        content = answer.text if parts is None else "\n".join(texts)
        others = [_part(part) for part in parts or () if part.get("type") != "text"]
        if others:
            note = f"Attached to the result of tool call {answer.id}:"
            shown += [{"type": "text", "text": note}, *others]
            content = content or "See the attachment in the next message."
        messages.append({"role": "tool", "tool_call_id": answer.id, "content": content})
    return [*messages, {"role": "user", "content": shown}] if shown else messages


def _part(part: Part) -> dict[str, Any]:
    if (data := data_of(part)) is not None:
        address = f"data:{data[0]};base64,{data[1]}"
        if data[0].startswith("image/"):
            return {"type": "image_url", "image_url": {"url": address}}
        return {"type": "file", "file": {"file_data": address, "filename": part.get("filename") or "file"}}
    if (url := url_of(part)) is not None and url[0]:
        return {"type": "image_url", "image_url": {"url": url[1]}}
    if part.get("type") == "file-id" and isinstance(part.get("fileId"), str):
        return {"type": "file", "file": {"file_id": part["fileId"]}}
    return {"type": "text", "text": to_json(part)}
