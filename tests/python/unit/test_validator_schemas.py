"""What a schema means: where its references lead, which drafts know what, and the same answer on every way."""

import json
from typing import Any

import pytest

from toolhead import SchemaError, ValidationError, Validator

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def verdict(validator: Validator, value: Any) -> bool:
    """The one answer that every way gives."""
    text = json.dumps(value)
    answers = [validator.is_valid(value), validator.issues(value) == [], validator.is_valid_json(text)]
    for pieces in ([text], list(text)):
        stream = validator.stream()
        stream.push_many(pieces)
        try:
            stream.finish()
        except ValidationError:
            answers.append(False)
        else:
            answers.append(True)
    assert len(set(answers)) == 1, f"{value}: {answers}"
    return answers[0]


def refusal(schema: Any, **options: Any) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        Validator(schema, **options)
    return caught.value


@pytest.mark.parametrize("meta", [DRAFT_2019, DRAFT_2020])
@pytest.mark.parametrize("beside", ["siblings", "allOf"])
def test_a_meta_schema_with_keywords_beside_it_still_reaches_into_its_vocabularies(meta: str, beside: str) -> None:
    more = {"properties": {"title": {"type": "string"}}}
    schema = {"$ref": meta, **more} if beside == "siblings" else {"allOf": [{"$ref": meta}, more]}
    validator = Validator({"$schema": meta, **schema})
    assert verdict(validator, {"$defs": {"a": {"type": "string"}}, "title": "t"})
    assert not verdict(validator, {"title": 1})
    # Core alone knows $defs, and asks dynamically for what is under them.
    assert not verdict(validator, {"$defs": {"a": {"type": 1}}})


@pytest.mark.parametrize("token", ["00", "01", "+0", "-0", "-", " 0", "0x0", "", "\u0660"])
def test_a_pointer_into_a_list_is_digits_without_a_leading_zero(token: str) -> None:
    schema = {"allOf": [{"type": "object"}, True], "properties": {"a": {"$ref": f"#/allOf/{token}"}}}
    assert refusal(schema).schema_path == "/properties/a/$ref"
    assert Validator(schema | {"properties": {"a": {"$ref": "#/allOf/1"}}}).is_valid({})


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("item", "./item"),
        ("./item", "item"),
        ("dir/item", "dir/../dir/./item"),
        ("http://e.com/a/../item", "http://e.com/item"),
        ("http://e.com/item", "http://e.com/a/./../item"),
        ("http://e.com/dir/item", "HERE/../item"),
        ("urn:a/../b", "urn:a/../b"),
    ],
)
def test_dot_segments_lead_nowhere(name: str, reference: str) -> None:
    root = {"$id": "http://e.com/dir/root"} if "HERE" in reference else {}
    schema = {"$defs": {"a": {"$id": name, "type": "string"}}, "properties": {"a": {"$ref": reference}}, **root}
    assert verdict(Validator(schema), {"a": "text"})
    assert not verdict(Validator(schema), {"a": 1})


@pytest.mark.parametrize("dialect", ["draft6", "draft7"])
@pytest.mark.parametrize(
    ("root", "name", "reference"),
    [
        ({}, "#text", "#text"),
        ({}, "http://e.com/text", "http://e.com/text"),
        ({"$id": "http://e.com/root"}, "text", "text"),
        ({"$id": "http://e.com/root"}, "#text", "http://e.com/root#text"),
        ({"$id": "http://e.com/root"}, "ignored", "http://e.com/root#/definitions/a"),
    ],
)
def test_definitions_beside_a_reference_at_the_root_have_names(
    dialect: str, root: dict[str, str], name: str, reference: str
) -> None:
    schema = {**root, "$ref": reference, "definitions": {"a": {"$id": name, "type": "string"}}, "maxLength": 0}
    assert verdict(Validator(schema, dialect=dialect), "text")
    assert not verdict(Validator(schema, dialect=dialect), 1)


def test_other_keywords_beside_a_reference_of_draft_7_name_nothing() -> None:
    ignored = {"$id": "http://e.com/a", "type": "integer"}
    schema = {
        "definitions": {"a": {"$id": "http://e.com/a", "type": "string"}, "b": True},
        "properties": {"x": {"$ref": "#/definitions/b", "items": ignored}, "y": {"$ref": "http://e.com/a"}},
    }
    # The ignored one stands first where a walk through everything would find it.
    schema = {key: schema[key] for key in ("properties", "definitions")}
    assert verdict(Validator(schema, dialect="draft7"), {"y": "text"})
    assert not verdict(Validator(schema, dialect="draft7"), {"y": 1})


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"properties": {"a": True}}, "/properties/a"),
        ({"items": False}, "/items"),
        ({"not": False}, "/not"),
        ({"anyOf": [{}, True]}, "/anyOf/1"),
        ({"definitions": {"a": True}}, "/definitions/a"),
        ({"properties": {"a": {"$ref": "#/definitions/a"}}, "definitions": {"a": False}}, "/definitions/a"),
        ({"exclusiveMinimum": True}, "/exclusiveMinimum"),
        ({"exclusiveMaximum": False, "minimum": 1}, "/exclusiveMaximum"),
    ],
)
def test_draft_4_has_no_boolean_schemas_and_no_exclusion_without_a_bound(schema: dict[str, Any], path: str) -> None:
    assert refusal(schema, dialect="draft4").schema_path == path


def test_draft_4_has_booleans_where_it_says_so() -> None:
    schema = {
        "items": [{}],
        "additionalItems": False,
        "additionalProperties": False,
        "minimum": 1,
        "exclusiveMinimum": True,
    }
    validator = Validator(schema, dialect="draft4")
    assert [verdict(validator, value) for value in ([1], [1, 2], {}, {"a": 1}, 2, 1)] == [True, False] * 3


@pytest.mark.parametrize("text", ["0+1", "0-1/foo", "1-0", "0+12#"])
def test_a_relative_pointer_may_move_an_index_from_2020_12_on(text: str) -> None:
    for dialect in ("draft7", "draft2019-09"):
        assert not verdict(Validator({"format": "relative-json-pointer"}, dialect=dialect), text)
    for dialect in ("draft2020-12", "v1"):
        assert verdict(Validator({"format": "relative-json-pointer"}, dialect=dialect), text)
        assert not verdict(Validator({"format": "relative-json-pointer"}, dialect=dialect), text.replace("1", "01", 1))


@pytest.mark.parametrize("schema", [True, {}, {"title": "anything"}])
def test_a_schema_that_asks_nothing_takes_the_last_of_a_repeated_name_on_every_way(schema: Any) -> None:
    validator = Validator(schema)
    text = '{"a": 1, "b": [{"c": 1, "\\u0063": 2}], "a": 3}'
    assert validator.is_valid_json(text)
    assert validator.decode(text) == {"a": 3, "b": [{"c": 2}]}
    stream = validator.stream()
    assert stream.push(text) == "complete"
    assert stream.issues == []
    assert stream.finish() == {"a": 3, "b": [{"c": 2}]}


@pytest.mark.parametrize(
    ("dialect", "identifier", "path"),
    [
        ("draft4", {"id": "http://e.com/a"}, "id"),
        ("draft7", {"$id": "http://e.com/a"}, "$id"),
        ("draft7", {"$id": "#a"}, "$id"),
        ("draft2020-12", {"$id": "a"}, "$id"),
        ("draft2019-09", {"$anchor": "a"}, "$anchor"),
        ("draft2020-12", {"$dynamicAnchor": "a"}, "$dynamicAnchor"),
    ],
)
def test_a_name_cannot_be_that_of_two_schemas(dialect: str, identifier: dict[str, str], path: str) -> None:
    reference = f"#{identifier[path]}" if "nchor" in path else identifier[path]

    def schema(other: str) -> dict[str, Any]:
        one, two = {**identifier, "type": "string"}, {**identifier, "type": other}
        return {"properties": {"x": {"$ref": reference}}, "definitions": {"one": one, "two": two}}

    assert refusal(schema("integer"), dialect=dialect).schema_path == f"/definitions/two/{path}"
    # Written out twice it is the same schema.
    assert not verdict(Validator(schema("string"), dialect=dialect), {"x": 1})


def test_pointers_as_names_that_generators_write_are_no_names() -> None:
    twice = {"$id": "#/properties/a", "type": "string"}, {"$id": "#/properties/a", "type": "integer"}
    schema = {"properties": {"a": twice[0], "b": twice[1], "c": {"$ref": "#/properties/a"}}}
    assert not verdict(Validator(schema, dialect="draft7"), {"c": 1})


@pytest.mark.parametrize("uri", [DRAFT_7, DRAFT_2019, DRAFT_2020, "http://json-schema.org/draft-04/schema#"])
def test_a_meta_schema_is_known_under_http_and_https(uri: str) -> None:
    place = uri.partition(":")[2]
    schema = {"items": [{"type": "string"}]} if uri != DRAFT_2020 else {"prefixItems": [{"type": "string"}]}
    for scheme in ("http", "https"):
        assert not verdict(Validator({"$schema": f"{scheme}:{place}", **schema}), [1])
    assert refusal({"$schema": f"ftp:{place}"}).keyword == "$schema"


def test_a_registry_may_name_a_document_with_an_empty_fragment() -> None:
    registry = {"http://e.com/a#": {"type": "string"}, "http://e.com/b": {"type": "integer"}}
    schema = {"properties": {"a": {"$ref": "http://e.com/a"}, "b": {"$ref": "http://e.com/b#"}}}
    validator = Validator(schema, registry=registry)
    assert [verdict(validator, value) for value in ({"a": "x", "b": 1}, {"a": 1}, {"b": "x"})] == [True, False, False]
    assert refusal({"$ref": "http://e.com/c"}, registry=registry).schema_path == "/$ref"


@pytest.mark.parametrize("reference", ["#/$defs/a", "#", "a"])
def test_a_definition_in_a_definition_may_refer_to_it_though_nothing_refers_to_either(reference: str) -> None:
    inner = {"$ref": reference}
    schema = {"$defs": {"a": {"$id": "a", "type": "object", "$defs": {"inner": inner, "a": {"type": "string"}}}}}
    assert verdict(Validator(schema), 1)
    inner["minLength"] = "1"
    assert refusal(schema).schema_path == "/$defs/a/$defs/inner/minLength"


@pytest.mark.parametrize(
    "definitions",
    [
        {"a": {"$ref": "#/$defs/a"}},
        {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}},
    ],
)
def test_a_circle_of_definitions_is_refused_though_nothing_refers_to_it(definitions: dict[str, Any]) -> None:
    assert refusal({"$defs": definitions}).keyword == "$ref"


def test_definitions_that_nothing_refers_to_are_read_once() -> None:
    count = 20_000
    chain = {f"d{n}": {"properties": {"x": {"$ref": f"#/$defs/d{n - 1}"}}} for n in range(1, count)}
    schema = {"$defs": {"d0": {"type": "string"}, **chain}}
    # Read again for each, they would take minutes.
    assert verdict(Validator(schema), 1)
    schema["$defs"][f"d{count // 2}"]["type"] = "strin"
    assert refusal(schema).schema_path == f"/$defs/d{count // 2}/type"


class Name(str):
    """A name whose own code must not run."""

    __slots__ = ()

    def __hash__(self) -> int:
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")


@pytest.mark.parametrize("key", [str, Name])
def test_references_find_their_definition_among_many(key: type[str]) -> None:
    names = [f"é {number}/~" for number in range(40)]
    definitions = {key(name): {"const": number} for number, name in enumerate(names)}
    pointers = [name.replace("~", "~0").replace("/", "~1") for name in names]
    schema = {"$defs": definitions, "prefixItems": [{"$ref": f"#/$defs/{pointer}"} for pointer in pointers]}
    validator = Validator(schema)
    assert validator.is_valid(list(range(40)))
    assert not validator.is_valid(list(range(39, -1, -1)))
    with pytest.raises(SchemaError):
        Validator({**schema, "$ref": "#/$defs/é 40~1~0"})


@pytest.mark.parametrize("leaf", [{"type": "array", "items": {"type": "string"}}, {"type": "object"}])
def test_a_chain_past_the_limit_is_no_consent_under_not(leaf: dict[str, Any]) -> None:
    """Whether the schema at the end accepts the value or is out of reach: its negation accepts it in no case."""
    value: Any = ["x"] if leaf["type"] == "array" else {"x": 1}
    for length in range(1_990, 2_005):
        chain = {
            f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}, {"type": "null", "const": None}]}
            for at in range(length)
        }
        schema = {"$defs": {**chain, f"d{length}": leaf}, "not": {"$ref": "#/$defs/d0"}}
        assert not Validator(schema).is_valid(value), length
