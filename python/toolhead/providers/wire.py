"""From raw bytes, cut anywhere, to event payloads: server-sent events, JSON lines, AWS event-stream frames.

Rules: the server-sent events section of the HTML standard; the `vnd.amazon.eventstream` encoding. Bytes that were
looked at are not looked at again, so one-byte chunks cost what one large chunk costs.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

import msgspec

from toolhead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

Payload = dict[str, Any]

DONE = b"[DONE]"
"""End mark of OpenAI-compatible servers; not JSON."""

MAX_FRAME = 24 * 1024 * 1024
"""Upper limit of one AWS frame in bytes: 16 MiB of payload, headers, and room; more is a damaged length field."""

MAX_EVENT = 128 * 1024 * 1024
"""Upper limit of one event or line of text in bytes: arguments of the greatest length with every character escaped."""

_JSON = msgspec.json.Decoder()


class Wire(Protocol):
    """A decoder of one response body."""

    def feed(self, data: bytes) -> Iterator[Payload]:
        """The payloads that `data` completes."""
        ...

    def close(self) -> Iterator[Payload]:
        """The payloads that the end of the body completes."""
        ...


class TextWire:
    """Server-sent events and JSON lines, told apart by the line.

    A line that starts with `{` is a JSON line: in server-sent events it would be an unknown field, which means nothing.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of the unfinished line
        self._data: list[bytes] = []  # `data` fields of the unfinished event
        self._after_cr = False  # a line feed that comes next belongs to the carriage return before it
        self._first = True
        self._offset = 0  # bytes before the unfinished line
        self._line = 1
        self._size = 0  # bytes of the unfinished event so far
        self.done = False

    def feed(self, data: bytes) -> Iterator[Payload]:
        """The payloads that `data` completes. Raises `DecodeError` for one that is not a JSON object, or has no end."""
        if self._after_cr:
            self._after_cr = False
            if data[:1] == b"\n":
                data = data[1:]
                self._offset += 1
        if not self._pieces and not self._data and data[:1] == b"{":
            whole = _whole_object(data)
            if whole is not None:
                self._offset += len(data)
                yield whole
                return
        if b"\r" not in data:
            yield from self._lines(data)
            return
        start = 0
        for end, after in _line_ends(data):
            piece = data[start:end]
            line = b"".join((*self._pieces, piece)) if self._pieces else piece
            self._pieces.clear()
            self._grow(len(piece))
            yield from self._take(line)
            self._offset += len(line) + after - end
            self._line += 1
            start = after
        if start < len(data):
            self._grow(len(data) - start)
            self._pieces.append(data[start:])
        self._after_cr = data[-1:] == b"\r"

    def _lines(self, data: bytes) -> Iterator[Payload]:
        """The same for bytes whose lines end with a line feed alone, as nearly all do: one look at each line."""
        pieces, fields = self._pieces, self._data
        lines = data.split(b"\n")
        rest = lines.pop()
        for line in lines:
            self._size += len(line)
            if self._size > MAX_EVENT:
                raise self._refused("is too long")
            if pieces:
                line = b"".join((*pieces, line))  # noqa: PLW2901 - the whole of it
                pieces.clear()
            if line[:6] == b"data: " and not self._first:
                fields.append(line[6:])
            elif line or self._first or len(fields) != 1 or fields[0][:1] != b"{":
                yield from self._take(line)
            else:
                self._size = 0
                yield self._decode(fields.pop())
            self._offset += len(line) + 1
            self._line += 1
        if rest:
            self._grow(len(rest))
            pieces.append(rest)

    def close(self) -> Iterator[Payload]:
        """The payload that the end of the body completes, if it is whole."""
        # An event that no blank line ends counts when it is whole; half a JSON text was cut off with the connection.
        line = b"".join(self._pieces)
        self._pieces.clear()
        if line[:1] == b"{":
            whole = _whole_object(line)
            if whole is not None:
                yield whole
            return
        self._field(line)
        data = b"\n".join(self._data)
        self._data.clear()
        if data == DONE:
            self.done = True
        elif (whole := _whole_object(data)) is not None:
            yield whole

    def _take(self, line: bytes) -> Iterator[Payload]:
        if self._first:
            self._first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            self._size = 0
            if self._data:
                data = b"\n".join(self._data)
                self._data.clear()
                if data.strip() == DONE:
                    self.done = True
                elif data.strip():
                    yield self._decode(data)
        elif line[:1] == b"{":
            self._size = 0
            yield self._decode(line)
        else:
            self._field(line)

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > MAX_EVENT:
            raise self._refused("is too long")

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value[1:] if value[:1] == b" " else value)

    def _decode(self, data: bytes) -> Payload:
        try:
            value = _JSON.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._refused(f"is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise self._refused("is not a JSON object")
        return value

    def _refused(self, why: str) -> DecodeError:
        return DecodeError(f"An event of the provider's stream {why}", offset=self._offset, line=self._line, column=1)


class FrameWire:
    """AWS event-stream frames (Bedrock), with both checksums checked.

    Yields `{event type: payload}`, the form in which the AWS SDK gives the same events.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._offset = 0  # bytes before the buffer
        self.done = False

    def feed(self, data: bytes) -> Iterator[Payload]:
        """The payloads of the frames that `data` completes. Raises `DecodeError` for a damaged one."""
        self._buffer += data
        while len(self._buffer) >= 12:
            total, headers_length, prelude_crc = struct.unpack_from(">III", self._buffer)
            if crc32(self._buffer[:8]) != prelude_crc:
                raise self._damaged("the checksum of its prelude does not match")
            if total < 16 + headers_length or total > MAX_FRAME:
                raise self._damaged("its lengths do not fit")
            if len(self._buffer) < total:
                return
            frame = bytes(self._buffer[:total])
            if crc32(frame[:-4]) != struct.unpack_from(">I", frame, total - 4)[0]:
                raise self._damaged("its checksum does not match")
            payload = self._payload(self._headers(frame[12 : 12 + headers_length]), frame[12 + headers_length : -4])
            del self._buffer[:total]
            self._offset += total
            yield payload

    def close(self) -> Iterator[Payload]:
        """Nothing: a frame says itself where it ends."""
        self._buffer.clear()  # half a frame was cut off with the connection
        return iter(())

    def _headers(self, data: bytes) -> dict[str, str]:
        headers: dict[str, str] = {}
        at = 0
        try:
            while at < len(data):
                name_end = at + 1 + data[at]
                name, kind = data[at + 1 : name_end].decode(), data[name_end]
                at = name_end + 1
                if kind in (6, 7):  # bytes and text: two bytes of length
                    length = struct.unpack_from(">H", data, at)[0]
                    if kind == 7:
                        headers[name] = data[at + 2 : at + 2 + length].decode()
                    at += 2 + length
                else:  # true, false, then numbers, a time and a UUID
                    at += (0, 0, 1, 2, 4, 8, 0, 0, 8, 16)[kind]
        except (IndexError, struct.error, UnicodeDecodeError) as error:
            raise self._damaged("its headers cannot be read") from error
        if at != len(data):
            raise self._damaged("its headers do not fit")
        return headers

    def _payload(self, headers: dict[str, str], body: bytes) -> Payload:
        kind = headers.get(":event-type") or headers.get(":exception-type") or "error"
        try:
            value = _JSON.decode(body) if body else {}
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._damaged(f"its payload is not JSON: {error}") from error
        if kind == "error" and not value:  # an error that is no modelled exception stands in the headers
            return {kind: {"code": headers.get(":error-code"), "message": headers.get(":error-message")}}
        if kind == "chunk" and isinstance(value, dict) and isinstance(value.get("bytes"), str):
            value = {**value, "bytes": b64decode(value["bytes"])}
        return {kind: value}

    def _damaged(self, why: str) -> DecodeError:
        return DecodeError(
            f"A frame of the provider's event stream is damaged: {why}",
            offset=self._offset,
            line=1,
            column=self._offset + 1,
        )


def _line_ends(data: bytes) -> Iterator[tuple[int, int]]:
    """For each line end in `data`: where the line ends and where the next one starts (LF, CR LF or CR)."""
    at = 0
    while True:
        feed, carriage = data.find(b"\n", at), data.find(b"\r", at)
        if feed < 0 and carriage < 0:
            return
        end = feed if carriage < 0 or 0 <= feed < carriage else carriage
        at = end + 2 if end == carriage and data[end + 1 : end + 2] == b"\n" else end + 1
        yield end, at


def _whole_object(data: bytes) -> Payload | None:
    if not data:
        return None
    try:
        value = _JSON.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return value if isinstance(value, dict) else None
