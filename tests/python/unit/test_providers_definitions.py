"""Tools as providers want them described: schemas in their subsets, what they do not take, names and back."""

import copy
import json
import warnings
from typing import Any

import pytest

from shared_data import SHARED, absent
from toolhead import Validator
from toolhead.providers.definitions import NAMES, Definition, ToolDefinitionWarning, wire_names
from toolhead.providers.registry import PROVIDERS, adapter
from toolhead.providers.schemas import SUBSETS, rewrite
from toolhead.runs.toolset import ToolSet
from toolhead.tool import create_tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}


def rewritten(schema: Any, target: str) -> Any:
    before = copy.deepcopy(schema)
    result = rewrite(schema, SUBSETS[target])
    assert schema == before, "rewriting is pure"
    json.dumps(result.schema)
    return result


def nodes(schema: Any, at: str = "") -> Any:
    if isinstance(schema, dict):
        yield at, schema
        for key in ("properties", "$defs"):
            for name, child in schema.get(key, {}).items():
                yield from nodes(child, f"{at}/{key}/{name}")
        for key in ("items", "additionalProperties"):
            yield from nodes(schema.get(key), f"{at}/{key}")
        for key in ("anyOf", "allOf"):
            for index, child in enumerate(schema.get(key, ())):
                yield from nodes(child, f"{at}/{key}/{index}")


def test_openai_strict_closes_objects_and_requires_everything():
    schema = rewritten(CITY, "openai-strict").schema
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["city", "days"]
    assert schema["properties"] == {"city": {"type": "string"}, "days": {"type": ["integer", "null"]}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"enum": ["a"]}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
        ({"anyOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (
            {"$ref": "#/$defs/A", "description": "one"},
            {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}], "description": "one"},
        ),
        ({"type": "string", "minLength": 2}, {"type": ["string", "null"], "description": "(minLength: 2)"}),
        ({"type": "string", "format": "uri"}, {"type": ["string", "null"], "description": '(format: "uri")'}),
        ({"type": "string", "pattern": "^a(?!b)"}, {"type": ["string", "null"], "description": '(pattern: "^a(?!b)")'}),
        ({"type": "string", "default": "x"}, {"type": ["string", "null"]}),
    ],
)
def test_openai_strict_says_optional_as_nullable_and_keeps_bounds_in_words(schema: Any, expected: Any):
    whole = {"type": "object", "properties": {"p": schema}, "$defs": {"A": {"type": "string"}}}
    assert rewritten(whole, "openai-strict").schema["properties"]["p"] == expected


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (
            {"type": "object", "properties": {"h": {"type": "object", "additionalProperties": {"type": "string"}}}},
            "/properties/h",
        ),
        ({"type": "object", "properties": {"h": {"type": "object"}}}, "/properties/h"),
        ({"type": "object", "properties": {"h": {"patternProperties": {}, "type": "object"}}}, "/properties/h"),
        ({"type": "object", "properties": {"h": {"type": "array"}}}, "/properties/h"),
        ({"type": "object", "properties": {"h": {}}}, "/properties/h"),
        ({"type": "object", "properties": {"h": {"description": "anything"}}}, "/properties/h"),
        ({"type": "object", "properties": {"h": {"$ref": "#/properties/k"}}}, "/properties/h/$ref"),
        (
            {"type": "object", "properties": {"h": {"allOf": [{"type": "string"}, {"minLength": 1}]}}},
            "/properties/h/allOf",
        ),
        ({"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}]}, "/: the root"),
        (True, "/"),
    ],
)
def test_what_openai_strict_cannot_say_is_named_with_its_place(schema: Any, place: str):
    assert place in (rewritten(schema, "openai-strict").impossible or "")


def test_a_recursive_schema_stays_finite_or_is_refused():
    schema = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}
        },
    }
    assert rewritten(schema, "openai-strict").impossible is None
    assert "contains itself" in rewritten(schema, "anthropic-strict").impossible
    assert "contains itself" in rewritten(schema, "gemini-openapi-subset").impossible
    assert rewritten(schema, "gemini").schema["properties"]["root"] == {"$ref": "#/$defs/node"}


def test_gemini_lowers_what_it_does_not_know():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "max": {"type": "integer", "exclusiveMinimum": 0},
            "tags": {
                "type": "object",
                "propertyNames": {"pattern": "^[a-z]+$"},
                "additionalProperties": {"type": "string"},
            },
            "kind": {"const": "a"},
        },
    }
    for target in ("gemini", "gemini-openapi-subset"):
        out = rewritten(schema, target).schema
        text = json.dumps(out)
        assert "$schema" not in text
        assert '"exclusiveMinimum"' not in text
        assert '"propertyNames"' not in text
        assert "exclusiveMinimum: 0" in out["properties"]["max"]["description"]
        assert out["properties"]["kind"] == {"enum": ["a"]}


def test_the_openapi_subset_has_scalar_types_items_and_no_references():
    schema = {
        "type": "object",
        "properties": {
            "v": {"type": ["string", "number", "null"]},
            "u": {"type": "string", "format": "uri"},
            "rows": {"type": "array"},
            "grid": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "r": {"$ref": "#/$defs/R"},
            "o": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "$defs": {"R": {"type": "string"}},
    }
    out = rewritten(schema, "gemini-openapi-subset").schema
    assert all(isinstance(node.get("type", ""), str) for _, node in nodes(out))
    assert all("items" in node for _, node in nodes(out) if node.get("type") == "array")
    properties = out["properties"]
    assert properties["v"] == {"nullable": True, "anyOf": [{"type": "string"}, {"type": "number"}]}
    assert "format" not in properties["u"]
    assert properties["grid"]["items"]["items"] == {"type": "number"}
    assert properties["r"] == {"type": "string"}
    assert properties["o"] == {"nullable": True, "type": "integer"}
    assert "$defs" not in out


def test_what_a_real_tool_accepts_its_strict_form_accepts_too():
    path = SHARED / "corpora" / "tools" / "tools.jsonl"
    if not path.exists():
        pytest.skip(absent(path))
    checked, refused = 0, []
    for line in path.read_text().splitlines():
        tool = json.loads(line)
        out = rewritten(tool["schema"], "anthropic-strict")
        if out.impossible is not None:
            continue
        loose = Validator(out.schema, formats=False)
        for value in tool["valid"]:
            checked += 1
            issues = loose.issues(value)
            # Closing an object is what strict means: only keys that were never declared may be refused.
            if any(issue.keyword != "additionalProperties" for issue in issues):
                refused.append((tool["id"], value, issues[0].message))
    assert checked > 2500
    assert refused == []


def tools(**options: Any) -> ToolSet:
    return ToolSet([create_tool(**{"id": "weather", "description": "Weather", "input_schema": CITY, **options})])


def definition(provider: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return tools(**options).definitions(provider)


def test_each_provider_gets_its_own_form():
    assert definition("openai-chat") == [
        {"type": "function", "function": {"name": "weather", "description": "Weather", "parameters": CITY}}
    ]
    assert definition("openai-responses") == [
        {"type": "function", "name": "weather", "description": "Weather", "parameters": CITY, "strict": False}
    ]
    assert definition("anthropic") == [{"name": "weather", "description": "Weather", "input_schema": CITY}]
    assert definition("gemini") == [
        {"functionDeclarations": [{"name": "weather", "description": "Weather", "parametersJsonSchema": CITY}]}
    ]
    assert definition("bedrock") == [
        {"toolSpec": {"name": "weather", "description": "Weather", "inputSchema": {"json": CITY}}}
    ]
    assert definition("mistral") == definition("openai-chat") == definition("cohere")
    assert definition("mcp") == [{"name": "weather", "description": "Weather", "inputSchema": CITY}]


def test_the_authors_schema_is_sent_as_it_is_and_none_is_a_closed_object():
    sent = definition("anthropic", input_schema=None)[0]["input_schema"]
    assert sent == {"type": "object", "properties": {}, "additionalProperties": False}
    odd = {"type": "object", "minProperties": 1, "x-note": {"deep": [1]}, "additionalProperties": {"type": "string"}}
    sent = definition("openai-chat", input_schema=odd)[0]["function"]["parameters"]
    assert sent == odd
    sent["x-note"]["deep"].append(2)
    assert odd["x-note"]["deep"] == [1]


def test_strict_and_its_schema_go_together_or_not_at_all():
    (strict,) = definition("openai-chat", strict=True)
    assert strict["function"]["strict"] is True
    assert strict["function"]["parameters"]["required"] == ["city", "days"]
    (loose,) = definition("openai-chat", strict=False)
    assert (loose["function"]["strict"], loose["function"]["parameters"]) == (False, CITY)
    headers = {
        "type": "object",
        "properties": {"headers": {"type": "object", "additionalProperties": {"type": "string"}}},
    }
    pair = ToolSet(
        [
            create_tool(id="http", description="Calls", input_schema=headers, strict=True),
            create_tool(id="weather", description="Weather", input_schema=CITY, strict=True),
        ]
    )
    with pytest.warns(ToolDefinitionWarning, match=r"'http'.*strict.*openai-chat.*/properties/headers"):
        http, weather = pair.definitions("openai-chat")
    assert (http["function"]["strict"], http["function"]["parameters"]) == (False, headers)
    assert weather["function"]["strict"] is True
    assert definition("anthropic", strict=True)[0]["strict"] is True
    assert definition("mcp", strict=True)[0]["_meta"] == {"mastra": {"strict": True}}


@pytest.mark.parametrize("provider", ["gemini", "cohere"])
def test_strict_where_it_belongs_to_the_request_is_a_named_warning(provider: Any):
    with pytest.warns(ToolDefinitionWarning, match=rf"'weather'.*strict.*{provider}"):
        tools(strict=True).definitions(provider)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_examples_go_out_or_give_a_named_warning(provider: Any):
    toolset = tools(input_examples=[{"city": "Rome"}])
    if provider == "anthropic":
        assert definition("anthropic", input_examples=[{"city": "Rome"}])[0]["input_examples"] == [{"city": "Rome"}]
    else:
        with pytest.warns(ToolDefinitionWarning, match=rf"'weather'.*input_examples.*{provider}"):
            toolset.definitions(provider)


def test_options_of_a_provider_go_to_that_provider():
    options = {
        "anthropic": {"cache_control": {"type": "ephemeral"}},
        "openai": {"defer_loading": True},
        "google": {"behavior": "NON_BLOCKING"},
    }
    assert definition("anthropic", provider_options=options)[0]["cache_control"] == {"type": "ephemeral"}
    assert definition("openai-responses", provider_options=options)[0]["defer_loading"] is True
    assert definition("gemini", provider_options=options)[0]["functionDeclarations"][0]["behavior"] == "NON_BLOCKING"
    assert "cache_control" not in json.dumps(definition("bedrock", provider_options=options))


def test_mcp_properties_and_output_schema_go_to_mcp():
    (entry,) = definition(
        "mcp",
        title="The weather",
        output_schema={"type": "object"},
        mcp={"annotations": {"read_only_hint": True}, "_meta": {"vendor/x": 1}},
    )
    assert entry["title"] == "The weather"
    assert entry["outputSchema"] == {"type": "object"}
    assert entry["annotations"] == {"readOnlyHint": True}
    assert entry["_meta"] == {"vendor/x": 1}


def test_names_that_a_provider_refuses_get_a_stand_in_that_leads_back():
    names = ["a.b", "a_b", "x" * 100, "x" * 90 + "y" * 10, "9lives", "plain"]
    for provider in PROVIDERS:
        wire = wire_names(provider, names)
        assert len(set(wire.values())) == len(names)
        assert wire["plain"] == "plain"
        assert wire["a_b"] == "a_b"
        rule = NAMES[provider]
        assert all(len(name) <= rule.length and not rule.forbidden.search(name) for name in wire.values())
    assert wire_names("mcp", names)["a.b"] == "a.b"
    toolset = ToolSet({name: create_tool(id="t", description="T") for name in names})
    for provider in PROVIDERS:
        for name, given in wire_names(provider, names).items():
            assert toolset.resolve(given, provider)[0] == name


def test_a_tool_is_found_by_its_id_too_and_nothing_else():
    tool = create_tool(id="weather-tool", description="Weather")
    toolset = ToolSet({"weather": tool})
    assert toolset.resolve("weather-tool", "anthropic") == ("weather", tool)
    assert toolset.resolve("nothing", "anthropic") is None


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([1], TypeError),
        ({1: create_tool(id="t", description="T")}, TypeError),
        ({"": create_tool(id="t", description="T")}, ValueError),
    ],
)
def test_a_toolset_holds_named_tools(given: Any, error: type[Exception]):
    with pytest.raises(error):
        ToolSet(given)


def test_a_toolset_is_a_mapping_without_doubles():
    tool = create_tool(id="t", description="T")
    toolset = ToolSet([tool])
    assert (list(toolset), len(toolset), toolset["t"], "x" in toolset) == (["t"], 1, tool, False)
    assert ToolSet(toolset) == toolset
    with pytest.raises(ValueError, match="unique"):
        ToolSet([tool, tool])
    with pytest.raises(ValueError, match="openai-chat"):
        toolset.definitions("openai")  # type: ignore[arg-type]


def test_every_definition_module_takes_a_bare_definition():
    for provider in PROVIDERS:
        assert adapter(provider).definitions([Definition("f", "F", None)])
