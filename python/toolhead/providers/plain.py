"""From an SDK's event object to the plain dict that the API sent.

No SDK is imported: pydantic models answer `model_dump`, others are read by their attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def to_plain(value: Any) -> Any:
    """`value` as dicts, lists and scalars; a mapping is returned as it is (its content may hold objects: they stay).

    Raises `TypeError` for a value that has no fields.
    """
    if isinstance(value, dict):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    plain = _plain(value)
    if not isinstance(plain, dict):
        raise TypeError(f"A model's stream must give bytes, dicts or the SDK's event objects, got {type(value)!r}")
    return plain


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bytes)):
        return value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        # The SDKs build their models unchecked, so the serialiser would warn about values it did not expect.
        return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    fields = getattr(value, "__struct_fields__", None) or getattr(value, "__dict__", None)
    if fields is None:
        return value
    return {name: _plain(getattr(value, name)) for name in fields if not name.startswith("_")}
