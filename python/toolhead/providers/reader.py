"""The part of every API's stream reader that is the same: bytes to payloads, and the book of calls.

Rules: spec/api.md section 6. A subclass says what one payload means (`read`) and how the assistant's message looks
(`assistant`); everything about identity, empty arguments and calls without an end is here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from toolhead.errors import DecodeError
from toolhead.providers.events import (
    EVENT_TYPES,
    ArgumentsDelta,
    CallCompleted,
    CallStarted,
    Event,
    Failed,
    Finished,
    FinishReason,
    Other,
    TextDelta,
)
from toolhead.providers.plain import to_plain
from toolhead.providers.wire import FrameWire, TextWire, Wire

if TYPE_CHECKING:
    from collections.abc import Sequence


CUT: frozenset[FinishReason] = frozenset({"length", "content-filter", "error"})
"""Reasons after which the last call may lack its end."""


class Call:
    """One call of the response while it is read."""

    __slots__ = ("extra", "id", "kind", "merged", "name", "number", "open", "pieces", "server")

    def __init__(self, number: int, id: str | None, name: str, kind: str, server: bool) -> None:
        self.number = number
        self.id = id
        self.name = name
        self.kind = kind
        self.server = server
        self.open = True
        self.pieces: list[str] = []
        self.merged: dict[str, Any] | None = None  # arguments that come as objects, merged until the call ends
        self.extra: dict[str, Any] = {}  # what the API wants back with the call (signatures, item ids)

    @property
    def text(self) -> str:
        """The argument text so far."""
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def has_value(self) -> bool:
        """Whether the text so far is one whole JSON value."""
        text = self.text.strip()
        return text[:1] + text[-1:] in ("{}", "[]", '""') and is_json(text)

    def arguments(self) -> dict[str, Any]:
        """The arguments as an object, for APIs whose messages hold objects; text that is none reads as `{}`."""
        try:
            value = msgspec.json.decode(self.text)
        except msgspec.DecodeError:
            return {}
        return value if isinstance(value, dict) else {}


class Reader:
    """Reads one response of one API. `feed` takes bytes cut anywhere, event dicts, or the SDK's event objects."""

    finish_reasons: Mapping[str, FinishReason] = {}
    """The API's words for the reason of an end, and ours."""
    form: str | None = None
    """The provider in whose form the conversation goes on, where that is not the one that was asked for."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.finished = False
        self._wire: Wire | None = None
        self._unsure: Call | None = None
        self._events: list[Event] = []

    def feed(self, item: Any) -> list[Event]:
        """The events that `item` brings.

        Raises `DecodeError` for damaged bytes or a foreign form and `TypeError` for an object without fields.
        """
        if isinstance(item, (bytes, bytearray, memoryview, str)):
            data = item.encode() if isinstance(item, str) else bytes(item)
            if data:
                if self._wire is None:
                    # A frame starts with its length in four bytes, text with a letter, a mark or a line end.
                    self._wire = FrameWire() if data[0] < 9 else TextWire()
                for payload in self._wire.feed(data):
                    self._read(payload)
        elif isinstance(item, EVENT_TYPES):
            self._events.append(item)
        else:
            self._read(to_plain(item))
        return self._take()

    def close(self, *, failed: bool = False) -> list[Event]:
        """The events that the end of the response brings: every call that is still open ends, as cut off.

        `failed`: the stream broke, so no end mark may be read into what came before.
        """
        if self._wire is not None and not failed:
            for payload in self._wire.close():
                self._read(payload)
        self.end(failed=failed)
        self._sure(cut_off=failed or not self.finished)
        self.complete_all(cut_off=True)
        return self._take()

    def share(self, outer: Reader) -> None:
        """Puts calls and events into the book of `outer`, a reader that hands its payloads on."""
        self.calls, self._events = outer.calls, outer._events

    def read(self, payload: dict[str, Any]) -> None:
        """What one payload (an event, or a whole response that was not streamed) means."""
        raise NotImplementedError

    def end(self, *, failed: bool) -> None:
        """A chance to read something into the end of the stream; nothing by default."""

    def assistant(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """The assistant's part of the conversation in the API's own form, with `ids[n]` as the id of call n."""
        raise NotImplementedError

    # What subclasses say

    def start(self, id: str | None, name: str, kind: str = "function", *, server: bool = False) -> Call:
        """A call appeared."""
        self._sure()
        call = Call(len(self.calls), id or None, name, kind, server)
        self.calls.append(call)
        self._events.append(CallStarted(call.number, call.id, name, kind, server))
        return call

    def delta(self, call: Call, text: str) -> None:
        """More of a call's argument text."""
        # Empty pieces are passed on: they say that the provider is at work.
        if text:
            call.pieces.append(text)
        self._events.append(ArgumentsDelta(call.number, text))

    def merge(self, call: Call, arguments: Mapping[str, Any]) -> None:
        """Arguments that come as an object: later objects replace earlier keys, and the text follows at the end."""
        call.merged = {**(call.merged or {}), **arguments}

    def complete(self, call: Call, *, cut_off: bool = False, replacement: str | None = None) -> None:
        """A call ended; ending it again changes nothing."""
        if not call.open:
            return
        call.open = False
        if call.merged is not None and not call.pieces:
            self.delta(call, json.dumps(call.merged, ensure_ascii=False))
        if replacement is not None:
            call.pieces[:] = [replacement]
        self._events.append(CallCompleted(call.number, cut_off, replacement))

    def end_marked(self, call: Call) -> None:
        """The API marked the end of a call.

        Without any text the mark alone does not tell a call without arguments from one that was cut off before its
        first word: what follows does.
        """
        if call.text or call.merged is not None:
            self.complete(call)
        else:
            self._unsure = call

    def _sure(self, *, cut_off: bool = False) -> None:
        if self._unsure is not None:
            call, self._unsure = self._unsure, None
            self.complete(call, cut_off=cut_off)

    def complete_all(self, *, cut_off: bool) -> None:
        """Every call that is open ended."""
        self._sure()
        for call in self.calls:
            self.complete(call, cut_off=cut_off)

    def text(self, text: str, *, reasoning: bool = False) -> None:
        """More of the model's answer or reasoning."""
        if text:
            self._sure()
            self._events.append(TextDelta(text, reasoning))

    def finish(self, raw: str | None) -> None:
        """The response ended for the reason that the API calls `raw`."""
        self.finished = True
        reason = self.finish_reasons.get(raw or "", "other")
        self._sure(cut_off=reason in CUT)
        self._events.append(Finished(reason, raw))

    def fail(self, error: Any) -> None:
        """The API said that the response failed; `error` is its text, or an object that has one.

        Nothing that is open will be whole, whatever else may look like an end of the stream.
        """
        self.finished = True
        self._sure(cut_off=True)
        self.complete_all(cut_off=True)
        self._events.append(Failed(error_text(error)))

    def other(self, payload: dict[str, Any]) -> None:
        """An event that means nothing for calls."""
        self._events.append(Other(payload))

    def _read(self, payload: dict[str, Any]) -> None:
        try:
            self.read(payload)
        except (KeyError, TypeError, AttributeError) as error:
            raise DecodeError(
                f"An event of the stream does not have the provider's form: {payload!r:.200}",
                offset=0,
                line=1,
                column=1,
            ) from error

    def _take(self) -> list[Event]:
        events = self._events[:]
        self._events.clear()  # the list is shared with a reader inside another
        return events


def error_text(error: Any) -> str:
    """What an API's error says."""
    if isinstance(error, Mapping):
        said = (error.get(key) for key in ("message", "Message", "detail", "code", "type", "error"))
        error = next((text for text in said if text), None) or dict(error)
    if isinstance(error, str):
        return error
    return "The provider gave no reason" if not error else json.dumps(error, default=str)


def is_json(text: str) -> bool:
    """Whether `text` is one JSON value."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True
