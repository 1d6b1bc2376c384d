"""A JSON Schema as it is: a dict, a boolean, or JSON text of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhead._core import Validator
from toolhead.errors import DecodeError, SchemaError
from toolhead.schema_sources.source import Source

__all__ = ["source"]


def source(given: Any, _mode: str) -> Source | None:
    """The source of a JSON Schema."""
    if isinstance(given, str):
        try:
            given = Validator(True).decode(given)
        except DecodeError as error:
            raise SchemaError(f"the text is not JSON: {error.message}") from error
        if not isinstance(given, (dict, bool)):
            raise SchemaError(f"expected JSON text of an object or a boolean, got {type(given).__name__}")
        return Source(given)
    if isinstance(given, bool):
        return Source(given)
    if isinstance(given, Mapping):
        return Source(given if isinstance(given, dict) else dict(given))
    return None
