"""Any value a body may return, as JSON that can be sent and stored.

Rules: section 13 of the behaviour document. Where an output schema stands, the value is JSON already; without one a
body may return anything, and one odd value must not cost the run its other results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from toolhead.schema_sources import to_json_data

_DEPTH = 200


def sendable(value: Any) -> Any:
    """`value` as JSON data: by the table of `to_json_data`, then what is left by its type's name.

    A cycle reads `[Circular]`, NaN and the infinities `null`, an exception its text.
    """
    return _made(value, ())


def _made(value: Any, parents: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if id(value) in parents:
        return "[Circular]"
    if len(parents) >= _DEPTH:
        return "[Too deep]"
    inside = (*parents, id(value))
    if isinstance(value, Mapping):
        return {_key(key): _made(member, inside) for key, member in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_made(member, inside) for member in value]
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    plain = to_json_data(value)
    return _made(plain, inside) if plain is not value else f"[{type(value).__name__}]"


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    (text,) = to_json_data({key: None})
    return text if isinstance(text, str) else str(key)
