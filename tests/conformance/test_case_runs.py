"""Public reports about calls that a model streams: pieces, ends, ids, hooks, parallel calls, and what goes back."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from conformance.case_tools import call, end, piece, step, taken, tool_of
from toolhead import (
    AbortController,
    AlreadyResolvedError,
    DecodeError,
    InputStream,
    MemoryStore,
    NotSuspendedError,
    ToolAbortedError,
    ToolRunner,
    ToolSet,
    ui_stream,
)


def kinds(chunks: list[Any]) -> list[str]:
    return [chunk.type for chunk in chunks]


# ------------------------------------------------------------------------------------------ their text


def _block(one: dict[str, Any]) -> dict[str, Any]:
    start = one["block_start"]
    block = {"type": "tool_use", "id": start["id"], "name": start["name"], "input": start["input"]}
    return {"type": "content_block_start", "index": 0, "content_block": block}


@pytest.mark.ids("pr-152")
async def test_the_input_of_a_block_start_is_a_placeholder(case: dict[str, Any]) -> None:
    start, deltas, _ = case["steps"]
    tool, seen = tool_of(case, id="find")
    run = ToolRunner([tool]).run()
    chunks = await step(
        run,
        _block(start),
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}
            for text in deltas["deltas"]
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        provider="anthropic",
    )
    assert seen == [{"city": "Oslo"}]
    parsed = "".join(chunk.args_text_delta for chunk in chunks if chunk.type == "tool-call-delta")
    assert parsed == '{"city":"Oslo"}'


@pytest.mark.ids("pr-154")
async def test_only_the_providers_end_completes_a_call(case: dict[str, Any]) -> None:
    whole, numbers, _ = case["steps"]
    tool, seen = tool_of(case)
    run = ToolRunner([tool]).run()

    async def response(deltas: list[str], into: list[Any]) -> AsyncIterator[Any]:
        yield piece(0, id="c0", name="t")
        for text in deltas:
            yield piece(0, text)
            await asyncio.sleep(0.01)
        assert into == []  # whole JSON, but nobody said that it ends
        yield end()

    await taken(run.step(response(whole["deltas"], seen), provider="openai-chat"))
    assert seen == [{"query": "x"}]
    free, numbers_seen = tool_of({})
    run = ToolRunner([free]).run()
    await taken(run.step(response(numbers["deltas"], numbers_seen), provider="openai-chat"))
    assert numbers_seen == [123]


@pytest.mark.ids("pr-155")
async def test_a_call_that_was_cut_off_is_not_run(case: dict[str, Any]) -> None:
    deltas, finish = case["steps"]
    available: list[Any] = []
    tool, seen = tool_of(case, on_input_available=available.append)
    run = ToolRunner([tool]).run()
    chunks = await step(
        run, piece(0, id="c0", name="t"), *(piece(0, text) for text in deltas["deltas"]), end(finish["finish_reason"])
    )
    (result,) = run.results
    assert result.status == "invalid"
    assert "cut off" in str(result.error)
    assert "cut off" in run.messages()[1]["content"]
    assert (seen, available) == ([], [])
    (whole,) = [chunk for chunk in chunks if chunk.type == "tool-call"]
    assert whole.args_text == "".join(deltas["deltas"])


@pytest.mark.ids("pr-156")
async def test_the_part_that_arrived_can_be_read(case: dict[str, Any]) -> None:
    deltas, finish = case["steps"]
    wanted = {"title": "T", "body": "lorem"}
    shown: list[Any] = []
    tool, seen = tool_of(case, on_input_delta=lambda event: shown.append(json.loads(json.dumps(event.value))))
    run = ToolRunner([tool]).run()
    await step(
        run, piece(0, id="c0", name="t"), *(piece(0, text) for text in deltas["deltas"]), end(finish["finish_reason"])
    )
    assert shown[-1] == wanted
    assert seen == []
    stream = InputStream()
    states = [stream.push(text) for text in deltas["deltas"]]
    assert (stream.value, stream.snapshot()) == (wanted, wanted)
    assert "complete" not in states
    with pytest.raises(DecodeError) as raised:
        stream.finish()
    assert raised.value.is_incomplete


@pytest.mark.ids("pr-158")
async def test_empty_pieces_change_nothing(case: dict[str, Any]) -> None:
    deltas = case["steps"][0]["deltas"]
    told: list[str] = []
    tool, seen = tool_of(case, on_input_delta=lambda event: told.append(event.input_text_delta))
    run = ToolRunner([tool]).run()
    await step(run, piece(0, id="c0", name="t"), *(piece(0, text) for text in deltas), end())
    assert seen == [{"a": 1}]
    assert run.results[0].status == "ok"
    assert "".join(told) == "".join(deltas)


# ------------------------------------------------------------------------------------- parallel calls


@pytest.mark.ids("pr-162")
async def test_values_without_ids_at_one_index_are_calls_of_their_own(case: dict[str, Any]) -> None:
    deltas = [one["delta"] for one in case["steps"][:-1]]
    tool, seen = tool_of(case, id="get")
    run = ToolRunner([tool]).run()
    chunks = await step(run, *(piece(d["index"], d["arguments"], name=d["name"]) for d in deltas), end())
    assert seen == [{"u": "a"}, {"u": "}b"}, {"u": "c"}]
    ids = [result.tool_call_id for result in run.results]
    assert len(set(ids)) == 3
    assert {chunk.tool_name for chunk in chunks if hasattr(chunk, "tool_name")} == {"get"}


@pytest.mark.ids("pr-163")
async def test_later_fragments_go_by_index(case: dict[str, Any]) -> None:
    deltas = [one["delta"] for one in case["steps"][:-1]]
    first, seen_first = tool_of(case, id="f")
    second, seen_second = tool_of(case, id="g")
    run = ToolRunner([first, second]).run()
    await step(run, *(piece(d["index"], d["arguments"], id=d.get("id"), name=d.get("name")) for d in deltas), end())
    assert (seen_first, seen_second) == ([{"x": 1}], [{"y": 2}])
    assert [(result.tool_call_id, result.tool_name) for result in run.results] == [("a", "f"), ("b", "g")]


@pytest.mark.ids("pr-164")
async def test_two_calls_in_four_deltas_are_two_executions(case: dict[str, Any]) -> None:
    tool, seen = tool_of(case)
    run = ToolRunner([tool]).run()
    chunks = await step(
        run,
        piece(0, '{"n"', id="a", name="t"),
        piece(0, ":1}"),
        piece(1, '{"n"', id="b", name="t"),
        piece(1, ":2}"),
        end(),
    )
    assert seen == [{"n": 1}, {"n": 2}]
    assert kinds(chunks).count("tool-call") == 2
    assert [result.tool_name for result in run.results] == ["t", "t"]


@pytest.mark.ids("pr-165")
async def test_arguments_that_grow_as_objects_are_merged(case: dict[str, Any]) -> None:
    told: list[str] = []
    tool, seen = tool_of(case, on_input_delta=lambda event: told.append(event.input_text_delta))
    run = ToolRunner([tool]).run()
    events = [piece(0, one["chunk"], id="c0", name="t") for one in case["steps"][:-1]]
    await step(run, *events, end())
    assert seen == [{"input": "ab"}]
    assert json.loads("".join(told)) == {"input": "ab"}


# ---------------------------------------------------------------------------------------------- hooks

TEXTS = ('{"a":', ' "x', 'y"}')
FUNCTION = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "t"}


def _cohere(kind: str, function: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": kind, "index": 0, "delta": {"message": {"tool_calls": {**more, "function": function}}}}


def _gemini(call: dict[str, Any], **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [{"functionCall": call}]}, **candidate}]}


def _path(text: str, *, more: bool) -> dict[str, Any]:
    return _gemini(
        {"partialArgs": [{"jsonPath": "$.a", "stringValue": text, "willContinue": more}], "willContinue": more}
    )


CHAT = [piece(0, id="c1", name="t"), *(piece(0, text) for text in TEXTS), end()]
STREAMS: dict[Any, list[dict[str, Any]]] = {
    "openai-chat": CHAT,
    "mistral": CHAT,
    "openai-responses": [
        {"type": "response.output_item.added", "output_index": 0, "item": {**FUNCTION, "arguments": ""}},
        *(
            {"type": "response.function_call_arguments.delta", "item_id": "fc", "output_index": 0, "delta": text}
            for text in TEXTS
        ),
        {"type": "response.output_item.done", "output_index": 0, "item": {**FUNCTION, "arguments": "".join(TEXTS)}},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ],
    "anthropic": [
        _block({"block_start": {"id": "c1", "name": "t", "input": {}}}),
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}
            for text in TEXTS
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ],
    "gemini": [
        _gemini({"id": "c1", "name": "t", "willContinue": True}),
        _path("x", more=True),
        _path("y", more=False),
        _gemini({}, finishReason="STOP"),
    ],
    "bedrock": [
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "c1", "name": "t"}}}},
        *({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": text}}}} for text in TEXTS),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "tool_use"}},
    ],
    "cohere": [
        _cohere("tool-call-start", {"name": "t", "arguments": ""}, id="c1", type="function"),
        *(_cohere("tool-call-delta", {"arguments": text}) for text in TEXTS),
        {"type": "tool-call-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}},
    ],
}


@pytest.mark.ids("pr-168")
@pytest.mark.parametrize("provider", STREAMS)
async def test_all_hooks_of_a_streamed_call_fire_in_order(case: dict[str, Any], provider: Any) -> None:
    trace: list[Any] = []
    tool, _ = tool_of(
        case,
        lambda *_: trace.append("execute"),
        on_input_start=lambda _: trace.append("start"),
        on_input_delta=lambda event: trace.append(event.input_text_delta),
        on_input_available=lambda event: trace.append(event.input),
        on_output=lambda _: trace.append("output"),
    )
    copies = [tool, tool.replace(title="A copy")]
    for each in copies:
        trace.clear()
        run = ToolRunner({"t": each}, timeout=5).run()  # the runner's timeout makes a copy, too
        await step(run, *STREAMS[provider], provider=provider)
        assert (trace[0], trace[-3:]) == ("start", [{"a": "xy"}, "execute", "output"])
        deltas = trace[1:-3]
        assert len(deltas) == 3
        assert json.loads("".join(deltas)) == {"a": "xy"}


@pytest.mark.ids("pr-169")
async def test_a_result_from_elsewhere_counts_once_and_for_its_call(case: dict[str, Any]) -> None:
    outputs: list[Any] = []
    tool, _ = tool_of(case, execute=None, on_output=lambda event: outputs.append((event.tool_call_id, event.output)))
    client = tool.replace(execute=None)
    other = client.replace(id="other")
    run = ToolRunner([client, other]).run()
    await step(run, call(1, {}), end())
    with pytest.raises(NotSuspendedError):
        run.provide_result("c9", "forged")
    await taken(run.provide_result("c1", "mine"))
    with pytest.raises(AlreadyResolvedError):  # a call has one tool: nobody can name another for it
        run.provide_result("c1", "another's")
    assert outputs == [("c1", "mine")]
    assert run.results[0].tool_name == "t"


@pytest.mark.ids("pr-170")
async def test_input_is_told_before_the_error_about_it(case: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tool, _ = tool_of(case, input_schema=schema)
    for early in (False, True):
        run = ToolRunner([tool], reject_early=early).run()
        chunks = run.step([piece(0, '{"n":', id="c0", name="t"), piece(0, ' "x"}'), end()], provider="openai-chat")
        parts = [part["type"] async for part in ui_stream(chunks) if part["type"].startswith("tool-")]
        assert parts[0] == "tool-input-start"
        told = next(index for index, part in enumerate(parts) if part in ("tool-input-available", "tool-input-error"))
        output = next(index for index, part in enumerate(parts) if part.startswith("tool-output"))
        assert told < output, parts


@pytest.mark.ids("pr-172")
async def test_a_tool_that_is_added_later_gets_the_same_context(case: dict[str, Any]) -> None:
    contexts: list[Any] = []
    first, _ = tool_of(case, lambda _, context: contexts.append(context), id="first")
    later, _ = tool_of(case, lambda _, context: contexts.append(context), id="later")
    store = MemoryStore()
    run = ToolRunner([first], store=store).run(request_context={"user": "u1"}, messages=["m"], agent_id="a")
    await step(run, call(0, {}, name="first"), end())
    wider = ToolRunner(ToolSet([*run.runner.toolset.values(), later]), store=store)
    loaded = await wider.load(run.id, request_context={"user": "u1"}, messages=["m"], agent_id="a")
    await step(loaded, call(1, {}, name="later"), end())
    before, after = contexts
    assert before._members().keys() == after._members().keys()
    assert after.agent.messages == before.agent.messages == ["m"]
    assert dict(after.request_context) == {"user": "u1"}
    assert type(after.writer) is type(before.writer)
    assert (before.tool_call_id, after.tool_call_id) == ("c0", "c1")
    assert after.agent.agent_id == before.agent.agent_id == "a"


# ------------------------------------------------------------------------------------------ what goes back


@pytest.mark.ids("pr-134")
async def test_what_is_approved_is_what_runs(case: dict[str, Any]) -> None:
    available: list[Any] = []
    tool, seen = tool_of(case, on_input_available=lambda event: available.append(event.input))
    given = case["steps"][0]["call_with"]
    wanted = {"files": ["a"]}
    store = MemoryStore()
    runner = ToolRunner([tool], store=store)
    run = runner.run()
    chunks = await step(run, call(0, given), end())
    assert chunks[-1].type == "tool-call-approval"
    assert chunks[-1].args == chunks[-1].to_dict()["payload"]["args"] == wanted
    assert run.pending[0].args == wanted
    loaded = await runner.load(run.id)
    assert loaded.pending[0].args == wanted
    await taken(loaded.approve("c0"))
    assert (seen, available) == ([wanted], [wanted])
    (whole,) = [chunk for chunk in chunks if chunk.type == "tool-call"]
    assert whole.args_text == json.dumps(given)


@pytest.mark.ids("pr-206")
async def test_a_result_is_plain_json_once(case: dict[str, Any]) -> None:
    output = {"city": "Zürich", "q": '"'}
    tool, _ = tool_of(case, lambda *_: output)
    run = ToolRunner([tool]).run()
    await step(run, call(0, {}), end())
    text = run.messages()[1]["content"]
    assert json.loads(text) == output
    assert "Zürich" in text


@pytest.mark.ids("pr-218")
async def test_a_result_with_references_goes_as_text_where_they_are_read(case: dict[str, Any]) -> None:
    output = {"$ref": "#/$defs/x", "$defs": {"x": {}}}
    tool, _ = tool_of(case, lambda *_: output)
    run = ToolRunner([tool]).run()
    await step(run, *STREAMS["gemini"], provider="gemini")
    (part,) = run.messages()[1]["parts"]
    response = part["functionResponse"]["response"]
    assert json.loads(response["output"]) == output
    assert run.results[0].output == output


@pytest.mark.ids("pr-234")
async def test_a_cancelled_call_has_its_result_in_history(case: dict[str, Any]) -> None:
    started = asyncio.Event()

    async def execute(*_: Any) -> None:
        started.set()
        await asyncio.sleep(30)

    tool, _ = tool_of(case, execute, grace=0.1)
    controller = AbortController()
    run = ToolRunner([tool]).run(abort_signal=controller.signal)
    reading = asyncio.ensure_future(step(run, call(0, {}), end()))
    await started.wait()
    controller.abort("stop")
    await reading
    (result,) = run.results
    assert isinstance(result.error, ToolAbortedError)
    assert [message.get("tool_call_id") for message in run.messages()] == [None, "c0"]
    # The same when the task that reads the run is cancelled.
    started.clear()
    run = ToolRunner([tool]).run()
    reading = asyncio.ensure_future(step(run, call(0, {}), end()))
    await started.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert [message.get("tool_call_id") for message in run.messages()] == [None, "c0"]
    assert isinstance(run.results[0].error, ToolAbortedError)
