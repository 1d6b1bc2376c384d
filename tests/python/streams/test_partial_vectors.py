"""Prefixes of JSON texts, at every cut, against the recommended answers and against the naive oracle."""

import functools
import importlib.util
import itertools
import json
import operator
import random
from types import ModuleType
from typing import Any

import pytest

from shared_data import shared_path
from toolhead._core import MISSING, Change, InputStream, Validator
from toolhead.errors import DecodeError

EVERY_CUT_UP_TO = 400
"""Longer texts are cut at random places only."""


@functools.cache
def load_oracle() -> ModuleType:
    path = shared_path("vectors", "partial-json", "oracle.py")
    spec = importlib.util.spec_from_file_location("partial_json_oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cuts(text: str) -> list[list[str | bytes]]:
    """The text whole, in single characters and bytes, at each place in two, and at random places."""
    data = text.encode()
    ways: list[list[str | bytes]] = [[text], [data], list(text), [data[i : i + 1] for i in range(len(data))]]
    if len(text) <= EVERY_CUT_UP_TO:
        ways += [[text[:i], text[i:]] for i in range(1, len(text))]
        ways += [[data[:i], data[i:]] for i in range(1, len(data))]
    rng = random.Random(len(data))
    for _ in range(5):
        places = sorted(rng.sample(range(len(data) + 1), min(len(data), rng.randrange(1, 9))))
        ways.append([data[a:b] for a, b in itertools.pairwise([0, *places, len(data)])])
    return ways


def outcome(pieces: list[str | bytes]) -> tuple[str, Any, tuple[Any, ...], Any]:
    """(state, value shown, end, value shown at the end) of a text that arrives in these pieces."""
    stream = InputStream()
    state = stream.push_many(pieces)
    shown = stream.snapshot()
    try:
        end: Any = ("value", stream.finish())
    except DecodeError as error:
        end = ("fault", error.offset, error.is_incomplete, error.line, error.column, error.message)
    return state, shown, end, stream.value


def same(shown: Any, expected: Any) -> bool:
    """Equality that tells 1 from 1.0 and True, and reads the vectors' special values."""
    if isinstance(expected, dict) and len(expected) == 1:
        match next(iter(expected.items())):
            case ("$missing", _):
                return shown is MISSING
            case ("$bigint_bits", bits):
                return type(shown) is int and shown.bit_length() == bits
    if type(shown) is not type(expected):
        return False
    if isinstance(expected, dict):
        return list(shown) == list(expected) and all(same(shown[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(shown) == len(expected) and all(map(same, shown, expected))
    return bool(shown == expected)


def shown_by(answer: Any) -> Any:
    """The value of an answer of the oracle, whose `MISSING` is its own."""
    return {"$missing": True} if answer.value is load_oracle().MISSING else answer.value


def replayed(root: Any, changes: list[Change]) -> Any:
    """What a reader builds from changes alone."""
    for change in changes:
        if not change.path:
            root = root if change.op == "close" else change.value if change.op == "set" else root + change.text
            continue
        *way, last = change.path
        parent = functools.reduce(operator.getitem, way, root)
        if change.op == "append":
            parent[last] += change.text
        elif change.op == "set" and isinstance(parent, list) and last == len(parent):
            parent.append(change.value)
        elif change.op == "set":
            parent[last] = change.value
    return root


STATES = {"empty": "open", "incomplete": "open", "complete": "complete", "error": "rejected"}


def test_vector_at_every_cut(partial_json_vector: dict[str, Any]):
    text, expected = partial_json_vector["text"], partial_json_vector["recommended"]
    outcomes = [outcome(pieces) for pieces in cuts(text)]
    state, shown, end, last = outcomes[0]
    for pieces, other in zip(cuts(text), outcomes, strict=True):
        assert same(list(other), list(outcomes[0])), pieces

    number_at_the_top = "complete" in (expected["status"], expected["at_end"]["status"]) and state == "open"
    assert state == STATES[expected["status"]] or number_at_the_top
    at_end = expected["at_end"]
    if "value" in expected and not number_at_the_top:
        assert same(shown, expected["value"])
    if "value" in at_end:
        assert same(last, at_end["value"])
    if at_end["status"] == "complete":
        assert end[0] == "value"
        assert "value" not in at_end or same(end[1], at_end["value"])
    else:
        assert end[0] == "fault"
        assert end[1] == at_end["error"]["byte"]
        assert end[2] == (at_end["error"]["code"] == "unexpected_end")


def test_malformation_is_refused_at_its_byte():
    document = json.loads(shared_path("vectors", "partial-json", "malformations.json").read_bytes())
    for kind in document["malformations"]:
        for example in kind["examples"]:
            strict = example["strict"]
            for pieces in cuts(example["text"]):
                state, shown, end, _ = outcome(pieces)
                assert state == STATES[strict["while_streaming"]["status"]]
                assert same(shown, strict["while_streaming"]["value"])
                if strict["at_end"]["status"] == "error":
                    assert end[:2] == ("fault", strict["at_end"]["error"]["byte"])
                else:
                    assert same(end, ("value", strict["at_end"]["value"]))


@pytest.mark.kinds("partial")
def test_case_shows_the_value_so_far(case: dict[str, Any]):
    texts = [case["text"], *case.get("also_cut", [])]
    for text in texts:
        for pieces in cuts(text):
            state, shown, end, _ = outcome(pieces)
            assert same(shown, case["value"])
            assert state == ("complete" if case.get("complete") else "open")
            assert (end[0] == "value") == bool(case.get("complete"))
    stream = InputStream()
    for chunk, value in zip(case.get("chunks", ()), case.get("values_after", ()), strict=True):
        stream.push(chunk)
        assert same(stream.value, value)


def random_document(rng: random.Random, depth: int = 0) -> Any:
    if depth < 4 and rng.random() < 0.6:
        if rng.random() < 0.5:
            return [random_document(rng, depth + 1) for _ in range(rng.randrange(4))]
        return {random_string(rng): random_document(rng, depth + 1) for _ in range(rng.randrange(4))}
    return rng.choice(
        [
            None,
            True,
            False,
            rng.randrange(-1000, 1000),
            rng.randrange(10**30),
            rng.uniform(-1e6, 1e6),
            1e300,
            random_string(rng),
            random_string(rng) * 40,
        ]
    )


def random_string(rng: random.Random) -> str:
    return "".join(rng.choice('ab"\\/\n\t\x01 é漢\u2028😀') for _ in range(rng.randrange(12)))


def damaged(rng: random.Random, text: str) -> str:
    place = rng.randrange(len(text) + 1)
    wrong = rng.choice(['"', "\\", "{", "]", ",", ":", "0", "-", "x", "\n", "é", "\\u", "e"])
    return text[:place] + wrong + text[place:]


def test_stream_agrees_with_the_oracle_at_every_prefix():
    oracle = load_oracle()
    rng = random.Random(20)
    for round_ in range(400):
        text = json.dumps(random_document(rng), ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))
        if round_ % 2:
            text = damaged(rng, text)
        if len(text) > EVERY_CUT_UP_TO * 4:
            continue
        stream = InputStream()
        for end in range(1, len(text) + 1):
            state = stream.push(text[end - 1])
            expected = oracle.parse(text[:end])
            if state == "rejected":
                assert expected.status == "error", text[:end]
                with pytest.raises(DecodeError) as caught:
                    stream.finish()
                assert caught.value.offset == expected.byte, text[:end]
                assert same(stream.value, shown_by(expected)), text[:end]
                break
            if expected.status == "complete" and state == "open":
                continue  # a number at the top ends only with the text
            assert state == STATES[expected.status], text[:end]
            assert same(stream.value, shown_by(expected)), text[:end]


def with_a_bad_escape(rng: random.Random, depth: int = 0) -> str:
    """The text of a value that holds one, in a string, a member of a repeated name or a key, with something around."""
    wrong = rng.choice(["\\q", "\\u12g4", "\\ud83d\\u12 ", "\\é", "\\u"]) + rng.choice(["", "x", "é", "\\n"])
    text = '"' + rng.choice(["", "so far", "é\\n", "\\ud83d\\ude00", "x" * 600]) + wrong + '"'
    if depth == 3 or rng.random() < 0.2:
        return text
    before = json.dumps([random_document(rng, 2) for _ in range(rng.randrange(3))], ensure_ascii=False)[1:-1]
    if rng.random() < 0.4:
        return f"[{before}{', ' if before else ''}{with_a_bad_escape(rng, depth + 1)}]"
    members = "".join(
        f'"{key}": {json.dumps(random_document(rng, 2))}, ' for key in rng.choices("abc", k=rng.randrange(4))
    )
    if rng.random() < 0.2:
        return f"{{{members}{text}: 1}}"
    return f'{{{members}"{rng.choice("abc")}": {with_a_bad_escape(rng, depth + 1)}, "d": 1}}'


ANYTHING = Validator({"anyOf": [{"minLength": 3}, {"properties": {"a": {"enum": ["so far", "x"]}}, "maxItems": 2}]})


@pytest.mark.parametrize("validator", [None, ANYTHING], ids=["plain", "schema"])
def test_string_with_a_bad_escape_is_no_part_of_the_value_at_any_cut(validator: Validator | None):
    oracle = load_oracle()
    rng = random.Random(22)
    for _ in range(300):
        text = with_a_bad_escape(rng)
        expected = oracle.parse(text)
        assert expected.status == "error"
        places = [rng.randrange(len(text) + 1) for _ in range(20)] if len(text) > EVERY_CUT_UP_TO else range(len(text))
        near = range(max(len(text[: expected.char]) - 8, 0), min(expected.char + 3, len(text)))
        for asks in (False, True):
            for cut in {*places, *near}:
                stream = InputStream(validator)
                built: Any = MISSING
                for piece in (text[:cut], text[cut : cut + 1], text[cut + 1 :]):
                    stream.push(piece)
                    if asks:
                        built = replayed(built, stream.changes())
                        assert same(built, stream.value), (text, cut)
                built = replayed(built, stream.changes())
                for shown in (stream.value, stream.snapshot(), built):
                    assert same(shown, shown_by(expected)), (text, cut)
                assert all(pointer == "" or pointer[0] == "/" for pointer in stream.completed)
                with pytest.raises(DecodeError) as caught:
                    stream.finish()
                assert caught.value.offset == expected.byte


def test_stream_in_any_random_cut_gives_one_result():
    rng = random.Random(21)
    for _ in range(300):
        text = json.dumps(random_document(rng), ensure_ascii=False)
        data = (damaged(rng, text) if rng.random() < 0.3 else text).encode()
        if rng.random() < 0.2:
            data = data[: rng.randrange(len(data) + 1)] + bytes([rng.randrange(256)])
        whole = outcome([data])
        for _ in range(5):
            places = sorted(rng.choices(range(len(data) + 1), k=rng.randrange(20)))
            pieces = [data[a:b] for a, b in itertools.pairwise([0, *places, len(data)])]
            assert same(list(outcome(pieces)), list(whole)), pieces
