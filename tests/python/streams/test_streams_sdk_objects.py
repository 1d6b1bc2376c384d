"""The event objects of the providers' own SDKs are read like the events they were made from."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from toolhead.providers.events import ArgumentsDelta, CallCompleted, CallStarted, Event
from toolhead.providers.registry import provider_of, reader_for


def payloads(path: Path, provider: str) -> list[dict[str, Any]]:
    reader = reader_for(provider)
    found: list[dict[str, Any]] = []
    reader.read = found.append  # type: ignore[method-assign]
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    reader.feed(path.read_bytes())
    reader.close()
    return found


def read(provider: str, items: list[Any]) -> list[Event]:
    reader = reader_for(provider)
    events = [event for item in items for event in reader.feed(item)]
    return [e for e in events + reader.close() if isinstance(e, CallStarted | ArgumentsDelta | CallCompleted)]


@cache
def openai_chat() -> Callable[[Any], Any]:
    return pytest.importorskip("openai.types.chat").ChatCompletionChunk.construct


@cache
def openai_responses() -> Callable[[Any], Any]:
    types = pytest.importorskip("openai.types.responses")
    construct_type = pytest.importorskip("openai._models").construct_type
    return lambda **payload: construct_type(value=payload, type_=types.ResponseStreamEvent)


@cache
def anthropic() -> Callable[[Any], Any]:
    types = pytest.importorskip("anthropic.types")
    construct_type = pytest.importorskip("anthropic._models").construct_type
    return lambda **payload: construct_type(value=payload, type_=types.RawMessageStreamEvent)


@cache
def gemini() -> Callable[[Any], Any]:
    response = pytest.importorskip("google.genai.types").GenerateContentResponse

    def make(**payload: Any) -> Any:
        text = json.dumps(payload).replace('"redacted"', '"cmVk"')  # signatures were blanked; the SDK wants base64
        return response.model_validate(json.loads(text))

    return make


MAKERS = {"openai-chat": openai_chat, "openai-responses": openai_responses, "anthropic": anthropic, "gemini": gemini}


@pytest.mark.apis("openai-chat", "openai-responses", "anthropic-messages", "google-generatecontent")
def test_stream_of_the_sdks_objects_gives_the_same_calls(stream: tuple[Path, dict[str, Any]]) -> None:
    path, sidecar = stream
    provider = provider_of(sidecar["api"])
    make = MAKERS[provider]()
    plain = payloads(path, provider)
    assert read(provider, [make(**payload) for payload in plain]) == read(provider, plain)
