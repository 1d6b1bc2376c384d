"""Every recorded stream gives exactly the tool calls of its sidecar, however its bytes are cut."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from toolhead.providers.events import ArgumentsDelta, CallCompleted, CallStarted, Event
from toolhead.providers.registry import provider_of, reader_for

CUTS = (1, 7, 64, 1000, None)


def pieces(path: Path, cut: int | None) -> Iterator[Any]:
    data = path.read_bytes()
    if path.suffix == ".jsonl":
        yield from (json.loads(line) for line in data.splitlines() if line.strip())
    else:
        size = cut or len(data)
        yield from (data[at : at + size] for at in range(0, len(data), size))


def read(provider: str, items: Iterator[Any]) -> list[Event]:
    reader = reader_for(provider)
    events = [event for item in items for event in reader.feed(item)]
    return events + reader.close()


def calls(events: list[Event]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for event in events:
        match event:
            case CallStarted(call=number, id=id, name=name, kind=kind, server=server):
                assert number == len(found)
                found.append(
                    {"id": id, "name": name, "kind": kind, "text": "", "ended": False, "server": server, "deltas": 0}
                )
            case ArgumentsDelta(call=number, text=text):
                assert not found[number]["ended"]
                found[number]["text"] += text
                found[number]["deltas"] += 1
            case CallCompleted(call=number, replacement=replacement, cut_off=cut_off):
                assert not found[number]["ended"]
                found[number].update(ended=True, cut_off=cut_off)
                if replacement is not None:
                    found[number]["text"] = replacement
    assert all(call["ended"] for call in found)
    return found


@pytest.mark.parametrize("cut", CUTS)
def test_stream_gives_the_calls_of_its_sidecar(stream: tuple[Path, dict[str, Any]], cut: int | None) -> None:
    path, sidecar = stream
    found = calls(read(provider_of(sidecar["api"]), pieces(path, cut)))
    assert [(call["id"], call["name"], call["kind"]) for call in found] == [
        (call["id"], call["name"], call["kind"]) for call in sidecar["tool_calls"]
    ]
    for call, want in zip(found, sidecar["tool_calls"], strict=True):
        text = want["arguments_text"]
        if not text and want["final_text"]:
            text = want["final_text"]
        if text is not None:
            assert call["text"] == text
        if want["valid_json"]:
            assert msgspec.json.decode(call["text"]) == want["arguments"]


SERVER_KINDS = {"server_tool_use", "mcp_tool_use", "mcp_call"}
SERVER_NAMES = {"nova_code_interpreter"}  # Bedrock marks it in the event; the sidecar's kind does not say so


def test_stream_marks_server_side_calls(stream: tuple[Path, dict[str, Any]]) -> None:
    path, sidecar = stream
    found = calls(read(provider_of(sidecar["api"]), pieces(path, None)))
    assert [call["server"] for call in found] == [
        call["kind"] in SERVER_KINDS or call["name"] in SERVER_NAMES for call in sidecar["tool_calls"]
    ]


def test_stream_cut_off_calls_are_marked(stream: tuple[Path, dict[str, Any]]) -> None:
    path, sidecar = stream
    found = calls(read(provider_of(sidecar["api"]), pieces(path, None)))
    for call, want in zip(found, sidecar["tool_calls"], strict=True):
        if want["end_event"] is not None:
            assert not call["cut_off"]
        elif call["cut_off"]:
            assert not want["valid_json"]


class SdkEvent(SimpleNamespace):
    """An event object as an SDK gives it: attributes all the way down."""

    @classmethod
    def of(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return cls(**{key: cls.of(item) for key, item in value.items()})
        return [cls.of(item) for item in value] if isinstance(value, list) else value


def test_stream_of_sdk_objects_gives_the_same_calls(stream: tuple[Path, dict[str, Any]]) -> None:
    path, sidecar = stream
    provider = provider_of(sidecar["api"])
    payloads: list[Any] = []
    reader = reader_for(provider)
    reader.read = payloads.append  # type: ignore[method-assign]
    for item in pieces(path, None):
        reader.feed(item)
    reader.close()
    assert payloads
    events = read(provider, (SdkEvent.of(payload) for payload in payloads))
    assert [call | {"deltas": 0} for call in calls(events)] == [
        call | {"deltas": 0} for call in calls(read(provider, pieces(path, None)))
    ]
