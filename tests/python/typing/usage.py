"""What the types of the public interface promise, stated with `assert_type` and checked by mypy and pyright.

A line that must not type-check carries an ignore; both checkers report an ignore that is not needed.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, assert_type

import msgspec

from toolhead import (
    Agent,
    AgentResult,
    AgentTurn,
    Anthropic,
    BackgroundManager,
    BackgroundTask,
    Engine,
    Gemini,
    InputStream,
    Issue,
    LocalEngine,
    OpenAIChat,
    OpenAIResponses,
    Tool,
    ToolExecutionContext,
    ToolRunner,
    ValidationError,
    Validator,
    create_tool,
    tool,
)
from toolhead.testing import ScriptedCall, ScriptedModel, assert_valid_tool, fake_context, record_hooks


class Place(msgspec.Struct):
    name: str


@dataclass
class Weather:
    sky: str


async def look(input: Place, context: ToolExecutionContext) -> Weather:
    return Weather(input.name)


async def suspends(input: Place, context: ToolExecutionContext) -> Weather:
    if input.name:
        context.suspend({"why": input.name})
    assert context.agent is not None
    return await context.agent.suspend({"why": "both forms end the body"}, resume_label="x")


def look_now(input: Place) -> Weather:
    return Weather(input.name)


async def untyped(input: dict[str, Any]) -> Any:
    return input


typed = create_tool(id="a", description="d", input_schema=Place, output_schema=Weather, execute=look)
assert_type(typed, Tool[Place, Weather])
by_thread = create_tool(id="b", description="d", input_schema=Place, output_schema=Weather, execute=look_now)
assert_type(by_thread, Tool[Place, Weather])
raw = create_tool(id="c", description="d", input_schema={"type": "object"}, execute=untyped)


@tool
async def decorated(city: str, days: int = 1) -> Weather:
    """Look."""
    return Weather(f"{city} {days}")


async def calls() -> None:
    outcome = await typed.execute({"name": "x"})
    assert_type(outcome, Weather | ValidationError)
    if isinstance(outcome, ValidationError):
        assert_type(outcome.issues, tuple[Issue, ...])
    else:
        assert_type(outcome, Weather)
    assert_type(await typed.execute_or_raise({"name": "x"}), Weather)
    assert_type(await typed.execute_json("{}"), Weather | ValidationError)
    assert_type(typed.execute_sync({"name": "x"}), Weather | ValidationError)
    assert_type(typed.validate_input({"name": "x"}), Place)
    # The decorated function keeps its signature.
    assert_type(decorated("x", days=2), Awaitable[Weather])
    decorated(1)  # type: ignore[arg-type]


async def background() -> None:
    engine: Engine = LocalEngine()
    manager = BackgroundManager(engine, backpressure="reject", on_failed=lambda task: print(task.status))
    task = await manager.start(typed, Place("x"))
    assert_type(task, BackgroundTask[Weather])
    assert_type(await task.result(), Weather)
    ToolRunner([typed], engine=manager)
    ToolRunner([typed], engine=LocalEngine())
    ToolRunner([typed], engine=5)  # type: ignore[arg-type]
    BackgroundManager(backpressure="drop")  # type: ignore[arg-type]


def core() -> None:
    validator = Validator({"type": "object"}, dialect="draft7")
    assert_type(validator.is_valid(object()), bool)
    assert_type(validator.issues(object()), list[Issue])
    assert_type(validator.stream(), InputStream)
    Validator(5)  # type: ignore[arg-type]


async def agents(client: Any) -> None:
    agent = Agent(ScriptedModel(ScriptedCall("typed", {"name": "x"}), "Done."), [typed], max_steps=3)
    for model in (OpenAIChat, OpenAIResponses, Anthropic, Gemini):
        Agent(model(client, "name", temperature=0), {"typed": typed})
    assert_type(await agent.generate("?"), AgentResult)
    turn = agent.stream([{"role": "user", "content": "?"}], request_context={"user": "ada"})
    assert_type(turn, AgentTurn)
    async for chunk in turn:
        assert_type(chunk.to_dict(), dict[str, Any])
    assert_type(turn.result, AgentResult)
    assert_type(await agent.approve_tool_call(turn.run_id), AgentResult)
    assert_type(await agent.resume(turn.run_id, {"n": 1}), AgentResult)
    Agent("gpt")  # type: ignore[arg-type]


async def testing() -> None:
    assert_type(await typed.execute({"name": "x"}, fake_context(tool_call_id="c")), Weather | ValidationError)
    assert_valid_tool(record_hooks().watch(typed), providers=["anthropic"])
