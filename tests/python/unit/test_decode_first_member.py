"""A choice between objects that the first member of a text tells: the same verdict and value as for the object."""

import json

import pytest

from toolhead import ValidationError, Validator


def tagged(tag, **more):
    return {"type": "object", "properties": {"kind": {"const": tag}, **more}, "required": ["kind"]}


A = tagged("a", size={"type": "integer", "default": 1})
B = tagged("b", size={"type": "string", "default": "one"})
CLOSED = {"type": "object", "properties": {"$ref": {"type": "string"}}, "additionalProperties": False}
CLOSED_BUT_X = {
    "type": "object",
    "properties": {"name": True},
    "patternProperties": {"^x-": {"type": "integer"}},
    "additionalProperties": False,
}
CHOICES = {
    "tagged": {"oneOf": [A, B]},
    "any": {"anyOf": [A, B]},
    "within": {"oneOf": [{"allOf": [A]}, {"anyOf": [B, tagged("c")]}]},
    "shared": {"anyOf": [A, tagged("a", more={"type": "boolean"}), B]},
    "closed": {"oneOf": [CLOSED, CLOSED_BUT_X]},
    "kinds": {
        "oneOf": [
            {"properties": {"v": {"type": "array"}}, "required": ["v"]},
            {"properties": {"v": {"type": "number"}}},
        ]
    },
    "free": {"anyOf": [A, {"required": ["other"]}]},
    "many": {"oneOf": [tagged(f"t{number}") for number in range(100)] + [A]},
}
OBJECTS = [
    {},
    {"kind": "a"},
    {"kind": "a", "size": 2},
    {"kind": "a", "size": "2"},
    {"kind": "b", "size": "2", "more": [1]},
    {"kind": "b", "more": 1},
    {"kind": "c"},
    {"kind": "d", "other": None},
    {"kind": ["a"]},
    {"kind": "t7"},
    {"size": 3, "kind": "a"},
    {"more": True, "kind": "a"},
    {"$ref": "#"},
    {"$ref": 1},
    {"name": 1, "x-a": 2},
    {"x-a": 2},
    {"x-a": "2"},
    {"name": 1, "$ref": "#"},
    {"v": []},
    {"v": 1.5},
    {"v": "1"},
    {"k" * 100: 1, "kind": "a"},
    {"kind": "a" * 100},
]


@pytest.mark.parametrize("schema", CHOICES.values(), ids=CHOICES.keys())
@pytest.mark.parametrize("form", [{"separators": (",", ":")}, {"indent": 3}], ids=["compact", "blanks"])
def test_as_the_object(schema, form):
    validator = Validator(schema)
    accepted = 0
    for value in OBJECTS:
        text = json.dumps(value, **form)
        try:
            expected = validator.validate(value)
        except ValidationError:
            assert not validator.is_valid_json(text)
            with pytest.raises(ValidationError):
                validator.decode(text)
        else:
            accepted += 1
            assert validator.is_valid_json(text)
            assert validator.decode(text) == expected
    assert 0 < accepted < len(OBJECTS)


@pytest.mark.parametrize(
    "text",
    [
        '{"kind":"a","kind":"b"}',
        '{"kind":"a","size":1,"kind":"a"}',
        '{"k\\u0069nd":"a","kind":"a"}',
        '{"kind":"\\u0061","kind":"b"}',
    ],
)
def test_a_name_that_comes_again_is_refused(text):
    for schema in (CHOICES["tagged"], CHOICES["any"], CHOICES["within"]):
        with pytest.raises(ValidationError, match="repeated|twice|again"):
            Validator(schema).decode(text)


def test_escapes_in_the_first_member():
    validator = Validator(CHOICES["tagged"])
    assert validator.decode('{"k\\u0069nd":"\\u0062"}') == {"kind": "b", "size": "one"}
    assert not validator.is_valid_json('{"kind":"a","size":"\\u0062"}')


@pytest.mark.parametrize(
    "text",
    ["{", '{"', '{"kind', '{"kind"', '{"kind":', '{"kind":"', '{"kind":"a', '{"kind":"a"', "{,}", '{"kind" "a"}'],
)
def test_what_breaks_off(text):
    for schema in CHOICES.values():
        assert not Validator(schema).is_valid_json(text)
