"""The one table by which an output becomes JSON data.

| value | data |
| --- | --- |
| dict (keys: strings; numbers, dates, UUIDs and enum members by their text) | object |
| list, tuple, set, frozenset | array |
| msgspec.Struct, dataclass, attrs class | object, by the names msgspec encodes |
| pydantic model | `model_dump(mode="json", by_alias=True)` |
| Enum | its value |
| datetime, date, time | RFC 3339 text |
| timedelta | ISO 8601 duration |
| UUID, Path | text |
| Decimal | text; a number where only that is valid |
| bytes, bytearray, memoryview | base64 text |

Anything else stays as it is, so that the validator names it and its place.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

__all__ = ["to_json_data"]

_DEPTH = 200


def to_json_data(value: Any, *, decimals: bool = False) -> Any:
    """`value` as JSON data, by the table. `decimals` keeps a `Decimal`, which a validator reads as a number."""
    return _converted(value, (), ("decimal",) if decimals else ())


def _converted(value: Any, parents: tuple[int, ...], kept: tuple[str, ...]) -> Any:
    kind = type(value)
    if kind in (str, int, float, bool, type(None)):
        return value
    if id(value) in parents or len(parents) > _DEPTH:
        return value  # cyclic or too deep: told by the validator
    if isinstance(value, dict):
        inside = (*parents, id(value))
        return {_key(key): _converted(member, inside, kept) for key, member in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        inside = (*parents, id(value))
        return [_converted(member, inside, kept) for member in value]
    if kept and kind.__module__ == "decimal":
        return value
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=_foreign, builtin_types=_builtin(kept))
    except (TypeError, ValueError, NotImplementedError, RecursionError):
        return value


def _builtin(kept: tuple[str, ...]) -> tuple[type, ...]:
    if not kept:
        return ()
    from decimal import Decimal

    return (Decimal,)


def _key(key: Any) -> Any:
    if isinstance(key, str):
        return key
    try:
        (text,) = msgspec.to_builtins({key: None}, str_keys=True)
    except (TypeError, ValueError):
        return key
    return text


def _foreign(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    dump = getattr(type(value), "__pydantic_serializer__", None)
    if dump is not None:
        return dump.to_python(value, mode="json", by_alias=True)
    raise NotImplementedError
