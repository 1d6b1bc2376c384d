"""An agent's turns: what the model is asked, which chunks come, what the turn adds to the conversation, how it ends."""

import asyncio
from typing import Any

import pytest

from toolhead import AbortController, Agent, LocalEngine, RequestContext, create_tool, ui_stream
from toolhead.runs.ui_stream import parts_of
from toolhead.testing import ScriptedCall, ScriptedModel

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def add(execute: Any = lambda given: {"n": given["n"] + 1}, **options: Any) -> Any:
    return create_tool(
        **{"id": "add", "description": "Adds one", "input_schema": NUMBER, "execute": execute, **options}
    )


async def taken(turn: Any) -> list[Any]:
    return [chunk async for chunk in turn]


def types(chunks: list[Any]) -> list[str]:
    return [chunk.type for chunk in chunks]


async def test_a_turn_goes_on_until_the_model_makes_no_call():
    model = ScriptedModel(["Let me see.", ScriptedCall("add", {"n": 1})], "It is 2.")
    turn = Agent(model, [add()], instructions="Be short.").stream("One and one?")
    chunks = await taken(turn)
    assert types(chunks) == [
        *("start", "step-start", "text-start", "text-delta", "text-end"),
        *("tool-call-input-streaming-start", "tool-call-delta", "tool-call-delta", "tool-call-input-streaming-end"),
        *("tool-call", "tool-result", "step-finish"),
        *("step-start", "text-start", "text-delta", "text-end", "step-finish", "finish"),
    ]
    assert {chunk.run_id for chunk in chunks} == {turn.run_id}
    assert chunks[-1].to_dict()["payload"] == {"stepResult": {"reason": "stop"}}
    call = {"id": "call_1_1", "type": "function", "function": {"name": "add", "arguments": '{"n":1}'}}
    added = [
        {"role": "assistant", "content": "Let me see.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1_1", "content": '{"n": 2}'},
        {"role": "assistant", "content": "It is 2."},
    ]
    asked = {"role": "user", "content": "One and one?"}
    assert turn.result.messages == added
    assert [list(request.messages) for request in model.requests] == [[asked], [asked, *added[:2]]]
    assert {tuple(request.instructions) for request in model.requests} == {("Be short.",)}
    assert (turn.result.text, turn.result.finish_reason, turn.result.pending) == ("It is 2.", "stop", ())
    assert [(step.number, step.text, step.finish_reason) for step in turn.result.steps] == [
        (1, "Let me see.", "tool-calls"),
        (2, "It is 2.", "stop"),
    ]
    assert [result.output for result in turn.result.results] == [{"n": 2}]


async def test_generate_asks_for_whole_responses_and_gives_the_same_result():
    turns = (["So:", ScriptedCall("add", {"n": 1})], "2")
    deltas: list[str] = []
    tool = add(on_input_delta=lambda event: deltas.append(event.input_text_delta))
    streamed, whole = ScriptedModel(*turns), ScriptedModel(*turns)
    stream = Agent(streamed, [tool]).stream("?", run_id="r")
    await taken(stream)
    result = await Agent(whole, [tool]).generate("?", run_id="r")
    assert result.messages == stream.result.messages
    assert result.text == stream.result.text == "2"
    assert [[request.stream for request in model.requests] for model in (streamed, whole)] == [[True] * 2, [False] * 2]
    assert deltas == ['{"n"', ":1}", '{"n":1}']


async def test_text_only_is_one_step():
    model = ScriptedModel("Hello.")
    result = await Agent(model).generate([{"role": "user", "content": "Hi"}])
    assert (result.text, result.finish_reason, len(result.steps)) == ("Hello.", "stop", 1)
    assert result.messages == [{"role": "assistant", "content": "Hello."}]
    assert model.tools_sent == []


async def test_the_model_is_told_of_the_tools_in_no_providers_form():
    model = ScriptedModel("Hello.")
    options = {"openai": {"x": 1}}
    tool = add(strict=True, provider_options=options, input_examples=[{"n": 3}])
    await Agent(model, {"plus": tool}).generate("?")
    assert model.tools_sent == [
        {
            "name": "plus",
            "description": "Adds one",
            "schema": NUMBER,
            "strict": True,
            "provider_options": options,
            "input_examples": [{"n": 3}],
        }
    ]


@pytest.mark.parametrize("mode", ["stream", "generate"])
async def test_max_steps_ends_the_turn_with_results_that_the_model_has_not_read(mode):
    model = ScriptedModel(*[ScriptedCall("add", {"n": n}) for n in range(3)])
    agent = Agent(model, [add()], max_steps=2)
    if mode == "generate":
        result = await agent.generate("?")
    else:
        turn = agent.stream("?")
        chunks = await taken(turn)
        assert types(chunks)[-2:] == ["step-finish", "finish"]
        result = turn.result
    assert (len(model.requests), result.finish_reason) == (2, "tool-calls")
    assert [message["role"] for message in result.messages] == ["assistant", "tool"] * 2


async def test_whatever_goes_wrong_in_a_call_is_a_result_and_the_turn_goes_on():
    def execute(input: dict[str, Any]) -> Any:
        raise RuntimeError("broken")

    calls = [
        ScriptedCall("add", {"n": "x"}, id="invalid"),
        ScriptedCall("add", '{"n": 1', id="cut"),
        ScriptedCall("minus", {}, id="unknown"),
        ScriptedCall("add", {"n": 1}, id="raises"),
    ]
    result = await Agent(ScriptedModel(calls, "Sorry."), [add(execute)]).generate("?")
    assert [(r.tool_call_id, r.status) for r in result.results] == [
        ("invalid", "invalid"),
        ("cut", "invalid"),
        ("unknown", "error"),
        ("raises", "error"),
    ]
    told = {message["tool_call_id"]: message["content"] for message in result.messages if message["role"] == "tool"}
    assert "- n: Expected integer" in told["invalid"]
    assert "Available tools: add" in told["unknown"]
    assert told["raises"] == "broken"
    assert result.text == "Sorry."


async def test_parallel_calls_run_together_and_answer_in_call_order():
    running, most = 0, 0

    async def execute(input: dict[str, Any]) -> dict[str, Any]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01 * (3 - input["n"]))
        running -= 1
        return input

    calls = [ScriptedCall("add", {"n": n}) for n in range(3)]
    result = await Agent(ScriptedModel(calls, "Done."), [add(execute)]).generate("?")
    assert (most, [r.output["n"] for r in result.results]) == (3, [0, 1, 2])
    most = 0
    await Agent(ScriptedModel(calls, "Done."), [add(execute)], concurrency=1).generate("?")
    assert most == 1


async def test_on_step_is_told_of_each_step_and_cannot_break_the_turn(caplog):
    steps: list[Any] = []

    async def on_step(step: Any) -> None:
        steps.append((step.number, step.text, [result.output for result in step.results], len(step.messages)))
        raise RuntimeError("no")

    model = ScriptedModel(ScriptedCall("add", {"n": 1}), "Done.")
    result = await Agent(model, [add()], on_step=on_step).generate("?")
    assert steps == [(1, "", [{"n": 2}], 2), (2, "Done.", [], 1)]
    assert result.text == "Done."
    assert "on_step of the agent 'agent' raised" in caplog.text


async def test_bodies_hooks_and_approval_see_whose_conversation_it_is():
    seen: list[Any] = []

    def execute(input: dict[str, Any], context: Any) -> int:
        agent = context.agent
        seen.append((agent.agent_id, agent.thread_id, agent.resource_id, agent.messages, context.request_context["t"]))
        return 1

    hooked: list[Any] = []
    tool = add(execute, on_input_available=lambda event: hooked.append(event.messages))
    asked: list[Any] = []
    agent = Agent(
        ScriptedModel(ScriptedCall("add", {"n": 1}), "Done."),
        [tool],
        id="adder",
        require_approval=lambda request: bool(asked.append((request.tool_name, request.input))),
    )
    messages = [{"role": "user", "content": "?"}]
    await agent.generate(messages, thread_id="t", resource_id="r", request_context={"t": "pro"})
    assert seen == [("adder", "t", "r", messages, "pro")]
    assert hooked == [messages]
    assert asked == [("add", {"n": 1})]


async def test_ids_that_the_service_put_into_the_request_context_win():
    seen: list[Any] = []

    def execute(input: dict[str, Any], context: Any) -> int:
        seen.append((context.agent.thread_id, context.agent.resource_id))
        return 1

    for context in ({RequestContext.THREAD_ID: "t1", RequestContext.RESOURCE_ID: "r1"}, RequestContext(), None):
        agent = Agent(ScriptedModel(ScriptedCall("add", {"n": 1}), "Done."), [add(execute)])
        await agent.generate("?", thread_id="client", resource_id="client", request_context=context)
    assert seen == [("t1", "r1"), ("client", "client"), ("client", "client")]


async def test_reject_early_and_transform_policy_reach_the_run():
    agent = Agent(
        ScriptedModel(ScriptedCall("add", pieces=['{"n": 1', "23, ", '"m": 0}']), "Sorry."),
        [add(input_schema={"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}})],
        reject_early=True,
        transform_policy=lambda event: {"hidden": event.phase},
    )
    chunks = await taken(agent.stream("?"))
    assert "tool-input-rejected" in types(chunks)
    shown = [chunk.to_dict()["payload"] for chunk in chunks if chunk.type == "tool-result"]
    assert [payload["result"] for payload in shown] == [{"hidden": "output"}]


async def test_a_deferred_call_is_answered_by_its_task_and_the_turn_goes_on():
    gate = asyncio.Event()

    async def execute(input: dict[str, Any]) -> int:
        await gate.wait()
        return 7

    model = ScriptedModel(ScriptedCall("add", {"n": 1}), "It is being worked on.")
    tool = add(execute, background={"enabled": True})
    agent = Agent(model, [tool], engine=LocalEngine(), instructions="Be nice.")
    turn = agent.stream("?")
    chunks = await taken(turn)
    gate.set()
    assert "background-task-started" in types(chunks)
    assert turn.result.text == "It is being worked on."
    assert "_background" in model.tools_sent[0]["schema"]["properties"]
    assert [len(request.instructions) for request in model.requests] == [2, 2]


async def test_a_timeout_reaches_the_bodies():
    async def execute(input: dict[str, Any]) -> None:
        await asyncio.sleep(30)

    agent = Agent(ScriptedModel(ScriptedCall("add", {"n": 1}), "Late."), [add(execute)], timeout=0.01)
    result = await agent.generate("?")
    assert type(result.results[0].error).__name__ == "ToolTimeoutError"


async def test_the_display_view_and_the_ui_stream_of_a_turn_hide_what_a_transform_hides():
    tool = add(transform={"display": {"input": lambda event: {"n": "some"}}})
    chunks = await taken(Agent(ScriptedModel(ScriptedCall("add", {"n": 4321}), "Done."), [tool]).stream("?"))
    assert "4321" not in str([chunk.to_dict() for chunk in chunks])
    assert "4321" in str([chunk.to_dict(view="raw") for chunk in chunks])
    agent = Agent(ScriptedModel(ScriptedCall("add", {"n": 4321}), "Done."), [tool])
    parts = [part async for part in ui_stream(agent.stream("?"))]
    kinds = [part["type"] for part in parts]
    assert (kinds[0], kinds[-1], kinds.count("start"), kinds.count("finish")) == ("start", "finish", 1, 1)
    assert kinds.count("start-step") == 2
    assert "4321" not in str(parts)


# ---------------------------------------------------------------------------------------------------- broken off


async def test_an_abort_in_the_middle_of_a_response_closes_it_and_ends_the_turn():
    controller, closed = AbortController(), []

    class Endless(ScriptedModel):
        async def respond(self, request):
            try:
                async for event in super().respond(request):
                    yield event
                    controller.abort("enough")
                    await asyncio.sleep(30)
            finally:
                closed.append(True)

    turn = Agent(Endless(ScriptedCall("add", {"n": 1})), [add()]).stream("?", abort_signal=controller.signal)
    chunks = await asyncio.wait_for(taken(turn), 5)
    assert types(chunks)[-3:] == ["step-finish", "abort", "finish"]
    assert [part["type"] for chunk in chunks[-2:] for part in parts_of(chunk)] == ["abort"]
    assert closed == [True]
    assert turn.result.finish_reason == "abort"
    assert [type(result.error).__name__ for result in turn.result.results] == ["ToolAbortedError"]
    assert [message["role"] for message in turn.result.messages] == ["assistant", "tool"]


async def test_an_abort_while_a_body_runs_ends_the_turn_with_its_result():
    controller = AbortController()

    async def execute(input: dict[str, Any]) -> None:
        controller.abort()
        await asyncio.sleep(30)

    model = ScriptedModel(ScriptedCall("add", {"n": 1}), "never")
    agent = Agent(model, [add(execute, grace=0.01)])
    result = await asyncio.wait_for(agent.generate("?", abort_signal=controller.signal), 5)
    assert (result.finish_reason, len(model.requests)) == ("abort", 1)
    assert len(result.results) == 1


async def test_an_aborted_turn_does_not_ask_the_model():
    controller = AbortController()
    controller.abort()
    model = ScriptedModel("never")
    turn = Agent(model).stream("?", abort_signal=controller.signal)
    assert types(await taken(turn)) == ["start", "abort", "finish"]
    assert model.requests == []


async def test_what_the_model_raises_is_raised():
    turn = Agent(ScriptedModel(ConnectionError("down"))).stream("?")
    with pytest.raises(RuntimeError, match="not come to its end"):
        _ = turn.result
    with pytest.raises(ConnectionError, match="down"):
        await taken(turn)
    assert (turn.result.finish_reason, turn.result.messages) == ("error", [])


async def test_what_the_calls_of_a_broken_response_did_is_not_lost():
    class Breaks(ScriptedModel):
        async def respond(self, request):
            async for event in super().respond(request):
                yield event
            raise ConnectionError("down")

    calls = [ScriptedCall("add", {"n": 1}), ScriptedCall("add", {"n": 2})]
    model = Breaks(calls)
    agent = Agent(model, [add()])
    turn = agent.stream("?")
    with pytest.raises(ConnectionError, match="down"):
        await taken(turn)
    assert [result.output for result in turn.result.results] == [{"n": 2}, {"n": 3}]
    assert [message["role"] for message in turn.result.messages] == ["assistant", "tool", "tool"]
    assert agent._store._runs == {}


async def test_a_model_that_cannot_even_be_asked_repeats_no_earlier_step():
    class Fails(ScriptedModel):
        def respond(self, request):
            if self.requests:
                raise ConnectionError("down")
            return super().respond(request)

    turn = Agent(Fails(ScriptedCall("add", {"n": 1})), [add()]).stream("?")
    with pytest.raises(ConnectionError):
        await taken(turn)
    assert [message["role"] for message in turn.result.messages] == ["assistant", "tool"]


async def test_cancelling_who_awaits_a_turn_stops_its_bodies():
    stopped = asyncio.Event()

    async def execute(input: dict[str, Any]) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            stopped.set()

    agent = Agent(ScriptedModel(ScriptedCall("add", {"n": 1})), [add(execute, grace=0.01)])
    task = asyncio.ensure_future(agent.generate("?"))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(stopped.wait(), 5)
    assert len(asyncio.all_tasks()) == 1
    assert agent._store._runs == {}


async def test_any_object_of_the_form_is_a_model_of_its_provider():
    class Echo:
        provider = "anthropic"

        def __init__(self):
            self.asked: list[Any] = []

        def definitions(self, toolset, *, schema=None):
            return toolset.definitions("anthropic", schema=schema)

        def user_message(self, text):
            return {"role": "user", "content": text}

        async def respond(self, request):
            self.asked.append(request)
            block = {"type": "tool_use", "id": "u1", "name": "add", "input": {"n": 1}}
            if len(self.asked) > 1:
                block = {"type": "text", "text": "Done."}
            yield {"type": "message", "content": [block], "stop_reason": "end_turn"}

    model = Echo()
    result = await Agent(model, [add()]).generate("?")
    assert (result.text, len(model.asked)) == ("Done.", 2)
    assert result.messages[1]["content"][0]["tool_use_id"] == "u1"
    assert model.asked[0].tools[0]["input_schema"] == NUMBER


async def test_a_reader_that_goes_away_stops_the_bodies():
    stopped = asyncio.Event()

    async def execute(input: dict[str, Any]) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            stopped.set()

    agent = Agent(ScriptedModel(ScriptedCall("add", {"n": 1})), [add(execute, grace=0.01)])
    turn = agent.stream("?")
    async for chunk in turn:
        if chunk.type == "tool-call":
            await asyncio.sleep(0.01)
            break
    await turn.aclose()
    await asyncio.wait_for(stopped.wait(), 5)
    assert len(asyncio.all_tasks()) == 1


async def test_turns_leave_nothing_behind_in_the_agent():
    agent = Agent(ScriptedModel(ScriptedCall("add", {"n": 1}), "Done.", ConnectionError()), [add()])
    await agent.generate("?")
    with pytest.raises(ConnectionError):
        await agent.generate("?")
    assert agent._store._runs == {}


# ------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_steps": 0}, "max_steps"),
        ({"max_steps": True}, "max_steps"),
        ({"instructions": 1}, "instructions"),
        ({"id": None}, "id"),
        ({"on_step": 1}, "on_step"),
        ({"concurrency": 0}, "concurrency"),
        ({"store": object()}, "store"),
    ],
)
def test_wrong_options_are_refused_by_name(options, named):
    with pytest.raises((TypeError, ValueError), match=f"^{named}: expected"):
        Agent(ScriptedModel(), **options)


def test_a_model_is_a_model():
    with pytest.raises(TypeError, match="^model: expected a Model such as OpenAIChat"):
        Agent("gpt")


@pytest.mark.parametrize("messages", [None, {"role": "user"}, b"?"])
def test_messages_are_a_text_or_a_list(messages):
    with pytest.raises(TypeError, match="^messages: expected a text or a list"):
        Agent(ScriptedModel()).stream(messages)


def test_a_turn_has_a_readable_repr():
    turn = Agent(ScriptedModel("Hi")).stream("?", run_id="r")
    assert repr(turn) == "AgentTurn('r', new)"


@pytest.mark.parametrize("streams", [True, False])
async def test_a_response_that_says_it_failed_ends_the_turn_with_what_it_said(streams: bool):
    calls = [{"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a": 1'}}]
    broken = {"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}
    error = {"error": {"message": "boom"}}
    model = ScriptedModel([broken, error] if streams else error, "never")
    turn = Agent(model, [add()]).stream("hi")
    if streams:
        told = [chunk async for chunk in turn]
        assert [chunk.type for chunk in told if chunk.type in ("error", "tool-result")] == ["error", "tool-result"]
        assert (told[-1].type, told[-1].reason) == ("finish", "error")
    result = await turn
    assert (result.finish_reason, result.error, len(model.requests)) == ("error", "boom", 1)
    assert [message["role"] for message in result.messages] == (["assistant", "tool"] if streams else [])
    assert ["cut off" in str(call.error) for call in result.results] == ([True] if streams else [])
