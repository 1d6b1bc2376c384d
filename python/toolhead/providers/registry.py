"""One row an API: which module speaks it, and by which names recorded streams call it.

A module is imported when its API is asked for, so that an application pays for the ones it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, cast, get_args

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolhead.providers.answers import Answer
    from toolhead.providers.definitions import Definition
    from toolhead.providers.reader import Reader

Provider: TypeAlias = Literal[
    "openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "mistral", "cohere", "mcp"
]


class Row(NamedTuple):
    """Module, reader class (None: the API streams no calls), names in recorded streams."""

    module: str
    reader: str | None
    apis: tuple[str, ...] = ()


ROWS: dict[str, Row] = {
    "openai-chat": Row("openai_chat", "OpenAIChatReader", ("openai-chat",)),
    "openai-responses": Row("openai_responses", "OpenAIResponsesReader", ("openai-responses",)),
    "anthropic": Row("anthropic", "AnthropicReader", ("anthropic-messages",)),
    "gemini": Row("gemini", "GeminiReader", ("google-generatecontent",)),
    "bedrock": Row("bedrock", "BedrockReader", ("bedrock-converse", "bedrock-invoke")),
    "mistral": Row("mistral", "MistralReader"),
    "cohere": Row("cohere", "CohereReader", ("cohere-v2",)),
    "mcp": Row("mcp", None),
}
PROVIDERS: tuple[str, ...] = get_args(Provider)
STREAMING: tuple[str, ...] = tuple(name for name, row in ROWS.items() if row.reader is not None)


class Adapter(Protocol):
    """What the module of an API gives."""

    @staticmethod
    def definitions(tools: Sequence[Definition], /) -> list[dict[str, Any]]:
        """The tools in the form of the API's request."""
        ...

    @staticmethod
    def answers(results: Sequence[Answer], /) -> list[dict[str, Any]]:
        """The results in the form of the API's messages."""
        ...


def adapter(provider: str) -> Adapter:
    """The module that speaks `provider`. Raises `ValueError` naming the known ones."""
    if provider not in ROWS:
        raise ValueError(f"Unknown provider {provider!r}; known are {', '.join(ROWS)}")
    return cast("Adapter", import_module(f"toolhead.providers.{ROWS[provider].module}"))


def reader_for(provider: str) -> Reader:
    """A new reader for one response of `provider`. Raises `ValueError` naming the ones that can be read."""
    row = ROWS.get(provider)
    if row is None or row.reader is None:
        raise ValueError(f"No stream can be read for provider {provider!r}; known are {', '.join(STREAMING)}")
    reader: Reader = getattr(adapter(provider), row.reader)()
    return reader


def provider_of(api: str) -> str:
    """The provider that reads the recorded streams of `api`. Raises `ValueError` naming the known ones."""
    for provider, row in ROWS.items():
        if api == provider or api in row.apis:
            return provider
    raise ValueError(
        f"Unknown API {api!r}; known are {', '.join(sorted(api for row in ROWS.values() for api in row.apis))}"
    )
