"""Amazon Bedrock: the converse stream, and the invoke stream, which wraps the model maker's own events.

Rules: spec/api.md section 6. Converse names an event by its only key; invoke calls every event `chunk`.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from toolhead.providers.answers import Answer, Part, data_of, to_json
from toolhead.providers.anthropic import AnthropicReader
from toolhead.providers.openai_chat import OpenAIChatReader
from toolhead.providers.reader import Call, Reader
from toolhead.providers.schemas import ANTHROPIC_STRICT

if TYPE_CHECKING:
    from toolhead.providers.definitions import Definition
    from toolhead.providers.events import FinishReason

FINISH: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content-filter",
    "content_filtered": "content-filter",
    "malformed_tool_use": "error",
    "malformed_model_output": "error",
}

DOCUMENTS: Mapping[str, str] = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}
"""Media types of documents, and the API's words for them."""


class BedrockReader(Reader):
    """Reads converse itself and hands the events inside `chunk` to the reader of their form."""

    finish_reasons = FINISH

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, _Block] = {}
        self._inner: Reader | None = None

    def read(self, payload: dict[str, Any]) -> None:
        """An event, or a whole response."""
        if "chunk" in payload:
            self._chunk(payload["chunk"])
        elif "contentBlockStart" in payload:
            event = payload["contentBlockStart"]
            self._start(event["contentBlockIndex"], event.get("start") or {})
        elif "contentBlockDelta" in payload:
            event = payload["contentBlockDelta"]
            self._delta(event["contentBlockIndex"], event.get("delta") or {})
        elif "contentBlockStop" in payload:
            block = self._blocks.get(payload["contentBlockStop"]["contentBlockIndex"])
            if block is not None and block.call is not None:
                self.end_marked(block.call)
        elif "messageStop" in payload:
            reason = payload["messageStop"].get("stopReason")
            self.finish(reason)
            self.complete_all(cut_off=True)
        elif "output" in payload and "stopReason" in payload:
            self._whole(payload)
        elif failure := next((key for key, said in payload.items() if _is_failure(key, said)), None):
            self.other(payload)
            self.fail(payload[failure] or failure)
        elif self._inner is not None:
            self._inner.read(payload)
        elif "type" in payload or "choices" in payload:  # the body of an invoke that was not streamed
            self._inside(payload)
        else:
            self.other(payload)

    def _chunk(self, chunk: Mapping[str, Any]) -> None:
        data = chunk["bytes"]
        payload = msgspec.json.decode(b64decode(data) if isinstance(data, str) else data)
        if self._inner is None and not ("type" in payload or "choices" in payload):
            self.read(payload)  # Amazon's own models use the converse events here too
        else:
            self._inside(payload)

    def _inside(self, payload: dict[str, Any]) -> None:
        if self._inner is None:
            self._inner = AnthropicReader() if "type" in payload else OpenAIChatReader()
            self.form = "anthropic" if "type" in payload else "openai-chat"
            self._inner.share(self)
        self._inner.read(payload)

    def _whole(self, payload: Mapping[str, Any]) -> None:
        for index, content in enumerate(payload["output"]["message"].get("content") or ()):
            if "toolUse" in content:
                self._start(index, content)
            else:
                self._delta(index, content)
            block = self._blocks[index]
            if block.call is not None:
                self.complete(block.call)
        self.finish(payload["stopReason"])

    def _start(self, index: int, start: Mapping[str, Any]) -> None:
        block = self._blocks[index] = _Block(start)
        use = start.get("toolUse")
        if use is not None:
            server = use.get("type") == "server_tool_use"
            block.call = self.start(use.get("toolUseId"), use.get("name") or "", server=server)
            if isinstance(use.get("input"), Mapping):
                self.merge(block.call, use["input"])
        else:
            self.other({"contentBlockStart": {"contentBlockIndex": index, "start": dict(start)}})

    def _delta(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _Block({})
        if "toolUse" in delta:
            if block.call is not None:
                self.delta(block.call, delta["toolUse"].get("input") or "")
        elif isinstance(delta.get("text"), str):
            block.text.append(delta["text"])
            self.text(delta["text"])
        elif "reasoningContent" in delta:
            reasoning = delta["reasoningContent"]
            reasoning = reasoning.get("reasoningText", reasoning)  # whole responses put it one level deeper
            for field in ("text", "signature"):
                if reasoning.get(field):
                    block.reasoning[field] = block.reasoning.get(field, "") + reasoning[field]
            if reasoning.get("redactedContent"):
                block.redacted = reasoning["redactedContent"]
            self.text(reasoning.get("text") or "", reasoning=True)
        else:
            block.rest.append(dict(delta))
            self.other({"contentBlockDelta": {"contentBlockIndex": index, "delta": dict(delta)}})

    def assistant(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """One assistant message with all its blocks."""
        if self._inner is not None:
            return self._inner.assistant(ids)
        content = [whole for _, block in sorted(self._blocks.items()) if (whole := block.whole(ids))]
        return [{"role": "assistant", "content": content}] if content else []


def _is_failure(key: str, said: Any) -> bool:
    """Whether an event is one of the exceptions of a stream, or says an error."""
    return key.endswith("Exception") or (key == "error" and bool(said))


class _Block:
    """One content block: its start, and what grew since."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.start = start
        self.call: Call | None = None
        self.text: list[str] = []
        self.reasoning: dict[str, str] = {}
        self.redacted: Any = None
        self.rest: list[dict[str, Any]] = []

    def whole(self, ids: Sequence[str]) -> dict[str, Any] | None:
        if self.call is not None:
            use = {key: value for key, value in self.start["toolUse"].items() if key != "input"}
            return {"toolUse": {**use, "toolUseId": ids[self.call.number], "input": self.call.arguments()}}
        if self.reasoning:
            return {"reasoningContent": {"reasoningText": self.reasoning}}
        if self.redacted is not None:
            return {"reasoningContent": {"redactedContent": self.redacted}}
        if "toolResult" in self.start:
            content = [part for piece in self.rest for part in piece.get("toolResult") or ()]
            return {"toolResult": {**self.start["toolResult"], "content": content}}
        text = "".join(self.text)
        return {"text": text} if text else None


def definitions(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    """The entries of `toolConfig["tools"]` of a converse request."""
    out = []
    for tool in tools:
        schema, strict = tool.strict_schema("bedrock", ANTHROPIC_STRICT)
        tool.no_examples("bedrock")
        spec: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": {"json": schema}}
        if tool.strict is not None:
            spec["strict"] = strict
        out.append({"toolSpec": {**spec, **tool.options_for("bedrock")}})
    return out


def answers(results: Sequence[Answer]) -> list[dict[str, Any]]:
    """One user message with a `toolResult` block a result."""
    content = []
    for answer in results:
        result: dict[str, Any] = {"toolUseId": answer.id}
        if answer.parts is not None:
            result["content"] = [_part(part) for part in answer.parts]
        elif isinstance(answer.output["value"], Mapping):
            result["content"] = [{"json": answer.output["value"]}]  # a document: an object, nothing else
        else:
            result["content"] = [{"text": answer.text}]
        result["status"] = "error" if answer.is_error else "success"
        content.append({"toolResult": result})
    return [{"role": "user", "content": content}] if content else []


def _part(part: Part) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"text": part["text"]}
    data = data_of(part)
    if data is not None:
        kind, _, name = data[0].partition("/")
        source = {"bytes": b64decode(data[1])}
        if kind == "image":
            return {"image": {"format": name, "source": source}}
        return {"document": {"format": DOCUMENTS.get(data[0], "txt"), "name": "document", "source": source}}
    return {"text": to_json(part)}
