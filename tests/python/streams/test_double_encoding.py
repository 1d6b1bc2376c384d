"""Arguments that arrive as JSON text in a string: read as the value where the schema leaves no string, else left."""

import itertools
import json
import random
from typing import Any

import pytest

from shared_data import shared_path
from toolhead import Tool, Validator
from toolhead._core import MISSING, InputStream
from toolhead.errors import DecodeError, ValidationError

ROW = {"type": "object", "properties": {"id": {"type": "integer"}, "tags": {"type": "array"}}, "required": ["id"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": ROW},
        "filter": {"anyOf": [{"type": "object", "required": ["by"]}, {"type": "null"}]},
        "note": {"type": "string"},
        "any": {},
        "choice": {"type": ["string", "object"]},
        "count": {"type": "integer"},
    },
    "additionalProperties": False,
}


def ways(text: str) -> list[list[str | bytes]]:
    """The text whole, byte by byte, and cut in two at every byte."""
    data = text.encode()
    split: list[list[str | bytes]] = [[data[:at], data[at:]] for at in range(1, len(data))]
    return [[text], list(text), [data[at : at + 1] for at in range(len(data))], *split]


def outcome(schema: Any, pieces: list[str | bytes], *names: str) -> tuple[Any, ...]:
    """(state, value shown, issues on the way, repairs, end)."""
    stream = InputStream(Validator(schema), repair=("double-encoding", *names))
    state = stream.push_many(pieces)
    shown = stream.snapshot()
    issues = [(issue.pointer, issue.keyword, issue.offset) for issue in stream.issues]
    try:
        end: tuple[Any, ...] = ("value", stream.finish())
    except DecodeError as error:
        end = ("fault", error.offset, error.is_incomplete, error.line, error.column, error.message)
    except ValidationError as error:
        end = ("refused", [(issue.pointer, issue.keyword) for issue in error.issues])
    return state, shown, issues, stream.repairs, end


def only(schema: Any, text: str, *names: str) -> tuple[Any, ...]:
    """The outcome, which is the same at every cut."""
    outcomes = [outcome(schema, way, *names) for way in ways(text)]
    for way, other in zip(ways(text), outcomes, strict=True):
        assert other == outcomes[0], way
    return outcomes[0]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"rows": []},
        {"rows": [{"id": 1, "tags": ["a", "é\n", "漢", "😀", '"', "\\"]}, {"id": -20}]},
        {"note": "tab\there", "filter": {"by": "x"}, "count": 3},
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 1])
def test_whole_arguments_in_a_string_are_read(value: Any, ascii_only: bool, indent: int | None):
    text = json.dumps(json.dumps(value, ensure_ascii=ascii_only, indent=indent), ensure_ascii=ascii_only)
    state, shown, issues, repairs, end = only(SCHEMA, text)
    assert (state, shown, issues, end) == ("complete", value, [], ("value", value))
    assert repairs == ("double-encoding: 1, first at byte 0",)


def test_members_and_items_in_strings_are_read_where_they_stand():
    rows = [json.dumps({"id": 1}), {"id": 2}, json.dumps({"id": 3, "tags": [" [1] "]})]
    value = {"filter": json.dumps({"by": 1}), "rows": rows, "note": "[]", "any": "{}", "choice": "{}"}
    state, shown, issues, repairs, end = only(SCHEMA, json.dumps(value))
    expected = {
        "filter": {"by": 1},
        "rows": [{"id": 1}, {"id": 2}, {"id": 3, "tags": [" [1] "]}],
        "note": "[]",
        "any": "{}",
        "choice": "{}",
    }
    assert (state, shown, issues, end) == ("complete", expected, [], ("value", expected))
    assert repairs == ("double-encoding: 3, first at byte 11",)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": ["string", "object"]}, '"{}"'),
        ({}, '"{}"'),
        (True, '"{}"'),
        ({"anyOf": [{"type": "object"}, {"type": "string"}]}, '"{}"'),
        ({"anyOf": [{"type": "object"}, {"minLength": 1}]}, '"[1]"'),
        ({"allOf": [{"type": ["string", "array"]}, {"type": ["string", "object"]}]}, '"[1]"'),
        ({"enum": [{}, "{}"]}, '"{}"'),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": ["object", "string"]}}}, '"{}"'),
        ({"properties": {"a": {"type": "object"}}, "anyOf": [{}, {"required": ["b"]}]}, '{"b": "{}"}'),
        ({"anyOf": [{"properties": {"a": {"type": "object"}}}, {"required": ["b"]}]}, '{"a": "{}", "b": 1}'),
        ({"patternProperties": {"^a": {"type": "object"}}}, '{"b": "{}"}'),
        ({"prefixItems": [{"type": "object"}]}, '[{}, "{}"]'),
        ({"not": {"properties": {"a": {"type": "object"}}}}, '{"a": "{}"}'),
    ],
)
def test_string_that_the_schema_may_accept_stays(schema: Any, text: str):
    state, shown, _, repairs, end = only(schema, text)
    assert (state, shown, repairs) == ("complete", json.loads(text), ())
    assert end == ("value", json.loads(text))


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, '"{}"', {}),
        ({"oneOf": [{"type": "object"}, {"type": "array"}]}, '"[{}]"', [{}]),
        ({"allOf": [{"type": ["string", "array"]}, {"type": "array"}]}, '"[1]"', [1]),
        ({"enum": [{"a": 1}, [2]]}, '"[2]"', [2]),
        ({"const": {"a": {"b": 1}}}, '{"a": "{\\"b\\":1}"}', {"a": {"b": 1}}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}, '"{}"', {}),
        ({"additionalProperties": {"type": "object"}}, '{"b": "{}"}', {"b": {}}),
        ({"patternProperties": {"^a": {"type": "object"}}}, '{"ab": "{}"}', {"ab": {}}),
        ({"prefixItems": [{"type": "object"}]}, '["{}", "{}"]', [{}, "{}"]),
        (
            {"anyOf": [{"properties": {"a": {"type": "object"}}}, {"properties": {"a": {"type": "array"}}}]},
            '{"a": "[]"}',
            {"a": []},
        ),
        (
            {
                "oneOf": [
                    {"properties": {"t": {"const": 1}, "a": {"type": "object"}}, "required": ["t"]},
                    {"properties": {"t": {"const": 2}, "a": {"type": "string"}}, "required": ["t"]},
                ]
            },
            '{"t": 1, "a": "{}"}',
            {"t": 1, "a": {}},
        ),
    ],
)
def test_schema_proves_that_no_string_may_stand(schema: Any, text: str, value: Any):
    state, shown, issues, repairs, end = only(schema, text)
    assert (state, shown, issues, end) == ("complete", value, [], ("value", value))
    assert len(repairs) == 1


@pytest.mark.parametrize(
    ("text", "shown", "offset"),
    [
        ('{"rows": "none"}', "none", 10),
        ('{"rows": "  \\t none"}', "  \t none", 15),
        ('{"rows": "{}"}', "{}", 10),
        ('{"rows": ""}', "", 10),
        ('{"rows": "  "}', "  ", 12),
        ('{"rows": "\\u005b]"}', None, None),
        ('{"rows": "\\u007b}"}', "{}", 15),
        ('{"rows": "\\"[]\\""}', '"[]"', 11),
        ('{"rows": "1"}', "1", 10),
        ('{"rows": "null"}', "null", 10),
        ('{"rows": "no\\tne\\u00e9!"}', "no\tneé!", 10),
        ('{"rows": "\\n\\n-\\n"}', "\n\n-\n", 14),
    ],
)
def test_text_of_another_kind_is_a_string_and_a_violation(text: str, shown: Any, offset: int | None):
    state, value, issues, repairs, end = only(SCHEMA, text)
    if offset is None:
        assert (state, value, end) == ("complete", {"rows": []}, ("value", {"rows": []}))
        return
    assert (state, value, repairs) == ("rejected", {"rows": shown}, ())
    assert issues == [("/rows", "type", offset)]
    assert end == ("refused", [("/rows", "type")])


@pytest.mark.parametrize("inner", ['{"rows": [{"id": 1', '{"rows', "{", '{"note": "é\\n', '{"count": 1'])
def test_cut_off_text_is_never_completed(inner: str):
    text = json.dumps(inner)
    for end in range(1, len(text)):
        state, _, issues, _, last = only(SCHEMA, text[:end])
        assert (state, issues) == ("open", [])
        assert last[:3] == ("fault", end, True)
    # The text ends, the value in it does not: that is no truncation, and no completion either.
    state, _, _, _, last = only(SCHEMA, text)
    assert state == "rejected"
    assert last[:3] == ("fault", len(text) - 1, False)
    assert last[5].startswith("A string of JSON text ends inside a value")


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ('"{} x"', 4),
        ('"{}{}"', 3),
        ('"[1,]"', 4),
        ('{"rows": "[1]]"}', 13),
        ('{"rows": "[{\\"id\\": 1}, nope]"}', 25),
        ('{"rows": "[\\u0041]"}', 16),
        ('{"rows": "[\\"a\\nb\\"]"}', 15),
        ('{"rows": "[{\\"id\\": \\"\\\\q\\"}]"}', 24),
        ('"{}" 1', 5),
    ],
)
def test_fault_inside_the_text_has_its_byte(text: str, offset: int):
    schema = {"type": ["object", "array"], "properties": {"rows": {"type": "array"}}}
    state, shown, _, repairs, end = only(schema, text)
    assert state == "rejected"
    assert shown is not MISSING
    assert len(repairs) == 1
    assert end[:3] == ("fault", offset, False)
    assert (end[3], end[4]) == (1, offset + 1)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"rows": "[1, \\"so\\\\q\\"]"}', {"rows": [1]}),  # an escape of the inner string
        ('{"rows": "[1, \\"so\\q\\"]"}', {"rows": [1]}),  # of the outer one, in an inner string
        ('{"rows": "[1, 2\\q"}', {"rows": [1]}),  # between values inside: the value they stand in stays
        ('{"rows": " \\q[1]"}', {}),
        ('{"rows": "so\\q"}', {}),
    ],
)
def test_bad_escape_takes_out_the_string_that_is_open(text: str, shown: Any):
    schema = {"type": ["object", "array"], "properties": {"rows": {"type": "array"}}}
    state, value, _, _, end = only(schema, text)
    assert state == "rejected"
    assert value == shown
    assert end[5].startswith("Invalid escape")


def test_violation_inside_the_text_has_its_byte():
    text = '{"rows": "[{\\"id\\": 1}, {\\"id\\": \\"x\\"}, {}]"}'
    state, shown, issues, _, end = only(SCHEMA, text)
    assert (state, shown) == ("rejected", {"rows": [{"id": 1}, {"id": "x"}, {}]})
    assert issues == [("/rows/1/id", "type", text.index("x") - 1), ("/rows/2/id", "required", text.index("}]"))]
    assert end == ("refused", [("/rows/1/id", "type"), ("/rows/2/id", "required")])


def test_text_in_text_in_text_is_a_string():
    text = json.dumps({"rows": json.dumps([json.dumps({"id": 1})])})
    state, shown, issues, repairs, _ = only(SCHEMA, text)
    assert (state, shown) == ("rejected", {"rows": ['{"id": 1}']})
    assert [issue[:2] for issue in issues] == [("/rows/0", "type")]
    assert repairs == ("double-encoding: 1, first at byte 9",)


def test_other_repairs_work_inside():
    text = "```\n{rows: \"[{'id': 1, 'tags': [True, 'a\\nb'],},]\"}\n```"
    names = (
        "fences",
        "single-quotes",
        "unquoted-keys",
        "python-literals",
        "trailing-commas",
        "control-characters",
    )
    state, shown, _, repairs, end = only(SCHEMA, text, *names)
    value = {"rows": [{"id": 1, "tags": [True, "a\nb"]}]}
    assert (state, shown, end) == ("complete", value, ("value", value))
    assert [line.split(" first")[0] for line in repairs] == [
        "fences: 1,",
        "unquoted-keys: 1,",
        "double-encoding: 1,",
        "single-quotes: 3,",
        "python-literals: 1,",
        "control-characters: 1,",
        "trailing-commas: 2,",
    ]


def test_depth_counts_around_and_inside():
    schema = {"type": "array", "items": {"$ref": "#"}}
    for inner, good in ((197, True), (198, True), (199, False)):
        text = "[" * 2 + json.dumps("[" * inner + "]" * inner) + "]" * 2
        assert (outcome(schema, [text])[0] == "complete") == good


def test_text_arrives_while_it_grows():
    stream = Validator(SCHEMA).stream(repair=["double-encoding"])
    stream.push('"{\\"note\\": \\"ab')
    assert stream.value == {"note": "ab"}
    stream.push('c\\", \\"rows\\": [{\\"id\\": 7')
    assert stream.value == {"note": "abc", "rows": [{}]}
    assert [(change.op, change.path) for change in stream.changes()][:2] == [("set", ()), ("set", ("note",))]
    stream.push('}]}"')
    assert stream.finish() == {"note": "abc", "rows": [{"id": 7}]}


def test_string_that_turns_out_to_be_one_ends_like_any():
    text = '{"rows": "no\\tne", "note": "next"}'
    for way in ways(text):
        stream = Validator(SCHEMA).stream(repair=["double-encoding"])
        stream.changes()
        stream.push_many(way)
        assert stream.completed == ["/rows", "/note", ""]
        closed = [(change.path, change.value) for change in stream.changes() if change.op == "close"]
        assert closed == [(("rows",), "no\tne"), (("note",), "next"), ((), {"rows": "no\tne", "note": "next"})]


def test_tool_stream_takes_the_repair():
    tool = Tool(id="t", description="d", input_schema=SCHEMA)
    stream = tool.stream_input(repair={"double-encoding"})
    stream.push('"{\\"count\\": 2}"')
    assert stream.finish() == {"count": 2}


def test_repair_is_off_unless_asked_for_and_needs_a_schema():
    stream = Validator(SCHEMA).stream()
    assert stream.push('"{}"') == "rejected"
    with pytest.raises(ValueError, match="double-encoding needs a Validator"):
        InputStream(repair=["double-encoding"])


def test_random_documents_encoded_at_random_places():
    rng = random.Random(4)

    def tree(depth: int) -> Any:
        if depth == 0:
            return {"leaf": rng.choice([1, None, True, "x", "é😀\n\"'\\", 1.5e300])}
        return {"kids": [tree(depth - 1) for _ in range(rng.randrange(3))]}

    def encoded(value: Any, may: bool) -> Any:
        """The value, with text in place of some objects and arrays, never text inside text."""
        here = may and rng.random() < 0.3
        if isinstance(value, dict):
            value = {name: encoded(item, may and not here) for name, item in value.items()}
        elif isinstance(value, list):
            value = [encoded(item, may and not here) for item in value]
        else:
            return value
        return json.dumps(value, ensure_ascii=rng.random() < 0.5) if here else value

    schema = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "leaf": True},
        "additionalProperties": False,
    }
    for _ in range(200):
        value = tree(rng.randrange(4))
        data = json.dumps(encoded(value, True), ensure_ascii=rng.random() < 0.5).encode()
        places = sorted(rng.choices(range(len(data) + 1), k=rng.randrange(20)))
        pieces: list[str | bytes] = [data[a:b] for a, b in itertools.pairwise([0, *places, len(data)])]
        assert outcome(schema, pieces)[4] == ("value", value)
        assert outcome(schema, [data]) == outcome(schema, pieces)


def test_malformation_vectors_are_repaired():
    schema = {"type": "object", "additionalProperties": {"type": ["number", "boolean", "null", "object", "array"]}}
    texts = {"type": "object", "additionalProperties": {"type": ["number", "boolean", "null", "object", "string"]}}
    document = json.loads(shared_path("vectors", "partial-json", "malformations.json").read_bytes())
    kinds = {"The object as a JSON string": texts, "A nested array or object given as a string": schema}
    seen = 0
    for kind in document["malformations"]:
        if kind["name"] not in kinds:
            continue
        for example in kind["examples"]:
            seen += 1
            _, shown, _, repairs, end = only(kinds[kind["name"]], example["text"])
            assert shown == example["repaired_value"]
            assert len(repairs) == 1
            if example["text"].endswith(('"', "}")):
                assert end == ("value", shown)
            else:
                assert end[:3] == ("fault", len(example["text"]), True)
    assert seen >= len(kinds)
