"""The schema at work while streaming: the vectors at their byte, and what a reader of the stream sees."""

import json
import pickle
import random
from typing import Any

import pytest

from toolhead import MISSING, DecodeError, Issue, Limits, ValidationError, Validator

CARD = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "card"}, "number": {"type": "string"}},
            "required": ["kind", "number"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "iban"}, "iban": {"type": "string"}},
            "required": ["kind", "iban"],
        },
    ]
}


def told(stream: Any) -> list[tuple[int | None, str, str | None, str]]:
    return [(issue.offset, issue.pointer, issue.keyword, issue.schema_path) for issue in stream.issues]


def test_vector_is_decided_at_its_byte(incremental_vector: dict[str, Any]) -> None:
    vector, validator = incremental_vector, Validator(incremental_vector["schema"])
    text = vector["text"].encode()
    fails = vector["verdict"] == "fails"
    byte = vector["fail_byte"] if fails else vector["success_byte"]
    stream = validator.stream()
    states = [stream.push(text[at : at + 1]) for at in range(len(text))]
    assert set(states[:byte]) <= {"open"}
    assert states[byte] == "rejected" if fails else states[byte] in ("certain", "complete")
    if fails:
        assert stream.issues[0].offset == byte
    else:
        assert stream.issues == []
    # The same in one piece.
    whole = validator.stream()
    whole.push(text)
    assert told(whole) == told(stream)


def test_vector_witness_is_never_rejected(incremental_vector: dict[str, Any]) -> None:
    vector = incremental_vector
    stream = Validator(vector["schema"]).stream()
    witness = vector.get("valid_until_witness") or vector.get("undecided_until_witness")
    if witness is None:
        assert vector["schema"] in (True, False)  # there is nothing that the other verdict would hold for
        return
    states = [stream.push(character) for character in witness]
    if vector["verdict"] == "fails":
        assert "rejected" not in states
        stream.finish()
    else:
        assert "certain" not in states
        with pytest.raises(ValidationError):
            stream.finish()


def test_stream_reads_on_after_a_rejection_and_finish_says_everything() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}}, "required": ["c"]}
    stream = Validator(schema).stream()
    assert stream.push('{"a": "no') == "rejected"
    first = stream.issues
    assert told(stream) == [(6, "/a", "type", "/properties/a/type")]
    assert first[0].value == "no"
    assert str(first[0]) == "Expected integer, got string at /a"
    assert stream.push('pe", "b": "z"}') == "rejected"
    assert stream.value == {"a": "nope", "b": "z"}
    assert told(stream)[1:] == [(20, "/b", "enum", "/properties/b/enum"), (22, "/c", "required", "/required")]
    assert stream.issues[0] is first[0]
    with pytest.raises(ValidationError) as refusal:
        stream.finish()
    assert sorted(issue.pointer for issue in refusal.value.issues) == ["/a", "/b", "/c"]
    assert all(issue.offset is None for issue in refusal.value.issues)


def test_stream_issue_is_an_ordinary_issue_with_an_offset() -> None:
    stream = Validator({"type": "object", "properties": {"n": {"maximum": 3}}}).stream()
    stream.push('{"n": 12}')
    issue = stream.issues[0]
    assert isinstance(issue, Issue)
    assert issue.offset == 8
    again = pickle.loads(pickle.dumps(issue))
    assert (again.offset, again.message, again.path) == (8, issue.message, ("n",))


def test_stream_is_certain_before_it_is_complete() -> None:
    stream = Validator({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}).stream()
    assert [stream.push(piece) for piece in ('{"b": 1, "a"', ": ", '"', 'x"', ', "c": [1', "]}")] == [
        "open",
        "open",
        "certain",
        "certain",
        "certain",
        "complete",
    ]
    assert stream.finish() == {"b": 1, "a": "x", "c": [1]}


def test_stream_without_schema_has_no_verdict() -> None:
    stream = Validator(True).stream()
    assert stream.value is MISSING
    assert stream.push("[") == "certain"
    assert stream.push("]") == "complete"


@pytest.mark.parametrize("size", [1, 3, 100])
def test_stream_with_a_schema_refuses_a_repeated_name(size: int) -> None:
    text = '{"a": 1, "b": {"q": 1, "q": 2}, "a": 2}'
    for schema in ({"properties": {"a": {}, "b": {}}}, {"type": "object"}):
        validator = Validator(schema)
        stream = validator.stream()
        states = [stream.push(text[at : at + size]) for at in range(0, len(text), size)]
        assert states[-1] == "rejected"
        assert [(issue.offset, issue.pointer) for issue in stream.issues] == [(25, "/b/q"), (34, "/a")]
        with pytest.raises(ValidationError) as streamed:
            stream.finish()
        with pytest.raises(ValidationError) as ordinary:
            validator.decode(text)
        assert {issue.pointer for issue in streamed.value.issues} == {issue.pointer for issue in ordinary.value.issues}


def test_live_branches_of_stream_narrow_with_the_discriminator() -> None:
    stream = Validator({"properties": {"pay": CARD}}).stream()
    assert stream.live_branches() == ()
    stream.push('{"pay": {')
    both = ("/properties/pay/oneOf/0", "/properties/pay/oneOf/1")
    assert stream.live_branches("/pay") == both
    stream.push('"kind": "i')
    assert stream.live_branches("/pay") == both[1:]
    assert stream.live_branches("/nowhere") == ()
    stream.push('ban", "iban": 7')
    assert [issue.pointer for issue in stream.issues] == ["/pay/iban"]
    with pytest.raises(ValueError, match="pointer"):
        stream.live_branches("pay")
    whole = Validator(CARD).stream()
    whole.push('{"kind": "card", "number": "1"}')
    assert whole.live_branches() == ("/oneOf/0",)


def test_stream_fills_in_defaults_at_its_end() -> None:
    stream = Validator({"properties": {"a": {"default": 3}}}).stream()
    stream.push("{}")
    assert stream.value == {}
    assert stream.finish() == {"a": 3}


def test_stream_keeps_to_the_limit_of_issues() -> None:
    stream = Validator({"items": {"type": "null"}}, limits=Limits(issues=5)).stream()
    stream.push(json.dumps(list(range(50))))
    assert len(stream.issues) == 5


def test_stream_decides_what_needs_the_whole_value_at_its_end() -> None:
    schema = {
        "properties": {
            "u": {"properties": {"a": {}}, "unevaluatedProperties": False},
            "p": {"pattern": "^(ab|cd)+$"},
            "f": {"format": "date"},
            "d": {"dependentSchemas": {"x": {"required": ["y"]}}},
        }
    }
    stream = Validator(schema).stream()
    assert stream.push('{"u": {"a": 1, "b": 2') == "open"
    assert stream.push("}") == "rejected"
    stream.push(', "p": "abx", "f": "2020-13-01", "d": {"x": 1}}')
    assert [issue.keyword for issue in stream.issues] == ["unevaluatedProperties", "pattern", "format", "required"]


def test_stream_of_exploding_schema_stays_open_instead_of_running_away() -> None:
    schema: dict[str, Any] = {"$defs": {"d0": {"properties": {"x": {"type": "string"}}}}, "$ref": "#/$defs/d14"}
    for level in range(1, 15):
        below = {"$ref": f"#/$defs/d{level - 1}", "minProperties": level}
        schema["$defs"][f"d{level}"] = {"anyOf": [below, below]}
    stream = Validator(schema).stream()
    assert stream.push('{"x": ') == "open"
    assert stream.push("1}") in ("complete", "rejected")
    with pytest.raises(ValidationError):
        stream.finish()


VALUES = [None, True, 0, 1, 1.0, 2.5, -3, 10**20, "", "a", "ab", "é😀", [], [1], [1, 1.0], [[]], {}, {"a": 1}]
ASSERTIONS: list[Any] = [
    {"type": "integer"},
    {"type": ["string", "array"]},
    {"const": {"a": [1]}},
    {"const": "ab"},
    {"enum": ["a", "abc", 1, None, [1], {"a": 1}]},
    {"minimum": 1, "multipleOf": 0.5},
    {"exclusiveMaximum": 2},
    {"minLength": 1, "maxLength": 2},
    {"pattern": "^a*$"},
    {"pattern": "b"},
    {"minItems": 1, "maxItems": 2},
    {"uniqueItems": True},
    {"required": ["a"], "maxProperties": 2},
    {"minProperties": 1, "additionalProperties": False, "properties": {"a": {}, "b": {}}},
    {"propertyNames": {"maxLength": 1}},
    {"dependentRequired": {"a": ["b"]}},
    True,
    False,
]


def schemas(random: random.Random, depth: int) -> Any:
    """A random schema of many keywords."""
    if depth == 0 or random.random() < 0.3:
        return random.choice(ASSERTIONS)
    inner = lambda: schemas(random, depth - 1)  # noqa: E731
    return random.choice(
        [
            lambda: {"allOf": [inner(), inner()]},
            lambda: {"anyOf": [inner(), inner()]},
            lambda: {"oneOf": [inner(), inner()]},
            lambda: {"not": inner()},
            lambda: {"if": inner(), "then": inner(), "else": inner()},
            lambda: {"properties": {"a": inner(), "b": inner()}, "patternProperties": {"^a": inner()}},
            lambda: {"properties": {"a": inner()}, "additionalProperties": inner()},
            lambda: {"prefixItems": [inner()], "items": inner()},
            lambda: {"contains": inner(), "minContains": random.choice([0, 1, 2]), "maxContains": 2},
            lambda: {"dependentSchemas": {"a": inner()}},
            lambda: {"anyOf": [inner(), inner()], "unevaluatedProperties": inner(), "unevaluatedItems": inner()},
            lambda: {
                **random.choice([one for one in ASSERTIONS if isinstance(one, dict)]),
                "properties": {"a": inner()},
            },
        ]
    )()


def values(random: random.Random, depth: int) -> Any:
    if depth == 0 or random.random() < 0.3:
        return random.choice(VALUES)
    if random.random() < 0.5:
        return [values(random, depth - 1) for _ in range(random.randrange(4))]
    return {name: values(random, depth - 1) for name in random.sample(["a", "b", "aa", "c"], random.randrange(4))}


@pytest.mark.parametrize("seed", range(8))
def test_stream_agrees_with_the_ordinary_verdict_on_random_schemas(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(150):
        schema = schemas(choose, 3)
        validator = Validator(schema)
        for _ in range(6):
            value = values(choose, 3)
            text = json.dumps(value) + " "
            valid = validator.is_valid(value)
            found = []
            for size in (1, 4, len(text)):
                stream = validator.stream()
                states = [stream.push(text[at : at + size]) for at in range(0, len(text), size)]
                assert ("rejected" in states) is not valid, (schema, text, told(stream))
                if "certain" in states:
                    assert valid, (schema, text)
                    assert set(states[states.index("certain") :]) <= {"certain", "complete"}
                if not valid:
                    assert set(states[states.index("rejected") :]) == {"rejected"}
                    assert stream.issues
                found.append(told(stream))
            assert found[0] == found[1] == found[2], (schema, text)


def with_texts(random: random.Random, value: Any) -> Any:
    """The value with JSON text in place of some of its parts."""
    if random.random() < 0.3:
        return json.dumps(value)
    if isinstance(value, list):
        return [with_texts(random, item) for item in value]
    if isinstance(value, dict):
        return {name: with_texts(random, item) for name, item in value.items()}
    return value


@pytest.mark.parametrize("seed", range(8))
def test_text_is_read_as_a_value_only_where_it_can_only_be_wrong(seed: int) -> None:
    choose = random.Random(seed)
    kept = read = 0
    for _ in range(150):
        schema = schemas(choose, 3)
        if choose.random() < 0.5:
            schema = {"allOf": [schema, {"type": ["object", "array"], "items": {"type": ["array", "number"]}}]}
        validator = Validator(schema)
        for _ in range(6):
            value = with_texts(choose, values(choose, 3))
            text = json.dumps(value)
            outcomes = []
            for size in (1, 4, len(text)):
                stream = validator.stream(repair=["double-encoding"])
                stream.push_many([text[at : at + size] for at in range(0, len(text), size)])
                try:
                    end: Any = stream.finish()
                except (DecodeError, ValidationError) as error:
                    end = str(error)
                outcomes.append((end, stream.repairs, told(stream)))
            assert outcomes[0] == outcomes[1] == outcomes[2], (schema, text)
            if validator.is_valid(value):
                assert outcomes[0][:2] == (validator.validate(value), ()), (schema, text)
                kept += 1
            read += bool(outcomes[0][1])
    assert kept > 100
    assert read > 50
