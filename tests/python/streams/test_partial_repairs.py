"""Named repairs of malformed text: asked for, reported, the same at every cut, never a completion."""

import json
from typing import Any

import pytest

from shared_data import shared_path
from toolhead._core import InputStream
from toolhead.errors import DecodeError

NAMES = {
    "fences": "fences",
    "single_quotes": "single-quotes",
    "python_literals": "python-literals",
    "control_characters": "control-characters",
    "trailing_commas": "trailing-commas",
    "unquoted_keys": "unquoted-keys",
    "bad_escapes": "unknown-escapes",
}
"""The names in the malformation vectors and ours."""


def pieces(text: str) -> list[list[str | bytes]]:
    data = text.encode()
    ways: list[list[str | bytes]] = [[text], list(text), [data[i : i + 1] for i in range(len(data))]]
    return ways + [[data[:i], data[i:]] for i in range(1, len(data))]


def repaired(text: str, *names: str) -> tuple[Any, tuple[str, ...]]:
    results = []
    for way in pieces(text):
        stream = InputStream(repair=names)
        stream.push_many(way)
        results.append((stream.finish(), stream.repairs))
    assert all(result == results[0] for result in results)
    return results[0]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("fences", '```json\n{"a": 1}\n```\n', {"a": 1}),
        ("fences", "  ```\n[1]```", [1]),
        ("single-quotes", "{'a': 'it\\'s', \"b\": \"it's\"}", {"a": "it's", "b": "it's"}),
        ("single-quotes", "['say \"é\"', '']", ['say "é"', ""]),
        ("python-literals", '[True, False, None, "True", true]', [True, False, None, "True", True]),
        ("control-characters", '{"a\t": "x\n\ny\x00"}', {"a\t": "x\n\ny\x00"}),
        ("trailing-commas", '{"a": [1, [], ], "b": {"c": 2 , }, }', {"a": [1, []], "b": {"c": 2}}),
        ("unquoted-keys", '{a: 1, $b_2 :2, "c": {d:3}}', {"a": 1, "$b_2": 2, "c": {"d": 3}}),
        (
            "unknown-escapes",
            r'["\d+", "C:\Users\u12x", "\né\é", "\uAbG"]',
            ["\\d+", "C:\\Users\\u12x", "\né\\é", "\\uAbG"],
        ),
    ],
)
def test_stream_repairs_what_it_was_asked_to(name: str, text: str, value: Any):
    result, report = repaired(text, name)
    assert result == value
    assert [line.split(":")[0] for line in report] == [name]
    with pytest.raises(DecodeError):
        repaired(text)


def test_stream_repairs_together_and_reports_in_order():
    value, report = repaired("```\n{a: 'x\ny', b: [True,],}\n```", *NAMES.values())
    assert value == {"a": "x\ny", "b": [True]}
    assert report == (
        "fences: 1, first at byte 0",
        "unquoted-keys: 2, first at byte 5",
        "single-quotes: 1, first at byte 8",
        "control-characters: 1, first at byte 10",
        "python-literals: 1, first at byte 19",
        "trailing-commas: 2, first at byte 23",
    )


def test_stream_leaves_valid_text_alone():
    text = '{"a": ["it\'s", "True", "```", "x,", ",]"], "b": 1.5e3, "\\u00e9": null}'
    assert repaired(text, *NAMES.values()) == (json.loads(text), ())


@pytest.mark.parametrize(
    ("text", "offset", "incomplete"),
    [
        ('```json\n{"a": 1}', 16, True),
        ('```json\n{"a": 1', 15, True),
        ('``\n{"a": 1}', 2, False),
        ("```\n[1]\n```\n```", 12, False),
        ("```\n```\n[1]", 4, False),
        ("{'a': 'b", 8, True),
        ("[1, , 2]", 4, False),
        ("[,]", 1, False),
        ("{,}", 1, False),
        ("[1,,]", 3, False),
        ("{1a: 2}", 1, False),
        ("{a b: 2}", 3, False),
        ("[Nope]", 3, False),
        ('["\\ud83d\\q"]', 9, False),
        ("Sure! [1]", 0, False),
        ('{"a": 1}{"a": 2}', 8, False),
        ('{"a": 1, // one\n"b": 2}', 9, False),
        ("{“a”: 1}", 1, False),
    ],
)
def test_stream_does_not_guess(text: str, offset: int, incomplete: bool):
    for way in pieces(text):
        stream = InputStream(repair=set(NAMES.values()))
        stream.push_many(way)
        with pytest.raises(DecodeError) as caught:
            stream.finish()
        assert (caught.value.offset, caught.value.is_incomplete) == (offset, incomplete)


def test_malformation_vectors_are_repaired_by_their_option():
    document = json.loads(shared_path("vectors", "partial-json", "malformations.json").read_bytes())
    seen = set()
    for kind in document["malformations"]:
        name = NAMES.get(kind.get("repair_option"))
        if not name:
            continue
        for example in kind["examples"]:
            seen.add(name)
            for way in pieces(example["text"]):
                stream = InputStream(repair=(name,))
                stream.push_many(way)
                assert stream.value == example["repaired_value"], example["text"]
    assert seen == set(NAMES.values())


@pytest.mark.parametrize("repair", [("prose",), (1,), {"fences", "Fences"}])
def test_stream_refuses_repairs_it_does_not_know(repair: Any):
    with pytest.raises(ValueError, match=r"repair: .* is none of fences, single-quotes"):
        InputStream(repair=repair)


def test_stream_refuses_one_name_as_text():
    with pytest.raises(TypeError, match="repair: expected a set of names"):
        InputStream(repair="fences")
