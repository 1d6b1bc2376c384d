"""Mistral chat: the OpenAI form with whole calls, without indexes, and with an own rule for ids.

Rules: spec/api.md section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead.providers.answers import Answer, Part, data_of, to_json, url_of
from toolhead.providers.openai_chat import OpenAIChatReader, chat_definition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolhead.providers.definitions import Definition


class MistralReader(OpenAIChatReader):
    """Reads chat completions."""

    def assistant(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """One assistant message; its content is never null."""
        messages = super().assistant(ids)
        for message in messages:
            message["content"] = message["content"] or ""
        return messages


def definitions(tools: Sequence[Definition]) -> list[dict[str, Any]]:
    """The `tools` of a request."""
    return [chat_definition(tool, "mistral", ("mistral",)) for tool in tools]


def answers(results: Sequence[Answer]) -> list[dict[str, Any]]:
    """One `tool` message a result."""
    messages = []
    for answer in results:
        parts = answer.parts
        content = answer.text if parts is None else [_part(part) for part in parts]
        messages.append({"role": "tool", "tool_call_id": answer.id, "name": answer.name, "content": content})
    return messages


def _part(part: Part) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"type": "text", "text": part["text"]}
    if (data := data_of(part)) is not None and data[0].startswith("image/"):
        return {"type": "image_url", "image_url": f"data:{data[0]};base64,{data[1]}"}
    if (url := url_of(part)) is not None:
        kind = "image_url" if url[0] else "document_url"
        return {"type": kind, kind: url[1]}
    return {"type": "text", "text": to_json(part)}
