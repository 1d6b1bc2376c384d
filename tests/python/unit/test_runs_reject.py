"""Arguments that can no longer become valid: told once, and with `reject_early` answered at once."""

import json
from typing import Any

import pytest

from toolhead import ToolRunner, ValidationError, create_tool
from toolhead.runs.arguments import ArgumentStream

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def piece(text: str, name: str | None = None) -> dict[str, Any]:
    function = {"arguments": text, **({} if name is None else {"name": name})}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": function}]}}]}


class Decided:
    """A stream of arguments whose verdict falls with the second piece, as an early verdict of the schema would."""

    def __init__(self, tool: Any) -> None:
        self.pushed = 0
        self.tool = tool
        self.value: dict[str, Any] = {}
        self.issues: list[Any] = []

    def push(self, text: str) -> str:
        self.pushed += 1
        if self.pushed < 2:
            return "open"
        with pytest.raises(ValidationError) as caught:
            self.tool.validate_input({"n": 99})
        self.issues = list(caught.value.issues)
        return "rejected"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = create_tool(id="count", description="Counts", input_schema=SCHEMA, execute=lambda given: given["n"])

    def stream_input(self: Any) -> Decided:
        return Decided(self)

    monkeypatch.setattr(type(made), "stream_input", stream_input)
    return made


async def step(tool: Any, **options: Any) -> tuple[Any, list[Any]]:
    run = ToolRunner([tool], **options).run()
    stream = [piece('{"n":', "count"), piece(" 9"), piece("9"), piece("}"), END]
    return run, [chunk async for chunk in run.step(stream, provider="openai-chat")]


async def test_the_rejection_is_told_once_with_its_reason(tool: Any):
    run, chunks = await step(tool)
    (told,) = [chunk.to_dict()["payload"] for chunk in chunks if chunk.type == "tool-input-rejected"]
    assert told["toolCallId"] == "c1"
    assert told["issues"] == [{"pointer": "/n", "keyword": "maximum", "message": "Expected at most 9"}]
    assert [chunk.type for chunk in chunks].count("tool-call-delta") == 4
    (result,) = run.results
    assert isinstance(result.error, ValidationError)


async def test_with_reject_early_the_call_is_answered_before_the_model_is_done(tool: Any):
    run, chunks = await step(tool, reject_early=True)
    types = [chunk.type for chunk in chunks]
    assert types.index("tool-result") < types.index("tool-call-input-streaming-end")
    assert types.count("tool-result") == 1
    (result,) = run.results
    assert isinstance(result.error, ValidationError)
    assert (result.error.tool_id, result.error.phase) == ("count", "input")
    assert result.error.issues[0].pointer == "/n"
    assert next(chunk.args for chunk in chunks if chunk.type == "tool-call") == {"n": 99}
    assert json.loads(run.messages()[0]["tool_calls"][0]["function"]["arguments"]) == {"n": 99}


async def test_a_display_with_transforms_sees_no_reason(tool: Any):
    _, chunks = await step(tool.replace(transform={"display": {}}))
    (told,) = [chunk for chunk in chunks if chunk.type == "tool-input-rejected"]
    assert "Expected" not in json.dumps(told.to_dict())
    assert "Expected" in json.dumps(told.to_dict(view="raw"))


def test_what_repair_may_mend_is_no_verdict():
    schema = {"type": "object", "properties": {"n": {"type": "array"}}}
    tool = create_tool(id="count", description="Counts", input_schema=schema)
    stream = ArgumentStream(tool)
    assert [stream.push(text) for text in ('{"n":', ' "[9', ']"}')] == [False, False, False]
    assert stream.rejection == []
    stream = ArgumentStream(tool.replace(repair_input=False))
    assert [stream.push(text) for text in ('{"n":', ' "[9', ']"}')] == [False, True, False]


def test_broken_text_is_kept_whole_for_the_call_path():
    plain = create_tool(id="count", description="Counts", input_schema=SCHEMA)
    stream = ArgumentStream(plain)
    assert [stream.push(text) for text in ('{"n":', "oops", "}")] == [False, False, False]
    assert stream.text == '{"n":oops}'
    assert stream.value == {}
