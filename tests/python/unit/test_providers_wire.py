"""Raw bytes, cut anywhere, to payloads."""

import json
import struct
import time
from zlib import crc32

import pytest

from toolhead.errors import DecodeError
from toolhead.providers import wire as module
from toolhead.providers.path_text import PathText, parse_path
from toolhead.providers.wire import FrameWire, TextWire

BODY = (
    b'\xef\xbb\xbfdata: {"n":1}\r\n\r\n: a comment\n\nevent: x\nid: 7\ndata:{"n":2}\n\n'
    b'data: {"n":\rdata:  3}\r\r{"n":4}\n\ndata: {"n":"\xc3\xa9"}\n\ndata: [DONE]\n\n'
)
PAYLOADS = [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, {"n": "é"}]


@pytest.mark.parametrize("size", range(1, 12))
def test_text_gives_the_same_payloads_at_any_cut(size: int):
    wire = TextWire()
    found = [payload for at in range(0, len(BODY), size) for payload in wire.feed(BODY[at : at + size])]
    assert [*found, *wire.close()] == PAYLOADS
    assert wire.done


def test_an_event_without_a_blank_line_counts_when_it_is_whole():
    wire = TextWire()
    assert list(wire.feed(b'data: {"n":1}')) == []
    assert list(wire.close()) == [{"n": 1}]
    wire = TextWire()
    list(wire.feed(b'data: {"n":'))
    assert list(wire.close()) == []


def test_json_lines_need_no_line_end_when_they_come_one_by_one():
    wire = TextWire()
    assert [payload for n in (1, 2) for payload in wire.feed(json.dumps({"n": n}).encode())] == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("data", [b"data: {oops}\n\n", b"data: [1]\n\n", b'{"n":\n', b'data: "\xff"\n\n'])
def test_an_event_that_is_no_object_says_where_it_is(data: bytes):
    with pytest.raises(DecodeError, match=r"not (JSON|a JSON object)") as caught:
        list(TextWire().feed(b"data: {}\n\n" + data))
    assert caught.value.offset >= 10
    assert caught.value.line >= 3


def frame(payload: bytes, **headers: str) -> bytes:
    head = b""
    for name, value in headers.items():
        key = f":{name.replace('_', '-')}".encode()
        head += bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    head += b"\x01n\x04" + bytes(4)  # a header of another type
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    message = prelude + struct.pack(">I", crc32(prelude)) + head + payload
    return message + struct.pack(">I", crc32(message))


FRAMES = frame(b'{"role":"assistant"}', event_type="messageStart") + frame(
    b'{"bytes":"eyJhIjoxfQ=="}', event_type="chunk"
)


@pytest.mark.parametrize("size", [1, 5, 64, 1000])
def test_frames_give_the_same_payloads_at_any_cut(size: int):
    wire = FrameWire()
    found = [payload for at in range(0, len(FRAMES), size) for payload in wire.feed(FRAMES[at : at + size])]
    assert found == [{"messageStart": {"role": "assistant"}}, {"chunk": {"bytes": b'{"a":1}'}}]


@pytest.mark.parametrize("at", [0, 5, 9, 14, 40, len(FRAMES) - 2])
def test_a_damaged_frame_is_an_error(at: int):
    data = bytearray(FRAMES)
    data[at] ^= 0x40
    with pytest.raises(DecodeError, match="damaged"):
        list(FrameWire().feed(bytes(data)))


def test_an_exception_frame_keeps_its_name():
    data = frame(b'{"message":"slow down"}', message_type="exception", exception_type="throttlingException")
    assert list(FrameWire().feed(data)) == [{"throttlingException": {"message": "slow down"}}]


def payloads(wire: TextWire, body: bytes, size: int) -> list[dict[str, object]]:
    return [payload for at in range(0, len(body), size) for payload in wire.feed(body[at : at + size])]


def test_an_event_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_EVENT", 100)
    whole = b'data: {"n":"' + b"x" * 60 + b'"}\n\n'
    for size in (1, 7, 1000):
        wire = TextWire()
        assert len(payloads(wire, whole * 5, size)) == 5
        for endless in (b"data: " + b"x" * 101, b"data: xxxxxxxx\n" * 8, b'{"n":"' + b"x" * 101):
            with pytest.raises(DecodeError, match="An event of the provider's stream is too long") as caught:
                payloads(wire, endless, size)
            assert caught.value.offset >= len(whole) * 5
            wire = TextWire()
            payloads(wire, whole * 5, size)


def test_headers_that_end_outside_their_frame_are_refused():
    head = b"\x01n\x07\x00\x09ab"
    prelude = struct.pack(">II", 16 + len(head), len(head))
    message = prelude + struct.pack(">I", crc32(prelude)) + head
    with pytest.raises(DecodeError, match="headers do not fit"):
        list(FrameWire().feed(message + struct.pack(">I", crc32(message))))


@pytest.mark.parametrize("make", [TextWire, FrameWire])
def test_one_large_event_in_small_cuts_costs_linear_time(make: type):
    """Sixteen times the bytes cost about sixteen times the work, not 256: of this thread alone, with a wide margin."""

    def seconds(size: int) -> float:
        payload = json.dumps({"x": "a" * size}).encode()
        body = b"data: " + payload + b"\n\n" if make is TextWire else frame(payload, event_type="x")
        pieces = [body[at : at + 16] for at in range(0, len(body), 16)]
        best = float("inf")
        for _ in range(3):
            wire, began = make(), time.thread_time()
            found = [payload for piece in pieces for payload in wire.feed(piece)]
            best = min(best, time.thread_time() - began)
            assert len(found) == 1
        return best

    assert seconds(800_000) < 64 * seconds(50_000)


def text_of(*values: tuple[str, object, bool]) -> tuple[str, str | None]:
    text = PathText()
    return "".join(
        [*(text.put(path, value, grows=grows) for path, value, grows in values), text.end()]
    ), text.replacement


def test_values_at_paths_become_the_text_that_holds_them():
    written, replacement = text_of(
        ("$.s", 'a "', True), ("$.s", "b\n", True), ("$.s", "", False), ("$.n", 2.0, False), ("$.f", 1.5, False),
        ("$.l[0].k", "v", False), ("$.l[0]['x y']", None, False), ("$.l[1].k", True, False), ("$.m[0][0]", 1.0, False),
        ("$.m[0][1]", 2.0, False), ("$.m[1][0]", 3.0, False), ("$.z", "end", False),
    )  # fmt: skip
    assert replacement is None
    assert json.loads(written) == {
        "s": 'a "b\n', "n": 2, "f": 1.5, "l": [{"k": "v", "x y": None}, {"k": True}], "m": [[1, 2], [3]], "z": "end",
    }  # fmt: skip


def test_values_out_of_order_are_right_at_the_end():
    _, replacement = text_of(("$.a.x", 1.0, False), ("$.b", "t", False), ("$.a.y", 2.0, False))
    assert replacement is not None
    assert json.loads(replacement) == {"a": {"x": 1, "y": 2}, "b": "t"}


def test_halves_of_a_surrogate_pair_meet():
    written, _ = text_of(("$.s", "\ud83d", True), ("$.s", "\ude00", False))
    assert json.loads(written) == {"s": "😀"}


def test_nothing_is_an_empty_object():
    assert text_of() == ("{}", None)


@pytest.mark.parametrize("path", ["", "$", "a", "$.", "$[0]", "$.a[x]", "$.a..b", "$" + ".a" * 201])
def test_other_paths_are_refused(path: str):
    with pytest.raises(DecodeError, match="cannot be used"):
        parse_path(path)


@pytest.mark.parametrize(
    "paths", [("$.a[1]",), ("$.a", "$.a.b"), ("$.a.b", "$.a"), ("$.a[0]", "$.a.b"), ("$.a[999999999]",)]
)
def test_paths_that_fit_no_value_are_refused(paths: tuple[str, ...]):
    text = PathText()
    with pytest.raises(DecodeError, match="cannot be used"):  # noqa: PT012
        for path in paths:
            text.put(path, 1.0, grows=False)
