"""Resume data that a model sends inside the arguments of a new call, to resume a call that was suspended before.

Rules: spec/api.md section 6 (`auto_resume_suspended_tools`); behaviour document section 7. The new call runs the tool
under its own id, with its own arguments; the members about the resumption are taken out before anything reads them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolhead.runs.calls import read_args

_CALL, _RUN, _DATA = "suspendedToolCallId", "suspendedToolRunId", "resumeData"
_DESCRIPTIONS = {
    _CALL: "The id of the suspended call that this call resumes",
    _RUN: "The id of the run of the suspended call that this call resumes",
    _DATA: "The data that the suspended call waits for; only where this call resumes one",
}


class Carried(NamedTuple):
    """What a call says about a resumption: the data, and the call meant, where the model named it."""

    data: Any
    tool_call_id: str | None
    run_id: str | None


def split(text: str) -> tuple[str, Carried | None]:
    """Argument text without the members about a resumption, and what they say; None without resume data."""
    args = read_args(text)
    if not isinstance(args, dict) or not args.keys() & _DESCRIPTIONS.keys():
        return text, None
    rest = {key: value for key, value in args.items() if key not in _DESCRIPTIONS}
    data, named = args.get(_DATA), (args.get(_CALL), args.get(_RUN))
    call, run = (name if isinstance(name, str) else None for name in named)
    return json.dumps(rest), None if data is None else Carried(data, call, run)


def with_members(schema: Mapping[str, Any] | bool | None) -> dict[str, Any]:
    """The input schema as a model is told of it: with the optional members about a resumption."""
    told = dict(schema) if isinstance(schema, Mapping) else {"type": "object"}
    names = {
        name: {"anyOf": [{"type": "string", "description": _DESCRIPTIONS[name]}, {"type": "null"}]}
        for name in (_CALL, _RUN)
    }
    data = {
        "description": _DESCRIPTIONS[_DATA],
        "type": ["string", "number", "integer", "boolean", "object", "null"],
    }
    properties: Any = told.get("properties", {})
    return {**told, "properties": {**properties, **names, _DATA: data}}
