"""Any object with `__standard_schema__`: the Standard JSON Schema in Python form.

Source: spec/api.md section 1, modelled on the Standard Schema specification (standardschema.dev).
"""

from __future__ import annotations

import inspect
from typing import Any, Literal, Protocol, runtime_checkable

from toolhead.errors import SchemaError, ValidationError
from toolhead.schema_sources.source import Refused, Source

__all__ = ["StandardJSONSchema", "source"]


@runtime_checkable
class StandardJSONSchema(Protocol):
    """What `__standard_schema__` holds.

    Attributes:
        vendor: the name of the library.
        version: the version of this protocol, 1.
    """

    vendor: str
    version: int

    def json_schema(self, mode: Literal["input", "output"] = "input") -> dict[str, Any]:
        """The JSON Schema of what is accepted (`input`) or produced (`output`)."""
        ...

    def validate(self, value: Any) -> Any:
        """The validated value. Raises `ValueError` (a `ValidationError` keeps its issues) for what it refuses."""


def source(given: Any, mode: Any) -> Source | None:
    """The source of an object with `__standard_schema__`; None for anything else."""
    standard = getattr(given, "__standard_schema__", None)
    if standard is None:
        return None
    if not isinstance(standard, StandardJSONSchema):
        raise SchemaError("__standard_schema__: expected an object with vendor, version, json_schema and validate")
    json_schema = standard.json_schema(mode=mode)
    if not isinstance(json_schema, (dict, bool)):
        raise SchemaError(f"__standard_schema__.json_schema: expected a dict, got {type(json_schema).__name__}")

    def build(value: Any) -> Any:
        try:
            result = standard.validate(value)
        except ValidationError as error:
            raise Refused(error.issues) from error
        except ValueError as error:
            raise Refused.one((), str(error), keyword="build") from error
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise TypeError(f"the schema of {standard.vendor} validates asynchronously, which is not supported")
        return result

    return Source(json_schema, instance_type=given if isinstance(given, type) else None, build=build)
