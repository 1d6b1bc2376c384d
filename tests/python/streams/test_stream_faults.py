"""Text that is no JSON, bombs, text that just ends: one documented error with its byte, and what came stays readable.

Each with and without a schema at work, through every way of cutting, and at the end of a run.
"""

import json
import time
from typing import Any

import pytest

from toolhead import MISSING, DecodeError, InputStream, Limits, ToolRunner, Validator, create_tool

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array"}, "note": {"type": "string", "maxLength": 1000}, "n": {"type": "number"}},
    "additionalProperties": False,
}
VALIDATORS = {"plain": None, "schema": Validator(SCHEMA)}
FAULTS = {
    # name: (text, byte of the fault, message, cut off?, value that stays)
    "garbage": ("Sure! Here it is", 0, "Expected a value", False, MISSING),
    "garbage behind": ('{"a": [1]} {"a": [2]}', 11, "Unexpected text after the value", False, {"a": [1]}),
    "garbage inside": ('{"note": "é", "a": [1, oops]}', 24, "Expected a value", False, {"note": "é", "a": [1]}),
    "garbage key": ('{"a": [], note: 1}', 10, "Expected a key", False, {"a": []}),
    "bad escape": ('{"note": "so far\\q"}', 17, "Invalid escape", False, {}),
    "bad escape of an item": ('{"a": ["x", "so far\\u00g9"]}', 23, "Invalid escape", False, {"a": ["x"]}),
    "bad escape of the whole": ('"so far\\q"', 8, "Invalid escape", False, MISSING),
    "bad escape behind an equal name": ('{"n": 1, "n": "so\\q"}', 18, "Invalid escape", False, {"n": 1}),
    "bad escape in a key": ('{"n": 1, "no\\te": 1, "\\q": 1}', 23, "Invalid escape", False, {"n": 1, "no\te": 1}),
    "truncated text": ('{"note": "so fa', 15, "Unexpected end of the text", True, {"note": "so fa"}),
    "truncated number": ('{"n": 12.', 9, "Unexpected end of the text", True, {}),
    "truncated escape": ('{"note": "so\\u00e', 17, "Unexpected end of the text", True, {"note": "so"}),
    "truncated object": ('{"a": [1, [2]]', 14, "Unexpected end of the text", True, {"a": [1, [2]]}),
    "lone first half": ('{"note": "so \\ud83d far"}', 19, "Half of a surrogate pair", False, {"note": "so "}),
    "lone second half": ('{"note": "so \\ude00"}', 13, "Half of a surrogate pair", False, {"note": "so "}),
    "NUL in a string": ('{"note": "so\x00far"}', 12, "control character", False, {"note": "so"}),
    "NUL in a key": ('{"a": [], "no\x00te": 1}', 13, "control character", False, {"a": []}),
    "NUL between": ('{"a": [1,\x00 2]}', 9, "Expected a value", False, {"a": [1]}),
    "NUL at the end": ('{"a": [1]}\x00', 10, "Unexpected text after the value", False, {"a": [1]}),
    "NUL at the beginning": ('\x00{"a": [1]}', 0, "Expected a value", False, MISSING),
}


def ways(text: str) -> list[list[str | bytes]]:
    data = text.encode()
    split: list[list[str | bytes]] = [[data[:at], data[at:]] for at in range(1, len(data))]
    return [[text], [data], list(text), [data[at : at + 1] for at in range(len(data))], *split]


@pytest.mark.parametrize("validator", VALIDATORS)
@pytest.mark.parametrize("name", FAULTS)
def test_fault_has_its_byte_and_what_came_stays(name: str, validator: str):
    text, offset, message, cut_off, shown = FAULTS[name]
    for pieces in ways(text):
        stream = InputStream(VALIDATORS[validator])
        state = stream.push_many(pieces)
        assert state == ("open" if cut_off else "rejected")
        for _ in range(2):
            with pytest.raises(DecodeError, match=message) as caught:
                stream.finish()
            assert (caught.value.offset, caught.value.is_incomplete) == (offset, cut_off), pieces
            assert caught.value.column == len(text.encode()[:offset].decode()) + 1
        assert stream.value == shown
        assert stream.snapshot() == shown
        assert replayed(stream) == shown


def replayed(stream: InputStream) -> Any:
    """The value that the changes alone give, finished or not."""
    root: Any = MISSING
    for change in stream.changes():
        if change.op == "close":
            continue
        if not change.path:
            root = change.value
            continue
        parent = root
        for step in change.path[:-1]:
            parent = parent[step]
        if isinstance(parent, list):
            parent.append(change.value)
        else:
            parent[change.path[-1]] = parent.get(change.path[-1], "") + change.text if change.text else change.value
    return root


@pytest.mark.parametrize("validator", VALIDATORS)
@pytest.mark.parametrize("half", ["\ud83d", "\ude00"], ids=["first", "second"])  # noqa: PT014 - two halves
def test_half_a_pair_in_the_text_itself(half: str, validator: str):
    for cut in range(10, 14):
        text = f'{{"note": "so {half} far"}}'
        stream = InputStream(VALIDATORS[validator])
        assert stream.push_many([text[:cut], text[cut:]]) == "rejected"
        with pytest.raises(DecodeError, match="Half of a surrogate pair") as caught:
            stream.finish()
        assert caught.value.offset == 13
        assert stream.value == {"note": "so "}


@pytest.mark.parametrize("validator", VALIDATORS)
@pytest.mark.parametrize(
    ("head", "bomb", "offset", "message"),
    [
        ('{"note": "x", "a": ', "[", 19 + 199, "Nested too deep"),
        ('{"note": "x", "a": ', '[{"":', 19 + 5 * 99 + 1, "Nested too deep"),
        ('{"note": "x", "n": ', "9", 19, "too many digits"),
        ('{"note": "x", "n": -0.', "1", 19, "too many digits"),
    ],
)
def test_bomb_is_refused_at_its_byte_and_costs_no_more(head: str, bomb: str, offset: int, message: str, validator: str):
    stream = InputStream(VALIDATORS[validator])
    stream.push(head)
    began = time.perf_counter()
    for _ in range(100):
        stream.push(bomb * 10_000)
    assert time.perf_counter() - began < 5
    with pytest.raises(DecodeError, match=message) as caught:
        stream.finish()
    assert (caught.value.offset, caught.value.is_incomplete) == (offset, False)
    assert stream.value["note"] == "x"


def test_size_bomb_is_refused_at_its_byte():
    validator = Validator({"type": "object"}, limits=Limits(text_length=1000))
    for piece in (1, 7, 999, 5000):
        stream = validator.stream()
        text = '{"note": "' + "x" * 4000
        for at in range(0, len(text), piece):
            stream.push(text[at : at + piece])
        with pytest.raises(DecodeError, match="Text too long") as caught:
            stream.finish()
        assert (caught.value.offset, caught.value.is_incomplete) == (1000, False)
        assert stream.value == {"note": "x" * 990}


async def execute(input: dict[str, Any]) -> dict[str, Any]:
    return input


TOOL = create_tool(id="t", description="Takes", input_schema=SCHEMA, execute=execute)


@pytest.mark.parametrize("name", FAULTS)
async def test_run_answers_a_fault_with_its_byte(name: str):
    text, offset, message, cut_off, shown = FAULTS[name]
    pieces = [{"index": 0, "function": {"arguments": text[at : at + 3]}} for at in range(0, len(text), 3)]
    pieces[0] |= {"id": "c1", "function": {"name": "t", "arguments": text[:3]}}
    deltas = [{"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]} for piece in pieces]
    body = b"".join(b"data: " + json.dumps(delta).encode() + b"\n\n" for delta in deltas)
    end = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}\n\ndata: [DONE]\n\n'
    told = []
    for size in (1, 16, len(body)):
        whole = body + end
        items = [whole[at : at + size] for at in range(0, len(whole), size)]
        run = ToolRunner([TOOL]).run()
        told.append([chunk async for chunk in run.step(items, provider="openai-chat")])
    for chunks in told:
        results = [chunk for chunk in chunks if chunk.type in ("tool-result", "tool-error")]
        assert len(results) == 1
        assert [chunk.value for chunk in chunks if chunk.type == "tool-call-delta"][-1] == shown
        answer = str(results[0].to_dict())
        if cut_off:
            assert "The arguments were cut off before they were complete" in answer
        else:
            assert message in answer
            assert f"byte {offset})" in answer
