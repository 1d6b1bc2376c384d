"""A run as a message to store: text, and each call with its arguments and its result as the transcript may show them.

Rules: spec/api.md section 6 (`transform`, target `transcript`). Projections are applied before anything is stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead.runs.sendable import sendable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolhead.runs.live import LiveCall


MAPPED = "modelOutput"
"""What the model is given instead of the result: kept with the call, told beside it."""


class Transcript:
    """Collects the parts of one assistant message, in their order.

    A call's part only names the call: what it shows is in the call's record.
    """

    def __init__(self, parts: list[dict[str, Any]] | None = None) -> None:
        self.parts: list[dict[str, Any]] = parts or []
        self._pieces: list[str] = []
        self._texts = 0
        self.open_text: tuple[str, bool] | None = None
        """Id of the text that is being written, and whether it is reasoning."""

    def start_text(self, *, reasoning: bool) -> str:
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
            self.parts.append({"type": "reasoning" if ended[1] else "text", "text": "".join(self._pieces)})
            self._pieces.clear()
        return ended

    def call(self, tool_call_id: str) -> None:
        """A call appeared."""
        self.parts.append({"type": "tool-invocation", "toolCallId": tool_call_id})

    def begin_step(self) -> None:
        """A further step begins."""
        if self.parts:
            self.parts.append({"type": "step-start"})

    def messages(self, calls: Mapping[str, LiveCall]) -> list[dict[str, Any]]:
        """The message, or none when nothing was said."""
        parts = []
        for part in self.parts:
            if part["type"] == "tool-invocation":
                shown = dict(calls[part["toolCallId"]].record.shown)
                mapped = shown.pop(MAPPED, None)
                beside = {} if mapped is None else {"providerMetadata": {"mastra": {"modelOutput": mapped}}}
                parts.append({"type": "tool-invocation", "toolInvocation": shown, **beside})
            else:
                parts.append(dict(part))
        return [{"role": "assistant", "parts": parts}] if parts else []


def invocation(live: LiveCall) -> dict[str, Any]:
    """What the transcript shows of a call as it is now."""
    record, views = live.record, live.views
    shown: dict[str, Any] = {"state": "call", "toolCallId": record.tool_call_id, "toolName": record.tool_name}
    if record.phase == "streaming" and not record.server:
        return shown
    shown["args"] = sendable(views.shown("transcript", ("input",), record.args))
    if record.approved:
        shown["approval"] = {"id": record.tool_call_id, "approved": True}
    outcome = record.outcome
    if outcome is None:
        return shown
    if outcome.status in ("ok", "invalid"):
        result = views.shown("transcript", ("output",), outcome.result)
        # What the model is given derives from the output, so what hides the one hides the other.
        if outcome.model_output is not None and result is outcome.result:
            shown[MAPPED] = outcome.model_output
        return shown | {"state": "result", "result": sendable(result)}
    if outcome.status == "error":
        text = views.shown("transcript", ("error",), outcome.message)
        return shown | {"state": "output-error", "errorText": sendable(text)}
    answer = {"id": record.tool_call_id, "approved": False, "reason": outcome.result}
    return shown | {"state": "output-denied", "approval": answer}
