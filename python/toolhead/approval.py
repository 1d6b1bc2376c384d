"""Whether a call has to be approved by a person, and what an approval is bound to.

Source: spec/api.md section 6; section 14 of the behaviour document. Asked once, with the validated input; a raise
means that approval is needed.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from toolhead._core import ToolExecutionContext
from toolhead.suspend import Suspension

__all__ = [
    "APPROVAL_SCHEMA",
    "DEFAULT_REASON",
    "ApprovalAnswer",
    "Predicate",
    "answered",
    "call_digest",
    "needs_approval",
]

_logger = logging.getLogger("toolhead")
Predicate = Callable[[Any, ToolExecutionContext], Any]

APPROVAL_SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "description": "Whether the call may run"},
        "reason": {"type": "string", "description": "What the model is told of a call that may not"},
    },
    "required": ["approved"],
    "additionalProperties": False,
}
DEFAULT_REASON = "The call was not approved by the user."


class ApprovalAnswer(msgspec.Struct, frozen=True):
    """A person's answer. `reason` is what the model is told of a declined call."""

    approved: bool
    reason: str | None = None


async def needs_approval(
    tool_id: str, require_approval: bool | Predicate, input: Any, context: ToolExecutionContext
) -> bool:
    """Whether the call needs approval, from the tool's option.

    A predicate that raises is logged and means yes; one that suspends, suspends the call.
    """
    if isinstance(require_approval, bool):
        return require_approval
    try:
        answer = require_approval(input, context)
        if inspect.isawaitable(answer):
            answer = await answer
        return bool(answer)
    except Suspension:
        raise
    except Exception:
        _logger.warning("require_approval of the tool '%s' raised: approval is needed", tool_id, exc_info=True)
        return True


def answered(data: Any) -> ApprovalAnswer | None:
    """The answer in resume data, or None where it is none (`approved` must be a boolean): ask again."""
    if not isinstance(data, dict) or not isinstance(data.get("approved"), bool):
        return None
    reason = data.get("reason")
    nested = data.get("decline_context", data.get("declineContext"))
    if not _is_text(reason) and isinstance(nested, dict):
        reason = nested.get("reason")
    return ApprovalAnswer(data["approved"], reason if _is_text(reason) else None)


def call_digest(tool_id: str, tool_call_id: str, arguments: Any) -> str:
    """A digest of tool, call id and arguments: an approval holds for exactly these."""
    data = msgspec.json.encode([tool_id, tool_call_id, arguments], order="sorted")
    return hashlib.sha256(data).hexdigest()


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
