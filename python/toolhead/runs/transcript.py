"""A run as a message to store: text, and each call with its arguments and its result as the transcript may show them.

Rules: spec/api.md section 6 (`transform`, target `transcript`). Projections are applied here, before anything is stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead.runs.sendable import sendable

if TYPE_CHECKING:
    from toolhead.runs.live import LiveCall


class Transcript:
    """Collects the parts of one assistant message, in their order."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self._pieces: list[str] = []
        self._texts = 0
        self.open_text: tuple[str, bool] | None = None
        """Id of the text that is being written, and whether it is reasoning."""

    def start_text(self, reasoning: bool) -> str:
        """A stretch of text begins; its id."""
        self._texts += 1
        text_id = f"{'reasoning' if reasoning else 'text'}-{self._texts}"
        self.open_text = (text_id, reasoning)
        return text_id

    def text(self, text: str) -> str:
        """More of it; its id."""
        assert self.open_text is not None  # noqa: S101  a text is started before it grows
        self._pieces.append(text)
        return self.open_text[0]

    def end_text(self) -> tuple[str, bool] | None:
        """The stretch ends; what it was."""
        ended, self.open_text = self.open_text, None
        if ended is not None:
            self._parts.append({"type": "reasoning" if ended[1] else "text", "text": "".join(self._pieces)})
            self._pieces.clear()
        return ended

    def call(self, live: LiveCall) -> None:
        """A call appeared."""
        record = live.record
        invocation = {"state": "call", "toolCallId": record.tool_call_id, "toolName": record.tool_name}
        self._calls[record.tool_call_id] = invocation
        self._parts.append({"type": "tool-invocation", "toolInvocation": invocation})

    def settle(self, live: LiveCall) -> None:
        """A call has its result, or waits for an answer."""
        record, views = live.record, live.views
        invocation = self._calls[record.tool_call_id]
        invocation["args"] = sendable(views.shown("transcript", ("input",), record.args))
        outcome = record.outcome
        if outcome is None:
            invocation["state"] = "approval-requested" if record.phase == "approval" else "call"
            return
        if outcome.status in ("ok", "invalid"):
            invocation["state"] = "result"
            invocation["result"] = sendable(views.shown("transcript", ("output",), outcome.result))
        elif outcome.status == "error":
            invocation["state"] = "output-error"
            invocation["error"] = sendable(views.shown("transcript", ("error",), outcome.result))
        else:
            invocation["state"] = "output-denied"
            approval = {"id": record.tool_call_id, "approved": False, "reason": outcome.result}
            invocation["approval"] = approval

    def end_step(self) -> None:
        """The step ended."""
        self.end_text()
        self._parts.append({"type": "step-start"})

    def messages(self) -> list[dict[str, Any]]:
        """The message, or none when nothing was said."""
        parts = self._parts[:-1] if self._parts and self._parts[-1]["type"] == "step-start" else self._parts[:]
        if self._pieces and self.open_text is not None:
            kind = "reasoning" if self.open_text[1] else "text"
            parts = [*parts, {"type": kind, "text": "".join(self._pieces)}]
        return [{"role": "assistant", "parts": [_copied(part) for part in parts]}] if parts else []


def _copied(part: dict[str, Any]) -> dict[str, Any]:
    invocation = part.get("toolInvocation")
    return dict(part) if invocation is None else {**part, "toolInvocation": dict(invocation)}
