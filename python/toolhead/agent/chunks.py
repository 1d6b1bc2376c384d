"""What an agent says beside what its run says: that a turn began, was aborted, ended.

Rules: spec/api.md section 6; behaviour document sections 9 and 13.
"""

from __future__ import annotations

from typing import Any, ClassVar

from toolhead.runs.chunks import Chunk


class Start(Chunk, frozen=True, kw_only=True):
    """The turn begins."""

    type: ClassVar[str] = "start"


class Abort(Chunk, frozen=True, kw_only=True):
    """The caller's signal ended the turn; `finish` follows."""

    type: ClassVar[str] = "abort"


class Finish(Chunk, frozen=True, kw_only=True):
    """The turn is over. A turn that waits for an answer has none: it goes on when the answer comes."""

    type: ClassVar[str] = "finish"

    reason: str

    def _finish(self, payload: dict[str, Any], *, hidden: bool) -> None:  # noqa: ARG002
        payload["stepResult"] = {"reason": self.reason}
