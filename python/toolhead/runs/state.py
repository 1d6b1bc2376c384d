"""What a run knows: shared by the run, its steps and its records.

Rules: spec/api.md section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead.runs.transcript import Transcript

if TYPE_CHECKING:
    from toolhead.runs.live import LiveCall


class RunState:
    """The latest step, and what of all steps is still needed."""

    def __init__(self) -> None:
        self.provider: str | None = None
        self.finish_reason: str | None = None
        self.assistant: list[dict[str, Any]] = []
        """The assistant's part of the latest step, in the provider's form."""
        self.calls: list[LiveCall] = []
        """The calls of the latest step, in call order."""
        self.by_id: dict[str, LiveCall] = {}
        """The calls of all steps."""
        self.transcript = Transcript()
        self.is_stepping = False

    def begin(self, provider: str) -> None:
        """A step begins."""
        self.provider, self.finish_reason, self.assistant, self.calls = provider, None, [], []
        self.transcript.begin_step()

    @property
    def is_working(self) -> bool:
        """Whether a step is read, or somebody's answer is worked on."""
        return self.is_stepping or any(call.is_answered for call in self.calls)

    @property
    def waiting(self) -> list[LiveCall]:
        """The calls that wait for an answer that nobody has given."""
        return [call for call in self.calls if call.record.is_waiting and not call.is_answered]
