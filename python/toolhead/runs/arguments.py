"""The arguments of a call while they arrive: their text, what is certain of their value, and whether they may be valid.

Rules: spec/api.md sections 5 (`InputStream`) and 6 (`tool-input-rejected`). A verdict here is final: what the repair of
the input may still mend is no verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead._core import MISSING, InputStream
from toolhead.errors import DecodeError

if TYPE_CHECKING:
    from toolhead._core import Issue
    from toolhead.runs.toolset import AnyTool


class ArgumentStream:
    """Takes pieces of text. Without a tool it only keeps them; without `judges` it shows values and has no verdict."""

    def __init__(self, tool: AnyTool | None, *, judges: bool = True) -> None:
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
        if state != "rejected" or self.rejection:
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
