"""A slow call goes on in the background while the model answers, and the model reads its result later."""

import asyncio

from toolhead import BackgroundManager, BackgroundTask, Run, ToolRunner, create_tool

CALL = {
    "type": "message",
    "content": [{"type": "tool_use", "id": "call_1", "name": "render", "input": {"scene": "harbour"}}],
    "stop_reason": "tool_use",
}
ANSWER = {"type": "message", "content": [{"type": "text", "text": "I have started it."}], "stop_reason": "end_turn"}
attempts = []


async def render(input: dict) -> dict:
    """Fails the first time, as such work does."""
    attempts.append(input["scene"])
    await asyncio.sleep(0.05)
    if len(attempts) == 1:
        raise ConnectionError("the render farm did not answer")
    return {"file": f"{input['scene']}.png"}


def completed(task: BackgroundTask) -> None:
    """Told once, wherever the run is by then."""
    print("completed after", len(attempts), "attempts:", task.output)


tool = create_tool(
    id="render",
    description="Render a scene",
    input_schema={"type": "object", "properties": {"scene": {"type": "string"}}, "required": ["scene"]},
    execute=render,
    background={"enabled": True, "max_retries": 2, "retry_delay": 0.01, "on_complete": completed},
)


async def tell(run: Run, response: dict) -> None:
    """One turn of the model."""
    async for chunk in run.step(response, provider="anthropic"):
        if chunk.type in ("background-task-started", "tool-result", "text-delta"):
            print(chunk.to_dict()["payload"])


async def main() -> None:
    """Two turns, then the result."""
    runner = ToolRunner([tool], engine=BackgroundManager())
    print(runner.instructions)
    run = runner.run(run_id="run-1")
    await tell(run, CALL)
    await tell(run, ANSWER)
    async for chunk in run.until_idle():
        print(chunk.type)
    print(run.messages(every_step=True)[1])


asyncio.run(main())
