"""The arguments of a call while they arrive: their text, what is certain of their value, and whether they may be valid.

Rules: spec/api.md sections 5 (`InputStream`) and 6 (`tool-input-rejected`). A verdict here is final: what the repair of
the input may still mend is no verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead import call
from toolhead._core import MISSING, InputStream
from toolhead.errors import DecodeError, ValidationError
from toolhead.schema_sources import Refused

if TYPE_CHECKING:
    from toolhead._core import Issue
    from toolhead.runs.toolset import AnyTool


class ArgumentStream:
    """Takes pieces of text. Without a tool it only keeps them.

    Args:
        tool: whose arguments they are.
        beside: a member that may stand among them and is none of them: text with it gets no verdict.
        judges: without it values are shown, and there is no verdict.
    """

    def __init__(self, tool: AnyTool | None, beside: str | None = None, *, judges: bool = True) -> None:
        self._beside = beside
        self._stream = None if tool is None else tool.stream_input() if judges else InputStream()
        self._mends = tool is not None and tool.repair_input
        self._pieces: list[str] = []
        self._is_open = True  # the text so far is the beginning of a JSON text
        self.rejection: list[Issue] = []
        """Why the arguments can no longer become valid."""

    def push(self, text: str) -> bool:
        """More text; whether it is what makes it certain that the arguments cannot become valid."""
        self._pieces.append(text)
        if self._stream is None or not self._is_open:
            return False
        try:
            state = self._stream.push(text)
        except DecodeError:
            self._is_open = False  # the call path tells why, from the whole text
            return False
        if state != "rejected" or self.rejection or (self._beside is not None and self._beside in self.text):
            return False
        self.rejection = [issue for issue in self._stream.issues if not self._may_mend(issue)]
        return bool(self.rejection)

    @property
    def value(self) -> Any:
        """What is certain so far: one live object, or `MISSING`."""
        return MISSING if self._stream is None else self._stream.value

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    def _may_mend(self, issue: Issue) -> bool:
        """Whether the repair of the input may still make good what `issue` says."""
        return self._mends and issue._may_mend


def checked_arguments(tool: AnyTool, text: str, *, cut_off: bool) -> call.Accepted | ValidationError:
    """The validated input from whole argument text; no text is an empty object, unless it was cut off."""
    if cut_off and not text.strip():
        return _cut_off(tool, text)
    checked = call.check_input(tool, text if text.strip() else "{}", is_text=True)
    cause = checked.__cause__ if isinstance(checked, ValidationError) else None
    if isinstance(cause, DecodeError) and cause.is_incomplete:
        error = _cut_off(tool, text)
        error.__cause__ = cause
        return error
    return checked


def _cut_off(tool: AnyTool, text: str) -> ValidationError:
    why = "The arguments were cut off before they were complete"
    return ValidationError(Refused.one((), why, keyword="json").issues, phase="input", tool_id=tool.id, value=text)
