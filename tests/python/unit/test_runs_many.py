"""Thousands of calls that succeed, fail, wait, are declined, aborted or abandoned: one result each, nothing left."""

import asyncio
import gc
import json
import random
import threading
from typing import Any

from toolhead import AbortController, ToolRunner, create_tool

SCHEMA = {"type": "object", "properties": {"do": {"type": "string"}}, "required": ["do"]}
DEEDS = ("return", "raise", "sleep", "suspend", "thread", "invalid", "cut", "unknown", "ask")
RUNS = 400


async def deed(input: dict[str, Any], context: Any) -> Any:
    match input["do"]:
        case "raise":
            raise LookupError("gone")
        case "sleep":
            await asyncio.sleep(0.001)
        case "suspend" if context.resume_data is None:
            context.suspend({"why": 1})
    return {"did": input["do"]}


def thread(input: dict[str, Any]) -> str:
    return f"in a thread: {input['do']}"


TOOLS = {
    "act": create_tool(
        id="act",
        description="Acts",
        input_schema=SCHEMA,
        execute=deed,
        require_approval=lambda given, _: given["do"] == "ask",
    ),
    "thread": create_tool(id="thread", description="Acts in a thread", input_schema=SCHEMA, execute=thread),
}


def response(deeds: list[str]) -> list[dict[str, Any]]:
    """The calls as one streamed completion, in pieces."""
    events = []
    for index, name in enumerate(deeds):
        text = json.dumps({"do": 1 if name == "invalid" else name})
        text = text[:-3] if name == "cut" else text
        tool = {"thread": "thread", "unknown": "nobody"}.get(name, "act")
        for at in range(0, len(text), 6):
            function = {"arguments": text[at : at + 6], **({"name": tool} if at == 0 else {})}
            delta = {"tool_calls": [{"index": index, "id": f"c{index}", "function": function}]}
            events.append({"choices": [{"index": 0, "delta": delta}]})
    return [*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


async def one(runner: ToolRunner, chance: random.Random) -> tuple[int, int]:
    deeds = chance.choices(DEEDS, k=chance.randrange(1, 7))
    controller = AbortController()
    run = runner.run(abort_signal=controller.signal)
    leave_at = chance.choice([None] * 6 + ["leave", "abort"])
    step = run.step(response(deeds), provider="openai-chat")
    seen = 0
    async for _ in step:
        seen += 1
        if leave_at is not None and seen > 12:
            if leave_at == "leave":
                break
            controller.abort("enough")
            leave_at = None
    await step.aclose()
    while run.pending:
        call = chance.choice(run.pending)
        if call.kind == "suspended":
            answer = run.resume(call.tool_call_id, {"ok": True})
        elif chance.random() < 0.5:
            answer = run.approve(call.tool_call_id)
        else:
            answer = run.decline(call.tool_call_id, "no")
        async for _ in answer:
            pass
    answers = [message for message in run.messages() if message["role"] == "tool"]
    assistant = run.messages()[0].get("tool_calls", [])
    assert [answer["tool_call_id"] for answer in answers] == [call["id"] for call in assistant]
    return len(assistant), len(run.results)


async def test_every_call_has_exactly_one_result_and_nothing_is_left():
    runner = ToolRunner(TOOLS, concurrency=3)
    await one(runner, random.Random(0))  # the pool's threads are started by whoever comes first
    tasks, before = asyncio.all_tasks(), threading.active_count()
    counts = []
    for start in range(0, RUNS, 20):
        chances = [random.Random(start + number) for number in range(20)]
        counts += await asyncio.gather(*(one(runner, chance) for chance in chances))
    assert all(calls == results for calls, results in counts)
    assert sum(calls for calls, _ in counts) > RUNS * 2
    assert asyncio.all_tasks() == tasks
    assert threading.active_count() <= max(before, 40)
    gc.collect()
    alive = sum(type(thing).__name__ == "LiveCall" for thing in gc.get_objects())
    assert alive == 0
