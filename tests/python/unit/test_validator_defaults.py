"""Defaults: which apply, in which order, and that every keyword judges what was sent, not what was filled in.

Source: spec/api.md section 1. Each case holds for Python objects and for JSON text.
"""

import json

import pytest

from toolhead import ValidationError, Validator

MANY = {f"p{n}": {"default": n} for n in range(40)}
FILLED = {f"p{n}": n for n in range(40)}
INNER = {"properties": {"x": {"default": 1}}}

CASES = {
    "plain": ({"properties": {"a": {"default": 1}, "b": {"default": [1]}}}, {}, {"a": 1, "b": [1]}),
    "given": ({"properties": {"a": {"default": 1}}}, {"a": 2}, {"a": 2}),
    "below": ({"properties": {"a": INNER}, "items": INNER}, {"a": {}}, {"a": {"x": 1}}),
    "items": ({"items": INNER}, [{}, {"x": 2}], [{"x": 1}, {"x": 2}]),
    "many": ({"properties": MANY}, {"p3": "x", "other": 1}, {**FILLED, "p3": "x", "other": 1}),
    "many, copied": (
        {"properties": {**MANY, "list": {"default": []}, "object": {"default": {"a": [1]}}}},
        {"p3": "x"},
        {**FILLED, "p3": "x", "list": [], "object": {"a": [1]}},
    ),
    "many in a branch": (
        {"anyOf": [{"properties": {**MANY, "list": {"default": []}}}, {"required": ["z"]}]},
        {"p3": "x", "other": 1},
        {**FILLED, "p3": "x", "other": 1, "list": []},
    ),
    "behind references": (
        {
            "properties": {
                "a": {"$ref": "#/$defs/a"},
                "b": {"$ref": "http://e.com/b"},
                "own": {"$ref": "#/$defs/a", "default": "own"},
                "self": {"$ref": "#"},
            },
            "$defs": {
                "a": {"default": "a"},
                "b": {"$id": "http://e.com/b", "$ref": "#/$defs/c", "$defs": {"c": {"$ref": "c"}}},
                "c": {"$id": "http://e.com/c", "type": "object", "default": {"c": []}},
            },
        },
        {"self": {"a": None}},
        {
            "self": {"a": None, "b": {"c": []}, "own": "own"},
            "a": "a",
            "b": {"c": []},
            "own": "own",
        },
    ),
    "first branch that accepts": (
        {"anyOf": [{"required": ["z"], **INNER}, {"properties": {"y": {"default": 2}}}]},
        {},
        {"y": 2},
    ),
    "the branch of oneOf": (
        {"oneOf": [{"required": ["k"], **INNER}, {"maxProperties": 0, "properties": {"y": {"default": 2}}}]},
        {"k": 1},
        {"k": 1, "x": 1},
    ),
    "own before allOf, first before second": (
        {
            "properties": {"a": {"default": "own"}},
            "allOf": [
                {"properties": {"a": {"default": "first"}, "b": {"default": "first"}}},
                {"properties": {"b": {"default": "second"}}},
            ],
        },
        {},
        {"a": "own", "b": "first"},
    ),
    "allOf that is not merged": (
        {
            "allOf": [
                {"anyOf": [{"properties": {"b": {"default": "first"}}}, False]},
                {"anyOf": [{"properties": {"b": {"default": "second"}}}, False]},
            ],
        },
        {},
        {"b": "first"},
    ),
    "the arm of if": (
        {"if": {"required": ["z"], **INNER}, "else": {"properties": {"y": {"default": 2}}}},
        {},
        {"y": 2},
    ),
    "not and contains only ask": (
        {"not": {"not": INNER}, "properties": {"l": {"contains": INNER}}},
        {"l": [{}]},
        {"l": [{}]},
    ),
    "dependent": (
        {"dependentSchemas": {"a": INNER, "b": {"properties": {"y": {"default": 2}}}}},
        {"a": 1},
        {"a": 1, "x": 1},
    ),
    "recursive": (
        {"properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "x": {"default": 1}}},
        {"next": {"next": None}},
        {"next": {"next": None, "x": 1}, "x": 1},
    ),
    "dynamic": (
        {
            "$dynamicAnchor": "node",
            "properties": {"next": {"$dynamicRef": "#node"}, "x": {"default": 1}},
        },
        {"next": {}},
        {"next": {"x": 1}, "x": 1},
    ),
    "two patterns": (
        {"patternProperties": {"^a": INNER, "b$": {"properties": {"y": {"default": 2}}}}},
        {"ab": {}, "ac": {}},
        {"ab": {"x": 1, "y": 2}, "ac": {"x": 1}},
    ),
    # What was sent is judged, whatever is filled in.
    "items that defaults make equal": ({"uniqueItems": True, "items": INNER}, [{}, {"x": 1}], [{"x": 1}, {"x": 1}]),
    "a constant": ({"const": {"a": {}}, "properties": {"a": INNER}}, {"a": {}}, {"a": {"x": 1}}),
    "an enumeration": ({"properties": {"a": {"enum": [{}, 1], **INNER}}}, {"a": {}}, {"a": {"x": 1}}),
    "at most": ({"properties": {"a": {**INNER, "maxProperties": 0}}}, {"a": {}}, {"a": {"x": 1}}),
    "at most, above": (
        {"properties": {"a": INNER}, "anyOf": [{"properties": {"a": {"maxProperties": 0}}}]},
        {"a": {}},
        {"a": {"x": 1}},
    ),
    "a pattern beside": (
        {"patternProperties": {"^a": INNER, "b$": {"maxProperties": 0}}},
        {"ab": {}},
        {"ab": {"x": 1}},
    ),
    "unevaluated": (
        {"anyOf": [{"properties": {"a": INNER}}], "unevaluatedProperties": False},
        {"a": {}},
        {"a": {"x": 1}},
    ),
}


@pytest.mark.parametrize(("schema", "value", "filled"), CASES.values(), ids=CASES.keys())
def test_what_is_filled_in(schema, value, filled):
    validator = Validator(schema)
    text = json.dumps(value)
    assert validator.validate(value) == filled
    assert json.dumps(value) == text
    assert validator.decode(text) == filled
    stream = validator.stream()
    stream.push(text)
    assert stream.finish() == filled


@pytest.mark.parametrize("text", ['{"p1": 1, "p1": 2}', '{"z": 1, "z": 1}', '{"p1": 1, "p\\u0031": 1}'])
def test_a_repeated_name_beside_many_defaults(text):
    with pytest.raises(ValidationError):
        Validator({"properties": MANY}).decode(text)


def test_bounds_count_what_was_sent():
    validator = Validator({"properties": MANY, "minProperties": 2, "maxProperties": 3})
    for count in range(5):
        text = json.dumps({f"z{n}": n for n in range(count)})
        if 2 <= count <= 3:
            assert validator.decode(text) == {**FILLED, **json.loads(text)}
        else:
            with pytest.raises(ValidationError):
                validator.decode(text)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"list": {"default": [[]]}}},
        {"properties": {**MANY, "list": {"default": [[]]}}},
        {"anyOf": [{"properties": {"list": {"default": [[]]}}}]},
        {"anyOf": [{"properties": {**MANY, "list": {"default": [[]]}}}]},
    ],
    ids=["few", "many", "few in a branch", "many in a branch"],
)
def test_defaults_are_never_shared(schema):
    validator = Validator(schema)
    first, second = validator.decode("{}"), validator.decode("{}")
    first["list"][0].append("changed")
    first["p1"] = "changed"
    assert second["list"] == [[]]
    assert validator.decode("{}") == second


def test_verdicts_that_are_remembered_lose_no_default():
    leaf = {"anyOf": [{"type": "string"}, {"required": ["k"], **INNER}, {"properties": {"y": {"default": 2}}}]}
    schema = {"items": leaf, "anyOf": [{"items": leaf}]}
    for _ in range(6):
        schema = {"anyOf": [False, schema, schema]}
    value = [{"k": 1}, {}] * 4000
    filled = [{"k": 1, "x": 1}, {"y": 2}] * 4000
    assert Validator(schema).validate(value) == filled
    assert Validator(schema).decode(json.dumps(value)) == filled
