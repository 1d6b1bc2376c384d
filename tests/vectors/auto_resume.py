"""A suspended call that the user's next message resumes: two turns of one thread."""

import json
from typing import Any

from toolhead import Agent, create_tool
from toolhead.testing import ScriptedCall, ScriptedModel
from vectors.marks import decode
from vectors.told import told_chunk


async def auto_resume_facts(vector: dict[str, Any]) -> dict[str, Any]:
    """What hooks and body saw, and the second turn's chunks about its call."""
    trace: list[Any] = []
    given = vector["input"]
    suspends = vector["execute_does"][0]["then"][0]

    def execute(input: Any, context: Any) -> Any:
        seen = {"resume": context.resume_data, "suspend_payload": context.suspend_payload}
        trace.append({"execute": input, **seen})
        if context.resume_data is None:
            context.suspend(decode(suspends["payload"]))
        return {"ok": context.resume_data["v"]}

    tool = create_tool(
        id=vector["tool"]["id"],
        description="d",
        execute=execute,
        on_input_available=lambda event: trace.append({"onInputAvailable": event.input}),
        **{f"{role}_schema": schema for role, schema in vector["schema"].items()},
    )
    (again,) = given["second_turn"]
    model = ScriptedModel(
        ScriptedCall(tool.id, given["first_call"], id="c1"),
        ScriptedCall(again["toolName"], again["input"], id=again["toolCallId"]),
        "done",
    )
    agent = Agent(model, [tool], **given["option"])
    await agent.generate("hi", thread_id="t1", resource_id="r1")
    trace.append("--- second user message")
    turn = agent.stream("go on", thread_id="t1", resource_id="r1")
    chunks = [chunk async for chunk in turn]
    schema = model.requests[1].tools[0]["schema"]
    return {
        "trace": trace,
        "second_chunks": [told_chunk(chunk) for chunk in chunks if chunk.type.startswith("tool-")],
        "advertised_schema": json.loads(json.dumps(schema)),
        "system_messages": len(model.requests[1].instructions),
    }
