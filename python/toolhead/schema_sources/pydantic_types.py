"""pydantic models, dataclasses and `TypeAdapter`s. pydantic is imported only where a class is pydantic's.

Source: spec/api.md section 1. The JSON Schema decides what is accepted, then pydantic builds: its validators,
aliases and defaults count, and what they refuse comes back as issues.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from toolhead.errors import SchemaError
from toolhead.schema_sources.source import Refused, Source

if TYPE_CHECKING:
    from toolhead._core import Issue

__all__ = ["adapted", "is_mentioned", "source"]


def source(given: Any, mode: str) -> Source | None:
    """The source of a pydantic class or adapter; None for anything else."""
    if _is_pydantic_class(given) or _is_adapter(given):
        return adapted(given, mode)
    return None


def is_mentioned(annotation: Any) -> bool:
    """Whether a pydantic class stands somewhere in the annotation."""
    return _is_pydantic_class(annotation) or any(map(is_mentioned, typing.get_args(annotation)))


def adapted(given: Any, mode: str) -> Source:
    """The source of anything that pydantic understands."""
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    try:
        adapter = given if _is_adapter(given) else TypeAdapter(given)
        json_schema = adapter.json_schema(mode="validation" if mode == "input" else "serialization", by_alias=True)
    except PydanticUserError as error:
        raise SchemaError(f"{given!r} has no JSON Schema: {error.message}") from error

    def build(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            refused = _refused(error.errors(include_url=False, include_context=False), value)
        # A strict model takes a date from JSON text but not from a str.
        try:
            return adapter.validate_json(_text(value))
        except ValidationError:
            raise refused from None

    def dump(value: Any) -> Any:
        return adapter.dump_python(value, mode="json", by_alias=True)

    instance_type = given if isinstance(given, type) else None
    return Source(json_schema, instance_type=instance_type, build=build, dump=dump)


def _text(value: Any) -> bytes:
    import msgspec

    return msgspec.json.encode(value)


def _refused(errors: list[Any], value: Any) -> Refused:
    issues: list[Issue] = []
    for error in errors:
        path = _path(error["loc"], value, is_missing=error["type"] == "missing")
        issues += Refused.one(path, error["msg"], keyword="build", value=error.get("input")).issues
    return Refused(issues)


def _path(location: tuple[str | int, ...], value: Any, *, is_missing: bool) -> list[str | int]:
    """The steps of a location that lead into the data; pydantic names branches of unions and validators too."""
    path: list[str | int] = []
    for place, step in enumerate(location):
        is_last = place == len(location) - 1
        if isinstance(value, dict) and (step in value or (is_last and is_missing)):
            path.append(step)
            value = value.get(step)
        elif isinstance(value, (list, tuple)) and isinstance(step, int) and step < len(value):
            path.append(step)
            value = value[step]
    return path


def _is_pydantic_class(given: Any) -> bool:
    return isinstance(given, type) and hasattr(given, "__pydantic_core_schema__")


def _is_adapter(given: Any) -> bool:
    kind = type(given)
    return kind.__name__ == "TypeAdapter" and kind.__module__.startswith("pydantic.")
