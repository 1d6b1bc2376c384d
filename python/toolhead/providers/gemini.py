"""Google generateContent (Gemini API and Vertex).

Rules: spec/api.md section 6. Arguments come as an object, whole; or, on Vertex, as values at JSON paths, for which no
JSON text exists: it is written here, so that every consumer sees one kind of delta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolhead.providers.answers import Answer, Part, data_of, media_type, to_json, url_of
from toolhead.providers.path_text import PathText
from toolhead.providers.reader import Call, Reader
from toolhead.providers.schemas import GEMINI, object_schema, rewrite

if TYPE_CHECKING:
    from toolhead.providers.definitions import Definition
    from toolhead.providers.events import FinishReason

FINISH: Mapping[str, FinishReason] = {
    "STOP": "stop",
    "FUNCTION_CALL": "tool-calls",
    "MAX_TOKENS": "length",
    "SAFETY": "content-filter",
    "RECITATION": "content-filter",
    "BLOCKLIST": "content-filter",
    "PROHIBITED_CONTENT": "content-filter",
    "SPII": "content-filter",
    "IMAGE_SAFETY": "content-filter",
    "MODEL_ARMOR": "content-filter",
    "JAILBREAK": "content-filter",
    "OTHER": "other",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",
}

VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


class GeminiReader(Reader):
    """Reads generated content."""

    finish_reasons = FINISH

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[dict[str, Any]] = []
        self._call_of: dict[int, Call] = {}  # by position in _parts
        self._growing: tuple[Call, PathText] | None = None

    def read(self, payload: dict[str, Any]) -> None:
        """A piece of a response, or a whole one: they have one form."""
        payload = _camel(payload)
        candidates = payload.get("candidates") or ()
        if not candidates:
            self.other(payload)
            blocked = (payload.get("promptFeedback") or {}).get("blockReason")
            if payload.get("error"):
                self.fail(payload["error"])
            elif blocked:  # the prompt was: there is no answer, and no candidate that could say why
                self.finish(blocked)
        for candidate in candidates[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                self._part(part)
            reason = candidate.get("finishReason")
            if reason:
                self._end_growing(cut_off=reason != "STOP")
                self.finish(reason)

    def finish(self, raw: str | None) -> None:
        """The response ended; the API has no word of its own for calls."""
        super().finish("FUNCTION_CALL" if raw == "STOP" and self.calls else raw)

    def end(self, *, failed: bool) -> None:  # noqa: ARG002  the same either way
        """Ends a call whose values were still coming."""
        self._end_growing(cut_off=True)

    def _part(self, part: dict[str, Any]) -> None:
        if "functionCall" in part:
            self._function_call(part, part["functionCall"])
        elif isinstance(part.get("text"), str):
            self._text(part)
        else:
            self._parts.append(part)
            self.other(part)

    def _text(self, part: dict[str, Any]) -> None:
        reasoning = bool(part.get("thought"))
        self.text(part["text"], reasoning=reasoning)
        last = self._parts[-1] if self._parts else {}
        if "text" in last and bool(last.get("thought")) == reasoning and "thoughtSignature" not in last:
            last["pieces"].append(part["text"])
            if "thoughtSignature" in part:
                last["thoughtSignature"] = part["thoughtSignature"]
        elif part["text"] or "thoughtSignature" in part:
            self._parts.append({**part, "pieces": [part["text"]]})

    def _function_call(self, part: dict[str, Any], function_call: Mapping[str, Any]) -> None:
        more = bool(function_call.get("willContinue"))
        if function_call.get("name"):
            self._end_growing(cut_off=False)  # a call may end without saying so
            call = self.start(function_call.get("id"), function_call["name"])
            self._call_of[len(self._parts)] = call
            self._parts.append(part)
            if not more and not function_call.get("partialArgs"):
                self.merge(call, function_call.get("args") or {})
                self.complete(call)
                return
            self._growing = (call, PathText())
        if self._growing is None:
            self.other(part)  # an end mark for a call that has ended
            return
        call, text = self._growing
        for piece in function_call.get("partialArgs") or ():
            field = next((field for field in VALUES if field in piece), None)
            value = piece[field] if field not in (None, "nullValue") else None
            self.delta(call, text.put(piece["jsonPath"], value, grows=bool(piece.get("willContinue"))))
        if not more:
            self._end_growing(cut_off=False)

    def _end_growing(self, *, cut_off: bool) -> None:
        if self._growing is None:
            return
        call, text = self._growing
        self._growing = None
        if cut_off:  # not closed: what was cut off must not look complete
            self.complete(call, cut_off=True)
            return
        rest = text.end()
        if rest:
            self.delta(call, rest)
        self.complete(call, replacement=text.replacement)

    def assistant(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """One model turn with all its parts, signatures included."""
        parts = [self._whole_part(position, part, ids) for position, part in enumerate(self._parts)]
        return [{"role": "model", "parts": parts}] if parts else []

    def _whole_part(self, position: int, part: dict[str, Any], ids: Sequence[str]) -> dict[str, Any]:
        call = self._call_of.get(position)
        if call is not None:
            function_call = {"name": call.name, "args": call.arguments()}
            if call.id is not None:
                function_call["id"] = ids[call.number]
            return {**part, "functionCall": function_call}
        if "pieces" in part:
            kept = {key: value for key, value in part.items() if key != "pieces"}
            return {**kept, "text": "".join(part["pieces"])}
        return part


SNAKE = {
    "prompt_feedback": "promptFeedback",
    "block_reason": "blockReason",
    "finish_reason": "finishReason",
    "function_call": "functionCall",
    "partial_args": "partialArgs",
    "will_continue": "willContinue",
    "json_path": "jsonPath",
    "string_value": "stringValue",
    "number_value": "numberValue",
    "bool_value": "boolValue",
    "null_value": "nullValue",
    "thought_signature": "thoughtSignature",
}
"""The SDK's spellings of the names that are read here."""

OPAQUE = frozenset({"args"})
"""Fields whose content is the model's, not the API's: no key in them is renamed."""


def _camel(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            SNAKE.get(key, key): item if key in OPAQUE else _camel(item)
            for key, item in value.items()
            if item is not None or key in ("null_value", "nullValue")
        }
    return [_camel(item) for item in value] if isinstance(value, list) else value


def definitions(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    """The `tools` of a request: one entry with all declarations."""
    declarations = []
    for tool in tools:
        if tool.strict:
            tool.warn("gemini", "strict", "there it belongs to the request (function calling mode VALIDATED)")
        tool.no_examples("gemini")
        schema = rewrite(object_schema(tool.schema), GEMINI)
        if schema.impossible is not None:
            tool.warn(
                "gemini", "input_schema", f"it is sent as written, since its subset cannot say {schema.impossible}"
            )
        sent = object_schema(tool.schema) if schema.impossible is not None else schema.schema
        entry = {"name": tool.name, "description": tool.description, "parametersJsonSchema": sent}
        declarations.append({**entry, **tool.options_for("google", "gemini")})
    return [{"functionDeclarations": declarations}] if declarations else []


def answers(results: Sequence[Answer]) -> list[dict[str, Any]]:
    """One user turn with a `functionResponse` part a result."""
    parts = []
    for answer in results:
        response: dict[str, Any] = {"name": answer.name}
        if answer.has_id:
            response["id"] = answer.id
        media = [_part(part) for part in answer.parts or () if data_of(part) is not None or url_of(part) is not None]
        if media:
            response["parts"] = media
        response["response"] = {"error" if answer.is_error else "output": _value(answer)}
        parts.append({"functionResponse": response})
    return [{"role": "user", "parts": parts}] if parts else []


def _value(answer: Answer) -> Any:
    if answer.parts is not None:
        rest = [part for part in answer.parts if data_of(part) is None and url_of(part) is None]
        return "\n".join(part["text"] if part.get("type") == "text" else to_json(part) for part in rest)
    value = answer.output["value"]
    return to_json(value) if _has_reference(value) else value


def _part(part: Part) -> dict[str, Any]:
    if (data := data_of(part)) is not None:
        return {"inlineData": {"mimeType": data[0], "data": data[1]}}
    url = url_of(part)
    return {"fileData": {"fileUri": url[1] if url else "", "mimeType": media_type(part)}}


def _has_reference(value: Any) -> bool:
    """Whether a `$ref` key stands anywhere: the API reads references, so such a result goes as text."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            if "$ref" in item:
                return True
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return False
