"""Hostile data, texts and schemas are answered or refused with our own errors, in bounded time, on any stack."""

import contextlib
import decimal
import json
import sys
import threading
import time

import pytest

from toolhead import DecodeError, SchemaError, ToolheadError, ValidationError, Validator
from toolhead._core import Limits

R = {"$ref": "#"}
NESTED = {
    "free": True,
    "items": {"items": R, "additionalProperties": R},
    "anyOf": {"anyOf": [{"items": R}, {"additionalProperties": R}]},
    "not": {"not": {"items": R}},
    "uniqueItems": {"type": "array", "uniqueItems": True},
    "const": {"const": [[1]]},
    "enum": {"enum": list(range(20))},
    "contains": {"contains": R},
    "unevaluated": {"unevaluatedItems": R, "unevaluatedProperties": R},
    "defaults": {"items": {"properties": {"a": {"default": 1}}}},
    "if": {"if": {"items": R}, "then": {"items": R}, "else": {"items": R}},
}
SECONDS = 20
"""No call of this file may take longer, on any machine. Exponential work takes years."""


def verdict(call, *arguments):
    """The answer, or the name of our own error; anything else is a failure."""
    started = time.monotonic()
    try:
        answer = call(*arguments)
    except ToolheadError as error:
        answer = type(error).__name__
        assert len(str(error)) < 50_000
    assert time.monotonic() - started < SECONDS
    return answer


def stream(validator, text):
    reader = validator.stream()
    reader.push(text)
    return reader.finish()


def everything(validator, value=None, text=None):
    """All that a validator does with a value or text; whether it accepts it."""
    if text is not None:
        valid = verdict(validator.is_valid_json, text)
        decoded = verdict(validator.decode, text)
        assert valid == (decoded not in ("ValidationError", "DecodeError"))
        verdict(validator.repair_json, text)
        verdict(stream, validator, text)
        return valid
    valid = verdict(validator.is_valid, value)
    issues = verdict(validator.issues, value)
    accepted = verdict(validator.validate, value) != "ValidationError"
    assert accepted == (issues == [])
    assert valid or not accepted  # is_valid looks only where the schema looks
    verdict(validator.repair, value)
    return accepted


def nest(levels, make=lambda x: [x], value=None):
    value = [] if value is None else value
    for _ in range(levels):
        value = make(value)
    return value


def in_a_small_stack(work):
    """Runs in a thread with 512 KiB of stack."""
    failures = []

    def run():
        try:
            work()
        except BaseException as error:
            failures.append(error)

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if failures:
        raise failures[0]


# ------------------------------------------------------------------------------------------------ depth


@pytest.mark.parametrize("schema", NESTED.values(), ids=NESTED.keys())
def test_deep_data(schema):
    validator = Validator(schema)
    for value in (nest(200_000), nest(200_000, lambda x: {"a": x})):
        assert not everything(validator, value)
    for text in ("[" * 200_000 + "]" * 200_000, b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "[" * 200_000):
        assert not everything(validator, text=text)


@pytest.mark.parametrize("schema", NESTED.values(), ids=NESTED.keys())
def test_data_that_contains_itself(schema):
    validator = Validator(schema)
    around = []
    around.append(around)
    members = {"a": 1}
    members["b"] = [members]
    for value in (around, members):
        assert not everything(validator, value)
    assert "contains itself" in Validator(True).issues(around)[0].message


@pytest.mark.parametrize("schema", NESTED.values(), ids=NESTED.keys())
def test_on_a_small_stack(schema):
    def work():
        validator = Validator(schema)
        for value in (nest(199), nest(300), nest(300, lambda x: {"a": x})):
            everything(validator, value)
        everything(validator, text="[" * 200 + "]" * 200)
        everything(validator, text="[" * 300 + "]" * 300)

    in_a_small_stack(work)


def test_a_deep_schema_on_a_small_stack():
    def work():
        for depth in (100, 199, 10_000):
            assert verdict(Validator, nest(depth, lambda x: {"properties": {"a": x}}, True)) is not None
            assert verdict(Validator, {"const": nest(depth)}) is not None

    in_a_small_stack(work)


@pytest.mark.parametrize("other", [{"type": "string"}, {"properties": {"b": True}, "additionalProperties": False}])
@pytest.mark.parametrize("length", [100, 1990, 1997, 1998, 1999, 2000, 2001, 20_000])
def test_a_chain_of_choices(length, other):
    links = {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}, other]} for at in range(length)}
    last = {"properties": {"a": {"type": "object"}}, "required": ["a"]}
    validator = Validator({"$ref": "#/$defs/d0", "$defs": {**links, f"d{length}": last}})

    def work():
        for value in ({"a": {}}, {"a": 1}, {"c": 1}, "text", []):
            verdict_of_text = verdict(validator.is_valid_json, json.dumps(value))
            assert verdict(validator.is_valid, value) == verdict_of_text, (length, value)

    work()
    if length <= 100:
        in_a_small_stack(work)
    assert validator.is_valid({"a": {}}) == (length < 1998)


def test_the_depth_limit_is_the_users():
    assert Validator(True, limits=Limits(depth=300)).is_valid(nest(299))
    assert not Validator(True, limits=Limits(depth=300)).is_valid(nest(300))
    assert Validator(True, limits=Limits(depth=1000)).is_valid_json("[" * 1000 + "]" * 1000)


# ------------------------------------------------------------------------------------------- references

DRAFT2019 = "https://json-schema.org/draft/2019-09/schema"
CIRCLES = [
    R,
    {"allOf": [R]},
    {"anyOf": [{"type": "string"}, R]},
    {"oneOf": [R]},
    {"not": R},
    {"if": R},
    {"if": True, "then": R},
    {"dependentSchemas": {"a": R}},
    {"$ref": "#", "type": "object"},
    {"$ref": "#", "unevaluatedProperties": False},
    {"$dynamicRef": "#"},
    {"$dynamicAnchor": "x", "$dynamicRef": "#x"},
    {"$schema": DRAFT2019, "$recursiveRef": "#"},
    {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b", "minLength": 1}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
    },
]


@pytest.mark.parametrize("schema", CIRCLES, ids=str)
def test_references_that_never_reach_into_the_value_are_refused(schema):
    with pytest.raises(SchemaError) as refusal:
        Validator(schema)
    assert refusal.value.keyword == "$ref"


def test_a_circle_that_only_the_way_closes_is_refused_with_the_value():
    inner = {"$id": "inner", "$dynamicAnchor": "y", "anyOf": [{"$dynamicRef": "#y"}, {"$dynamicRef": "#y"}]}
    outer = {"$id": "http://a.test/o", "$dynamicAnchor": "y", "anyOf": [{"$ref": "inner"}], "$defs": {"i": inner}}
    validator = verdict(Validator, outer)
    if validator != "SchemaError":
        assert not everything(validator, {"a": 1})
        assert not everything(validator, text='{"a":1}')
    schema = {"$schema": DRAFT2019, "$recursiveAnchor": True, "anyOf": [{"$recursiveRef": "#"}, {"$recursiveRef": "#"}]}
    validator = verdict(Validator, schema)
    if validator != "SchemaError":
        assert not everything(validator, {"a": 1})


@pytest.mark.parametrize(
    "link",
    [
        lambda r: r,
        lambda r: {**r, "minLength": 1},
        lambda r: {"allOf": [r]},
        lambda r: {"anyOf": [r, {"type": "null"}]},
        lambda r: {"properties": {"p": r}},
    ],
    ids=["alone", "beside", "allOf", "anyOf", "properties"],
)
def test_chains_of_ten_thousand_references(link):
    count = 10_000
    definitions = {f"d{n}": link({"$ref": f"#/$defs/d{n + 1}"}) for n in range(count)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{count}": {"type": ["string", "object"]}}}
    validator = verdict(Validator, schema)
    if validator != "SchemaError":
        everything(validator, "x")
        everything(validator, 1)
        everything(validator, text='"x"')


SHARED = {
    "anyOf": lambda r: {"anyOf": [r, r]},
    "allOf": lambda r: {"allOf": [r, r]},
    "oneOf": lambda r: {"oneOf": [r, r]},
    "anyOf unevaluated": lambda r: {"anyOf": [r, r], "unevaluatedProperties": False},
    "allOf unevaluated": lambda r: {"allOf": [r, r], "unevaluatedProperties": False},
    "not": lambda r: {"allOf": [{"not": {"not": r}}, {"not": {"not": r}}]},
    "if": lambda r: {"if": r, "then": r, "else": r},
    "dependentSchemas": lambda r: {"dependentSchemas": {"a": r, "b": r}},
    "anyOf of allOf": lambda r: {"anyOf": [{"allOf": [r, {"minProperties": 0}]}, {"allOf": [r, {"minProperties": 1}]}]},
    "allOf of allOf": lambda r: {"allOf": [{"allOf": [r, {"minProperties": 0}]}, {"allOf": [r, {"minProperties": 1}]}]},
    "contains": lambda r: {"contains": r, "items": r},
    "propertyNames": lambda r: {"propertyNames": r, "allOf": [{"propertyNames": r}]},
    "defaults": lambda r: {"anyOf": [r, r], "properties": {"a": {"default": 1}}},
    "patterns": lambda r: {"properties": {"c": r}, "patternProperties": {"c": {"allOf": [r, {"minProperties": 0}]}}},
    "below": lambda r: {"anyOf": [{"properties": {"c": r}, "required": [name]} for name in ("y", "z")]},
    "unevaluated below": lambda r: {"anyOf": [{"properties": {"c": r}}], "unevaluatedProperties": r},
}


@pytest.mark.parametrize("levels", [18, 40])
@pytest.mark.parametrize("link", SHARED.values(), ids=SHARED.keys())
def test_shared_schemas_cost_no_more_than_once(link, levels):
    definitions = {f"d{n}": link({"$ref": f"#/$defs/d{n + 1}"}) for n in range(levels)}
    for leaf in ({"type": "object"}, {"minProperties": 3, "maxLength": 1}, {"required": ["q"]}):
        validator = Validator({"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": leaf}})
        for value in ({"a": 1, "b": 2}, "xxxx", [[1], [[2]]], nest(60, lambda x: {"c": x, "a": 1}, 1)):
            assert everything(validator, value) == everything(validator, text=json.dumps(value))


@pytest.mark.parametrize("levels", [18, 60])
@pytest.mark.parametrize("link", SHARED.values(), ids=SHARED.keys())
def test_schemas_of_objects_that_share_others_cost_no_more_than_once(link, levels):
    schema = {"type": "object"}
    for _ in range(levels):
        schema = link(schema)
    validator = Validator(schema)
    for value in ({"a": 1, "b": 2}, "xxxx"):
        assert everything(validator, value) == everything(validator, text=json.dumps(value))


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"properties": {"c": R}, "required": ["z"]}, {"properties": {"c": R}, "required": ["y"]}]},
        {"oneOf": [{"properties": {"c": R, "k": {"const": 1}}}, {"properties": {"c": R, "k": {"const": 2}}}]},
        {"anyOf": [{"properties": {"c": R}}], "unevaluatedProperties": False},
        {"properties": {"c": {"allOf": [R], "minProperties": 0}}, "patternProperties": {"c": {"allOf": [R]}}},
        {"if": {"properties": {"c": R}}, "then": {"properties": {"c": R}}, "else": {"properties": {"c": R}}},
    ],
    ids=["anyOf", "oneOf", "unevaluated", "patterns", "if"],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_recursive_schemas_on_nested_data(schema, dynamic):
    if dynamic:
        properties = {**schema.get("properties", {}), "w": {"$dynamicRef": "#q"}}
        schema = {**schema, "$dynamicAnchor": "q", "properties": properties}
    validator = Validator(schema)
    for leaf in (1, "x", [{}]):
        value = nest(150, lambda x: {"c": x, "k": 1}, leaf)
        assert everything(validator, value) == everything(validator, text=json.dumps(value))


def test_merging_does_not_blow_up():
    def layer(n):
        return {
            "properties": {f"a{n}": {"type": "string"}, "s": {"minLength": n}},
            "additionalProperties": {"maxLength": n},
        }

    schema = {"type": "object"}
    for n in range(60):
        schema = {"allOf": [schema, layer(n)], **layer(1000 + n)}
    validator = verdict(Validator, schema)
    assert everything(validator, {"s": "q" * 2000, "a1": "", "zz": ""})
    assert not everything(validator, {"s": "q", "a1": "", "zz": ""})
    count = 2_000
    definitions = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, layer(n)]} for n in range(count)}
    validator = verdict(Validator, {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{count}": {}}})
    everything(validator, {"k": ""})


# -------------------------------------------------------------------------------------------- patterns

SLOW = ["^(a+)+$", "^(a|aa)+$", "^(a*)*\\1$", "^(?:(?=a)a+)+$", "^(?=(a+)+b)a", "(x+x+)+y"]


@pytest.mark.parametrize("pattern", SLOW)
def test_patterns_that_backtrack_for_ever(pattern):
    text = "a" * 50_000 + "!"
    everything(Validator({"pattern": pattern}), text)
    everything(Validator({"pattern": pattern}), text=json.dumps(text))
    for validator in (
        Validator({"patternProperties": {pattern: {"type": "string"}}}),
        Validator({"patternProperties": {pattern: True}, "unevaluatedProperties": False}),
        Validator({"patternProperties": {pattern: True}, "properties": {text: {"default": 1}}}),
    ):
        everything(validator, {text: 1})
        everything(validator, text=json.dumps({text: 1}))


@pytest.mark.parametrize(
    "pattern", ["a{1000}{1000}{1000}", "(" * 5000 + ")" * 5000, "[" * 5000, "a|" * 100_000, "\\p{L}{500}{50}"]
)
def test_patterns_that_are_large(pattern):
    validator = verdict(Validator, {"pattern": pattern})
    if validator != "SchemaError":
        everything(validator, "a" * 500)


# --------------------------------------------------------------------------------------------- numbers

NUMERIC = [
    {"type": "integer"},
    {"minimum": 0},
    {"exclusiveMaximum": 0},
    {"multipleOf": 7},
    {"multipleOf": 0.1},
    {"enum": [1, 2.5]},
    {"enum": list(range(30))},
    {"const": 1},
    {"type": "string"},
]


@pytest.mark.parametrize("schema", NUMERIC, ids=str)
def test_a_million_digits(schema):
    big = 10**1_000_000 - 1
    validator = Validator(schema)
    everything(validator, big)
    everything(Validator({"uniqueItems": True, "items": schema}), [big, big - 1] * 5)
    assert not everything(validator, text="9" * 1_000_000)
    assert not everything(validator, text="0." + "9" * 1_000_000)
    everything(Validator({"minimum": big}), 5)


@pytest.mark.parametrize("schema", NUMERIC, ids=str)
@pytest.mark.parametrize("text", ["1e999999999", "-1E-999999999", "1e400", "1.10"])
def test_decimals_of_any_exponent(schema, text):
    number = decimal.Decimal(text)
    everything(Validator(schema), number)
    everything(Validator({"items": schema, "uniqueItems": True}), [number] * 20)


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1e-400", "1e999999999999999999999", "1" + "0" * 400, "1e5000"])
def test_numbers_at_the_edge_of_a_double(text):
    for schema in NUMERIC:
        everything(Validator(schema), text=text)


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": decimal.Decimal("1e999999999")},
        {"multipleOf": decimal.Decimal("1e-999999999")},
        {"const": decimal.Decimal("1e999999999")},
        {"minLength": 10**30},
        {"maxItems": 1e300},
        {"multipleOf": 5e-324},
    ],
    ids=str,
)
def test_schemas_with_extreme_numbers(schema):
    validator = verdict(Validator, schema)
    if validator != "SchemaError":
        for value in (5, 1e308, 5e-324, decimal.Decimal("1e999999999"), "abc", [1]):
            everything(validator, value)


@pytest.mark.skipif(not hasattr(sys, "get_int_max_str_digits"), reason="the interpreter has no digit limit")
def test_the_interpreters_digit_limit_does_not_matter():
    assert Validator({"minimum": 0}).is_valid(10**4299)
    assert Validator(True).decode("9" * 4300) == 10**4300 - 1


# ------------------------------------------------------------------------------------------------ size


def test_a_million_repeated_names():
    text = "{" + ",".join(['"a":1'] * 1_000_000) + "}"
    assert Validator(True).decode(text) == {"a": 1}
    for schema in ({"type": "object"}, {"properties": {"a": {"type": "integer"}}}, {"maxProperties": 1}):
        with pytest.raises(ValidationError) as refusal:
            Validator(schema).decode(text)
        assert len(refusal.value.issues) <= Limits().issues


MANY = 100_000
NUMBERED = {f"p{n}": n for n in range(MANY)}


def each(value):
    return {name: value for name in NUMBERED}  # noqa: C420 - one object in many places is the point


LARGE = {
    "unique objects": lambda: ({"uniqueItems": True}, [{"a": n, "b": {"c": [n]}} for n in range(MANY)]),
    "two objects": lambda: ({"uniqueItems": True}, [NUMBERED, dict(reversed(NUMBERED.items()))]),
    "const": lambda: ({"const": NUMBERED}, dict(reversed(NUMBERED.items()))),
    "enum of strings": lambda: ({"items": {"enum": list(NUMBERED)}}, list(NUMBERED)),
    "enum of numbers": lambda: ({"items": {"enum": list(range(MANY))}}, list(range(MANY))),
    "enum of objects": lambda: (
        {"items": {"enum": [{"a": n} for n in range(20_000)]}},
        [{"a": n} for n in range(20_000)],
    ),
    "properties": lambda: (
        {"properties": each({"type": "integer"}), "required": list(NUMBERED)},
        NUMBERED,
    ),
    "wrong properties": lambda: ({"properties": each({"type": "null"})}, NUMBERED),
    "missing properties": lambda: ({"required": [*NUMBERED, "z"]}, NUMBERED),
    "few of many": lambda: ({"properties": dict.fromkeys([f"p{n}" for n in range(0, MANY, 4)], True)}, NUMBERED),
    "other names": lambda: ({"properties": dict.fromkeys([f"q{n}" for n in range(0, MANY, 4)], True)}, NUMBERED),
    "defaults": lambda: ({"properties": {name: {"default": n} for name, n in NUMBERED.items()}}, {}),
    "defaults there": lambda: ({"properties": {name: {"default": n} for name, n in NUMBERED.items()}}, NUMBERED),
    "defaults below": lambda: (
        {"additionalProperties": {"properties": {"z": {"default": 1}}}},
        each({}),
    ),
    "defaults behind": lambda: ({"anyOf": [{"properties": {name: {"default": 1} for name in NUMBERED}}]}, NUMBERED),
    "names required": lambda: ({"dependentRequired": {f"p{n}": [f"p{n + 1}"] for n in range(20_000)}}, NUMBERED),
    "names applied": lambda: ({"dependentSchemas": {f"p{n}": {"minProperties": 1} for n in range(20_000)}}, NUMBERED),
    "unevaluated": lambda: (
        {"allOf": [{"properties": dict.fromkeys(NUMBERED, True)}], "unevaluatedProperties": False},
        NUMBERED,
    ),
    "nulls": lambda: ({"properties": each({"type": "integer"})}, dict.fromkeys(NUMBERED)),
    "texts": lambda: ({"items": {"type": "array"}}, ["[1]"] * MANY),
    "branches": lambda: (
        {"anyOf": [{"required": ["k"], "properties": {"k": {"const": f"v{n}"}}} for n in range(10_000)]},
        {"k": "z"},
    ),
    "numbers": lambda: ({"oneOf": [{"const": n} for n in range(10_000)]}, 10_000),
}


@pytest.mark.parametrize("make", LARGE.values(), ids=LARGE.keys())
def test_large_data_and_schemas(make):
    schema, value = make()
    validator = verdict(Validator, schema)
    assert everything(validator, value) == everything(validator, text=json.dumps(value))


def test_names_that_differ_in_the_middle_alone():
    names = [f"aaaaaaaa{n:07d}bbbbbbbb" for n in range(MANY)]
    value = dict.fromkeys(names, 1)
    assert everything(verdict(Validator, {"properties": {name: {"type": "integer"} for name in names}}), value)
    assert everything(verdict(Validator, {"items": {"enum": names}}), names)


def quickest(work):
    best = float("inf")
    for _ in range(3):
        started = time.thread_time()
        work()
        best = min(best, time.thread_time() - started)
    return best


@pytest.mark.parametrize(
    "make",
    {
        "unique": lambda n: (Validator({"uniqueItems": True}).is_valid, [{"a": i} for i in range(n)]),
        "missing": lambda n: (
            Validator({"required": [f"p{i}" for i in range(n)]}).issues,
            {f"p{i}": 1 for i in range(n - 1)},
        ),
        "defaults": lambda n: (
            Validator({"additionalProperties": {"properties": {"z": {"default": 1}}}}).validate,
            {f"p{i}": {} for i in range(n)},
        ),
        "equal": lambda n: (
            Validator({"const": {f"p{i}": i for i in range(n)}}).is_valid,
            {f"p{i}": i for i in range(n)},
        ),
        "references": lambda n: (
            Validator,
            {
                "$defs": {f"d{i}": {"type": "string"} for i in range(n)},
                "allOf": [{"$ref": f"#/$defs/d{i}"} for i in range(n)],
            },
        ),
    }.values(),
    ids=["unique", "missing", "defaults", "equal", "references"],
)
def test_time_grows_with_the_size_not_its_square(make):
    (small, less), (large, more) = make(2_000), make(16_000)
    # Eight times the size: a square would take 64 times as long.
    assert quickest(lambda: large(more)) < 32 * quickest(lambda: small(less)) + 0.05


def names(count, begin="p"):
    return [f"{begin}{n}" for n in range(count)]


def backwards(count, begin="p"):
    return dict.fromkeys(reversed(names(count, begin)), 1)


CLOSED = {"additionalProperties": False}
ONE = {"required": ["z"], "maxProperties": 1}
STREAMED = {
    "const": lambda n: ({"const": backwards(n)}, dict.fromkeys(names(n), 1)),
    "enum of objects": lambda n: ({"enum": [backwards(n), backwards(n, "q")]}, dict.fromkeys(names(n), 1)),
    "const of an array": lambda n: ({"const": list(range(n))}, list(range(n))),
    "enum of strings": lambda n: ({"items": {"enum": names(n)}}, names(n)),
    "enum of many kinds": lambda n: ({"items": {"enum": [*names(n), 1]}}, names(n)),
    "closed": lambda n: ({"properties": dict.fromkeys(names(n), True), **CLOSED}, backwards(n)),
    "closed to all": lambda n: ({"properties": dict.fromkeys(names(n), True), **CLOSED}, backwards(n, "q")),
    "as many as required": lambda n: ({"required": names(n), "maxProperties": n}, backwards(n)),
    "no room": lambda n: ({"properties": dict.fromkeys(names(n), True), **CLOSED, **ONE}, backwards(n)),
    "missing": lambda n: ({"required": [*names(n), "z"]}, backwards(n // 2)),
    "names required": lambda n: ({"dependentRequired": {f"p{i}": [f"p{i - 1}"] for i in range(1, n)}}, backwards(n)),
    "names judged": lambda n: ({"propertyNames": {"enum": names(n)}}, backwards(n)),
    "one long string": lambda n: ({"const": "ab" * 16 * n}, "ab" * 16 * n),
}


@pytest.mark.parametrize("cut", [16, None])
@pytest.mark.parametrize("make", STREAMED.values(), ids=STREAMED.keys())
def test_time_of_a_stream_grows_with_the_size_not_its_square(make, cut):
    def work(size):
        schema, value = make(size)
        validator, text = Validator(schema), json.dumps(value)
        pieces = [text] if cut is None else [text[at : at + cut] for at in range(0, len(text), cut)]

        def run():
            reader = validator.stream()
            for piece in pieces:
                reader.push(piece)
            with contextlib.suppress(ToolheadError):
                reader.finish()

        return quickest(run)

    assert work(32_000) < 32 * work(4_000) + 0.05


def test_a_schema_of_ten_megabytes():
    leaf = {"type": "object", "description": "x" * 200, "properties": {"a": {"type": "string", "pattern": "^a"}}}
    schema = {"properties": {f"p{n}": leaf | {"title": str(n)} for n in range(30_000)}}
    validator = verdict(Validator, schema)
    assert everything(validator, {"p5": {"a": "a"}})
    assert not everything(validator, {"p5": {"a": "b"}})


# --------------------------------------------------------------------------------------------- schemas


def test_schemas_that_contain_themselves():
    def around(keyword, wrap):
        schema = {"type": "object"}
        schema[keyword] = wrap(schema)
        return schema

    for schema in (
        around("properties", lambda s: {"a": s}),
        around("allOf", lambda s: [s]),
        around("items", lambda s: s),
        around("const", lambda s: s),
        around("enum", lambda s: [s]),
        {"properties": {"a": around("default", lambda s: s)}},
    ):
        with pytest.raises(SchemaError):
            Validator(schema)
    for keyword in ("x-note", "$defs"):  # never read, or read once
        assert Validator(around(keyword, lambda s: {"a": s})).is_valid({})


@pytest.mark.parametrize(
    "schema",
    [
        {1: 2},
        {"properties": {1: {}}},
        {"properties": {"\ud800": {}}},
        {"const": {1: 2}},
        {"const": float("nan")},
        {"enum": [float("inf")]},
        {"enum": ["\ud800"]},
        {"minimum": float("nan")},
        {"multipleOf": float("inf")},
        {"properties": {"a": {"default": {1, 2}}}},
        {"const": {1, 2}},
        {"pattern": "\ud800"},
        {"required": ["\ud800"]},
        {"$ref": "\ud800"},
        {"$id": 5},
        [],
        None,
        5,
        "{}",
    ],
    ids=repr,
)
def test_schemas_that_are_no_json(schema):
    with pytest.raises(SchemaError):
        Validator(schema)


def test_a_registry_may_change_the_schema_while_it_is_read():
    schema = {"properties": {f"p{n}": {"$ref": f"http://x.test/{n}"} for n in range(50)}}
    answers = {}

    def registry(uri):
        schema.clear()
        schema.update({"type": "string", "junk": ["x" * 100] * 100})
        answers.clear()
        answers[uri] = {"type": "integer", "properties": {"q": {"$ref": "http://x.test/0"}}}
        return answers[uri]

    validator = Validator(schema, registry=registry)
    assert validator.is_valid({"p1": 1})
    assert not validator.is_valid({"p1": "x"})


def test_what_a_registry_raises_comes_through():
    def registry(uri):
        raise ZeroDivisionError(uri)

    with pytest.raises(ZeroDivisionError):
        Validator({"$ref": "http://x.test/a"}, registry=registry)
    for nothing in (lambda uri: None, {}.__getitem__, {}):
        with pytest.raises(SchemaError):
            Validator({"$ref": "http://x.test/a"}, registry=nothing)


@pytest.mark.parametrize("answer", [5, [], "text", {1: 2}, {3}], ids=repr)
def test_a_registry_that_answers_no_schema(answer):
    with pytest.raises(SchemaError):
        Validator({"$ref": "http://x.test/a"}, registry=lambda uri: answer)


ODD_NAMES = ["", "\0", '"', "\\", "a\0b", "é", "𝒳", "\u2028", "a/b~c", "\x7f", "\n", "a" * 100]


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_names_of_any_character(name):
    for schema in (
        {"properties": {name: {"type": "integer", "default": 7}}, "additionalProperties": False},
        {"required": [name], "additionalProperties": {"type": "integer"}},
        {"dependentRequired": {name: [name]}, "patternProperties": {"^": {"type": "integer"}}},
    ):
        validator = Validator(schema)
        for escaped in (True, False):
            assert validator.decode(json.dumps({name: 1}, ensure_ascii=escaped)) == {name: 1}
            assert not validator.is_valid_json(json.dumps({name: "x"}, ensure_ascii=escaped))
        assert validator.issues({name: "x"})[0].path == (name,)
    assert Validator({"properties": {name: {"default": 7}}}).decode("{}") == {name: 7}


# --------------------------------------------------------------------------------------------- results


def test_issue_limits():
    validator = Validator({"items": {"type": "string"}}, limits=Limits(issues=3))
    value = [1] * 100
    assert [len(validator.issues(value, limit)) for limit in (0, 1, 2, 50, None)] == [0, 1, 2, 50, 3]
    with pytest.raises((ValueError, OverflowError)):
        validator.issues(value, -1)
    with pytest.raises(ValidationError) as refusal:
        validator.validate(value)
    assert len(refusal.value.issues) == 3


def count_issues(issues):
    waiting, count = list(issues), 0
    while waiting:
        issue = waiting.pop()
        count += 1
        waiting.extend(cause for branch in issue.causes for cause in branch)
    return count


def test_causes_are_bounded():
    branch = {"anyOf": [{"items": R}, {"items": R, "maxItems": 1}, {"type": "string"}]}
    value = nest(100, lambda x: [x, 1])
    assert count_issues(Validator(branch).issues(value)) < 50_000


def test_defaults_in_recursive_schemas_end():
    names = "abcdefgh"
    for schema in (
        {"properties": {"a": {**R, "default": {}}}},
        {"properties": {name: {**R, "default": {}} for name in names[:5]}},
    ):
        verdict(Validator(schema).validate, {})
        verdict(Validator(schema).decode, "{}")


def test_repair_of_nested_choices():
    branches = [{"type": "object", "properties": {"a": R, "k": {"const": n}}, "required": ["k"]} for n in range(3)]
    validator = Validator({"anyOf": [*branches, {"type": "integer"}]})
    for kind in (1, 5):
        everything(validator, nest(100, lambda x, kind=kind: {"a": x, "k": kind}, "x"))


def test_repair_of_text_in_text():
    text = "[1]"
    for _ in range(14):
        text = json.dumps([text])
    everything(Validator({"type": ["array", "integer"], "items": R}), text)


def test_a_decode_error_costs_no_more_than_the_text():
    for text in ("[" + "1," * 1_000_000, '"' + "a" * 5_000_000, '{"a":' * 150, "\ufeff{}", b"\xff", "[1] 2", ""):
        with pytest.raises(DecodeError):
            Validator(True).decode(text)


def test_a_limit_is_never_consent():
    slow = {"pattern": "^(?:(?=a)a+)+$"}
    text = "a" * 50_000 + "!"
    for schema in ({"not": slow}, {"if": slow, "then": False}, {"oneOf": [slow, True]}, {"not": {"items": slow}}):
        validator = Validator(schema)
        value = [text] if "items" in str(schema) else text
        assert not everything(validator, value)
        assert not everything(validator, text=json.dumps(value))
        assert "steps" in validator.issues(value)[0].message
