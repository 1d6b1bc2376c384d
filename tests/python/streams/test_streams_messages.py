"""The messages built from every recorded stream are what the provider's own SDK accepts."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from toolhead import Tool, ToolRunner, create_tool
from toolhead.providers.answers import Answer
from toolhead.providers.registry import adapter, provider_of, reader_for


def read(path: Path, provider: str) -> Any:
    reader = reader_for(provider)
    if path.suffix == ".jsonl":
        for line in path.read_bytes().splitlines():
            if line.strip():
                reader.feed(json.loads(line))
    else:
        reader.feed(path.read_bytes())
    reader.close()
    return reader


def exchange(path: Path, provider: str) -> list[dict[str, Any]]:
    reader = read(path, provider)
    ids = [call.id or f"own_{call.number}" for call in reader.calls]
    outputs: list[dict[str, Any]] = [
        {"type": "text", "value": "fine"},
        {"type": "json", "value": {"ok": True, "n": [1, None]}},
        {"type": "error-text", "value": "It broke"},
        {
            "type": "content",
            "value": [{"type": "text", "text": "a"}, {"type": "image-data", "data": "aGk=", "mediaType": "image/png"}],
        },
        {"type": "json", "value": [1, 2]},
    ]
    answers = [
        Answer(ids[call.number], call.id is not None, call.name, call.kind, outputs[call.number % len(outputs)])
        for call in reader.calls
        if not call.server
    ]
    return [*reader.assistant(ids), *adapter(reader.form or provider).answers(answers)]


@cache
def openai_chat() -> Callable[[Any], Any]:
    types = pytest.importorskip("openai.types.chat")
    return typed(types.ChatCompletionMessageParam)


@cache
def openai_responses() -> Callable[[Any], Any]:
    types = pytest.importorskip("openai.types.responses")
    return typed(types.ResponseInputItemParam)


@cache
def anthropic() -> Callable[[Any], Any]:
    types = pytest.importorskip("anthropic.types")
    beta = pytest.importorskip("anthropic.types.beta")
    plain, with_betas = typed(types.MessageParam), typed(beta.BetaMessageParam)

    def check(message: Any) -> Any:
        try:
            return plain(message)
        except ValueError:  # tools that the provider runs are often still in its beta types
            return with_betas(message)

    return check


def typed(shape: Any) -> Callable[[Any], Any]:
    pydantic = pytest.importorskip("pydantic")
    check = pydantic.TypeAdapter(shape, config={"arbitrary_types_allowed": True}).validate_python
    return lambda message: list_all(check(message))


def list_all(value: Any) -> Any:
    """Reads every lazy part: iterables in the SDK's types are validated when they are read."""
    if isinstance(value, dict):
        return {key: list_all(item) for key, item in value.items()}
    if hasattr(value, "__next__") or isinstance(value, list):
        return [list_all(item) for item in value]
    return value


@cache
def gemini() -> Callable[[Any], Any]:
    types = pytest.importorskip("google.genai.types")
    return types.Content.model_validate


@cache
def mistral() -> Callable[[Any], Any]:
    models = pytest.importorskip("mistralai.client.models")
    shapes = {"assistant": models.AssistantMessage, "tool": models.ToolMessage}
    return lambda message: shapes[message["role"]].model_validate(message)


@cache
def cohere() -> Callable[[Any], Any]:
    types = pytest.importorskip("cohere.types")
    shapes = {"assistant": types.AssistantChatMessageV2, "tool": types.ToolChatMessageV2}
    return lambda message: shapes[message["role"]].model_validate(message)


@cache
def bedrock() -> Callable[[Any], Any]:
    session = pytest.importorskip("botocore.session")
    validate = pytest.importorskip("botocore.validate")
    model = session.get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape

    def check(message: Any) -> None:
        report = validate.ParamValidator().validate({"modelId": "m", "messages": [message]}, model)
        assert not report.has_errors(), report.generate_report()

    return check


CHECKS = {
    "openai-chat": openai_chat, "openai-responses": openai_responses, "anthropic": anthropic, "gemini": gemini,
    "bedrock": bedrock, "mistral": mistral, "cohere": cohere,
}  # fmt: skip


def check_all(sidecar: dict[str, Any], messages: list[dict[str, Any]]) -> None:
    """Holds every message against the SDK's own type for it."""
    check = CHECKS["anthropic" if sidecar["api"] == "bedrock-invoke" else form_of(sidecar)]()
    for message in messages:
        if sidecar["provider"] == "xai":  # its citations lack fields that OpenAI's have
            for part in message.get("content") or ():
                if isinstance(part, dict) and "annotations" in part:
                    part["annotations"] = []
        check(message)


def form_of(sidecar: dict[str, Any]) -> str:
    return "mistral" if sidecar["provider"] == "mistral" else provider_of(sidecar["api"])


def test_stream_messages_are_accepted_by_the_sdk(stream: tuple[Path, dict[str, Any]]) -> None:
    path, sidecar = stream
    messages = exchange(path, form_of(sidecar))
    assert messages
    json.dumps(messages[0])  # what a store keeps of a response is JSON
    check_all(sidecar, messages)


def test_stream_messages_answer_every_call_of_ours(stream: tuple[Path, dict[str, Any]]) -> None:
    path, sidecar = stream
    messages = json.dumps(exchange(path, provider_of(sidecar["api"])), default=str)
    for call in sidecar["tool_calls"]:
        if call["id"] is not None:
            assert messages.count(json.dumps(call["id"])) >= 1


CONTENT = [{"type": "text", "text": "a"}, {"type": "image-data", "data": "aGk=", "mediaType": "image/png"}]


def tools_for(sidecar: dict[str, Any]) -> dict[str, Tool[Any, Any]]:
    """Tools by the names of the stream, each with another end: data, text, parts, a raise, an invalid output."""
    found: dict[str, Tool[Any, Any]] = {}

    def raises(_: Any) -> Any:
        raise RuntimeError("It broke")

    kinds: list[dict[str, Any]] = [
        {"execute": lambda given: {"given": given, "n": [1, None, 1.5]}},
        {"execute": lambda _: "fine"},
        {"execute": lambda _: 1, "to_model_output": lambda _: {"type": "content", "value": CONTENT}},
        {"execute": raises},
        {"execute": lambda _: 5, "output_schema": {"type": "string"}},
        {"execute": lambda _: [1, "two"]},
        {"execute": lambda _: None, "require_approval": True},
    ]
    for call in sidecar["tool_calls"]:
        if call["name"] and call["name"] not in found:
            options = kinds[len(found) % len(kinds)]
            found[call["name"]] = create_tool(id=f"t{len(found)}", description="d", run_sync_in="inline", **options)
    return found


async def test_stream_round_trips_through_a_run(stream: tuple[Path, dict[str, Any]]) -> None:
    path, sidecar = stream
    lines = (
        [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()] if path.suffix == ".jsonl" else ()
    )
    run = ToolRunner(tools_for(sidecar)).run()
    provider: Any = form_of(sidecar)
    async for _ in run.step(list(lines) or path.read_bytes(), provider=provider):
        pass
    for pending in run.pending:
        async for _ in run.decline(pending.tool_call_id, "not today"):
            pass
    messages = run.messages()
    assert messages
    check_all(sidecar, messages)
    assert len({result.tool_call_id for result in run.results}) == len(run.results)
    text = json.dumps(messages, default=str)
    own = {call["id"] for call in sidecar["tool_calls"]}
    for result in run.results:
        if result.tool_call_id in own:
            assert text.count(json.dumps(result.tool_call_id)) >= 2, "in the call and in its answer"
