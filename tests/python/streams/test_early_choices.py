"""Choices whose branches a constant tells apart, few or thousands: decided at the byte at which each branch is."""

import json
import random
from typing import Any

import pytest

from toolhead import Validator

TAGS = ["a", "ab", "abc", "b", "é", "éa", "kā", "ka", "card", "", "x\ty", "😀"]
NEVER = {"patternProperties": {"^\x01$": {}}}
"""Beside the properties of a branch: refuses nothing and cannot wait for the constant."""


def branch(rng: random.Random, tags: list[str]) -> dict[str, Any]:
    others = [
        {"type": "integer"},
        {"type": "string", "maxLength": 3},
        {"const": 1},
        {},
        {"type": "array"},
        {"enum": ["a", None]},
    ]
    names = [name for name in ("n", "m", "kin") if rng.random() < 0.5]
    properties: dict[str, Any] = {name: rng.choice(others) for name in names}
    properties["kind"] = {"const": tags[0]} if len(tags) == 1 else {"enum": tags}
    required = ["kind", *names[:1]] if rng.random() < 0.8 else []
    return {"type": rng.choice(["object", ["object", "null"]]), "properties": properties, "required": required}


def choice(rng: random.Random) -> list[dict[str, Any]]:
    tags = rng.sample(TAGS, 8)
    branches = [branch(rng, [tags.pop() for _ in range(rng.choice([1, 1, 2]))]) for _ in range(rng.randrange(2, 5))]
    # Members about which all branches agree, or nearly so.
    for name in ("n", "m", "id"):
        asked = rng.choice([{"type": "integer"}, {"type": "string", "maxLength": 0}, {"type": ["string", "null"]}, {}])
        for each in branches:
            if rng.random() < 0.9:
                each["properties"][name] = asked
    return [*branches, {"type": "string"}] if rng.random() < 0.2 else branches


def written(rng: random.Random, text: str) -> str:
    """A JSON string of the text, some characters as escapes."""
    units = [json.dumps(c) if rng.random() < 0.3 else json.dumps(c, ensure_ascii=False) for c in text]
    return f'"{"".join(unit[1:-1] for unit in units)}"'


def value(rng: random.Random) -> str:
    kind = written(rng, rng.choice([*TAGS, "nope", "c"])) if rng.random() < 0.8 else "1"
    members = [f'"kind": {kind}'] if rng.random() < 0.9 else []
    values = ["1", '"q"', "null", "[1]", "{}"]
    members += [f'"{name}": {rng.choice(values)}' for name in ("n", "m", "id", "z") if rng.random() < 0.3]
    if rng.random() < 0.6:
        rng.shuffle(members)
    return "{" + ", ".join(members) + "}"


def seen(validator: Validator, text: str) -> list[Any]:
    """What a reader sees after each character; with the place of each issue."""
    stream = validator.stream()
    shown = []
    for character in text:
        state = stream.push(character)
        issues = [(issue.offset, issue.pointer, issue.schema_path, issue.message) for issue in stream.issues]
        shown.append((state, stream.live_branches(), stream.live_branches("/0"), issues))
    return shown


@pytest.mark.parametrize("seed", range(200))
def test_choice_by_a_constant_is_decided_as_its_branches_are(seed: int):
    rng = random.Random(seed)
    keyword, branches = rng.choice(["anyOf", "oneOf"]), choice(rng)
    beside = {"properties": {"kind": rng.choice([{}, {"type": "string"}, {"maxLength": 2}])}} if seed % 3 else {}
    waits = {**beside, keyword: branches}
    plain = {**beside, keyword: [{**each, **NEVER} if "properties" in each else each for each in branches]}
    if seed % 2:
        waits, plain = {"items": waits}, {"items": plain}
    for _ in range(10):
        text = f"[{value(rng)}, {value(rng)}]" if seed % 2 else value(rng)
        assert seen(Validator(waits), text) == seen(Validator(plain), text), text
        whole = Validator(waits).stream()
        whole.push(text)
        issues = [(issue.offset, issue.pointer, issue.schema_path, issue.message) for issue in whole.issues]
        assert issues == seen(Validator(waits), text)[-1][3]


MANY = 5_000
CLOSED = [
    {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "kind": {"const": f"k{at}"}, f"only{at}": {"type": "integer"}},
        "required": ["kind"],
        "additionalProperties": False,
    }
    for at in range(MANY)
]


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_choice_of_thousands_is_decided_at_its_byte(keyword: str):
    validator = Validator({"items": {keyword: CLOSED}})
    stream = validator.stream()
    assert stream.push('[{"ki') == "open"
    assert len(stream.live_branches("/0")) == MANY
    assert stream.push('nd": "k4') == "open"
    assert len(stream.live_branches("/0")) == 1 + 10 + 100 + 1000
    assert stream.push('999"') == "open"
    assert stream.live_branches("/0") == (f"/items/{keyword}/4999",)
    assert stream.push(', "only4999": 1}, {"kind": "k7", "only7": ') == "open"
    assert stream.push('"') == "rejected"
    assert [(i.pointer, i.schema_path) for i in stream.issues] == [
        ("/1/only7", f"/items/{keyword}/7/properties/only7/type")
    ]

    text = '[{"kind": "k0"}, {"kind": "k4z'
    stream = validator.stream()
    states = [stream.push(character) for character in text]
    assert states.index("rejected") == len(text) - 1
    assert stream.issues[0].pointer == "/1/kind"


def test_choice_without_its_constant_is_decided_at_the_closing_brace():
    validator = Validator({"anyOf": CLOSED[:50]})
    stream = validator.stream()
    assert stream.push("{") == "open"
    assert stream.push("}") == "rejected"
    for text, offset in [('{"kind": 1', 9), ('{"kix', 4), ('{"other', 3), ('{"only1": 1, "kind": "k2"', 23)]:
        stream = validator.stream()
        states = [stream.push(character) for character in text]
        assert states.index("rejected") == offset, text


def test_choice_waits_while_all_branches_agree():
    validator = Validator({"items": {"oneOf": CLOSED[:1_000]}})
    stream = validator.stream()
    assert stream.push('[{"id": 1, ') == "open"
    assert len(stream.live_branches("/0")) == 1_000
    assert stream.push('"kind": "k7", "only') == "open"
    assert stream.live_branches("/0") == ("/items/oneOf/7",)
    assert stream.push('8"') == "rejected"
    assert [(i.pointer, i.schema_path) for i in stream.issues] == [("/0", "/items/oneOf")]

    last = 999
    for text, pointer, schema_path in [
        ('[{"id": "', "/0/id", f"/items/oneOf/{last}/properties/id/type"),
        ('[{"id": 1, "kind": "k1", "only1": "', "/0/only1", "/items/oneOf/1/properties/only1/type"),
        ('[{"id": 1, "kind": "kn', "/0/kind", f"/items/oneOf/{last}/properties/kind/const"),
        ('[{"id": 1, "i', "/0", "/items/oneOf"),
    ]:
        stream = validator.stream()
        states = [stream.push(character) for character in text]
        assert states.index("rejected") == len(text) - 1, text
        assert [(issue.pointer, issue.schema_path) for issue in stream.issues] == [(pointer, schema_path)]


@pytest.mark.parametrize("many", [10, 63, 64, 65, 200])
def test_choice_waits_through_so_many_members_only(many: int):
    branches = [{"properties": {"kind": {"const": kind}, "n": {"type": kind}}} for kind in ("integer", "string")]
    validator = Validator({"oneOf": branches})
    before = ", ".join(f'"x{at}": {at}' for at in range(many))
    stream = validator.stream()
    assert stream.push("{" + before + ', "kind": "int') == "open"
    assert stream.live_branches() == ("/oneOf/0",)
    assert stream.push('eger", "n": 1') == "open"
    assert stream.push("}") == "complete"
    assert stream.finish()["kind"] == "integer"
    stream = validator.stream()
    stream.push("{" + before + ', "x1": 1')
    assert stream.issues[0].pointer == "/x1"
