"""What every provider's stream is turned into: one small set of events.

Rules: spec/api.md section 6. A call is named by its ordinal in the response, never by the provider's id or index,
because both may be missing, repeated or reused.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

FinishReason: TypeAlias = Literal["stop", "tool-calls", "length", "content-filter", "error", "other"]


class CallStarted(msgspec.Struct, frozen=True, gc=False):
    """A tool call appeared: `call` is its ordinal, `id` the provider's id or None, `kind` the provider's own word.

    `server` is True for a call that the provider runs itself: it is reported and never run here. `whole` is True where
    the call comes in one piece, its text as the `replacement` of its `CallCompleted`: no start and no delta is told.
    """

    call: int
    id: str | None
    name: str
    kind: str
    server: bool = False
    whole: bool = False


class ArgumentsDelta(msgspec.Struct, frozen=True, gc=False):
    """A further piece of the argument text. All pieces of a call joined are its whole text."""

    call: int
    text: str


class CallCompleted(msgspec.Struct, frozen=True, gc=False):
    """No more argument text will come. `cut_off`: the response ended before the provider said that the call ended.

    `replacement` is the whole text where it is not the joined pieces (values sent out of order).
    """

    call: int
    cut_off: bool = False
    replacement: str | None = None


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    """A piece of the model's answer, or of its reasoning."""

    text: str
    reasoning: bool = False


class Finished(msgspec.Struct, frozen=True, gc=False):
    """The response ended: our word for the reason, and the provider's."""

    reason: FinishReason
    raw: str | None


class Failed(msgspec.Struct, frozen=True, gc=False):
    """The provider said, in the response itself, that it failed: its words. What was open then is cut off."""

    message: str


class Other(msgspec.Struct, frozen=True):
    """An event without meaning for tool calls, passed through as it came."""

    payload: dict[str, Any]


Event: TypeAlias = CallStarted | ArgumentsDelta | CallCompleted | TextDelta | Finished | Failed | Other
EVENT_TYPES = (CallStarted, ArgumentsDelta, CallCompleted, TextDelta, Finished, Failed, Other)
