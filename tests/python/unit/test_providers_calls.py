"""Which piece belongs to which call: ids and indexes that are missing, repeated or reused."""

import json
from typing import Any

import pytest

from toolhead.errors import DecodeError
from toolhead.providers.events import ArgumentsDelta, CallCompleted, CallStarted, Event, Finished, TextDelta
from toolhead.providers.registry import adapter, provider_of, reader_for


def read(provider: str, *payloads: Any, failed: bool = False) -> list[Event]:
    reader = reader_for(provider)
    events = [event for payload in payloads for event in reader.feed(payload)]
    return events + reader.close(failed=failed)


def texts(events: list[Event]) -> list[str]:
    found: dict[int, str] = {}
    for event in events:
        if isinstance(event, CallStarted):
            found[event.call] = ""
        elif isinstance(event, ArgumentsDelta):
            found[event.call] += event.text
    return list(found.values())


def names(events: list[Event]) -> list[str]:
    return [event.name for event in events if isinstance(event, CallStarted)]


def cut_off(events: list[Event]) -> list[bool]:
    ended = sorted((event.call, event.cut_off) for event in events if isinstance(event, CallCompleted))
    return [cut for _, cut in ended]


def chat(*entries: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    tool_calls = []
    for entry in entries:
        function = {key: entry[key] for key in ("name", "arguments") if key in entry}
        tool_calls.append({**{key: entry[key] for key in ("index", "id") if key in entry}, "function": function})
    return {"choices": [{"index": 0, "delta": {"tool_calls": tool_calls}, "finish_reason": finish}]}


END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def test_one_index_and_no_ids_are_as_many_calls_as_there_are_values():
    events = read(
        "openai-chat",
        chat({"index": 0, "name": "get", "arguments": '{"u":"a"}'}),
        chat({"index": 0, "name": "get", "arguments": '{"u":"}b"}'}),
        chat({"index": 0, "name": "get", "arguments": '{"u":"c"}'}),
        END,
    )
    assert texts(events) == ['{"u":"a"}', '{"u":"}b"}', '{"u":"c"}']
    assert names(events) == ["get"] * 3


def test_later_pieces_go_by_index_when_the_id_comes_once():
    events = read(
        "openai-chat",
        chat({"index": 0, "id": "a", "name": "f", "arguments": '{"x":'}),
        chat({"index": 1, "id": "b", "name": "g", "arguments": '{"y":'}),
        chat({"index": 0, "arguments": "1}"}),
        chat({"index": 1, "arguments": "2}"}),
        END,
    )
    assert texts(events) == ['{"x":1}', '{"y":2}']


def test_a_call_ends_when_the_next_starts_and_its_text_is_whole():
    events = read(
        "openai-chat",
        chat({"index": 0, "id": "a", "name": "f", "arguments": '{"x":1}'}),
        chat({"index": 1, "id": "b", "name": "g", "arguments": '{"y":'}),
        chat({"index": 1, "arguments": "2}"}),
        END,
    )
    order = [(type(event).__name__, event.call) for event in events if hasattr(event, "call")]
    assert order.index(("CallCompleted", 0)) < order.index(("CallStarted", 1))


def test_whole_text_alone_does_not_end_a_call():
    events = read(
        "openai-chat",
        chat({"index": 0, "id": "a", "name": "f", "arguments": "12"}),
        chat({"index": 0, "arguments": "3"}),
        END,
    )
    assert texts(events) == ["123"]
    assert [type(event) for event in events][-2:] == [CallCompleted, Finished]


def test_objects_that_grow_are_merged_before_they_become_text():
    events = read(
        "openai-chat",
        chat({"index": 0, "name": "f", "arguments": {"input": "a"}}),
        chat({"index": 0, "name": "f", "arguments": {"input": "ab"}}),
        END,
    )
    assert texts(events) == ['{"input": "ab"}']


def test_two_entries_of_one_message_are_two_calls_without_index_and_id():
    message = {
        "tool_calls": [{"function": {"name": "f", "arguments": {}}}, {"function": {"name": "f", "arguments": {}}}]
    }
    events = read("openai-chat", {"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    assert texts(events) == ["{}", "{}"]


def test_one_id_for_two_calls_is_two_calls():
    events = read(
        "openai-chat",
        chat({"id": "x", "name": "f", "arguments": '{"a":1}'}),
        chat({"id": "x", "name": "f", "arguments": '{"a":2}'}),
        END,
    )
    assert texts(events) == ['{"a":1}', '{"a":2}']


def test_empty_pieces_change_nothing():
    pieces = ["", '{"a":', "", "1}", ""]
    events = read(
        "openai-chat", chat({"index": 0, "name": "f"}), *(chat({"index": 0, "arguments": p}) for p in pieces), END
    )
    assert texts(events) == ['{"a":1}']


@pytest.mark.parametrize(("finish", "expected"), [("tool_calls", False), ("stop", False), ("length", True)])
def test_the_reason_of_the_finish_says_whether_a_call_was_cut_off(finish: str, expected: bool):
    events = read("openai-chat", chat({"index": 0, "name": "f", "arguments": ""}, finish=finish))
    assert cut_off(events) == [expected]


def test_a_broken_stream_cuts_its_open_calls_off():
    assert cut_off(read("openai-chat", chat({"index": 0, "name": "f", "arguments": ""}), failed=True)) == [True]
    start = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    }
    assert cut_off(read("anthropic", start)) == [True]


def test_the_input_of_a_block_start_is_a_placeholder_when_text_follows():
    def block(*deltas: str, given: dict[str, Any]) -> list[Event]:
        start = {"type": "tool_use", "id": "c1", "name": "find", "input": given}
        return read(
            "anthropic",
            {"type": "content_block_start", "index": 0, "content_block": start},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": d}}
                for d in deltas
            ),
            {"type": "content_block_stop", "index": 0},
        )

    assert texts(block('{"city":', '"Oslo"}', given={})) == ['{"city":"Oslo"}']
    assert texts(block('{"city":', '"Oslo"}', given={"city": "x"})) == ['{"city":"Oslo"}']
    assert texts(block(given={"city": "Oslo"})) == ['{"city": "Oslo"}']
    assert texts(block(given={})) == [""]


EMPTY = {
    "anthropic": (
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        },
        {"type": "content_block_stop", "index": 0},
        lambda reason: {"type": "message_delta", "delta": {"stop_reason": reason}},
        ("tool_use", "max_tokens"),
    ),
    "bedrock": (
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "a", "name": "f"}}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        lambda reason: {"messageStop": {"stopReason": reason}},
        ("tool_use", "max_tokens"),
    ),
    "cohere": (
        {
            "type": "tool-call-start",
            "index": 0,
            "delta": {"message": {"tool_calls": {"id": "a", "function": {"name": "f"}}}},
        },
        {"type": "tool-call-end", "index": 0},
        lambda reason: {"type": "message-end", "delta": {"finish_reason": reason}},
        ("TOOL_CALL", "MAX_TOKENS"),
    ),
}


@pytest.mark.parametrize("provider", EMPTY)
def test_a_call_without_text_waits_for_what_tells_no_arguments_from_cut_off(provider: str):
    start, stop, finish, (whole, cut) = EMPTY[provider]
    assert cut_off(read(provider, start, stop, finish(whole))) == [False]
    assert cut_off(read(provider, start, stop, finish(cut))) == [True]
    assert cut_off(read(provider, start, stop)) == [True]
    assert cut_off(read(provider, start, stop, start, stop, finish(cut))) == [False, True]


def test_a_call_that_stands_in_the_message_start_is_read():
    content = [{"type": "tool_use", "id": "a", "name": "roll", "input": {"player": 1}}]
    events = read("anthropic", {"type": "message_start", "message": {"content": content, "stop_reason": "tool_use"}})
    assert texts(events) == ['{"player": 1}']
    assert cut_off(events) == [False]


WHOLE = {
    "openai-chat": {
        "choices": [
            {
                "message": {
                    "content": "On it.",
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ]
    },
    "openai-responses": {
        "object": "response",
        "status": "completed",
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "On it."}]},
            {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
        ],
    },
    "anthropic": {
        "type": "message",
        "content": [
            {"type": "text", "text": "On it."},
            {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
    },
    "gemini": {
        "candidates": [
            {
                "content": {
                    "parts": [{"text": "On it."}, {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}}]
                },
                "finishReason": "STOP",
            }
        ]
    },
    "bedrock": {
        "output": {
            "message": {
                "content": [{"text": "On it."}, {"toolUse": {"toolUseId": "c1", "name": "f", "input": {"a": 1}}}]
            }
        },
        "stopReason": "tool_use",
    },
    "cohere": {
        "message": {
            "content": [{"type": "text", "text": "On it."}],
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        },
        "finish_reason": "TOOL_CALL",
    },
}
WHOLE["mistral"] = WHOLE["openai-chat"]


@pytest.mark.parametrize("provider", WHOLE)
def test_a_response_that_was_not_streamed_gives_the_same_events(provider: str):
    events = read(provider, WHOLE[provider])
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["On it."]
    (start,) = [event for event in events if isinstance(event, CallStarted)]
    assert (start.id, start.name, start.server) == ("c1", "f", False)
    assert texts(events) == ['{"a": 1}']
    assert cut_off(events) == [False]
    (finish,) = [event for event in events if isinstance(event, Finished)]
    assert finish.reason == "tool-calls"


def test_every_model_family_inside_the_invoke_stream_of_bedrock_is_read():
    def chunks(*payloads: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"chunk": {"bytes": json.dumps(payload).encode()}} for payload in payloads]

    nova = chunks(
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "c1", "name": "f"}}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": "{}"}}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
    )
    assert texts(read("bedrock", *nova)) == ["{}"]
    gpt = chunks(chat({"index": 0, "id": "c1", "name": "f", "arguments": '{"a":1}'}, finish="tool_calls"))
    assert texts(read("bedrock", *gpt)) == ['{"a":1}']
    assert texts(read("bedrock", WHOLE["anthropic"])) == ['{"a": 1}']


@pytest.mark.parametrize(
    "item",
    [
        {"type": "content_block_start", "index": 0},
        {"type": "content_block_delta", "index": 0, "delta": None},
        {"type": "message_start"},
    ],
)
def test_an_event_of_another_form_is_a_clear_error(item: dict[str, Any]):
    with pytest.raises(DecodeError, match="does not have the provider's form"):
        reader_for("anthropic").feed(item)


def test_an_object_without_fields_is_refused():
    with pytest.raises(TypeError, match="event objects"):
        reader_for("anthropic").feed(object())


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match="openai-chat"):
        reader_for("openai")
    with pytest.raises(ValueError, match="openai-chat"):
        reader_for("mcp")
    with pytest.raises(ValueError, match="openai-chat"):
        adapter("openai")
    with pytest.raises(ValueError, match="anthropic-messages"):
        provider_of("openai")
