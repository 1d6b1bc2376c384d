"""What the model is given instead of a tool's raw output: three shapes, helpers for them, and their check.

Source: spec/api.md section 6; section 15 of the behaviour document. The shapes are plain dicts in the wire form.
"""

from __future__ import annotations

import base64
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict

from toolhead.suspend import Suspension

__all__ = [
    "ContentOutput",
    "JsonOutput",
    "ModelOutput",
    "TextOutput",
    "checked_model_output",
    "content",
    "custom",
    "file_data",
    "file_id",
    "file_url",
    "image_data",
    "image_file_id",
    "image_url",
    "json",
    "map_output",
    "text",
]

_logger = logging.getLogger("toolhead")
ContentPart = dict[str, Any]


class TextOutput(TypedDict):
    """Text."""

    type: Literal["text"]
    value: str


class JsonOutput(TypedDict):
    """JSON data."""

    type: Literal["json"]
    value: Any


class ContentOutput(TypedDict):
    """A list of parts: text, images, files."""

    type: Literal["content"]
    value: list[ContentPart]


ModelOutput = TextOutput | JsonOutput | ContentOutput


def text(value: str) -> TextOutput:
    """Text for the model."""
    return {"type": "text", "value": value}


def json(value: Any) -> JsonOutput:
    """JSON data for the model."""
    return {"type": "json", "value": value}


def content(*parts: str | ContentPart) -> ContentOutput:
    """Parts for the model; a string stands for a text part."""
    return {
        "type": "content",
        "value": [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts],
    }


def image_url(url: str) -> ContentPart:
    """An image at a URL."""
    return {"type": "image-url", "url": url}


def image_data(data: str | bytes, media_type: str = "image/jpeg") -> ContentPart:
    """An image, as bytes or as base64 text."""
    return {"type": "image-data", "data": _base64(data), "mediaType": media_type}


def file_url(url: str, media_type: str | None = None) -> ContentPart:
    """A file at a URL."""
    part = {"type": "file-url", "url": url}
    return part if media_type is None else {**part, "mediaType": media_type}


def file_data(
    data: str | bytes, media_type: str = "application/octet-stream", filename: str | None = None
) -> ContentPart:
    """A file, as bytes or as base64 text."""
    part = {"type": "file-data", "data": _base64(data), "mediaType": media_type}
    return part if filename is None else {**part, "filename": filename}


def file_id(identifier: str) -> ContentPart:
    """A file that the provider holds."""
    return {"type": "file-id", "fileId": identifier}


def image_file_id(identifier: str) -> ContentPart:
    """An image that the provider holds."""
    return {"type": "image-file-id", "fileId": identifier}


def custom(**fields: Any) -> ContentPart:
    """A part that only the provider understands."""
    return {"type": "custom", **fields}


# What a part of each kind must hold. Parts of other kinds, and further keys, pass as they are.
_PARTS: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "text": ("text", str),
    "image-url": ("url", str),
    "image-data": ("data", str),
    "file-url": ("url", str),
    "file-data": ("data", str),
    "file-id": ("fileId", (str, Mapping)),
    "image-file-id": ("fileId", (str, Mapping)),
}


def checked_model_output(output: Any) -> ModelOutput:
    """`output`, if it is one of the three shapes.

    Raises:
        ValueError: it is not, saying where and what was expected.
    """
    if not isinstance(output, Mapping):  # one error for every wrong shape
        raise ValueError(f"expected {{'type': 'text' | 'json' | 'content', 'value': ...}}, got {type(output).__name__}")
    kind = output.get("type")
    if kind not in ("text", "json", "content"):
        raise ValueError(f"type: expected 'text', 'json' or 'content', got {kind!r}")
    if "value" not in output:
        raise ValueError("value: is missing")
    value = output["value"]
    if kind == "text" and not isinstance(value, str):
        raise ValueError(f"value: expected a string, got {type(value).__name__}")
    if kind == "content":
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"value: expected a list of parts, got {type(value).__name__}")
        for index, part in enumerate(value):
            _check_part(index, part)
    return output  # type: ignore[return-value]


async def map_output(tool_id: str, function: Callable[[Any], Any] | None, output: Any) -> ModelOutput | None:
    """What the model is given for a successful output, or None for the raw output.

    A raise or a wrong shape is logged, and the raw output is used. A None output is not mapped.
    """
    if function is None or output is None:
        return None
    try:
        mapped = function(output)
        if inspect.isawaitable(mapped):
            mapped = await mapped
        return None if mapped is None else checked_model_output(mapped)
    except (Exception, Suspension):
        _logger.exception("to_model_output of the tool '%s' failed; the raw output is used", tool_id)
        return None


def _check_part(index: int, part: Any) -> None:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise ValueError(f"value.{index}: expected a part with a type")
    if part["type"] in _PARTS:
        field, kind = _PARTS[part["type"]]
        if not isinstance(part.get(field), kind):
            raise ValueError(f"value.{index}.{field}: expected a string in a part of type {part['type']!r}")


def _base64(data: str | bytes) -> str:
    return data if isinstance(data, str) else base64.b64encode(data).decode("ascii")
