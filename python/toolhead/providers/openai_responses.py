"""OpenAI responses, also as Azure, xAI, DeepSeek, LM Studio and others speak it.

Rules: spec/api.md section 6. A call is an output item, named by its place in the output, since servers exist whose
item ids differ from event to event. The deltas are the arguments; the text that the end repeats counts without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from toolhead.providers.answers import Answer, Part, data_of, to_json, url_of
from toolhead.providers.reader import Call, Reader
from toolhead.providers.schemas import OPENAI_STRICT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolhead.providers.definitions import Definition
    from toolhead.providers.events import FinishReason

FINISH: Mapping[str, FinishReason] = {
    "completed": "stop",
    "tool_calls": "tool-calls",
    "max_output_tokens": "length",
    "content_filter": "content-filter",
}


class ItemKind(NamedTuple):
    """How an output item says a call."""

    id: str
    """The item's field that is the call's id."""
    text: str
    """The item's field that is the argument text."""
    server: bool
    """Whether the provider runs the call."""


CALL_ITEMS: Mapping[str, ItemKind] = {
    "function_call": ItemKind("call_id", "arguments", server=False),
    "custom_tool_call": ItemKind("call_id", "input", server=False),
    "mcp_call": ItemKind("id", "arguments", server=True),
}

DELTAS = frozenset({"function_call_arguments", "custom_tool_call_input", "mcp_call_arguments"})
REASONING = frozenset({"response.reasoning_text.delta", "response.reasoning_summary_text.delta"})
FAILED = frozenset({"failed", "cancelled"})
"""Statuses of a response that was not written to its end."""
ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


class OpenAIResponsesReader(Reader):
    """Reads responses."""

    finish_reasons = FINISH

    def __init__(self) -> None:
        super().__init__()
        self._by_place: dict[object, Call] = {}  # output index, and item id where there is no index
        self._items: dict[object, dict[str, Any]] = {}  # by place, in order of appearance: the output to give back
        self._call_of: dict[object, Call] = {}
        self._before: list[tuple[dict[str, Any], Call | None]] = []  # of responses that have ended: places begin again

    def read(self, payload: dict[str, Any]) -> None:
        """An event, or a whole response."""
        if payload.get("object") == "response" and "type" not in payload:
            self._whole(payload)
            return
        kind = payload.get("type", "")
        subject, _, action = kind.removeprefix("response.").rpartition(".")
        if subject in DELTAS and action in ("delta", "done"):
            self._arguments(payload, action)
        elif kind == "response.output_item.added":
            self._item(payload, payload["item"])
        elif kind == "response.output_item.done":
            call = self._item(payload, payload["item"])
            if call is not None:
                item = payload["item"]
                self._end_call(call, item.get(CALL_ITEMS[call.kind].text), cut_off=item.get("status") == "incomplete")
        elif kind == "response.output_text.delta":
            self.text(payload["delta"])
        elif kind in REASONING:
            self.text(payload["delta"], reasoning=True)
        elif kind in ENDS:
            self._end(payload["response"])
        elif kind == "error" or (not kind and payload.get("error")):
            self.other(payload)
            self.fail(payload.get("error") or payload)
        else:
            self.other(payload)

    def _whole(self, response: Mapping[str, Any]) -> None:
        for place, item in enumerate(response.get("output") or ()):
            for part in item.get("content") or () if item.get("type") == "message" else ():
                self.text(part.get("text") or "")
            self.read({"type": "response.output_item.done", "output_index": place, "item": item})
        self._end(response)

    def _item(self, payload: Mapping[str, Any], item: Mapping[str, Any]) -> Call | None:
        place = _place(payload, item)
        self._items[place] = dict(item)
        kind = CALL_ITEMS.get(item.get("type", ""))
        if kind is None:
            self.other(dict(payload))
            return None
        call = self._call_of.get(place)
        if call is None or (item.get(kind.id) and call.id != item[kind.id]):
            call = self.start(item.get(kind.id), item.get("name") or "", item["type"], server=kind.server)
            self._call_of[place] = call
            self._by_place[place] = call
            if item.get("id"):
                self._by_place[item["id"]] = call
        return call

    def _arguments(self, payload: Mapping[str, Any], action: str) -> None:
        call = self._by_place.get(payload.get("output_index"), self._by_place.get(payload.get("item_id")))
        if call is None:
            self.other(dict(payload))
        elif action == "delta":
            self.delta(call, payload["delta"])
        else:
            self._end_call(call, payload.get("arguments", payload.get("input")))

    def _end_call(self, call: Call, text: str | None, *, cut_off: bool = False) -> None:
        if call.open and text and not call.pieces:
            self.delta(call, text)
        self.complete(call, cut_off=cut_off)

    def _end(self, response: Mapping[str, Any]) -> None:
        status = response.get("status") or "completed"
        reason = (response.get("incomplete_details") or {}).get("reason") if status == "incomplete" else status
        if reason == "completed" and any(not call.server for call in self.calls):
            self.complete_all(cut_off=True)
            self.finish("tool_calls")
        elif status in FAILED:
            self.fail(response.get("error") or f"The response is {status}")
        else:
            self.finish(reason)
        self._before = self._output()
        self._by_place, self._items, self._call_of = {}, {}, {}

    def _output(self) -> list[tuple[dict[str, Any], Call | None]]:
        return [*self._before, *((item, self._call_of.get(place)) for place, item in self._items.items())]

    def assistant(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """The output items, as they were."""
        output = []
        for item, call in self._output():
            if call is None or call.server:
                output.append(item)
                continue
            kind = CALL_ITEMS[call.kind]
            text = call.text or ("{}" if kind.text == "arguments" else "")
            output.append({**item, kind.id: ids[call.number], kind.text: text})
        return output


def _place(payload: Mapping[str, Any], item: Mapping[str, Any]) -> object:
    place = payload.get("output_index")
    return place if place is not None else item.get("id")


def definitions(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    """The `tools` of a request."""
    out = []
    for tool in tools:
        parameters, strict = tool.strict_schema("openai-responses", OPENAI_STRICT)
        tool.no_examples("openai-responses")
        # `strict` is always said: this API takes its absence for true.
        entry: dict[str, Any] = {"type": "function", "name": tool.name, "description": tool.description}
        out.append(
            {**entry, "parameters": parameters, "strict": strict, **tool.options_for("openai", "openai-responses")}
        )
    return out


def answers(results: Sequence[Answer]) -> list[dict[str, Any]]:
    """One output item a result."""
    items = []
    for answer in results:
        kind = "custom_tool_call_output" if answer.kind == "custom_tool_call" else "function_call_output"
        parts = answer.parts
        output = answer.text if parts is None else [_part(part) for part in parts]
        items.append({"type": kind, "call_id": answer.id, "output": output})
    return items


def _part(part: Part) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"type": "input_text", "text": part["text"]}
    if (data := data_of(part)) is not None:
        address = f"data:{data[0]};base64,{data[1]}"
        if data[0].startswith("image/"):
            return {"type": "input_image", "image_url": address}
        return {"type": "input_file", "file_data": address, "filename": part.get("filename") or "file"}
    if (url := url_of(part)) is not None:
        return {"type": "input_image", "image_url": url[1]} if url[0] else {"type": "input_file", "file_url": url[1]}
    if part.get("type") in ("file-id", "image-file-id") and isinstance(part.get("fileId"), str):
        return {"type": "input_image" if part["type"] == "image-file-id" else "input_file", "file_id": part["fileId"]}
    return {"type": "input_text", "text": to_json(part)}
