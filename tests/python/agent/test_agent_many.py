"""Many turns at once, with everything that may happen to them: each call has one result, and nothing is left."""

import asyncio
import gc
import random
from collections import Counter
from typing import Any

from toolhead import AbortController, Agent, MemoryStore, create_tool
from toolhead.testing import ScriptedCall, ScriptedModel

TURNS = 300
KINDS = ("works", "raises", "invalid", "unknown", "cut", "slow", "asks", "suspends")


async def execute(given: Any, context: Any) -> Any:
    kind = given["kind"]
    if kind == "raises":
        raise RuntimeError("no")
    if kind == "slow":
        await asyncio.sleep(0.002)
    if kind == "suspends" and context.resume_data is None:
        context.suspend("which?")
    return kind


TOOL = create_tool(
    id="t",
    description="d",
    input_schema={"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]},
    execute=execute,
    require_approval=lambda given, context: given["kind"] == "asks",
    grace=0.01,
)


def scripted(kind: str) -> ScriptedCall:
    if kind == "invalid":
        return ScriptedCall("t", {"kind": 1})
    if kind == "cut":
        return ScriptedCall("t", '{"kind": "wor')
    return ScriptedCall("unknown" if kind == "unknown" else "t", {"kind": kind})


async def turn(chance: random.Random, store: MemoryStore) -> Counter[str]:
    """One turn to its end, whatever it takes; how its results are."""
    sizes = [chance.randint(1, 4) for _ in range(chance.randint(1, 3))]
    steps = [[scripted(chance.choice(KINDS)) for _ in range(size)] for size in sizes]
    model = ScriptedModel(*steps, "Done.")
    agent = Agent(model, [TOOL], store=store, concurrency=chance.choice((1, 10)))
    controller = AbortController()
    aborts = chance.random() < 0.2
    if aborts:
        asyncio.get_running_loop().call_later(chance.random() * 0.004, controller.abort)
    first = agent.stream("?", abort_signal=controller.signal)
    result = await first
    while result.pending:
        call = chance.choice(result.pending)
        if call.kind == "suspended":
            answer = agent.resume(result.run_id, 1, call.tool_call_id)
        elif chance.random() < 0.5:
            answer = agent.approve_tool_call(result.run_id, call.tool_call_id)
        else:
            answer = agent.decline_tool_call(result.run_id, call.tool_call_id)
        result = await answer
    calls = [call["id"] for message in result.messages for call in message.get("tool_calls", ())]
    answers = [message["tool_call_id"] for message in result.messages if message["role"] == "tool"]
    assert calls == answers
    if result.finish_reason != "abort":
        assert (len(calls), result.text) == (sum(map(len, steps)), "Done.")
    run = await agent._runner.load(result.run_id)
    return Counter([result.finish_reason, *(f"{found.status}" for found in run.results)])


async def test_every_call_of_many_turns_has_one_result_and_nothing_is_left():
    chance = random.Random(20260101)
    store = MemoryStore()
    counts: Counter[str] = Counter()
    for _ in range(10):
        made = [turn(random.Random(chance.random()), store) for _ in range(TURNS // 10)]
        for count in await asyncio.gather(*made):
            counts += count
    assert counts["stop"] + counts["abort"] == TURNS
    assert min(counts[name] for name in ("stop", "abort")) > 10, counts
    assert len(asyncio.all_tasks()) == 1
    gc.collect()
    assert not [found for found in gc.get_objects() if type(found).__name__ == "LiveCall"]


def answers(request: Any) -> Any:
    """A model without a script: it calls once, and repeats what it was told."""
    last = request.messages[-1]
    return last["content"] if last["role"] == "tool" else ScriptedCall("who", {"name": last["content"]})


async def test_one_agent_serves_many_turns_at_once_and_none_sees_another():
    async def execute(given: Any, context: Any) -> str:
        await asyncio.sleep(0)
        return f"{given['name']} is {context.request_context['user']} in {context.agent.thread_id}"

    who = create_tool(
        id="who", description="d", execute=execute, require_approval=lambda given, _: "9" in given["name"]
    )
    agent = Agent(ScriptedModel(*[answers] * 400), [who])

    async def talk(number: int) -> str:
        name = f"n{number}"
        result = await agent.generate(name, thread_id=f"t{number}", request_context={"user": f"u{number}"})
        if result.pending:
            result = await agent.approve_tool_call(result.run_id, request_context={"user": f"u{number}"})
        return result.text

    texts = await asyncio.gather(*(talk(number) for number in range(200)))
    assert texts == [f"n{number} is u{number} in t{number}" for number in range(200)]
    assert agent._store._runs == {}
