"""Python objects and their JSON bytes get one verdict, every method tells the same story, and no input is changed."""

import copy
import json
import math
import os
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolhead import ValidationError, Validator

settings.register_profile(
    "toolhead",
    max_examples=int(os.environ.get("TOOLHEAD_CASES", "400")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("toolhead")

NAMES = st.sampled_from(["a", "b", "ab", "longer_than_eight", "é", 'q"\\\n\0'])
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([2**53 + 1, 2**63, -(2**63) - 1, 10**40, 1.0, -0.0, 2.5, 0.1, 0.3, 1e300, 5e-324, 2.0**53]),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)
LEAVES = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.sampled_from(["", "a", "é", "𝒳", "2024-01-01", "[1]"]), st.text()
)
DATA = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=10,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
COUNTS = st.integers(0, 3)
ASSERTIONS = st.one_of(
    st.fixed_dictionaries({"type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True)}),
    st.fixed_dictionaries({"enum": st.lists(DATA, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"const": DATA}),
    st.fixed_dictionaries({"minimum": NUMBERS}),
    st.fixed_dictionaries({"exclusiveMaximum": NUMBERS}),
    st.fixed_dictionaries({"multipleOf": st.sampled_from([1, 2, 0.1, 0.5, 1e-8, 2**53 + 1])}),
    st.fixed_dictionaries({"minLength": COUNTS, "pattern": st.sampled_from(["^a", "é|𝒳", ".$", "\\d+"])}),
    st.fixed_dictionaries({"format": st.sampled_from(["date", "ipv4", "uuid", "nothing-known"])}),
    st.fixed_dictionaries({"maxItems": COUNTS, "uniqueItems": st.booleans()}),
    st.fixed_dictionaries({"required": st.lists(NAMES, max_size=2, unique=True)}),
    st.fixed_dictionaries({"minProperties": COUNTS}),
)


def joined(parts):
    return {key: value for part in parts for key, value in part.items()}


def applied(inner):
    named = st.dictionaries(NAMES, st.tuples(inner, st.none() | DATA).map(with_default), min_size=1, max_size=3)
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"properties": named}),
        st.fixed_dictionaries({"properties": named, "additionalProperties": inner}),
        st.fixed_dictionaries({"patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2)}),
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"prefixItems": several, "items": inner}),
        st.fixed_dictionaries({"contains": inner, "maxContains": COUNTS}),
        st.fixed_dictionaries({"anyOf": several}),
        st.fixed_dictionaries({"oneOf": several}),
        st.fixed_dictionaries({"allOf": several}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner, "else": inner}),
        st.fixed_dictionaries({"dependentSchemas": st.dictionaries(NAMES, inner, max_size=2)}),
        st.fixed_dictionaries({"anyOf": several, "unevaluatedProperties": st.just(False) | inner}),
        st.fixed_dictionaries({"prefixItems": several, "unevaluatedItems": inner}),
        st.fixed_dictionaries({"propertyNames": inner}),
        st.just({"$ref": "#/$defs/d"}),
    )


def with_default(pair):
    schema, default = pair
    return schema if default is None or isinstance(schema, bool) else {**schema, "default": default}


SCHEMAS = st.recursive(
    st.booleans() | st.lists(ASSERTIONS, max_size=2).map(joined),
    lambda inner: st.lists(ASSERTIONS | applied(inner) | applied(inner), min_size=1, max_size=3).map(joined),
    max_leaves=6,
)
DOCUMENTS = st.tuples(
    SCHEMAS.filter(lambda schema: isinstance(schema, dict)),
    st.lists(ASSERTIONS, max_size=2).map(joined),
).map(lambda pair: {**pair[0], "$defs": {"d": pair[1]}})


def same(a, b):
    """Equal with equal types: 1, 1.0 and True are three values."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def outcome(call, value):
    try:
        return True, call(value)
    except ValidationError as refusal:
        return False, refusal


def extends(small, large):
    """Is `large` the value `small` with members added?"""
    if isinstance(small, dict) and isinstance(large, dict):
        return all(key in large and extends(small[key], large[key]) for key in small)
    if isinstance(small, list) and isinstance(large, list):
        return len(small) == len(large) and all(map(extends, small, large))
    return same(small, large)


def can_be_text(value):
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@given(DOCUMENTS, st.lists(DATA, min_size=1, max_size=4))
def test_every_method_tells_the_same_story(schema, values):
    validator = Validator(schema)
    untouched_schema = copy.deepcopy(schema)
    for value in values:
        untouched = copy.deepcopy(value)
        verdict = validator.is_valid(value)
        accepted, result = outcome(validator.validate, value)
        issues = validator.issues(value)
        repaired = validator.repair(value)
        assert accepted == verdict == (not issues), (schema, value, issues)
        assert same(value, untouched)
        if verdict:
            assert repaired is None
            assert extends(value, result)
        else:
            assert list(result.issues) == issues
            assert 1 <= len(validator.issues(value, 1)) <= 1
            assert validator.issues(value, 0) == []
        if repaired is not None:
            assert repaired[1]
            assert all(isinstance(done, str) for done in repaired[1])
        text = json.dumps(value, ensure_ascii=True)
        if can_be_text(value):
            text = json.dumps(value, ensure_ascii=False).encode()
            assert validator.is_valid_json(text) == verdict, (schema, text)
            decoded, from_text = outcome(validator.decode, text)
            assert decoded == verdict
            if decoded:
                assert same(from_text, result), (schema, value, from_text, result)
    assert same(schema, untouched_schema)


@given(st.lists(SCHEMAS, min_size=1, max_size=3), DATA)
def test_merged_schemas_are_all_of_them(parts, value):
    whole = {"allOf": parts, "$defs": {"d": {"type": ["object", "string"]}}}
    apart = [Validator({"anyOf": [part], "$defs": whole["$defs"]}) for part in parts]
    assert Validator(whole).is_valid(value) == all(validator.is_valid(value) for validator in apart)


class HostileList(list):
    def boom(self, *args):
        raise AssertionError("a method of the data ran")

    __getitem__ = __eq__ = __iter__ = __len__ = __contains__ = __hash__ = boom


class HostileDict(dict):
    boom = HostileList.boom
    __getitem__ = __eq__ = __iter__ = __len__ = __contains__ = __hash__ = boom
    keys = items = values = get = boom


class HostileStr(str):
    __slots__ = ()
    boom = HostileList.boom
    __getitem__ = __eq__ = __iter__ = __len__ = __contains__ = __str__ = encode = boom
    __hash__ = str.__hash__


class HostileInt(int):
    boom = HostileList.boom
    __eq__ = __lt__ = __index__ = __int__ = __float__ = __hash__ = __mod__ = __bool__ = boom


class HostileFloat(float):
    boom = HostileList.boom
    __eq__ = __lt__ = __int__ = __float__ = __hash__ = __mod__ = __bool__ = boom


def hostile(value):
    if isinstance(value, dict):
        made = HostileDict()
        for key, item in value.items():
            dict.__setitem__(made, key, hostile(item))
        return made
    if isinstance(value, list):
        return HostileList(hostile(item) for item in value)
    if isinstance(value, bool) or value is None:
        return value
    return {str: HostileStr, int: HostileInt, float: HostileFloat}[type(value)](value)


@given(DOCUMENTS, DATA)
def test_subclasses_read_as_plain_data_and_run_nothing(schema, value):
    validator = Validator(schema)
    trap = hostile(value)
    assert validator.is_valid(trap) == validator.is_valid(value)
    assert [issue.pointer for issue in validator.issues(trap)] == [issue.pointer for issue in validator.issues(value)]
    validator.repair(trap)


@given(DOCUMENTS, DATA)
def test_tuples_are_arrays(schema, value):
    def frozen(value):
        if isinstance(value, list):
            return tuple(map(frozen, value))
        return {key: frozen(item) for key, item in value.items()} if isinstance(value, dict) else value

    validator = Validator(schema)
    assert validator.is_valid(frozen(value)) == validator.is_valid(value)


@given(DOCUMENTS, st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-10, max_value=10))
def test_a_decimal_is_the_number_it_prints(schema, number):
    validator = Validator(schema)
    assert validator.is_valid(number) == validator.is_valid(float(number))


FOREIGN = [math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("Infinity"), {1}, b"", type, "\ud800", 1j, {1: 2}]


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("place", [lambda x: x, lambda x: [x], lambda x: {"a": x}, lambda x: {"b": [{"a": [x]}]}])
@given(schema=SCHEMAS.filter(lambda schema: isinstance(schema, dict)))
@settings(max_examples=20)
def test_what_is_not_json_is_refused_wherever_it_hides(foreign, place, schema):
    validator = Validator({**schema, "$defs": {"d": {}}})
    value = place(foreign)
    # `is_valid` looks where the schema looks; everything else looks at all of it.
    assert not validator.is_valid(foreign)
    issues = validator.issues(value)
    assert issues
    with pytest.raises(ValidationError):
        validator.validate(value)


def test_a_name_with_a_lone_surrogate_is_no_json():
    validator = Validator(True)
    assert not validator.is_valid({"\ud800": 1})
    assert "surrogate" in validator.issues({"a": {"\ud800": 1}})[0].message


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"const": 1}, [1, 1.0, Decimal(1)], [True, "1", Decimal("1.0000000000000000001")]),
        ({"enum": [False, 2]}, [False, 2.0], [0, 0.0, True]),
        ({"type": "integer"}, [10**100, 1.0, Decimal("1e2"), 1e300], [True, 1.5, Decimal("0.5")]),
        ({"multipleOf": 0.1}, [0.3, 1.1, 10**30, Decimal("0.7")], [0.35, Decimal("0.71")]),
        ({"minimum": 2**53 + 1}, [2**53 + 1, 2.0**53 + 2], [2**53, 2.0**53]),
        ({"uniqueItems": True}, [[1, True, "1", [1], {"a": 1}]], [[1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]]),
        ({"maxLength": 1}, ["𝒳", "é"], ["e\u0301", "𝒳𝒳"]),
    ],
)
def test_exact_values(schema, valid, invalid):
    validator = Validator(schema)
    assert [validator.is_valid(value) for value in valid] == [True] * len(valid)
    assert [validator.is_valid(value) for value in invalid] == [False] * len(invalid)
