"""What errors say: the place, no value of the data, bounded length; and where schemas and texts are broken."""

import copy
import json
import pickle
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhead import DecodeError, SchemaError, ValidationError, Validator
from toolhead._core import Issue, Limits

SECRET = "s3cr3t-v4lu3"
OBJECT = {
    "type": "object",
    "required": ["must"],
    "properties": {
        "must": True,
        "text": {"type": "string", "maxLength": 3, "pattern": "^a", "format": "date"},
        "choice": {"enum": ["x", "y"]},
        "constant": {"const": {"a": 1}},
        "number": {"minimum": 5, "multipleOf": 7},
        "list": {"items": {"type": "integer"}, "maxItems": 1, "uniqueItems": True, "contains": {"const": 3}},
        "either": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a~1b"}]},
        "one": {"oneOf": [{"type": "string"}, {"minLength": 1}]},
        "never": {"not": {"type": "string"}},
        "when": {"if": {"type": "string"}, "then": {"maxLength": 1}},
        "named": {"propertyNames": {"maxLength": 2}, "additionalProperties": {"type": "integer"}},
    },
    "additionalProperties": False,
    "dependentRequired": {"text": ["other"]},
    "$defs": {
        "a/b": {"type": "object", "properties": {"k": {"$ref": "#/$defs/leaf"}}, "required": ["k"]},
        "leaf": {"type": "integer"},
    },
}
VALUES = st.recursive(
    st.sampled_from([SECRET, SECRET * 3, 987654321, 9876.54321, True, None]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["k", "text", "list"]), inner, max_size=2)
    ),
    max_leaves=4,
)
MEMBERS = st.dictionaries(st.sampled_from([*OBJECT["properties"], "surplus"]), VALUES, max_size=5)


def tree(issues):
    for issue in issues:
        yield issue
        for branch in issue.causes:
            yield from tree(branch)


def at(document, pointer):
    for escaped in pointer.split("/")[1:]:
        token = escaped.replace("~1", "/").replace("~0", "~")
        document = document[int(token)] if isinstance(document, list) else document[token]
    return document


def is_plain(value):
    if isinstance(value, list):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(item) for key, item in value.items())
    return value is None or type(value) in {str, int, float, bool}


@given(MEMBERS | VALUES)
@settings(max_examples=300, deadline=None)
def test_issues_name_their_place_and_no_value(value):
    validator = Validator(OBJECT)
    issues = validator.issues(value)
    assert (not issues) == validator.is_valid(value)
    for issue in tree(issues):
        words = (issue.message, issue.expected, str(issue), repr(issue), repr(issue.params))
        for secret in (SECRET, "987654321", "9876.54321"):
            assert not any(secret in text for text in words), words
        assert len(issue.message) <= 400
        tokens = [str(step).replace("~", "~0").replace("/", "~1") for step in issue.path]
        assert issue.pointer == "".join(f"/{token}" for token in tokens)
        assert is_plain(issue.params)
        schema = at(OBJECT, issue.schema_path)
        if issue.keyword is not None and issue.keyword in issue.schema_path:
            assert issue.schema_path.endswith("/" + issue.keyword), issue.schema_path
        assert schema is not None
        here = value
        missing = issue.keyword in {"required", "dependentRequired"}
        for step in issue.path[:-1] if missing else issue.path:
            here = here[step]
        assert here is issue.value or here == issue.value
        if issue.keyword in {"anyOf", "oneOf"} and "matches" not in issue.message:
            assert issue.causes
    restored = pickle.loads(pickle.dumps(issues))
    assert restored == issues


def test_messages_are_bounded_whatever_the_names():
    name = "n" * 100_000
    for schema, value in (
        ({"required": [name]}, {}),
        ({"additionalProperties": False}, {name: 1}),
        ({"enum": [name] * 1 + [f"{name}{n}" for n in range(50)]}, "x"),
        ({"const": {name: name}}, 1),
        ({"pattern": "a" * 10_000}, "x"),
        ({"propertyNames": {"maxLength": 3}}, {name: 1}),
        ({"dependentRequired": {name: [name + "2"]}}, {name: 1}),
        ({"minimum": 10**4000}, 1),
    ):
        (issue,) = Validator(schema).issues(value)
        assert len(issue.message) < 700, len(issue.message)
        assert len(issue.expected) < 700


def test_causes_of_choices():
    (issue,) = Validator({"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]}).issues({})
    assert issue.pointer == "/a"
    assert [[cause.keyword for cause in branch] for branch in issue.causes] == [["type"], ["required"]]


# -------------------------------------------------------------------------------------- broken schemas

DIALECTS = ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12", "v1"]
COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]
ALL = 0
"""From the first dialect of the list on."""
WRONG = {
    **{keyword: (ALL, 9, ["1", -1, 1.5, None, True, [], {}]) for keyword in COUNTS},
    "minContains": (3, 9, ["1", -1, 1.5, None]),
    "maxContains": (3, 9, ["1", -1, 1.5, None]),
    "type": (ALL, 9, [5, "text", [5], [], ["string", "string"], None, {}]),
    "enum": (ALL, 9, [5, "x", {}, None]),
    "minimum": (ALL, 9, ["1", None, True, []]),
    "maximum": (ALL, 9, ["1", None, True, []]),
    "exclusiveMinimum": (1, 9, ["1", None, True, []]),
    "exclusiveMaximum": (1, 9, ["1", None, True, []]),
    "multipleOf": (ALL, 9, ["1", 0, -1, None, True]),
    "pattern": (ALL, 9, [5, "(", "[", "a{2,1}", None]),
    "format": (ALL, 9, [5, None, {}]),
    "uniqueItems": (ALL, 9, [1, "true", None]),
    "required": (ALL, 9, ["a", [1], ["a", "a"], {}, None]),
    "properties": (ALL, 9, [[], 5, {"a": 5}, {"a": None}]),
    "patternProperties": (ALL, 9, [[], 5, {"(": {}}, {"a": 5}]),
    "additionalProperties": (ALL, 9, [5, "x", [], None]),
    "items": (ALL, 9, [5, "x", None, [5]]),
    "additionalItems": (ALL, 3, [5, "x"]),
    "prefixItems": (4, 9, [5, {}, [], [5]]),
    "contains": (1, 9, [5, [], None]),
    "propertyNames": (1, 9, [5, [], None]),
    "dependencies": (ALL, 9, [5, [], {"a": 5}, {"a": [1]}]),
    "dependentRequired": (3, 9, [5, [], {"a": 5}, {"a": [1]}, {"a": ["b", "b"]}]),
    "dependentSchemas": (3, 9, [5, [], {"a": 5}]),
    "allOf": (ALL, 9, [5, {}, [], [5]]),
    "anyOf": (ALL, 9, [5, {}, [], [5]]),
    "oneOf": (ALL, 9, [5, {}, [], [5]]),
    "not": (ALL, 9, [5, [], None]),
    "if": (2, 9, [5, [], None]),
    "then": (2, 9, [5, [], None]),
    "else": (2, 9, [5, [], None]),
    "unevaluatedItems": (3, 9, [5, [], None]),
    "unevaluatedProperties": (3, 9, [5, [], None]),
    "$ref": (ALL, 9, [5, None, "#/nowhere", "http://nowhere.test/x"]),
    "$dynamicRef": (4, 9, [5, None, "#/nowhere"]),
    "$recursiveRef": (3, 3, [5, None, "#/x"]),
    "$defs": (3, 9, [5, [], {"a": 5}]),
    "definitions": (ALL, 9, [5, [], {"a": 5}]),
    "$id": (1, 9, [5, None]),
    "$anchor": (3, 9, [5, None, "1 2"]),
    "$dynamicAnchor": (4, 9, [5, None]),
    "$recursiveAnchor": (3, 3, [5, "x"]),
    "contentEncoding": (2, 9, [5, None]),
    "contentMediaType": (2, 9, [5, None]),
    "contentSchema": (3, 9, [5, None]),
}
BROKEN = [
    (dialect, keyword, value)
    for keyword, (first, last, values) in WRONG.items()
    for place, dialect in enumerate(DIALECTS)
    if first <= place <= last
    for value in values
]


@pytest.mark.parametrize(("dialect", "keyword", "value"), BROKEN, ids=repr)
def test_broken_keywords_are_refused_with_their_place(dialect, keyword, value):
    for schema, place in (
        ({keyword: value}, ""),
        ({"properties": {"a/b": {keyword: value}}}, "/properties/a~1b"),
    ):
        with pytest.raises(SchemaError) as refusal:
            Validator(schema, dialect=dialect)
        assert refusal.value.schema_path.startswith(f"{place}/{keyword}"), refusal.value.schema_path
        assert len(str(refusal.value)) < 500


# ------------------------------------------------------------------------------------------ broken text

TEXTS = [
    "[1,]",
    "{",
    '{"a" 1}',
    "[1 2]",
    '"a\nb"',
    "[1]x",
    "01",
    '{"a":1,}',
    "é",
    '["é", x]',
    '{"é":1 "b"}',
    "[\n1,\n x]",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_decode_errors_stand_where_the_standard_library_puts_them(text):
    with pytest.raises(json.JSONDecodeError) as theirs:
        json.loads(text)
    for given_text in (text, text.encode()):
        with pytest.raises(DecodeError) as ours:
            Validator(True).decode(given_text)
        assert ours.value.offset == len(text[: theirs.value.pos].encode())
        assert (ours.value.line, ours.value.column) == (theirs.value.lineno, theirs.value.colno)


@given(st.text(alphabet='[]{}",:0123456789.eE+-truefalsn\\u \nd8é𝒳\0', max_size=20))
@settings(max_examples=800, deadline=None)
def test_decoder_and_stream_find_the_same_fault(text):
    def of(call):
        try:
            return "value", call()
        except DecodeError as error:
            return error.offset, error.line, error.column, error.is_incomplete

    def streamed():
        reader = Validator(True).stream()
        for character in text:
            reader.push(character)
        return reader.finish()

    decoded = of(lambda: Validator(True).decode(text))
    if text.strip(" \n"):
        assert of(streamed) == decoded
    try:
        value = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    except json.JSONDecodeError:
        assert decoded[0] != "value"
    except RecursionError:
        pass
    else:
        surrogate = decoded[0] != "value" and "\\u" in text
        assert surrogate or repr(decoded[1]) == repr(value) or "e" in text.lower()


# ---------------------------------------------------------------------------------- copies and threads


def test_objects_survive_pickling_and_copying():
    limits = Limits(depth=50, issues=3)
    validator = Validator(OBJECT, dialect="draft2019-09", formats=False, limits=limits)
    bad = {"text": 5, "either": {"k": "x"}}
    with pytest.raises(ValidationError) as refusal:
        validator.validate(bad)
    with pytest.raises(DecodeError) as undecoded:
        validator.decode("[")
    with pytest.raises(SchemaError) as unread:
        Validator({"type": 5})
    for again in (lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy):
        assert again(limits) == limits
        twin = again(validator)
        assert twin.json_schema == OBJECT
        assert [str(issue) for issue in twin.issues(bad)] == [str(issue) for issue in validator.issues(bad)]
        issue = again(refusal.value.issues[0])
        assert isinstance(issue, Issue)
        assert (issue, hash(issue), issue.causes) == (refusal.value.issues[0], hash(refusal.value.issues[0]), ())
        assert again(refusal.value).issues == refusal.value.issues
        assert again(refusal.value).message == refusal.value.message
        assert again(undecoded.value).offset == 1
        assert again(undecoded.value).is_incomplete
        assert (again(unread.value).schema_path, again(unread.value).keyword) == ("/type", "type")


def test_one_validator_in_many_threads():
    validator = Validator(OBJECT)
    good, bad = {"must": 1, "list": [3]}, {"text": 5, "either": {"k": "x"}}
    expected = [str(issue) for issue in validator.issues(bad)]
    failures = []

    def work():
        for _ in range(300):
            told = [str(issue) for issue in validator.issues(bad)]
            if not (validator.is_valid(good) and validator.is_valid_json(json.dumps(good)) and told == expected):
                failures.append(told)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
