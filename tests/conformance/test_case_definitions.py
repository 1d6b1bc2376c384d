"""Public reports about what a model is told of a tool: conversion of its schema, names, annotations."""

import inspect
import json
import warnings
from collections.abc import Iterator
from typing import Any, Optional, get_args

import pytest

from conformance.case_tools import tool_of
from toolhead import (
    Provider,
    RequestContext,
    ToolDefinitionWarning,
    ToolExecutionContext,
    ToolSet,
    ValidationError,
    Validator,
    create_tool,
    tool,
)
from toolhead.providers.schemas import SUBSETS, rewrite

PROVIDERS = get_args(Provider)


def schema_of(entry: Any) -> Any:
    """The schema in one provider's definition of the only tool of a set."""
    (one,) = entry
    for name in ("function", "functionDeclarations", "toolSpec"):
        one = one.get(name, one)
        one = one[0] if isinstance(one, list) else one
    names = ("parameters", "input_schema", "parametersJsonSchema", "inputSchema")
    (schema,) = [one[name] for name in names if name in one]
    return schema.get("json", schema)


def definitions(*tools: Any, provider: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToolDefinitionWarning)
        return ToolSet(tools).definitions(provider)


def nodes(schema: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in a schema that is one itself, with its pointer."""
    if isinstance(schema, dict):
        yield at, schema
        for key in ("properties", "$defs"):
            for name, child in schema.get(key, {}).items():
                yield from nodes(child, f"{at}/{key}/{name}")
        for key in ("items", "additionalProperties"):
            yield from nodes(schema.get(key), f"{at}/{key}")
        for index, child in enumerate(schema.get("anyOf", ())):
            yield from nodes(child, f"{at}/anyOf/{index}")


def at(schema: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        schema = schema[step]
    return schema


async def check_verdicts(verdicts: list[dict[str, Any]], schema: Any) -> None:
    """Our own validation uses the author's schema, whatever was sent."""
    made, _ = tool_of({}, input_schema=schema)
    for provider in PROVIDERS:
        definitions(made, provider=provider)
    for verdict in verdicts:
        refused = isinstance(await made.execute(verdict["instance"]), ValidationError)
        assert refused is not verdict["valid"], verdict


@pytest.fixture
def given(case: dict[str, Any]) -> Iterator[Any]:
    """The case's schema; the test fails when it was changed."""
    before = json.dumps(case["schema"])
    yield case["schema"]
    assert json.dumps(case["schema"]) == before


# ------------------------------------------------------------------------------------------ references


@pytest.mark.ids("pr-002")
async def test_what_stands_beside_a_reference_stays(case: dict[str, Any], given: Any) -> None:
    expect = case["expect"]
    await check_verdicts(expect["verdicts_unchanged_on"], given)
    inlined = rewrite(given, SUBSETS["gemini-openapi-subset"])
    assert inlined.impossible is None
    assert "$ref" not in json.dumps(inlined.schema)
    for verdict in expect["verdicts_unchanged_on"]:
        assert Validator(inlined.schema).is_valid(verdict["instance"]) is verdict["valid"]
    for name, subset in SUBSETS.items():
        rewritten = rewrite({**given, "additionalProperties": False}, subset)
        assert rewritten.impossible is None, name
        for pointer, text in expect["keyword_kept"].items():
            assert text in at(rewritten.schema, pointer), name
        if "minimum" not in subset.keywords:
            assert "minimum: 1" in json.dumps(rewritten.schema)  # told in words
            continue
        for verdict in expect["verdicts_unchanged_on"]:
            assert Validator(rewritten.schema).is_valid(verdict["instance"]) is verdict["valid"], name


@pytest.mark.ids("pr-003")
async def test_a_recursive_schema_stays_a_finite_document(case: dict[str, Any], given: Any) -> None:
    await check_verdicts(case["expect"]["verdicts_unchanged_on"], given)
    for strict in (None, True):
        made, _ = tool_of({}, input_schema=given, strict=strict)
        for provider in PROVIDERS:
            assert json.dumps(definitions(made, provider=provider))
    for subset in SUBSETS.values():
        assert json.dumps(rewrite(given, subset).schema)


@pytest.mark.ids("pr-197")
def test_the_root_of_a_schema_for_mcp_is_an_object(case: dict[str, Any], given: Any) -> None:
    made, _ = tool_of({}, input_schema=given, output_schema=given)
    (entry,) = definitions(made, provider="mcp")
    for schema in (entry["inputSchema"], entry["outputSchema"]):
        assert schema["type"] == case["expect"]["root_type"]
        validator = Validator(json.loads(json.dumps(schema)))  # a reference that leads nowhere is refused
        for instance, valid in (({"id": "1", "blocks": [{"id": "2"}]}, True), ({"id": "1", "blocks": [{}]}, False)):
            assert validator.is_valid(instance) is Validator(given).is_valid(instance) is valid


# ------------------------------------------------------------------------------------- from Python


@pytest.mark.ids("pr-006")
async def test_what_the_model_does_not_supply_is_not_published(case: dict[str, Any], given: Any) -> None:
    class Service:
        def __deepcopy__(self, memo: Any) -> Any:
            raise TypeError("a service cannot be copied")

        __copy__ = __reduce__ = __deepcopy__

    service, received = Service(), []

    def search(q: str, context: ToolExecutionContext) -> str:
        """Searches.

        Args:
            q: what for
        """
        received.append((q, context.request_context["service"]))
        return q

    def execute(input: Any, context: Any) -> None:
        received.append((input["q"], context.request_context["service"]))

    plain = create_tool(id="t", description="d", input_schema=given, execute=execute)
    assert list(inspect.signature(execute).parameters) == case["expect"]["execute_receives"]
    for made in (plain, tool(search)):
        for provider in PROVIDERS:
            schema = schema_of(definitions(made, provider=provider))
            assert list(schema["properties"]) == case["expect"]["published_properties"]
        context = RequestContext({"service": service})
        await made.execute_or_raise({"q": "x"}, {"request_context": context})
        assert received.pop() == ("x", service)


@pytest.mark.ids("pr-009")
def test_nullable_and_optional_are_different_things(case: dict[str, Any]) -> None:
    def f(first: str, code: Optional[str]) -> None:  # noqa: UP045  as the report has it
        """F."""

    def g(code: Optional[str] = None) -> None:  # noqa: UP045
        """G."""

    expect = case["expect"]
    schemas = {"f": tool(f).input_json_schema, "g": tool(g).input_json_schema}
    assert sorted(schemas["f"]["properties"]) == sorted(expect["f"]["properties"])
    for name, schema in schemas.items():
        assert sorted(schema.get("required", [])) == sorted(expect[name]["required"])
        for pointer in expect[name]["nullable"]:
            assert Validator(at(schema, pointer)).is_valid(None)
            assert Validator(at(schema, pointer)).is_valid("x")
            assert not Validator(at(schema, pointer)).is_valid(1)


# ------------------------------------------------------------------------------------------ strict mode

STRICT: tuple[Any, ...] = ("openai-chat", "openai-responses")


def entry_of(entry: dict[str, Any]) -> dict[str, Any]:
    return entry.get("function", entry)


@pytest.mark.ids("pr-210")
def test_the_strict_flag_and_its_schema_go_together(case: dict[str, Any], given: Any) -> None:
    def person(name: str, age: int = 0) -> None:
        """Person."""

    made, _ = tool_of({}, input_schema=given, strict=True)
    late, _ = tool_of({}, input_schema=given)
    for each in (made, late.replace(strict=True), tool(strict=True)(person)):
        for provider in STRICT:
            entry = entry_of(definitions(each, provider=provider)[0])
            schema = entry["parameters"]
            assert entry["strict"] is case["expect"]["strict_flag_sent"]
            for pointer, members in case["expect"]["at"].items():
                assert at(schema, pointer).items() >= members.items()
            assert sorted(schema["required"]) == sorted(schema["properties"])
    for provider in STRICT:
        assert entry_of(definitions(late, provider=provider)[0]).get("strict") is not True


@pytest.mark.ids("pr-211")
async def test_an_open_map_makes_its_tool_alone_not_strict(case: dict[str, Any], given: Any) -> None:
    closed = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    mapped, _ = tool_of({}, id="mapped", input_schema=given, strict=True)
    other, _ = tool_of({}, id="other", input_schema=closed, strict=True)
    for provider in STRICT:
        with pytest.warns(ToolDefinitionWarning, match=r"mapped.*/properties/headers"):
            first, second = map(entry_of, ToolSet([mapped, other]).definitions(provider))
        assert first.get("strict", False) is case["expect"]["strict_flag_sent"]
        assert first["parameters"]["properties"]["headers"] == given["properties"]["headers"]
        assert second == entry_of(definitions(other, provider=provider)[0])
        assert second["strict"] is True
    assert await mapped.execute(case["expect"]["accepted_by_local_validation"]) is None


@pytest.mark.ids("pr-212")
def test_nothing_is_injected_into_a_schema(case: dict[str, Any], given: Any) -> None:
    for more in ({}, {"resume_schema": {"type": "object"}, "suspend_schema": {"type": "object"}}):
        for strict in (None, True):
            made, _ = tool_of({}, input_schema=given, strict=strict, **more)
            for provider in PROVIDERS:
                schema = schema_of(definitions(made, provider=provider))
                assert list(schema["properties"]) == ["q"], provider
                assert all("type" in child for child in schema["properties"].values())


# --------------------------------------------------------------------------------------------- Gemini


@pytest.mark.ids("pr-214", "pr-215", "pr-216")
async def test_the_openapi_subset(case: dict[str, Any], given: Any) -> None:
    expect = case["expect"]
    result = rewrite(given, SUBSETS[case["target"]])
    assert result.impossible is None
    schema, found = result.schema, dict(nodes(result.schema))
    await check_verdicts(expect.get("local_verdicts", []), given)
    for keyword in expect.get("keyword_absent_anywhere", ()):
        assert not [pointer for pointer, node in found.items() if keyword in node]
    if expect.get("type_is_scalar_everywhere"):
        assert not [pointer for pointer, node in found.items() if isinstance(node.get("type"), list)]
    for pointer in expect.get("nullable", ()):
        assert at(schema, pointer)["nullable"] is True
    for pointer in expect.get("format_absent", ()):
        assert "format" not in at(schema, pointer)
    if expect.get("every_array_has_items"):
        assert all("items" in node for node in found.values() if node.get("type") == "array")
    for pointer, members in expect.get("at", {}).items():
        assert at(schema, pointer).items() >= members.items()
    checked = {"local_verdicts", "keyword_absent_anywhere", "type_is_scalar_everywhere", "nullable", "format_absent"}
    assert expect.keys() <= checked | {"every_array_has_items", "at"}


@pytest.mark.ids("pr-214")
def test_a_bound_that_gemini_lacks_is_told_in_words(case: dict[str, Any], given: Any) -> None:
    made, _ = tool_of({}, input_schema=given)
    schema = schema_of(definitions(made, provider="gemini"))
    text = json.dumps(schema)
    assert '"exclusiveMinimum"' not in text
    assert '"propertyNames"' not in text
    assert "exclusiveMinimum: 0" in schema["properties"]["max"]["description"]
    assert "propertyNames" in schema["properties"]["tags"]["description"]


# ------------------------------------------------------------------------------------------------ MCP


@pytest.mark.ids("pr-207")
def test_annotations_and_meta_are_listed_as_they_are(case: dict[str, Any]) -> None:
    annotations, meta = {"readOnlyHint": False, "title": "T"}, {"k": {"n": 1}}
    made, _ = tool_of({}, mcp={"annotations": annotations, "_meta": meta})
    (entry,) = definitions(made, provider="mcp")
    assert entry["annotations"] == {"readOnlyHint": False, "title": "T"}
    assert entry["_meta"] == {"k": {"n": 1}}
