"""The members of a decoded object come in the order of the text, whatever the schema says of their names.

Names are missing, repeated, unknown and in any order here.
"""

import gc
import itertools
import json

import pytest

from toolhead import ValidationError, Validator

NAMES = ["a", "b", "c", "d"]
VALUES = {"a": 1, "b": [1, {"z": []}], "c": {"x": {}}, "d": "text", "other": None, "more": 1.5}
CLOSED = {"properties": dict.fromkeys(NAMES, True), "required": NAMES, "additionalProperties": False}
OPEN = {"properties": dict.fromkeys(NAMES, True), "required": NAMES}


@pytest.mark.parametrize("names", list(itertools.permutations(NAMES)), ids="".join)
def test_any_order(names):
    value = {name: VALUES[name] for name in names}
    decoded = Validator(CLOSED).decode(json.dumps(value))
    assert list(decoded.items()) == list(value.items())


@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize("others", [["other"], ["other", "more"]])
def test_other_names_anywhere(at, others):
    names = [*NAMES[:at], *others, *NAMES[at:]]
    value = {name: VALUES[name] for name in names}
    decoded = Validator(OPEN).decode(json.dumps(value))
    assert list(decoded.items()) == list(value.items())


@pytest.mark.parametrize("count", range(4))
def test_a_missing_name(count):
    value = {name: VALUES[name] for name in NAMES[:count]}
    for schema, more in ((CLOSED, {}), (OPEN, {}), (OPEN, {"other": 1, "more": 2, "x": 3, "y": 4})):
        with pytest.raises(ValidationError) as raised:
            Validator(schema).decode(json.dumps({**value, **more}))
        assert [issue.path[-1] for issue in raised.value.issues] == NAMES[count:]


@pytest.mark.parametrize("again", NAMES)
@pytest.mark.parametrize("at", range(5))
def test_a_repeated_name(again, at):
    members = [f'"{name}": {json.dumps(VALUES[name])}' for name in NAMES]
    members.insert(at, f'"{again}": 7')
    for schema in (CLOSED, OPEN):
        with pytest.raises(ValidationError, match=again):
            Validator(schema).decode("{" + ", ".join(members) + "}")


def test_a_broken_text_leaves_nothing_half_made():
    text = json.dumps({name: VALUES[name] for name in NAMES})
    validator = Validator(CLOSED)
    for cut in range(len(text)):
        with pytest.raises(ValueError):  # noqa: PT011  DecodeError and ValidationError alike
            validator.decode(text[:cut])
    assert validator.decode(text) == {name: VALUES[name] for name in NAMES}


def test_the_collector_knows_what_was_made():
    validator = Validator(CLOSED)
    flat = validator.decode('{"a": 1, "b": 2, "c": "x", "d": null}')
    deep = validator.decode('{"a": 1, "b": [], "c": "x", "d": null}')
    assert not gc.is_tracked(flat)
    assert gc.is_tracked(deep)
    flat["a"] = flat
    deep["b"].append(deep)
    assert gc.is_tracked(flat)
    for made in (flat, deep):
        made["marker"] = MARKER
    held = [item for item in gc.get_referrers(MARKER) if isinstance(item, dict) and item.get("marker") is MARKER]
    assert len(held) == 2
    del flat, deep, made, held
    gc.collect()
    assert not [item for item in gc.get_referrers(MARKER) if isinstance(item, dict) and "marker" in item]


MARKER = object()


def test_values_are_not_shared_with_the_next():
    validator = Validator(CLOSED)
    text = json.dumps({name: VALUES[name] for name in NAMES})
    first = validator.decode(text)
    first.clear()
    assert validator.decode(text) == {name: VALUES[name] for name in NAMES}


@pytest.mark.parametrize("size", [*range(12), 21, 22, 42, 43, 85, 86, 200])
@pytest.mark.parametrize("schema", [True, {"type": "object"}], ids=["free", "object"])
def test_a_dict_of_any_size_is_an_ordinary_dict(size, schema):
    validator = Validator(schema)
    value = {f"name {number}": [number] if number % 2 else f"text {number}" for number in range(size)}
    decoded = validator.decode(json.dumps(value))
    plain = dict(value)
    assert decoded == value
    assert list(decoded) == list(value)
    assert decoded.__sizeof__() >= plain.copy().__sizeof__() or size == 0
    assert gc.is_tracked(decoded) == any(isinstance(item, list) for item in value.values())
    assert "no name" not in decoded
    for changed in (decoded, plain):
        for name in list(value)[::2]:
            del changed[name]
        changed.update({f"later {number}": number for number in range(size)}, **{"name 1": 0})
    assert list(decoded.items()) == list(plain.items())
    decoded.clear()
    assert decoded == {}


@pytest.mark.parametrize("size", [2, 6, 11, 43, 86])
def test_a_repeated_name_under_a_schema_that_asks_nothing(size):
    members = [f'"name {number % (size - 1)}": {number}' for number in range(size)]
    decoded = Validator(True).decode("{" + ", ".join(members) + "}")
    assert list(decoded.items()) == list(json.loads("{" + ", ".join(members) + "}").items())


def test_names_that_share_their_place_in_the_table():
    names = [f"n{number}" for number in range(3000)]
    alike = [name for name in names if hash(name) % 8 == 3][:5]
    far = [name for name in names if hash(name) % 128 == 5][:20]
    for chosen in (alike, far):
        value = {name: name for name in chosen}
        decoded = Validator(True).decode(json.dumps(value))
        assert decoded == value
        assert all(decoded[name] == name for name in chosen)
        assert all(name not in decoded for name in names if name not in chosen)
