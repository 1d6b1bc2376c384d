"""Responses of which the provider says, in the stream itself, that they failed: an open call was cut off."""

import json
import struct
from typing import Any
from zlib import crc32

import pytest

from toolhead import MemoryStore, ToolRunner, ValidationError, create_tool, ui_stream
from toolhead.providers.events import CallCompleted, Failed, Finished
from toolhead.providers.registry import reader_for

ITEM = {"type": "function_call", "id": "i", "call_id": "c", "name": "work", "arguments": ""}
RESPONSES = [
    {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
    {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"n": '},
]
CHAT = [{"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "work"}}]}}]}]
BLOCKS = [
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "c", "name": "work", "input": {}},
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"n": 1'}},
]
EMPTY_BLOCK = [BLOCKS[0], {"type": "content_block_stop", "index": 0}]
PATHS = [{"candidates": [{"content": {"parts": [{"functionCall": {"name": "work", "willContinue": True}}]}}]}]
CONVERSE = [
    {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "c", "name": "work"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"n"'}}}},
]
CALL = {"id": "c", "type": "function", "function": {"name": "work", "arguments": '{"n'}}
COHERE = [{"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": CALL}}}]

CASES: dict[str, tuple[str, list[Any], dict[str, Any], str]] = {
    "responses error": ("openai-responses", RESPONSES, {"type": "error", "code": "x", "message": "boom"}, "boom"),
    "responses nested error": ("openai-responses", RESPONSES, {"type": "error", "error": {"code": "boom"}}, "boom"),
    "responses failed": (
        "openai-responses",
        RESPONSES,
        {"type": "response.failed", "response": {"status": "failed", "error": {"code": "x", "message": "boom"}}},
        "boom",
    ),
    "responses cancelled": (
        "openai-responses",
        RESPONSES,
        {"type": "response.completed", "response": {"status": "cancelled"}},
        "The response is cancelled",
    ),
    "chat error": ("openai-chat", CHAT, {"error": {"message": "boom", "code": 502}}, "boom"),
    "chat text": ("openai-chat", CHAT, {"error": "boom"}, "boom"),
    "chat reason": (
        "openai-chat",
        CHAT,
        {"error": {"message": "boom"}, "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]},
        "boom",
    ),
    "mistral": ("mistral", CHAT, {"object": "error", "message": "boom", "type": "internal_error"}, "boom"),
    "anthropic": (
        "anthropic",
        BLOCKS,
        {"type": "error", "error": {"type": "overloaded_error", "message": "boom"}},
        "boom",
    ),
    "anthropic no text": ("anthropic", EMPTY_BLOCK, {"type": "error", "error": {"type": "boom"}}, "boom"),
    "gemini": ("gemini", PATHS, {"error": {"code": 503, "message": "boom", "status": "UNAVAILABLE"}}, "boom"),
    "bedrock": ("bedrock", CONVERSE, {"throttlingException": {"message": "boom"}}, "boom"),
    "bedrock no text": ("bedrock", CONVERSE, {"internalServerException": {}}, "internalServerException"),
    "bedrock invoke": (
        "bedrock",
        [{"chunk": {"bytes": json.dumps(event).encode()}} for event in BLOCKS],
        {"modelStreamErrorException": {"message": "boom", "originalStatusCode": 500}},
        "boom",
    ),
    "cohere": ("cohere", COHERE, {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "boom"}}, "boom"),
    "cohere timeout": (
        "cohere",
        COHERE,
        {"type": "message-end", "delta": {"finish_reason": "TIMEOUT"}},
        "The response ended with TIMEOUT",
    ),
}


def work(seen: list[Any]) -> Any:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return create_tool(id="work", description="d", input_schema=schema, execute=seen.append)


@pytest.mark.parametrize("name", CASES)
async def test_the_response_has_failed_and_its_open_call_was_cut_off(name: str):
    provider, before, error, message = CASES[name]
    seen: list[Any] = []
    run = ToolRunner([work(seen)]).run()
    chunks = [chunk async for chunk in run.step([*before, error], provider=provider)]  # type: ignore[arg-type]
    (result,) = run.results
    assert isinstance(result.error, ValidationError)
    assert "cut off" in str(result.error)
    assert seen == []
    assert (run.finish_reason, run.error) == ("error", message)
    (told,) = [chunk for chunk in chunks if chunk.type == "error"]
    assert told.to_dict(view="raw")["payload"] == {"error": message}
    assert (
        told.to_dict()["payload"] == told.to_dict(view="transcript")["payload"] == {"error": "The stream has failed."}
    )
    assert (chunks[-1].type, chunks[-1].reason, chunks[-1].is_continued) == ("step-finish", "error", False)


@pytest.mark.parametrize("name", CASES)
def test_the_call_ends_when_the_error_comes(name: str):
    provider, before, error, message = CASES[name]
    reader = reader_for(provider)
    for payload in before:
        reader.feed(payload)
    events = reader.feed(error)
    assert [event.cut_off for event in events if isinstance(event, CallCompleted)] == [True]
    assert [event.message for event in events if isinstance(event, Failed)] == [message]
    assert not [event for event in reader.close() if isinstance(event, CallCompleted)]


@pytest.mark.parametrize(
    ("provider", "whole"),
    [
        (
            "openai-chat",
            {"error": None, "choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}]},
        ),
        ("openai-responses", {"object": "response", "status": "completed", "error": None, "output": []}),
        ("bedrock", {"error": None, "choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}]}),
    ],
)
def test_an_error_that_is_null_is_none(provider: str, whole: dict[str, Any]):
    events = reader_for(provider).feed(whole)
    assert [event.reason for event in events if isinstance(event, Finished)] == ["stop"]
    assert not [event for event in events if isinstance(event, Failed)]


@pytest.mark.parametrize(
    "feedback", [{"promptFeedback": {"blockReason": "SAFETY"}}, {"prompt_feedback": {"block_reason": "SAFETY"}}]
)
def test_a_blocked_prompt_is_a_filtered_response(feedback: dict[str, Any]):
    events = reader_for("gemini").feed(feedback)
    assert [event for event in events if isinstance(event, Finished)] == [Finished("content-filter", "SAFETY")]


def test_an_incomplete_response_cuts_off_what_is_open():
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    reader = reader_for("openai-responses")
    events = [e for p in [*RESPONSES, {"type": "response.incomplete", "response": incomplete}] for e in reader.feed(p)]
    events += reader.close()
    assert [event.reason for event in events if isinstance(event, Finished)] == ["length"]
    assert [event.cut_off for event in events if isinstance(event, CallCompleted)] == [True]


def test_an_error_in_the_headers_of_a_frame_is_told():
    headers = b""
    for name, text in ((":message-type", "error"), (":error-code", "Internal"), (":error-message", "boom")):
        headers += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text.encode()
    prelude = struct.pack(">II", 16 + len(headers), len(headers))
    frame = prelude + struct.pack(">I", crc32(prelude)) + headers
    frame += struct.pack(">I", crc32(frame))
    assert [event.message for event in reader_for("bedrock").feed(frame) if isinstance(event, Failed)] == ["boom"]


async def test_what_was_whole_before_has_run_and_a_user_is_not_told_the_providers_words():
    seen: list[Any] = []
    store = MemoryStore()
    runner = ToolRunner([work(seen)], store=store)
    run = runner.run()
    done = [
        *BLOCKS,
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "}"}},
    ]
    done += [EMPTY_BLOCK[1], {"type": "error", "error": {"type": "api_error", "message": "host 10.0.0.7 is down"}}]
    parts = [part async for part in ui_stream(run.step(done, provider="anthropic"))]
    assert seen == [{"n": 1}]
    assert [part for part in parts if part["type"] == "error"] == [
        {"type": "error", "errorText": "The stream has failed."}
    ]
    assert "10.0.0.7" not in json.dumps(parts)
    loaded = await runner.load(run.id)
    assert (loaded.finish_reason, loaded.error) == ("error", "host 10.0.0.7 is down")
    assert len(loaded.messages()) == 2
