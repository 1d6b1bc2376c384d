"""What may stand where a schema is asked for, and what it becomes: a JSON Schema, a validator, a way to build.

Source: spec/api.md section 1, "Schema sources". The JSON Schema decides; the library that owns a class then builds
the instance. A kind of source is one file here and one row in `SOURCES`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from toolhead._core import Validator
from toolhead.errors import SchemaError
from toolhead.schema_sources import json_schema
from toolhead.schema_sources.data import to_json_data
from toolhead.schema_sources.source import Refused, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CompiledSchema", "Mode", "Refused", "Source", "compile_schema", "resolve", "to_json_data"]

Mode = Literal["input", "output"]

# After a JSON Schema, in this order: the first that knows what it is given wins; msgspec is last, since it takes any
# annotation. Each is imported when it is asked.
SOURCES = ("standard", "pydantic_types", "msgspec_types")


def resolve(given: Any, mode: Mode) -> Source:
    """The source behind `given`.

    Raises:
        SchemaError: nothing that is known, or something that cannot be described as JSON Schema.
    """
    if isinstance(given, Source):
        return given
    plain = json_schema.source(given, mode)
    if plain is not None:
        return plain
    for name in SOURCES:
        module: Any = import_module(f"toolhead.schema_sources.{name}")
        found: Source | None = module.source(given, mode)
        if found is not None:
            return found
    raise SchemaError(
        "expected a JSON Schema (dict, bool or JSON text), a class or annotation, a pydantic type or an object with "
        f"__standard_schema__, got {type(given).__name__}"
    )


_ANY_JSON = Validator(True)
# A source of which nothing is built and nothing is an instance; its schema is kept as text.
_DATA = Source(True)


def _encoded(schema: dict[str, Any] | bool) -> bytes:
    try:
        return msgspec.json.encode(schema)
    except OverflowError:  # a number beyond 64 bits
        import json

        return json.dumps(schema).encode()


class CompiledSchema:
    """A schema option of a tool, ready for use. Immutable; pickled as what it was made from."""

    __slots__ = ("_mode", "_options", "_source", "_text", "given", "validator")

    def __init__(self, given: Any, mode: Mode, options: dict[str, Any]) -> None:
        source = resolve(given, mode)
        self.given = given
        self.validator = Validator(source.json_schema, **options)
        self._source = _DATA if source[1:] == _DATA[1:] else source._replace(json_schema=True)
        # As text: small, and what somebody does later to the schema that was given changes nothing here.
        self._text = _encoded(source.json_schema)
        self._mode = mode
        self._options = options

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledSchema, (self.given, self._mode, self._options)

    def make_portable(self) -> None:
        """Called before this is pickled: takes back what a library keeps on a class that is pickled by value."""
        if getattr(self.given, "__module__", None) == "__main__":
            from toolhead.schema_sources import msgspec_types

            msgspec_types.forget(self.given)

    @property
    def json_schema(self) -> dict[str, Any] | bool:
        """The JSON Schema, as a fresh copy."""
        schema: dict[str, Any] | bool = _ANY_JSON.decode(self._text)
        return schema

    @property
    def build(self) -> Callable[[Any], Any] | None:
        """Makes the declared type from validated data, or raises `Refused`; None where data stays data."""
        return self._source.build

    @property
    def empty_root(self) -> dict[str, Any] | list[Any] | None:
        """What an empty input stands for: `{}` or `[]` where the root says so, None for a union or no type at all."""
        schema = self.json_schema
        kind = schema.get("type") if isinstance(schema, dict) else None
        return {} if kind == "object" else [] if kind == "array" else None

    def built(self, value: Any) -> Any:
        """`value`, as the declared type."""
        return value if self._source.build is None else self._source.build(value)

    def is_instance(self, value: object) -> bool:
        """Whether `value` already is of the declared class."""
        return self._source.instance_type is not None and isinstance(value, self._source.instance_type)

    def data_of(self, value: object) -> Iterator[Any]:
        """`value` as JSON data: by the owner of the class where it is an instance, else by the table.

        A `Decimal` has two forms, text first.
        """
        if self._source.dump is not None and self.is_instance(value):
            yield self._source.dump(value)
            return
        data = to_json_data(value)
        yield data
        exact = to_json_data(value, decimals=True)
        if exact != data:
            yield exact


def compile_schema(option: str, given: Any, mode: Mode, options: dict[str, Any]) -> CompiledSchema:
    """The compiled form of the schema option `option`.

    Raises:
        SchemaError: naming the option, for a broken schema and for what is no schema.
    """
    try:
        return CompiledSchema(given, mode, options)
    except SchemaError as error:
        text = f"{option}: {error.message}"
        raise SchemaError(text, schema_path=error.schema_path, keyword=error.keyword) from error.__cause__
