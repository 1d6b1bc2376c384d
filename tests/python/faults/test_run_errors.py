"""One step with a call of every kind of fault: each gets its own answer, and the sound calls are unharmed."""

import json

import pytest

from toolhead import DecodeError, ToolExecutionError, ToolNotFoundError, ToolRunner, ValidationError, create_tool

PLACE = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


async def look(input):
    if input["city"] == "Atlantis":
        raise LookupError("sunk")
    return {"sky": "clear"} if input["city"] != "Venice" else {"sky": 7}


LOOK = create_tool(
    id="look",
    description="d",
    input_schema=PLACE,
    output_schema={"type": "object", "properties": {"sky": {"type": "string"}}},
    execute=look,
)
CALLS = {
    "sound": ("look", '{"city": "Rome"}'),
    "missing": ("look", "{}"),
    "broken": ("look", '{"city": "Rom'),
    "prose": ("look", "I would look at Rome"),
    "list": ("look", '["Rome"]'),
    "unknown": ("peer", '{"city": "Rome"}'),
    "raising": ("look", '{"city": "Atlantis"}'),
    "output": ("look", '{"city": "Venice"}'),
    "sound too": ("look", '{"city": "Oslo"}'),
}


def openai_chat(calls):
    """The calls as one streamed chat completion, interleaved delta by delta."""

    def event(delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c", "object": "chat.completion.chunk", "model": "m", "created": 0, "choices": [choice]}

    for index, (call_id, (name, _)) in enumerate(calls.items()):
        function = {"name": name, "arguments": ""}
        yield event({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
    for place in range(max(len(text) for _, text in calls.values())):
        for index, (_, text) in enumerate(calls.values()):
            if place < len(text):
                yield event({"tool_calls": [{"index": index, "function": {"arguments": text[place]}}]})
    yield event({}, "tool_calls")


@pytest.fixture
async def run():
    run = ToolRunner([LOOK]).run()
    run.chunks = [chunk async for chunk in run.step(list(openai_chat(CALLS)), provider="openai-chat")]
    return run


@pytest.fixture
def errors(run):
    return {result.tool_call_id: result.error for result in run.results}


async def test_every_call_has_one_result_in_call_order(run):
    assert [result.tool_call_id for result in run.results] == list(CALLS)
    ends = [chunk.tool_call_id for chunk in run.chunks if chunk.type in {"tool-result", "tool-error"}]
    assert sorted(ends) == sorted(CALLS)


async def test_sound_calls_are_unharmed(run):
    outputs = {result.tool_call_id: result.output for result in run.results if result.error is None}
    assert outputs == {"sound": {"sky": "clear"}, "sound too": {"sky": "clear"}}


@pytest.mark.parametrize(
    ("call", "phase", "pointers"),
    [
        ("missing", "input", ["/city"]),
        ("list", "input", [""]),
        ("output", "output", ["/sky"]),
    ],
)
async def test_wrong_data_names_tool_phase_and_place(errors, call, phase, pointers):
    error = errors[call]
    assert isinstance(error, ValidationError)
    assert (error.tool_id, error.phase) == ("look", phase)
    assert [issue.pointer for issue in error.issues] == pointers


@pytest.mark.parametrize("call", ["broken", "prose"])
async def test_text_that_is_not_json_is_never_completed(errors, call):
    error = errors[call]
    assert isinstance(error, ValidationError)
    assert (error.tool_id, error.phase) == ("look", "input")
    assert isinstance(error.__cause__, DecodeError)
    assert error.__cause__.is_incomplete is (call == "broken")


async def test_unknown_tool_and_raising_body_name_the_call(errors):
    unknown, raising = errors["unknown"], errors["raising"]
    assert isinstance(unknown, ToolNotFoundError)
    assert unknown.tool_call_id == "unknown"
    assert "peer" in str(unknown)
    assert isinstance(raising, ToolExecutionError)
    assert (raising.tool_id, raising.tool_call_id) == ("look", "raising")
    assert isinstance(raising.__cause__, LookupError)


async def test_the_model_gets_one_answer_a_call_in_order(run):
    answers = [message for message in run.messages() if message["role"] == "tool"]
    assert [answer["tool_call_id"] for answer in answers] == list(CALLS)
    assert json.loads(answers[0]["content"]) == {"sky": "clear"}
    assert all("Tool input validation failed for look" in answers[place]["content"] for place in (1, 2, 3, 4))
