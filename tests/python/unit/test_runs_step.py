"""One step of a run: when calls start, what they give, and that every call id gets exactly one result."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from toolhead.abort import AbortController
from toolhead.errors import DecodeError, ToolAbortedError, ToolExecutionError, ToolNotFoundError, ValidationError
from toolhead.runs.chunks import Chunk
from toolhead.runs.runner import ToolRunner
from toolhead.tool import create_tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def weather(**options: Any) -> Any:
    async def execute(input: dict[str, Any]) -> dict[str, Any]:
        return {"city": input["city"], "degrees": 21}

    return create_tool(
        **{"id": "weather", "description": "Weather", "input_schema": CITY, "execute": execute, **options}
    )


def entry(index: int, text: str, *, name: str | None = None, id: str | None = None) -> dict[str, Any]:
    function: dict[str, Any] = {"arguments": text}
    if name is not None:
        function["name"] = name
    call = {"index": index, "function": function, **({} if id is None else {"id": id})}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


def call(index: int, name: str, args: Any, id: str | None = None) -> dict[str, Any]:
    text = args if isinstance(args, str) else json.dumps(args)
    return entry(index, text, name=name, id=id or f"c{index}")


def end(reason: str = "tool_calls") -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


async def collect(run: Any, *items: Any, provider: str = "openai-chat") -> list[Chunk]:
    return [chunk async for chunk in run.step(list(items), provider=provider)]


async def drained(step: AsyncIterator[Chunk], into: list[Chunk]) -> None:
    async for chunk in step:
        into.append(chunk)  # noqa: PERF401  what came before a raise is what the test is about


def types(chunks: list[Chunk]) -> list[str]:
    return [chunk.type for chunk in chunks if chunk.type != "raw"]


async def test_a_call_goes_through_start_deltas_end_call_and_result():
    run = ToolRunner([weather()]).run()
    assert run.status == "new"
    chunks = await collect(run, entry(0, '{"ci', name="weather", id="c1"), entry(0, ""), entry(0, 'ty":"Rome"}'), end())
    assert types(chunks) == [
        "step-start",
        "tool-call-input-streaming-start",
        "tool-call-delta",
        "tool-call-delta",
        "tool-call-input-streaming-end",
        "tool-call",
        "tool-result",
        "step-finish",
    ]
    assert chunks[-2].to_dict() == {
        "type": "tool-result",
        "runId": run.id,
        "from": "AGENT",
        "payload": {
            "args": {"city": "Rome"},
            "toolCallId": "c1",
            "toolName": "weather",
            "result": {"city": "Rome", "degrees": 21},
        },
    }
    assert run.status == "done"
    (result,) = run.results
    assert (result.status, result.output) == ("ok", {"city": "Rome", "degrees": 21})
    assert run.messages()[1] == {"role": "tool", "tool_call_id": "c1", "content": '{"city": "Rome", "degrees": 21}'}


async def test_a_call_starts_while_the_model_still_writes_the_next():
    started = asyncio.Event()

    async def execute(input: dict[str, Any]) -> str:
        started.set()
        return "done"

    async def stream() -> AsyncIterator[Any]:
        yield call(0, "weather", {"city": "Rome"})
        yield entry(1, '{"city":', name="weather", id="c1")
        await asyncio.wait_for(started.wait(), 5)
        yield entry(1, '"Oslo"}')
        yield end()

    run = ToolRunner([weather(execute=execute)]).run()
    chunks = [chunk async for chunk in run.step(stream(), provider="openai-chat")]
    kinds = types(chunks)
    assert kinds.index("tool-result") < len(kinds) - 1 - kinds[::-1].index("tool-call-delta")
    assert [result.output for result in run.results] == ["done", "done"]


async def test_results_come_in_call_order_whatever_ends_first():
    async def execute(input: dict[str, Any]) -> str:
        await asyncio.sleep({"a": 0.03, "b": 0.0, "c": 0.01}[input["city"]])
        return str(input["city"])

    ended: list[str] = []
    tool = weather(execute=execute, on_output=lambda event: ended.append(event.output))
    run = ToolRunner([tool]).run()
    chunks = await collect(run, *(call(n, "weather", {"city": c}) for n, c in enumerate("abc")), end())
    assert ended == ["b", "c", "a"]
    assert [chunk.result for chunk in chunks if chunk.type == "tool-result"] == ["a", "b", "c"]
    assert [message["content"] for message in run.messages()[1:]] == ["a", "b", "c"]


async def test_at_most_concurrency_bodies_run():
    running, most = 0, 0

    async def execute(input: dict[str, Any]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1

    run = ToolRunner([weather(execute=execute)], concurrency=2).run()
    await collect(run, *(call(n, "weather", {"city": "x"}) for n in range(7)), end())
    assert most == 2
    assert len(run.results) == 7


async def test_one_bad_call_never_disturbs_another():
    async def broken(input: dict[str, Any]) -> None:
        raise KeyError("lost")

    tools = [weather(), create_tool(id="broken", description="Breaks", execute=broken)]
    run = ToolRunner(tools).run()
    await collect(
        run,
        call(0, "weather", {"city": 5}),
        call(1, "nowhere", {}),
        call(2, "broken", {}),
        call(3, "weather", '{"city":"Ro'),
        call(4, "weather", {"city": "Rome"}),
        call(5, "weather", '{"city":"Rome"}{"city":"Oslo"}'),
        end(),
    )
    kinds = [(result.status, type(result.error)) for result in run.results]
    assert kinds == [
        ("invalid", ValidationError),
        ("error", ToolNotFoundError),
        ("error", ToolExecutionError),
        ("invalid", ValidationError),
        ("ok", type(None)),
        ("invalid", ValidationError),
    ]
    invalid, unknown, raised, truncated = (result.error for result in run.results[:4])
    assert isinstance(invalid, ValidationError)
    assert invalid.message.startswith("Tool input validation failed for weather.")
    assert invalid.issues[0].pointer == "/city"
    assert invalid.phase == "input"
    assert '"city": 5' in invalid.message
    assert "weather, broken" in str(unknown)
    assert raised is not None
    assert isinstance(raised.__cause__, KeyError)
    assert truncated is not None
    assert isinstance(truncated.__cause__, DecodeError)
    assert len(run.messages()) == 7


async def test_text_for_no_arguments_is_an_empty_object_and_a_cut_off_text_never_is():
    seen: list[Any] = []
    tool = create_tool(id="ping", description="Ping", execute=seen.append, run_sync_in="inline")
    run = ToolRunner([tool]).run()
    await collect(run, call(0, "ping", ""), end())
    assert seen == [{}]
    run = ToolRunner([tool]).run()
    await collect(run, call(0, "ping", ""), end("length"))
    assert seen == [{}]
    (result,) = run.results
    assert "cut off" in str(result.error)
    run = ToolRunner([weather()]).run()
    await collect(run, call(0, "weather", '{"city":"Rome'), end("length"))
    assert "cut off" in str(run.results[0].error)
    assert isinstance(run.results[0].error.__cause__, DecodeError)


async def test_missing_and_repeated_ids_get_their_own_result_and_go_back_as_they_came():
    run = ToolRunner([weather()]).run()
    chunks = await collect(
        run,
        entry(0, '{"city":"a"}', name="weather", id="same"),
        entry(1, '{"city":"b"}', name="weather", id="same"),
        entry(2, '{"city":"c"}', name="weather"),
        end(),
    )
    ids = [chunk.tool_call_id for chunk in chunks if chunk.type == "tool-result"]
    assert len(set(ids)) == 3
    assert [result.output["city"] for result in run.results] == ["a", "b", "c"]
    assistant, *answers = run.messages()
    sent = [call["id"] for call in assistant["tool_calls"]]
    assert sent[:2] == ["same", "same"]
    assert sent == [answer["tool_call_id"] for answer in answers]


async def test_server_side_calls_are_reported_and_not_run():
    start = {"type": "server_tool_use", "id": "s1", "name": "weather", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"city":"Rome"}'}
    run = ToolRunner([weather(execute=lambda _: pytest.fail("must not run"))]).run()
    chunks = await collect(
        run,
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        provider="anthropic",
    )
    (whole,) = [chunk for chunk in chunks if chunk.type == "tool-call"]
    assert whole.to_dict()["payload"]["providerExecuted"] is True
    assert run.results == ()
    (message,) = run.messages()
    assert message["content"][0]["input"] == {"city": "Rome"}


async def test_a_broken_stream_raises_after_every_call_has_its_result():
    async def stream() -> AsyncIterator[Any]:
        yield call(0, "weather", {"city": "Rome"})
        yield entry(1, '{"city":"Os', name="weather", id="c1")
        raise ConnectionError("gone")

    run = ToolRunner([weather()]).run()
    chunks: list[Chunk] = []
    with pytest.raises(ConnectionError):
        await drained(run.step(stream(), provider="openai-chat"), chunks)
    assert [result.status for result in run.results] == ["ok", "error"]
    assert types(chunks)[-2:] == ["tool-result", "tool-error"]
    assert len(run.messages()) == 3


async def test_damaged_bytes_raise_after_the_results():
    run = ToolRunner([weather()]).run()
    with pytest.raises(DecodeError):
        await collect(run, call(0, "weather", {"city": "Rome"}), b"data: {oops\n\n", end())
    assert len(run.results) == 1


async def test_a_reader_that_goes_away_leaves_no_task_and_no_call_without_result():
    stopped = asyncio.Event()

    async def execute(input: dict[str, Any]) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    async def stream() -> AsyncIterator[Any]:
        yield call(0, "weather", {"city": "Rome"})
        yield entry(1, "{", name="weather", id="c1")
        await asyncio.sleep(60)

    before = asyncio.all_tasks()
    run = ToolRunner([weather(execute=execute)]).run()
    step = run.step(stream(), provider="openai-chat")
    async for chunk in step:
        if chunk.type == "tool-call":
            await asyncio.sleep(0.01)
        if chunk.type == "tool-call-delta" and chunk.tool_call_id == "c1":
            break
    await step.aclose()
    assert stopped.is_set()
    assert asyncio.all_tasks() == before
    assert [type(result.error) for result in run.results] == [ToolAbortedError, ToolAbortedError]
    assert run.status == "done"


async def test_calls_that_were_read_and_not_yet_told_have_their_result_too():
    whole = {
        "choices": [
            {
                "message": {
                    "tool_calls": [
                        {"id": f"c{n}", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}}
                        for n in range(3)
                    ]
                },
                "finish_reason": "tool_calls",
            }
        ]
    }
    run = ToolRunner([weather()]).run()
    step = run.step(whole, provider="openai-chat")
    async for chunk in step:
        if chunk.type == "tool-call-input-streaming-start":
            break
    await step.aclose()
    assert [result.status for result in run.results] == ["error"] * 3
    assistant, *answers = run.messages()
    assert [call["id"] for call in assistant["tool_calls"]] == [answer["tool_call_id"] for answer in answers]
    assert run.transcript()[0]["parts"][2]["toolInvocation"]["args"] == {"city": "Rome"}


async def test_an_abort_ends_the_step_with_one_result_for_each_call():
    controller = AbortController()

    async def execute(input: dict[str, Any]) -> None:
        controller.abort("enough")
        await asyncio.sleep(60)

    async def stream() -> AsyncIterator[Any]:
        yield call(0, "weather", {"city": "Rome"})
        yield entry(1, "{", name="weather", id="c1")
        await asyncio.sleep(60)

    run = ToolRunner([weather(execute=execute)]).run(abort_signal=controller.signal)
    chunks = [chunk async for chunk in run.step(stream(), provider="openai-chat")]
    assert [type(result.error) for result in run.results] == [ToolAbortedError, ToolAbortedError]
    assert types(chunks)[-3:] == ["tool-error", "tool-error", "step-finish"]
    assert chunks[-1].to_dict()["payload"]["stepResult"]["reason"] == "abort"


async def test_hooks_see_start_deltas_available_and_output_in_order():
    seen: list[Any] = []
    hooks = {
        name: (lambda event, name=name: seen.append((name, event)))
        for name in ("on_input_start", "on_input_delta", "on_input_available", "on_output", "on_error")
    }
    messages = [{"role": "user", "content": "hi"}]
    run = ToolRunner({"w": weather(**hooks)}).run(messages=messages)
    await collect(run, entry(0, '{"ci', name="w", id="c1"), entry(0, 'ty":"Rome"}'), end())
    assert [name for name, _ in seen] == [
        "on_input_start", "on_input_delta", "on_input_delta", "on_input_available", "on_output",
    ]  # fmt: skip
    events = [event for _, event in seen]
    assert [event.input_text_delta for event in events[1:3]] == ['{"ci', 'ty":"Rome"}']
    assert events[3].input == {"city": "Rome"}
    assert (events[4].tool_name, events[4].output) == ("w", {"city": "Rome", "degrees": 21})
    assert all(event.tool_call_id == "c1" for event in events)
    assert all(event.messages is messages for event in events[:4])
    seen.clear()
    await collect(ToolRunner([weather(**hooks)]).run(), call(0, "weather", {}), end())
    assert [name for name, _ in seen] == ["on_input_start", "on_input_delta", "on_error"]


async def test_a_hook_that_raises_changes_nothing(caplog: pytest.LogCaptureFixture):
    def fails(event: Any) -> None:
        raise RuntimeError("hook")

    names = ("on_input_start", "on_input_delta", "on_input_available", "on_output")
    run = ToolRunner([weather(**dict.fromkeys(names, fails))]).run()
    await collect(run, call(0, "weather", {"city": "Rome"}), end())
    assert run.results[0].status == "ok"
    assert all(name in caplog.text for name in names)


async def test_the_model_gets_what_to_model_output_says():
    tool = weather(to_model_output=lambda output: {"type": "text", "value": f"{output['degrees']} degrees"})
    run = ToolRunner([tool]).run()
    chunks = await collect(run, call(0, "weather", {"city": "Rome"}), end())
    assert run.messages()[1]["content"] == "21 degrees"
    payload = next(chunk for chunk in chunks if chunk.type == "tool-result").to_dict()["payload"]
    assert payload["result"] == {"city": "Rome", "degrees": 21}
    assert payload["providerMetadata"] == {"mastra": {"modelOutput": {"type": "text", "value": "21 degrees"}}}


async def test_a_body_writes_partial_output_and_chunks_of_its_own():
    async def execute(input: dict[str, Any], context: Any) -> str:
        await context.writer.write({"progress": 1})
        await context.writer.custom({"type": "data-note", "data": 2})
        return "done"

    run = ToolRunner([weather(execute=execute)]).run()
    chunks = await collect(run, call(0, "weather", {"city": "Rome"}), end())
    shown = [chunk.to_dict() for chunk in chunks]
    assert {"type": "data-note", "data": 2} in shown
    (output,) = [chunk for chunk in shown if chunk["type"] == "tool-output"]
    assert (output["from"], output["payload"]["output"]) == ("USER", {"progress": 1})


async def test_text_and_reasoning_pass_through_in_stretches():
    run = ToolRunner([weather()]).run()
    chunks = await collect(
        run,
        {"choices": [{"index": 0, "delta": {"reasoning_content": "Hm"}}]},
        {"choices": [{"index": 0, "delta": {"content": "Let me "}}]},
        {"choices": [{"index": 0, "delta": {"content": "look."}}]},
        call(0, "weather", {"city": "Rome"}),
        end(),
    )
    assert types(chunks)[1:8] == [
        "reasoning-start", "reasoning-delta", "reasoning-end", "text-start", "text-delta", "text-delta", "text-end",
    ]  # fmt: skip
    (stored,) = run.transcript()
    assert [part["type"] for part in stored["parts"]] == ["reasoning", "text", "tool-invocation"]
    assert run.messages()[0]["content"] == "Let me look."


async def test_whatever_a_body_returns_can_be_sent():
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    values = [cycle, float("nan"), {1: {2}}, object(), ValueError("v"), b"x"]
    tool = create_tool(id="odd", description="Odd", execute=lambda given: values[given["n"]], run_sync_in="inline")
    run = ToolRunner([tool]).run()
    chunks = await collect(run, *(call(n, "odd", {"n": n}) for n in range(len(values))), end())
    sent = [json.loads(json.dumps(chunk.to_dict())) for chunk in chunks if chunk.type == "tool-result"]
    assert [chunk["payload"]["result"] for chunk in sent] == [
        {"self": "[Circular]"}, None, {"1": [2]}, "[object]", "ValueError: v", "eA==",
    ]  # fmt: skip
    json.dumps(run.messages())


async def test_a_step_needs_a_known_provider_and_answers_to_what_waits():
    run = ToolRunner([weather()]).run()
    with pytest.raises(ValueError, match="openai-chat"):
        run.step([], provider="openai")
    with pytest.raises(RuntimeError, match="no response"):
        run.messages()
    with pytest.raises(TypeError, match="got int"):
        await collect(run, provider="openai-chat") and [c async for c in run.step(5, provider="openai-chat")]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"concurrency": 0}, ValueError),
        ({"concurrency": True}, ValueError),
        ({"timeout": 0}, ValueError),
        ({"require_approval": 1}, TypeError),
        ({"transform_policy": 1}, TypeError),
    ],
)
def test_a_runner_refuses_wrong_options(options: dict[str, Any], error: type[Exception]):
    with pytest.raises(error, match=next(iter(options))):
        ToolRunner([weather()], **options)


async def test_the_timeout_of_the_runner_holds_for_tools_without_one():
    async def execute(input: dict[str, Any]) -> None:
        await asyncio.sleep(60)

    run = ToolRunner([weather(execute=execute, grace=0)], timeout=0.01).run()
    await collect(run, call(0, "weather", {"city": "Rome"}), end())
    assert type(run.results[0].error).__name__ == "ToolTimeoutError"


async def test_the_stream_may_be_a_coroutine_a_generator_bytes_or_one_response():
    whole = {
        "choices": [
            {
                "message": {
                    "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}}]
                },
                "finish_reason": "tool_calls",
            }
        ]
    }

    async def created() -> list[Any]:
        return [call(0, "weather", {"city": "Rome"}), end()]

    raw = b"".join(b"data: " + json.dumps(item).encode() + b"\n\n" for item in await created())
    streams = [
        whole,
        created(),
        iter(await created()),
        raw,
        raw.decode(),
        (raw[at : at + 7] for at in range(0, len(raw), 7)),
    ]
    for stream in streams:
        run = ToolRunner([weather()]).run()
        async for _ in run.step(stream, provider="openai-chat"):
            pass
        assert run.results[0].output == {"city": "Rome", "degrees": 21}
