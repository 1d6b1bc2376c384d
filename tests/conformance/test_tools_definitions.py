"""Definitions of the corpus of real tools, as each provider is sent them, are what its own SDK accepts."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, get_args

import pytest

from shared_data import SHARED, absent, read_cases
from toolhead import Provider, ToolDefinitionWarning, ToolSet, Validator, create_tool

CORPUS = SHARED / "corpora" / "tools" / "tools.jsonl"
if not CORPUS.exists():
    pytest.skip(absent(CORPUS), allow_module_level=True)
TOOLS = list(read_cases(CORPUS))


def typed(shape: Any) -> Callable[[Any], Any]:
    """A check by one of the SDK's typed dictionaries; a key that it does not have is refused, too."""
    pydantic = pytest.importorskip("pydantic")
    check = pydantic.TypeAdapter(shape).validate_python

    def accepts(entry: dict[str, Any]) -> None:
        check(entry)
        assert entry.keys() <= shape.__annotations__.keys()
        list(entry.get("input_examples", ()))

    return accepts


def all_of(check: Callable[[Any], Any]) -> Callable[[list[dict[str, Any]]], None]:
    def accepts(entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            check(entry)

    return accepts


def openai_chat() -> Callable[[Any], Any]:
    types = pytest.importorskip("openai.types.chat")
    shared = pytest.importorskip("openai.types.shared_params")
    whole, function = typed(types.ChatCompletionFunctionToolParam), typed(shared.FunctionDefinition)
    return all_of(lambda entry: (whole(entry), function(entry["function"])))


def openai_responses() -> Callable[[Any], Any]:
    return all_of(typed(pytest.importorskip("openai.types.responses").FunctionToolParam))


def anthropic() -> Callable[[Any], Any]:
    return all_of(typed(pytest.importorskip("anthropic.types").ToolParam))


def gemini() -> Callable[[Any], Any]:
    return all_of(pytest.importorskip("google.genai.types").Tool.model_validate)


def mistral() -> Callable[[Any], Any]:
    models = pytest.importorskip("mistralai.client.models")

    def accepts(entry: Any) -> None:
        made = models.Tool.model_validate(entry)
        assert made.model_dump(by_alias=True, exclude_unset=True) == entry

    return all_of(accepts)


def cohere() -> Callable[[Any], Any]:
    types = pytest.importorskip("cohere.types")

    def accepts(entry: Any) -> None:
        assert types.ToolV2.model_validate(entry).dict(exclude_unset=True) == entry

    return all_of(accepts)


def bedrock() -> Callable[[Any], Any]:
    session = pytest.importorskip("botocore.session")
    validate = pytest.importorskip("botocore.validate")
    model = session.get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape

    def accepts(entries: Any) -> None:
        request = {"modelId": "m", "toolConfig": {"tools": entries}}
        report = validate.ParamValidator().validate(request, model)
        assert not report.has_errors(), report.generate_report()

    return accepts


MCP_TOOL = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "inputSchema": {"type": "object", "properties": {"type": {"const": "object"}}, "required": ["type"]},
    },
    "required": ["name", "inputSchema"],
}
"""`Tool` of the MCP specification, as far as these entries go: the root of the schema is an object."""


def mcp() -> Callable[[Any], Any]:
    return all_of(Validator(MCP_TOOL).validate)


CHECKS: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "openai-chat": openai_chat, "openai-responses": openai_responses, "anthropic": anthropic, "gemini": gemini,
    "bedrock": bedrock, "mistral": mistral, "cohere": cohere, "mcp": mcp,
}  # fmt: skip


@cache
def toolset(strict: bool | None) -> ToolSet:
    """Every tool of the corpus under a name of its own."""
    return ToolSet(
        {
            f"tool.{number}": create_tool(
                id=f"tool-{number}",
                description=tool["id"],
                input_schema=tool["schema"],
                strict=strict,
                input_examples=tool["valid"][:1] or None,
                formats=False,
            )
            for number, tool in enumerate(TOOLS)
        }
    )


@pytest.mark.parametrize("strict", [None, True, False])
@pytest.mark.parametrize("provider", get_args(Provider))
def test_definitions_are_accepted_by_the_sdk(provider: Any, strict: bool | None) -> None:
    accepts = CHECKS[provider]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToolDefinitionWarning)  # what a provider does not take is tested elsewhere
        entries = toolset(strict).definitions(provider)
    declared = entries[0]["functionDeclarations"] if provider == "gemini" else entries
    assert len(declared) == len(TOOLS)
    accepts(entries)
