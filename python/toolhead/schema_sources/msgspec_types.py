"""Classes and annotations that msgspec understands: Struct, dataclass, TypedDict, NamedTuple, attrs, `list[int]`, ...

Source: spec/api.md section 1; the names of fields are those that msgspec encodes. A TypedDict describes data, so
that nothing is built for it.
"""

from __future__ import annotations

import copy
import re
import typing
from typing import Any

import msgspec

from toolhead.errors import SchemaError
from toolhead.schema_sources import pydantic_types
from toolhead.schema_sources.source import Refused, Source

__all__ = ["source"]


def source(given: Any, mode: str) -> Source | None:
    """The source of a class or an annotation; None for what is neither."""
    if given is None or not _is_annotation(given):
        return None
    if pydantic_types.is_mentioned(given):
        return pydantic_types.adapted(given, mode)
    if isinstance(given, type) and issubclass(given, msgspec.Struct):
        _check_fields(given)
    try:
        schema, components = msgspec.json.schema_components((given,), ref_template="#/$defs/{name}")
    except (TypeError, ValueError, NameError) as error:
        raise SchemaError(f"{_name(given)} has no JSON Schema: {error}") from error
    json_schema = _rooted(schema[0], components)
    if _is_typed_dict(given):
        return Source(json_schema)
    has_instances = isinstance(given, type) and given.__module__ != "builtins"
    return Source(json_schema, instance_type=given if has_instances else None, build=_builder(given))


def forget(given: Any) -> None:
    """Takes back what msgspec keeps on the classes of `__main__`: with it they cannot be pickled by value."""
    waiting: list[Any] = [msgspec.inspect.type_info(given)]
    seen: set[int] = set()
    while waiting:
        info = waiting.pop()
        if isinstance(info, tuple):
            waiting += info
        elif isinstance(info, msgspec.Struct) and id(info) not in seen:
            seen.add(id(info))
            owner: Any = getattr(info, "cls", None)
            if getattr(owner, "__module__", None) == "__main__" and "__msgspec_cache__" in vars(owner):
                del owner.__msgspec_cache__
            waiting += [getattr(info, name) for name in info.__struct_fields__]


def _check_fields(given: type[msgspec.Struct]) -> None:
    """A Struct that was pickled by value has no fields any more, and would accept everything."""
    slots = set(vars(given).get("__slots__", ())) - {"__dict__", "__weakref__"}
    if lost := slots - set(given.__struct_fields__):
        text = f"{_name(given)} has lost its fields ({', '.join(sorted(lost))}): a Struct cannot be pickled by value"
        raise SchemaError(text)


def _builder(given: Any) -> Any:
    convert = msgspec.convert

    def build(value: Any) -> Any:
        try:
            return convert(value, given)
        except msgspec.ValidationError as error:
            raise _refused(error) from error

    return build


def _refused(error: msgspec.ValidationError) -> Refused:
    text = str(error)
    place = re.search(r" - at `(?:key in )?(\$.*)`$", text)
    if place is None:
        return Refused.one((), text, keyword="build")
    path: list[str | int] = []
    # `[...]` stands for some key of a mapping: the path ends before it.
    for name, index in re.findall(r"\.([^.\[]+)|\[(\d+)\]", place[1].split("[...]")[0]):
        path.append(name or int(index))
    return Refused.one(path, text[: place.start()], keyword="build")


def _rooted(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """The schema with its root written out: a model is told of an object, not of a reference to one."""
    reference = schema.get("$ref")
    if reference is not None and len(schema) == 1:
        name = reference.removeprefix("#/$defs/")
        schema = copy.deepcopy(components[name])
        if reference not in str(components):
            components = {key: value for key, value in components.items() if key != name}
    return {**schema, "$defs": components} if components else schema


def _is_typed_dict(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, dict) and hasattr(given, "__total__")


def _is_annotation(given: Any) -> bool:
    return isinstance(given, (type, typing.TypeVar)) or typing.get_origin(given) is not None or given is Any


def _name(given: Any) -> str:
    return getattr(given, "__qualname__", None) or str(given)
