"""InputStream beyond the vectors: live value, changes, paths, faults, limits, threads."""

import copy
import gc
import json
import pickle
import random
import sys
import threading
import tracemalloc
from typing import Any

import pytest

from toolhead import MISSING, Change, DecodeError, InputStream, Limits, ValidationError, Validator

TEXT = '{"a": [1, {"b~/c": "x\\ny"}, [], "é漢😀"], "d": {"e": null, "f": 1e2}, "g": 123456789012345678901234567890}'


def replay(root: Any, changes: list[Change]) -> Any:
    """What a reader builds from changes alone."""
    for change in changes:
        if change.op == "close":
            continue
        if not change.path:
            root = change.value if change.op == "set" else root + change.text
            continue
        parent = root
        for step in change.path[:-1]:
            parent = parent[step]
        last = change.path[-1]
        if change.op == "append":
            parent[last] += change.text
        elif isinstance(parent, list) and last == len(parent):
            parent.append(change.value)
        else:
            parent[last] = change.value
    return root


def test_stream_value_is_one_live_object():
    stream = InputStream()
    assert stream.value is MISSING
    stream.push(" ")
    assert stream.value is MISSING
    stream.push('{"rows": [')
    value = stream.value
    rows = value["rows"]
    stream.push('{"id": 1}, {"id": 2')
    assert stream.value is value
    assert value["rows"] is rows
    assert rows == [{"id": 1}, {}]
    stream.push("}]}")
    assert stream.finish() is value
    assert value == {"rows": [{"id": 1}, {"id": 2}]}


@pytest.mark.parametrize("alphabet", ["ab ", "aé", "a漢", "a😀", "aé漢😀"])
def test_stream_string_kept_by_a_reader_never_changes(alphabet: str):
    rng = random.Random(5)
    text = "".join(rng.choice(alphabet) for _ in range(3000))
    for keep in (1, 3, 64):
        stream = InputStream()
        stream.push('["')
        kept: list[tuple[str, int]] = []
        for index, character in enumerate(text):
            stream.push(character)
            if index % keep == 0:
                kept.append((stream.value[0], index + 1))
            if index % 5 == 0:
                hash(stream.value[0])
        for string, length in kept:
            assert string == text[:length]
            assert hash(string) == hash(text[:length])
        stream.push('"]')
        assert stream.finish() == [text]
        assert {stream.value[0]: 1}[text] == 1


def test_stream_string_grows_at_the_top():
    stream = InputStream()
    for character in '"' + "abcdé" * 100:
        stream.push(character)
    assert stream.value == "abcdé" * 100
    assert stream.push('"') == "complete"
    assert stream.finish() == "abcdé" * 100


def test_stream_finished_strings_keep_no_great_room():
    stream = InputStream()
    stream.push_many(['["', *["x" * 10] * 10_000, '"]'])
    assert sys.getsizeof(stream.value[0]) < 100_200
    tracemalloc.start()
    try:
        strings = InputStream()
        strings.push_many(['["', *["x" * 10] * 10_000, '"]'])
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 120_000


def test_stream_snapshot_is_independent():
    stream = InputStream()
    stream.push('{"a": {"b": ["x')
    before = stream.snapshot()
    live = stream.value
    stream.push('y", {}]}, "c": 1}')
    assert before == {"a": {"b": ["x"]}}
    assert live == {"a": {"b": ["xy", {}]}, "c": 1}
    after = stream.snapshot()
    after["a"]["b"].append(1)
    assert stream.value == live == {"a": {"b": ["xy", {}]}, "c": 1}
    assert InputStream().snapshot() is MISSING


def test_stream_changes_in_full():
    stream = InputStream()
    assert stream.changes() == []
    stream.push('{"a": ["x')
    seen = [(c.op, c.path, c.value, c.text) for c in stream.changes()]
    assert seen == [("set", (), {}, None), ("set", ("a",), [], None), ("set", ("a", 0), "x", None)]
    stream.push("y\\n")
    stream.push("z")
    seen = [(c.op, c.path, c.value, c.text) for c in stream.changes()]
    assert seen == [("append", ("a", 0), MISSING, "y\nz")]
    assert stream.changes() == []
    stream.push('!", 7, "w"], "t": tru')
    seen = [(c.op, c.path, c.value, c.text) for c in stream.changes()]
    assert seen == [
        ("append", ("a", 0), MISSING, "!"),
        ("close", ("a", 0), "xy\nz!", None),
        ("set", ("a", 1), 7, None),
        ("set", ("a", 2), "w", None),
        ("close", ("a", 2), "w", None),
        ("close", ("a",), ["xy\nz!", 7, "w"], None),
    ]
    stream.push("e}")
    assert repr(stream.changes()) == (
        "[Change(op='set', path=('t',), value=True), "
        "Change(op='close', path=(), value={'a': ['xy\\nz!', 7, 'w'], 't': True})]"
    )
    assert [c.value for c in stream.changes()] == []


def test_stream_changes_replayed_give_the_value_at_every_cut():
    rng = random.Random(3)
    for _ in range(300):
        stream = InputStream()
        built: Any = None
        asked_from = rng.choice([0, 0, rng.randrange(len(TEXT))])
        closed = []
        at = 0
        while at < len(TEXT):
            size = rng.randrange(1, 12)
            stream.push(TEXT[at : at + size])
            at += size
            if at >= asked_from and rng.random() < 0.7:
                changes = stream.changes()
                closed += [c.path for c in changes if c.op == "close"]
                built = replay(built, changes)
                assert built == (None if stream.value is MISSING else stream.value)
        changes = stream.changes()
        built = replay(built, changes)
        closed += [c.path for c in changes if c.op == "close"]
        assert built == stream.finish() == json.loads(TEXT)
        assert closed == [("a", 1, "b~/c"), ("a", 1), ("a", 2), ("a", 3), ("a",), ("d",), ()]


def test_stream_completed_are_the_finished_places():
    stream = InputStream()
    assert stream.completed == []
    stream.push('{"a": [1, {"b~/c": "x"}, {"k": "op')
    assert stream.completed == ["/a/0", "/a/1/b~1~0c".replace("~1~0", "~0~1"), "/a/1"]
    stream.push('en"}], "n": 12')
    assert stream.completed[3:] == ["/a/2/k", "/a/2", "/a"]
    stream.push("}")
    assert stream.completed[6:] == ["/n", ""]


def test_stream_repeated_key_shows_the_last_value():
    stream = InputStream()
    stream.push('{"a": [1], "b": 2, "a"')
    assert stream.value == {"a": [1], "b": 2}
    stream.push(': "x')
    assert stream.value == {"a": "x", "b": 2}
    assert "/a" not in stream.completed
    stream.push('y"}')
    assert stream.finish() == {"a": "xy", "b": 2}
    assert list(stream.value) == ["a", "b"]


def test_stream_push_path_builds_the_same_value():
    stream = InputStream()
    assert stream.push_path(("city",), "Par", closed=False) == "open"
    seen = [(c.op, c.path, c.value) for c in stream.changes()]
    assert seen == [("set", (), {}), ("set", ("city",), "Par")]
    stream.push_path(["city"], "is", closed=True)
    stream.push_path(("days", 0, "n"), 1, closed=True)
    stream.push_path(("days", 0, "note"), "a", closed=False)
    stream.push_path(("days", 1), None, closed=True)
    stream.push_path(("days", 0, "note"), "b" * 500, closed=False)
    assert "/days/0/note" not in stream.completed
    stream.push_path(("days", 0, "note"), "", closed=True)
    stream.push_path(("ok",), value_or_text=True, closed=True)
    stream.push_path(("empty",), [], closed=True)
    expected = {"city": "Paris", "days": [{"n": 1, "note": "a" + "b" * 500}, None], "ok": True, "empty": []}
    assert stream.value == expected
    assert replay({"city": "Par"}, stream.changes()) == expected
    assert stream.finish() == expected
    assert stream.completed[-1] == ""


def test_stream_push_path_at_the_top():
    stream = InputStream()
    stream.push_path((), "a", closed=False)
    stream.push_path((), "b" * 300, closed=True)
    assert stream.finish() == "a" + "b" * 300


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        (("a", "b"), 1, "of another type"),
        (("list", 3), 1, "the next index of that array is 1"),
        (("list", "x"), 1, "of another type"),
        (("done",), "more", "is finished"),
        (("done",), 1, "is finished"),
        (("open",), 1, "not closed"),
        (("list",), [], "is finished"),
        (("f",), float("nan"), "finite"),
        (("t",), "\ud83d", "surrogate"),
        (("x",) * 300, 1, "too deep"),
    ],
)
def test_stream_push_path_refuses_contradictions(path: Any, value: Any, error: str):
    stream = InputStream()
    stream.push_path(("a",), 1, closed=True)
    stream.push_path(("list", 0), 1, closed=True)
    stream.push_path(("done",), "x", closed=True)
    stream.push_path(("open",), "x", closed=False)
    with pytest.raises(ValueError, match=error):
        stream.push_path(path, value, closed=True)
    assert {key: stream.value[key] for key in ("a", "list", "done", "open")} == {
        "a": 1,
        "list": [1],
        "done": "x",
        "open": "x",
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [("a", 1), ((-1,), 1), ((True,), 1), ((1.5,), 1), (("a",), {"b": 1}), (("a",), b"x")],
)
def test_stream_push_path_refuses_other_types(path: Any, value: Any):
    with pytest.raises(TypeError):
        InputStream().push_path(path, value, closed=True)


def test_stream_push_path_that_never_closed_is_cut_off():
    stream = InputStream()
    stream.push_path(("a",), "é", closed=False)
    with pytest.raises(DecodeError) as caught:
        stream.finish()
    assert (caught.value.offset, caught.value.is_incomplete) == (2, True)
    assert stream.value == {"a": "é"}


def test_stream_is_fed_in_one_way():
    stream = InputStream()
    stream.push_path(("a",), 1, closed=True)
    with pytest.raises(ValueError, match="push_path"):
        stream.push("{")
    text = InputStream()
    text.push("{")
    with pytest.raises(ValueError, match="push"):
        text.push_path(("a",), 1, closed=True)


@pytest.mark.parametrize(
    ("text", "offset", "line", "column", "shown"),
    [
        ('{"a": 1,\n "é漢": tru3}', 22, 2, 11, {"a": 1}),
        ('["a\x00"]', 3, 1, 4, ["a"]),
        ("[1, \x00", 4, 1, 5, [1]),
        ('\ufeff{"a": 1}', 0, 1, 1, MISSING),
        ("{}\n\n {}", 5, 3, 2, {}),
    ],
)
def test_stream_fault_says_where(text: str, offset: int, line: int, column: int, shown: Any):
    for pieces in ([text], list(text), [bytes([byte]) for byte in text.encode()]):
        stream = InputStream()
        assert stream.push_many(pieces) == "rejected"
        assert stream.push("more") == "rejected"
        assert stream.value == shown
        for _ in range(2):
            with pytest.raises(DecodeError) as caught:
                stream.finish()
            error = caught.value
            assert (error.offset, error.line, error.column) == (offset, line, column)
            assert not error.is_incomplete
            assert str(error).endswith(f"at line {line}, column {column} (byte {offset})")


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b'["\xff"]', 2),
        (b'["\xc3("]', 3),
        (b'["\xe6\xbc("]', 4),
        (b'["\xe0\x80\x80"]', 3),
        (b'["\xed\xa0\xbd"]', 3),
        (b'["\xf5"]', 2),
        (b"[\xc3\xa9]", 1),
        (b'{"a": 1}\xff', 8),
    ],
)
def test_stream_bytes_that_are_no_utf8(data: bytes, offset: int):
    for cut in range(len(data) + 1):
        stream = InputStream()
        stream.push_many([data[:cut], data[cut:]])
        with pytest.raises(DecodeError) as caught:
            stream.finish()
        assert (caught.value.offset, caught.value.is_incomplete) == (offset, False)


def test_stream_joins_the_halves_of_a_pair_cut_in_two():
    stream = InputStream()
    assert stream.push('["é\ud83d') == "open"
    assert stream.value == ["é"]
    assert stream.push("\ude00!") == "open"
    assert stream.value == ["é😀!"]
    for after in ("x", b"x", "\ud83d"):
        half = InputStream()
        half.push('["a\ud83d')
        assert half.push(after) == "rejected"
        with pytest.raises(DecodeError, match="surrogate") as caught:
            half.finish()
        assert caught.value.offset == 3
    outside = InputStream()
    assert outside.push("[\ud83d") == "rejected"
    cut = InputStream()
    cut.push('["a\ud83d')
    with pytest.raises(DecodeError) as caught:
        cut.finish()
    assert caught.value.is_incomplete


def test_stream_limits():
    deep = InputStream()
    assert deep.push("[" * 200) == "open"
    assert deep.push("[") == "rejected"
    with pytest.raises(DecodeError, match="deep") as caught:
        deep.finish()
    assert caught.value.offset == 200
    digits = InputStream()
    assert digits.push("[" + "1" * 4300) == "open"
    assert digits.push("1") == "rejected"
    with pytest.raises(DecodeError, match="digits") as caught:
        digits.finish()
    assert caught.value.offset == 1
    fraction = InputStream()
    assert fraction.push_many(["[1.", *["5" * 1000] * 5]) == "rejected"
    long = InputStream()
    chunk = "x" * (1 << 20)
    states = [long.push(piece) for piece in ['"', *[chunk] * 64]]
    assert states[-2:] == ["open", "rejected"]
    with pytest.raises(DecodeError, match="too long") as caught:
        long.finish()
    assert caught.value.offset == 64 << 20
    assert len(long.value) == (64 << 20) - 1


def test_stream_integers_are_exact_whatever_the_interpreters_limit():
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        stream = InputStream()
        stream.push_many(["[-", *"9" * 2000, ", 9223372036854775807, 9223372036854775808, -0]"])
        value = stream.finish()
    finally:
        sys.set_int_max_str_digits(limit)
    assert value == [-(10**2000 - 1), 2**63 - 1, 2**63, 0]


def test_stream_does_not_complete_what_was_cut_off():
    whole = TEXT.encode()
    for end in range(len(whole)):
        stream = InputStream()
        stream.push(whole[:end])
        with pytest.raises(DecodeError) as caught:
            stream.finish()
        assert caught.value.is_incomplete
        assert caught.value.offset == end
        with pytest.raises(RuntimeError, match="finished"):
            stream.push(whole[end:])


def test_stream_finish_hands_the_value_to_the_validator():
    class Positive:
        def validate(self, value: Any) -> Any:
            if value["n"] < 0:
                raise LookupError
            return {**value, "extra": 1}

    stream = InputStream(Positive())
    assert stream.push('{"n": 1}') == "complete"
    assert stream.finish() == {"n": 1, "extra": 1}
    assert stream.value == {"n": 1}
    assert stream.issues == []
    bad = InputStream(validator=Positive())
    bad.push('{"n": -1}')
    with pytest.raises(LookupError):
        bad.finish()
    with pytest.raises(TypeError, match="validator"):
        InputStream(7)


def test_stream_of_a_validator_judges_the_value():
    validator = Validator({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}})
    for stream in (validator.stream(), InputStream(validator)):
        stream.push('{"n": 1}')
        assert stream.finish() == {"n": 1}
    bad = validator.stream(repair={"trailing-commas"})
    bad.push('{"n": "x",}')
    with pytest.raises(ValidationError):
        bad.finish()
    assert bad.value == {"n": "x"}
    shallow = Validator(schema=True, limits=Limits(depth=2)).stream()
    assert shallow.push("[[[") == "rejected"


@pytest.mark.parametrize("text", ["", " \n"])
def test_stream_without_text_is_an_object_only_where_the_schema_wants_one(text: str):
    stream = Validator({"type": "object"}).stream()
    stream.push(text)
    assert stream.value is MISSING
    assert stream.finish() == stream.finish() == stream.value == {}
    assert stream.repairs == ("took an empty input as {}",)
    missing = Validator({"type": "object", "required": ["n"]}).stream()
    missing.push(text)
    with pytest.raises(ValidationError):
        missing.finish()
    for schema in (True, {"type": ["object", "null"]}, {"type": "array"}, None):
        strict = InputStream() if schema is None else Validator(schema).stream()
        strict.push(text)
        with pytest.raises(DecodeError) as caught:
            strict.finish()
        assert (caught.value.offset, caught.value.is_incomplete) == (len(text), True)
        assert strict.repairs == ()


@pytest.mark.parametrize("delta", [1, None, ["x"], bytearray(b"x")])
def test_stream_delta_of_another_type(delta: Any):
    with pytest.raises(TypeError, match="a delta is str or bytes"):
        InputStream().push(delta)
    with pytest.raises(TypeError, match="a delta is str or bytes"):
        InputStream().push_many(["[", delta])
    with pytest.raises(TypeError, match="iterable of deltas"):
        InputStream().push_many("[1]")


def test_missing_is_one_false_object():
    assert not MISSING
    assert repr(MISSING) == "MISSING"
    assert copy.copy(MISSING) is copy.deepcopy(MISSING) is MISSING
    assert pickle.loads(pickle.dumps(MISSING)) is MISSING


def test_stream_used_by_code_it_runs_is_an_error_not_a_crash():
    stream = InputStream()
    stream.push('{"a": 1')
    caught = []

    class Nosy:
        def __del__(self) -> None:
            try:
                stream.push("2")
            except RuntimeError as error:
                caught.append(str(error))

    stream.value["b"] = Nosy()
    stream.push(', "b": 2}')
    assert caught == ["the stream is being used by another thread, or by code that it runs itself"]
    assert stream.finish() == {"a": 1, "b": 2}


def test_stream_survives_a_reader_that_changes_the_value():
    stream = InputStream()
    stream.push('{"a": ["x')
    stream.value["a"].clear()
    with pytest.raises(RuntimeError, match="changed by its reader"):
        stream.push("é" * 500)
    with pytest.raises(RuntimeError, match="an earlier push failed"):
        stream.push("y")
    assert stream.value == {"a": []}


def test_stream_read_from_another_thread_while_it_grows():
    stream = InputStream()
    done = threading.Event()
    seen = []

    def read() -> None:
        while not done.is_set():
            value = stream.snapshot()
            if value is not MISSING and value:
                seen.append(value[0])

    reader = threading.Thread(target=read)
    reader.start()
    text = "abcé漢" * 4000
    stream.push('["')
    for start in range(0, len(text), 7):
        stream.push(text[start : start + 7])
    stream.push('"]')
    done.set()
    reader.join()
    assert stream.finish() == [text]
    assert all(text.startswith(part) for part in seen)


def test_many_streams_leave_nothing_behind():
    def run(count: int) -> None:
        for _ in range(count):
            stream = InputStream()
            stream.push_many([TEXT[:30], TEXT[30:50]])
            stream.changes()
            stream.push(TEXT[50:])
            stream.changes()
            stream.finish()
            broken = InputStream()
            broken.push('{"a": ["x", {"y": "z')

    run(200)
    gc.collect()
    objects, blocks = len(gc.get_objects()), sys.getallocatedblocks()
    run(2000)
    gc.collect()
    assert len(gc.get_objects()) - objects < 10
    assert sys.getallocatedblocks() - blocks < 50
