"""`toolhead.testing`: the scripted model, contexts, recorded hooks, the check of a tool, and the pytest plugin."""

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from shared_data import REPOSITORY
from toolhead import Agent, ToolRunner, ToolSuspended, create_tool
from toolhead.agent.model import ModelRequest
from toolhead.testing import (
    RecordingWriter,
    ScriptedCall,
    ScriptedModel,
    assert_valid_tool,
    fake_context,
    record_hooks,
)

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def tool(execute: Any = lambda given: given, **options: Any) -> Any:
    return create_tool(**{"id": "t", "description": "d", "input_schema": NUMBER, "execute": execute, **options})


def request(*, stream: bool = True) -> ModelRequest:
    return ModelRequest(messages=[{"role": "user", "content": "?"}], stream=stream)


async def said(model: ScriptedModel, *, stream: bool = True) -> list[Any]:
    return [event async for event in model.respond(request(stream=stream))]


# ------------------------------------------------------------------------------------------------ ScriptedModel


async def test_a_response_may_be_a_text_calls_events_or_made_from_the_request():
    async def later(asked: ModelRequest) -> str:
        return asked.messages[0]["content"]

    event = {"choices": [{"index": 0, "delta": {"content": "raw"}, "finish_reason": "stop"}]}
    model = ScriptedModel("text", ScriptedCall("t", {"n": 1}), event, lambda asked: ["a", "b"], later)
    deltas = [[e["choices"][0]["delta"] for e in await said(model)] for _ in range(5)]
    assert deltas[0] == [{"content": "text"}, {}]
    texts = [delta["tool_calls"][0]["function"]["arguments"] for delta in deltas[1][:-1]]
    assert texts == ["", '{"n"', ":1}"]
    assert deltas[2] == [{"content": "raw"}]
    assert deltas[3] == [{"content": "a"}, {"content": "b"}, {}]
    assert deltas[4] == [{"content": "?"}, {}]
    assert len(model.requests) == 5


async def test_calls_have_ids_of_their_place_and_pieces_as_given():
    calls = [ScriptedCall("t", pieces=['{"n', '":1}']), ScriptedCall("t", "no JSON", id="mine")]
    [whole] = await said(ScriptedModel(["See:", *calls]), stream=False)
    message = whole["choices"][0]["message"]
    assert message["content"] == "See:"
    assert [(call["id"], call["function"]["arguments"]) for call in message["tool_calls"]] == [
        ("call_1_1", '{"n":1}'),
        ("mine", "no JSON"),
    ]


async def test_what_is_scripted_to_be_raised_is_raised():
    with pytest.raises(OSError, match="down"):
        await said(ScriptedModel(OSError("down")))


async def test_more_questions_than_responses_are_an_error_that_says_so():
    model = ScriptedModel("one")
    await said(model)
    with pytest.raises(AssertionError, match="asked 2 times; 1 responses are scripted"):
        await said(model)


@pytest.mark.parametrize(("turn", "streamed"), [([1], True), ([{"choices": []}, "text"], False)])
async def test_what_is_no_response_is_refused(turn: Any, streamed: bool) -> None:
    with pytest.raises(TypeError):
        await said(ScriptedModel(turn), stream=streamed)


# ------------------------------------------------------------------------------------------------- fake_context


async def test_a_fake_context_has_everything_and_keeps_what_is_written():
    async def execute(given: Any, context: Any) -> Any:
        await context.writer.write({"at": 1})
        await context.writer.custom({"type": "data-x"})
        return [context.agent.agent_id, context.tool_call_id, context.agent.tool_call_id, context.abort_signal.aborted]

    context = fake_context(tool_call_id="c9")
    assert await tool(execute).execute({"n": 1}, context) == ["agent", "c9", "c9", False]
    assert isinstance(context.writer, RecordingWriter)
    assert (context.writer.written, context.writer.custom_chunks) == ([{"at": 1}], [{"type": "data-x"}])


async def test_members_of_a_fake_context_can_be_set():
    context = fake_context(request_context={"user": "ada"}, resume_data=[1], agent={"agent_id": "a", "thread_id": "t"})
    assert dict(context.request_context) == {"user": "ada"}
    assert (context.resume_data, context.agent.resume_data, context.agent.thread_id) == ([1], [1], "t")
    with pytest.raises(TypeError, match="unknown member 'nope'"):
        fake_context(nope=1)


async def test_a_body_that_suspends_says_so():
    with pytest.raises(ToolSuspended):
        await tool(lambda given, context: context.suspend("which?")).execute({"n": 1}, fake_context())


def test_two_fake_contexts_share_nothing():
    one, two = fake_context(), fake_context()
    one.request_context["a"] = 1
    assert "a" not in two.request_context
    assert one.writer is not two.writer


# ------------------------------------------------------------------------------------------------- record_hooks


async def test_hooks_are_recorded_in_order_and_the_tools_own_still_run():
    own: list[Any] = []
    recorder = record_hooks()
    watched = recorder.watch(tool(on_output=lambda event: own.append(event.output)))
    await Agent(ScriptedModel(ScriptedCall("t", {"n": 1}), "Done."), [watched]).generate("?")
    assert recorder.names == ["on_input_start", "on_input_delta", "on_input_available", "on_output"]
    assert [event.input for event in recorder.of("on_input_available")] == [{"n": 1}]
    assert own == [{"n": 1}]
    assert repr(recorder) == "HookRecorder(on_input_start, on_input_delta, on_input_available, on_output)"


async def test_hooks_are_options_of_create_tool_too():
    def fails(given: Any) -> None:
        raise RuntimeError("no")

    recorder = record_hooks()
    watched = tool(fails, **recorder.options)
    await Agent(ScriptedModel(ScriptedCall("t", {"n": 1}), "Done."), [watched]).generate("?")
    assert recorder.names[-1] == "on_error"
    with pytest.raises(ValueError, match="expected one of on_input_start"):
        recorder.of("onOutput")


# --------------------------------------------------------------------------------------------- assert_valid_tool


def test_a_good_tool_is_valid():
    assert_valid_tool(tool(input_examples=[{"n": 1}]), providers=["anthropic"])
    assert_valid_tool(create_tool(id="bare", description="d"))


def test_what_is_no_tool_is_not_valid():
    with pytest.raises(AssertionError, match="expected a Tool, got function"):
        assert_valid_tool(lambda given: given)


def test_all_faults_are_told_at_once():
    schema = {
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/n", "default": "many"}, "m": {"type": "string", "default": 1}},
        "$defs": {"n": {"type": "integer"}},
    }
    with pytest.raises(AssertionError) as caught:
        assert_valid_tool(tool(input_schema=schema))
    first, *faults = str(caught.value).splitlines()
    assert first == "The tool 't' is not valid:"
    assert [fault.partition(" does not")[0] for fault in faults] == ["- the default of 'n'", "- the default of 'm'"]


def test_what_a_named_provider_is_not_told_is_a_fault():
    with_examples = tool(input_examples=[{"n": 1}])
    assert_valid_tool(with_examples)
    with pytest.raises(AssertionError, match="input_examples is not sent to gemini"):
        assert_valid_tool(with_examples, providers=["gemini"])
    with pytest.raises(ValueError, match="^providers: expected some of"):
        assert_valid_tool(with_examples, providers=["nobody"])


def test_options_that_are_no_json_are_a_fault():
    with pytest.raises(AssertionError, match="anthropic cannot be told of it: TypeError"):
        assert_valid_tool(tool(provider_options={"anthropic": {"x": object()}}))


# ----------------------------------------------------------------------------------------------------- the plugin

SUITE = """
import pytest
from toolhead import Agent, create_tool
from toolhead.testing import ScriptedCall

def test_it(scripted_model, fake_context, hook_recorder, assert_valid_tool):
    import asyncio
    tool = hook_recorder.watch(create_tool(id="t", description="d", execute=lambda given: given))
    assert_valid_tool(tool)
    assert fake_context(tool_call_id="c").tool_call_id == "c"
    result = asyncio.run(Agent(scripted_model(ScriptedCall("t"), "Done."), [tool]).generate("?"))
    assert result.text == "Done."
    assert hook_recorder.names[-1] == "on_output"
"""


def test_the_plugin_gives_fixtures(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "toolhead.testing.plugin",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
    ]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout


def test_the_plugin_is_registered_where_the_package_is_installed():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"toolhead": "toolhead.testing.plugin"}
    installed = importlib.metadata.distribution("toolhead").entry_points.select(group="pytest11")
    if installed:  # a build of this tree; an older one beside the sources has none
        assert [entry.value for entry in installed] == ["toolhead.testing.plugin"]


async def test_a_scripted_model_speaks_a_form_that_a_run_reads():
    run = ToolRunner([tool()]).run()
    model = ScriptedModel(["So:", ScriptedCall("t", {"n": 3})])
    async for _ in run.step(model.respond(request()), provider=model.provider):
        pass
    assert [result.output for result in run.results] == [{"n": 3}]
