"""`RequestContext`: the values that travel with one request.

Source: spec/api.md section 4 and section 8 of the behaviour document. It is carried by a context variable, so that
nested calls inherit it; it is never stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextvars import ContextVar
from typing import Any, Final

from toolhead._core import Validator

__all__ = [
    "CURRENT_REQUEST_CONTEXT",
    "RequestContext",
    "ValidatedRequestContext",
    "end_request_context",
    "foreign_keys",
]

_ANY_JSON = Validator(True)

CURRENT_REQUEST_CONTEXT: ContextVar[RequestContext | None] = ContextVar("toolhead.request_context")


class RequestContext(MutableMapping[str, Any]):
    """An ordered mapping of request values, by name. Overwriting keeps a key's place.

    Args:
        values: a mapping or pairs to begin with. Keys must be strings (`TypeError` otherwise).
    """

    RESOURCE_ID: Final = "mastra__resourceId"
    THREAD_ID: Final = "mastra__threadId"
    VERSIONS: Final = "mastra__versions"
    AUTH_TOKEN: Final = "mastra__authToken"  # noqa: S105  the name of a key
    INHERITED_MEMORY: Final = "mastra__inheritedMemory"
    MESSAGE_AUTHOR: Final = "mastra__messageAuthor"

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        self._values: dict[str, Any] = {}
        for key, value in dict(values or ()).items():
            self._values[_checked(key)] = value

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._values[_checked(key)] = value

    def __delitem__(self, key: str) -> None:
        del self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        # Values may be secrets.
        return f"{type(self).__name__}(keys={list(self._values)})"

    def set(self, key: str, value: Any) -> None:
        """The same as `self[key] = value`."""
        self[key] = value

    def has(self, key: str) -> bool:
        """The same as `key in self`."""
        return key in self._values

    def delete(self, key: str) -> bool:
        """Removes `key`, and returns whether it was there."""
        if key not in self._values:
            return False
        del self[key]
        return True

    @property
    def all(self) -> dict[str, Any]:
        """The values, as a fresh dict."""
        return dict(self._values)

    def to_json(self) -> dict[str, Any]:
        """The values that are JSON data or can be turned into it (dates, dataclasses, ...); the others are left out."""
        import msgspec

        def plain(value: Any) -> Any:
            if isinstance(value, RequestContext):
                return value._values
            raise NotImplementedError

        result = {}
        for key, value in self._values.items():
            try:
                result[key] = msgspec.to_builtins(value, str_keys=True, enc_hook=plain)
            except (TypeError, ValueError, NotImplementedError, RecursionError):
                continue
        return result


class ValidatedRequestContext(RequestContext):
    """What a body with a `request_context_schema` sees: validated values over all others, written through.

    Setting a value that the schema refuses raises `ValidationError`; setting, deleting and clearing reach the
    request context that the caller gave.
    """

    __slots__ = ("_source", "_tool_id", "_validator")

    def __init__(
        self, source: RequestContext, validated: Mapping[str, Any], validator: Validator, tool_id: str
    ) -> None:
        super().__init__({**source.all, **validated})
        self._source = source
        self._validator = validator
        self._tool_id = tool_id

    def __setitem__(self, key: str, value: Any) -> None:
        from toolhead.errors import ValidationError

        candidate = {**self._values, _checked(key): value}
        try:
            foreign = foreign_keys(candidate, self._validator.json_schema)
            validated = self._validator.validate({**candidate, **dict.fromkeys(foreign)})
        except ValidationError as error:
            raise ValidationError(
                error.issues, phase="request_context", tool_id=self._tool_id, value=candidate
            ) from None
        self._values[key] = value if key in foreign else validated[key]
        self._source[key] = value

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._source.pop(key, None)

    def clear(self) -> None:
        """Clears this view and the caller's request context."""
        self._values.clear()
        self._source.clear()


def foreign_keys(values: Mapping[str, Any], schema: dict[str, Any] | bool) -> list[str]:
    """The keys that the schema does not declare and whose values are no JSON data: a client, a function.

    Such a value is the application's own business. It counts as null for the schema, and bodies see it as it is.
    """
    declared = schema.get("properties", ()) if isinstance(schema, dict) else ()
    return [key for key, value in values.items() if key not in declared and _ANY_JSON.issues(value, limit=1)]


def end_request_context(request_context: RequestContext) -> None:
    """Takes back a request context that a call began for itself, where it is still the current one."""
    if CURRENT_REQUEST_CONTEXT.get(None) is request_context:
        CURRENT_REQUEST_CONTEXT.set(None)


def _checked(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of a request context must be a string, got {type(key).__name__}")
    return key
