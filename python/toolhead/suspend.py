"""How a body suspends its call: `suspend` raises, so that the body always ends there.

Source: spec/api.md section 4. What is raised is no `Exception`: `except Exception` in a body lets it pass, and
`finally` still runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from toolhead.errors import ValidationError

__all__ = ["Suspension", "suspend"]


class Suspension(BaseException):
    """A call on its way out, suspended. Private: users see `ToolSuspended`, or the run's suspended chunk.

    Attributes:
        payload, options: what the body gave to `suspend`.
        error: the `ValidationError` of a payload that its schema refuses; the suspension stands all the same.
    """

    def __init__(self, payload: object, options: dict[str, Any]) -> None:
        super().__init__(payload)
        self.payload = payload
        self.options = options
        self.error: ValidationError | None = None


def suspend(payload: object = None, /, **options: Any) -> NoReturn:
    """Ends the body here and suspends the call until it is resumed with data.

    Never returns, so that `context.suspend(p)` and `return await context.agent.suspend(p)` both end the body.

    Args:
        payload: what the one who resumes needs to know; checked against the tool's `suspend_schema`.
        **options: handed to the runtime as they are (`resume_label`, ...).
    """
    raise Suspension(payload, options)
