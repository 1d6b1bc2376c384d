"""`_background`: what one call says about how it wants to run, among its arguments.

Rules: section 17 of the behaviour document. It is offered to the model in the schema of the arguments, cut out of them
before they are validated, and never reaches a body.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from toolhead._core import Validator

if TYPE_CHECKING:
    from toolhead._core import Issue

KEY = "_background"

SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "Whether this call waits for its result. Leave it out unless the user asks for one or the other.",
    "properties": {
        "enabled": {"type": "boolean", "description": "false: the call runs at once and is waited for."},
        "disposition": {
            "type": "string",
            "enum": ["foreground", "deferred", "awaited"],
            "description": "foreground: an ordinary call. deferred: go on without the result, which follows later. "
            "awaited: a task of its own that is waited for.",
        },
        "timeoutMs": {"type": "number", "description": "After how many milliseconds the task is given up."},
        "maxRetries": {"type": "number", "description": "How often a failure is tried again."},
    },
    "additionalProperties": False,
}
_STRICT = {
    **SCHEMA,
    "properties": {
        **SCHEMA["properties"],
        "timeoutMs": {"type": "number", "exclusiveMinimum": 0},
        "maxRetries": {"type": "integer", "minimum": 0, "maximum": 100},
    },
}
_MEMBERS = ("enabled", "disposition", "timeoutMs", "maxRetries")
_VALIDATOR = Validator({"properties": {KEY: _STRICT}})
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def without_override(text: str) -> tuple[str, Any]:
    """JSON text without the member `_background` of its root object, and that member's value.

    The rest of the text stays as it is, to be read once, by the validator. Text in which the member cannot be found
    (it is no object, or damaged) stays as it is too, with None.
    """
    if KEY not in text and "\\" not in text:
        return text, None
    try:
        return _cut(text)
    except (ValueError, IndexError, RecursionError):
        return text, None


def _cut(text: str) -> tuple[str, Any]:
    at = _skip(text, 0)
    if text[at] != "{":
        return text, None
    before = at = at + 1
    at = _skip(text, at)
    found = None
    while text[at] == '"':
        start = at
        key, at = scanstring(text, at + 1, True)
        at = _skip(text, at)
        if text[at] != ":":
            return text, None
        value, at = _DECODER.raw_decode(text, _skip(text, at + 1))
        end, at = at, _skip(text, at)
        if key == KEY:
            if found is not None:  # twice: the validator is to refuse it
                return text, None
            has_more = text[at] == ","
            # With the comma before it, or, for the first one, the comma after it.
            found = (before, end, value) if text[before] == "," else (start, at + 1 if has_more else end, value)
        if text[at] != ",":
            break
        before, at = at, _skip(text, at + 1)
    if found is None:
        return text, None
    return text[: found[0]] + text[found[1] :], found[2]


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def issues_of(override: Any) -> list[Issue]:
    """What is wrong with an override; a null, within it or in its place, says nothing."""
    return _VALIDATOR.issues({KEY: given(override)})


def given(override: Any) -> Any:
    """What an override says: strict modes make a model write null for what it leaves out."""
    if override is None:
        return {}
    if not isinstance(override, dict):
        return override
    return {key: value for key, value in override.items() if value is not None or key not in _MEMBERS}
