"""What the tests of single cases share: a tool from a case's `setup`, with a body that notes what it is given."""

import inspect
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from toolhead import create_tool

FROM_SETUP = (
    "input_schema",
    "output_schema",
    "suspend_schema",
    "resume_schema",
    "request_context_schema",
    "require_approval",
)


def tool_of(case: dict[str, Any], execute: Callable[..., Any] | None = None, **options: Any) -> tuple[Any, list[Any]]:
    """A tool with the options of a case's setup, and the list of the inputs of its body, which does as `execute`."""
    seen: list[Any] = []

    async def body(input: Any, context: Any) -> Any:
        seen.append(input)
        done = None if execute is None else execute(input, context)
        return await done if inspect.isawaitable(done) else done

    given = {name: value for name, value in case.get("setup", {}).items() if name in FROM_SETUP}
    return create_tool(**{"id": "t", "description": "d", "execute": body, **given, **options}), seen


# ---------------------------------------------------------------------- a model that speaks openai-chat


def piece(
    index: int | None = None, text: str = "", *, id: str | None = None, name: str | None = None
) -> dict[str, Any]:
    """One event with a piece of a call."""
    function = {"arguments": text, **({} if name is None else {"name": name})}
    entry = {"function": function, **({} if index is None else {"index": index}), **({} if id is None else {"id": id})}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]}


def call(index: int, args: Any, *, name: str = "t") -> dict[str, Any]:
    """A whole call in one event, with the id `c<index>`; `args` as data or as text."""
    return piece(index, args if isinstance(args, str) else json.dumps(args), id=f"c{index}", name=name)


def end(reason: str = "tool_calls") -> dict[str, Any]:
    """The event that ends the response."""
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


async def taken(chunks: AsyncIterator[Any]) -> list[Any]:
    """All chunks of a step or an answer."""
    return [chunk async for chunk in chunks]


async def step(run: Any, *events: Any, provider: Any = "openai-chat") -> list[Any]:
    """One response of the model, read to its end."""
    return await taken(run.step(list(events), provider=provider))
