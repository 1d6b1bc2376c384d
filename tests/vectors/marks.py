"""The value marks of the vectors (`{"$undefined": true}` and the like) in Python, and equality under them."""

import math
from datetime import datetime
from typing import Any

ABSENT = object()
"""What a fact is that a run did not produce."""


class ScriptedError(Exception):
    """The exception that a scripted body raises."""


def decode(value: Any) -> Any:
    """A value of a vector as the Python value that a tool is given or returns."""
    return _decode(value, value)


def _decode(value: Any, container: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item, value) for item in value]
    if not isinstance(value, dict):
        return value
    if value == {"$undefined": True}:
        return None
    if value.keys() == {"$number"}:
        return float(value["$number"].replace("Infinity", "inf"))
    if any(key.startswith("$") and key not in {"$schema", "$echo_input"} for key in value):
        raise NotImplementedError(f"mark in {value}")
    decoded: dict[str, Any] = {}
    for key, member in value.items():
        # The only cycles in the vectors: an object that contains itself.
        decoded[key] = decoded if member == {"$circular": True} else _decode(member, container)
    return decoded


def same(want: Any, got: Any) -> bool:
    """Whether `got` is what a vector wants: JSON equality (1 is 1.0, True is not 1), undefined is None or no fact."""
    if isinstance(want, dict):
        if want == {"$undefined": True}:
            return got is None or got is ABSENT
        if want.keys() == {"$date"}:
            return isinstance(got, datetime) and got == datetime.fromisoformat(want["$date"])
        if want.keys() == {"$text"}:
            return isinstance(got, str)  # the wording is ours
        return isinstance(got, dict) and want.keys() == got.keys() and all(same(want[key], got[key]) for key in want)
    if isinstance(want, list):
        return isinstance(got, list | tuple) and len(want) == len(got) and all(map(same, want, got))
    if isinstance(want, bool) or isinstance(got, bool):
        return want is got
    if isinstance(want, float) and math.isnan(want):
        return isinstance(got, float) and math.isnan(got)
    return bool(want == got)
