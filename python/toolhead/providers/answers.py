"""A tool's answer on its way to the model: one neutral form, and the helpers to put it in a provider's.

Rules: spec/api.md section 6 (`to_model_output`); the shapes are those of the behaviour document, section 15.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

Part = Mapping[str, Any]


class Answer(NamedTuple):
    """The one result of one call."""

    id: str
    """The provider's id of the call, or ours where it sent none."""
    has_id: bool
    """Whether the provider sent one."""
    name: str
    """The name by which the model called the tool."""
    kind: str
    """The provider's word for the call, as in `CallStarted`."""
    output: Mapping[str, Any]
    """`{"type": "text" | "json" | "content" | "error-text", "value": ...}`."""

    @property
    def is_error(self) -> bool:
        """Whether the call went wrong."""
        return bool(self.output["type"] == "error-text")

    @property
    def text(self) -> str:
        """The whole answer as text."""
        value = self.output["value"]
        if self.output["type"] == "content":
            return "\n".join(part["text"] if part.get("type") == "text" else to_json(part) for part in value)
        return value if isinstance(value, str) else to_json(value)

    @property
    def parts(self) -> list[Part] | None:
        """The parts of a `content` answer, or None."""
        return list(self.output["value"]) if self.output["type"] == "content" else None


def to_json(value: Any) -> str:
    """JSON text, with non-ASCII characters as they are."""
    return json.dumps(value, ensure_ascii=False)


def media_type(part: Part) -> str:
    """The media type of a part that holds data."""
    given = part.get("mediaType") or part.get("media_type")
    return (
        str(given)
        if given
        else "image/jpeg"
        if str(part.get("type", "")).startswith("image")
        else "application/octet-stream"
    )


def stored_form(output: Mapping[str, Any]) -> dict[str, Any]:
    """A model output as it is kept: parts that hold data are all `media`, with a media type; all else stays."""
    if output["type"] != "content":
        return dict(output)
    return {**output, "value": [_stored_part(part) for part in output["value"]]}


def _stored_part(part: Part) -> dict[str, Any]:
    kind, url = part.get("type"), str(part.get("url", ""))
    if kind in ("image-data", "file-data"):
        return {**part, "type": "media", "mediaType": media_type(part)}
    if kind == "image-url" and url.startswith("data:"):
        rest = {key: value for key, value in part.items() if key != "url"}
        kind = url.removeprefix("data:").partition(",")[0].partition(";")[0]
        return {**rest, "type": "media", "data": url, "mediaType": kind or "image/jpeg"}
    return dict(part)


def data_of(part: Part) -> tuple[str, str] | None:
    """Media type and base64 data of a part that holds data itself, or None."""
    if part.get("type") in ("media", "image-data", "file-data") and isinstance(part.get("data"), str):
        data = part["data"]
        return media_type(part), data.partition(",")[2] if data.startswith("data:") else data
    return None


def url_of(part: Part) -> tuple[bool, str] | None:
    """Whether it is an image, and the address, of a part that points elsewhere, or None."""
    if part.get("type") in ("image-url", "file-url") and isinstance(part.get("url"), str):
        return part["type"] == "image-url", part["url"]
    return None
