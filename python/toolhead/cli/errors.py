"""What ends a command early, and the exit codes."""

from __future__ import annotations

INVALID = 1
USAGE = 2
INTERRUPTED = 130


class CommandError(Exception):
    """A user's mistake: its text is one line on standard error, its `code` the exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code
