"""One row an API: which module speaks it, and by which names others know it.

A module is imported when its API is asked for, so that an application pays for the ones it uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from toolhead.providers.reader import Reader

Provider: TypeAlias = Literal[
    "openai-chat", "openai-responses", "anthropic", "gemini", "bedrock", "mistral", "cohere", "mcp"
]


class Row(NamedTuple):
    module: str
    reader: str
    apis: tuple[str, ...]
    """The names of the API in recorded streams."""


ROWS: dict[str, Row] = {
    "openai-chat": Row("openai_chat", "OpenAIChatReader", ("openai-chat",)),
    "openai-responses": Row("openai_responses", "OpenAIResponsesReader", ("openai-responses",)),
    "anthropic": Row("anthropic", "AnthropicReader", ("anthropic-messages",)),
    "gemini": Row("gemini", "GeminiReader", ("google-generatecontent",)),
    "bedrock": Row("bedrock", "BedrockReader", ("bedrock-converse", "bedrock-invoke")),
    "mistral": Row("mistral", "MistralReader", ()),
    "cohere": Row("cohere", "CohereReader", ("cohere-v2",)),
}


def reader_for(provider: str) -> Reader:
    """A new reader for one response of `provider`. Raises `ValueError` naming the known ones."""
    row = ROWS.get(provider)
    if row is None:
        raise ValueError(f"No stream can be read for provider {provider!r}; known are {', '.join(ROWS)}")
    reader: Reader = getattr(import_module(f"toolhead.providers.{row.module}"), row.reader)()
    return reader


def provider_of(api: str) -> str:
    """The provider that reads the recorded streams of `api`. Raises `ValueError` naming the known ones."""
    for provider, row in ROWS.items():
        if api == provider or api in row.apis:
            return provider
    known = sorted({api for row in ROWS.values() for api in row.apis})
    raise ValueError(f"Unknown API {api!r}; known are {', '.join(known)}")
