"""Odd return values: the chunk that tells them, and what the model is given."""

from typing import Any

from toolhead import ToolRunner, create_tool
from vectors.marks import decode
from vectors.ui import response

ANSWER = [
    {"choices": [{"index": 0, "delta": {"content": "done"}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]


async def result_facts(vector: dict[str, Any]) -> dict[str, Any]:
    """The facts of one call by a model that says "done" when it has the result."""
    tool = create_tool(id=vector["tool"]["id"], description="d", execute=lambda _: decode(vector["execute_returns"]))
    run = ToolRunner([tool]).run()
    turns = [response([{"id": "c1", "name": tool.id, "input": vector["input"]}]), ANSWER]
    facts: dict[str, Any] = {"model_calls": 0}
    for turn in turns:
        facts["model_calls"] += 1
        told = [chunk.to_dict() async for chunk in run.step(turn, provider="openai-chat")]
        if not run.results:
            break
        (facts["chunk"],) = [chunk for chunk in told if chunk["type"] == "tool-result"]
        del facts["chunk"]["runId"]
        facts["model_output"] = run.results[0].answer
    return facts
