"""Every option of `create_tool` changes what somebody sees: a row for each, seen with the option and without it."""

import asyncio
import json
import threading
import time
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from toolhead import (
    Limits,
    ToolDefinitionWarning,
    ToolRunner,
    ToolSet,
    ToolTimeoutError,
    ValidationError,
    create_tool,
)
from toolhead.tool_options import DEFAULTS

Make = Callable[..., Any]

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
OPTIONAL = {"type": "object", "properties": {"n": {"type": "integer"}}}
MAIL = {"type": "object", "properties": {"mail": {"type": "string", "format": "email"}}}
REMOTE = {"type": "object", "properties": {"n": {"$ref": "https://example.test/n"}}}
SIBLINGS = {
    "type": "object",
    "properties": {"n": {"$ref": "#/definitions/n", "maximum": 1}},
    "definitions": {"n": {"type": "integer"}},
}


async def outcome(call: Awaitable[Any]) -> str:
    """What a direct call came to: `ok`, the phase of a refusal, or the name of what it raised."""
    try:
        result = await call
    except Exception as error:  # its name is the answer
        return type(error).__name__
    return str(result.phase) if isinstance(result, ValidationError) else "ok"


async def run_of(tool: Any, args: Any = None) -> tuple[Any, list[Any]]:
    function = {"name": "t", "arguments": json.dumps({} if args is None else args)}
    call = {"delta": {"tool_calls": [{"index": 0, "id": "c", "function": function}]}, "finish_reason": "tool_calls"}
    run = ToolRunner({"t": tool}).run()
    return run, [chunk async for chunk in run.step([{"choices": [call]}], provider="openai-chat")]


def definition(tool: Any, provider: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToolDefinitionWarning)
        return ToolSet([tool]).definitions(provider)[0]


# ------------------------------------------------------------------------------------------------ what is seen


async def by_title(make: Make) -> Any:
    _, chunks = await run_of(make())
    return next(chunk.title for chunk in chunks if chunk.type == "tool-call-input-streaming-start")


async def by_input_schema(make: Make) -> Any:
    return await outcome(make().execute({"n": "x"}))


async def by_output_schema(make: Make) -> Any:
    return await outcome(make(execute=lambda _: {"n": "x"}).execute({}))


async def by_suspend_schema(make: Make) -> Any:
    return await outcome(make(execute=lambda _, context: context.suspend({"n": "x"})).execute({}))


async def by_resume_schema(make: Make) -> Any:
    return await outcome(make().execute({}, {"resume_data": {"n": "x"}}))


async def by_request_context_schema(make: Make) -> Any:
    return await outcome(make().execute({}, {"request_context": {"n": "x"}}))


async def by_execute(make: Make) -> Any:
    return await outcome(make().execute({}))


async def by_strict(make: Make) -> Any:
    return definition(make(input_schema=NUMBER), "openai-chat")["function"].get("strict")


async def by_require_approval(make: Make) -> Any:
    run, _ = await run_of(make())
    return [pending.kind for pending in run.pending]


async def by_to_model_output(make: Make) -> Any:
    run, _ = await run_of(make())
    return run.messages()[1]["content"]


async def by_transform(make: Make) -> Any:
    _, chunks = await run_of(make(), {"secret": 1})
    return any("secret" in json.dumps(chunk.to_dict()) for chunk in chunks)


async def by_mcp(make: Make) -> Any:
    return definition(make(), "mcp").get("annotations")


async def by_provider_options(make: Make) -> Any:
    return definition(make(), "anthropic").get("cache_control")


async def by_input_examples(make: Make) -> Any:
    return definition(make(), "anthropic").get("input_examples")


SEEN: list[str] = []


def hook(event: Any) -> None:
    SEEN.append(type(event).__name__)


def hooked(execute: Any) -> Callable[[Make], Awaitable[Any]]:
    async def by_hook(make: Make) -> Any:
        SEEN.clear()
        await run_of(make(execute=execute))
        return list(SEEN)

    return by_hook


def raises(_: Any) -> None:
    raise RuntimeError


async def by_repair_input(make: Make) -> Any:
    return await outcome(make(input_schema=OPTIONAL).execute({"n": None}))


async def by_run_sync_in(make: Make) -> Any:
    return await make(execute=lambda _: threading.get_ident() == MAIN).execute({})


MAIN = threading.get_ident()


async def by_timeout(make: Make) -> Any:
    return await outcome(make(execute=sleeps(0.1)).execute({}))


async def by_grace(make: Make) -> Any:
    async def stays(_: Any) -> None:
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(0.3)

    tool, began = make(execute=stays, timeout=0.01), time.perf_counter()
    with pytest.raises(ToolTimeoutError):
        await tool.execute({})
    waited = time.perf_counter() - began
    await asyncio.sleep(max(0.0, 0.35 - waited))
    return waited < 0.25


def sleeps(seconds: float) -> Callable[[Any], Awaitable[None]]:
    async def execute(_: Any) -> None:
        await asyncio.sleep(seconds)

    return execute


async def by_dialect(make: Make) -> Any:
    return await outcome(make(input_schema=SIBLINGS).execute({"n": 5}))


async def by_registry(make: Make) -> Any:
    try:
        tool = make(input_schema=REMOTE)
    except ValueError as error:
        return type(error).__name__
    return await outcome(tool.execute({"n": "x"}))


async def by_formats(make: Make) -> Any:
    return await outcome(make(input_schema=MAIL).execute({"mail": "no"}))


async def by_limits(make: Make) -> Any:
    return await outcome(make(input_schema=True).execute({"a": {"b": {"c": {}}}}))


async def message(make: Make) -> Any:
    error = await make(input_schema=NUMBER).execute({"n": "x", "pin": "4711"})
    return ("4711" in error.message, "Provided arguments" in error.message)


class Row(NamedTuple):
    """A value of an option, how it is seen, and what is seen then."""

    value: Any
    see: Callable[[Make], Awaitable[Any]]
    seen: Any


def answers(_: Any) -> str:
    return "fine"


ROWS: dict[str, Row] = {
    "title": Row("A title", by_title, "A title"),
    "input_schema": Row(NUMBER, by_input_schema, "input"),
    "output_schema": Row(NUMBER, by_output_schema, "output"),
    "suspend_schema": Row(NUMBER, by_suspend_schema, "suspend"),
    "resume_schema": Row(NUMBER, by_resume_schema, "resume"),
    "request_context_schema": Row(NUMBER, by_request_context_schema, "request_context"),
    "execute": Row(answers, by_execute, "ok"),
    "strict": Row(True, by_strict, True),
    "require_approval": Row(True, by_require_approval, ["approval"]),
    "to_model_output": Row(lambda _: {"type": "text", "value": "short"}, by_to_model_output, "short"),
    "transform": Row({"display": {}}, by_transform, False),
    "mcp": Row({"annotations": {"readOnlyHint": True}}, by_mcp, {"readOnlyHint": True}),
    "provider_options": Row(
        {"anthropic": {"cache_control": {"type": "ephemeral"}}}, by_provider_options, {"type": "ephemeral"}
    ),
    "input_examples": Row([{"n": 1}], by_input_examples, [{"n": 1}]),
    "on_input_start": Row(hook, hooked(answers), ["InputStartEvent"]),
    "on_input_delta": Row(hook, hooked(answers), ["InputDeltaEvent"]),
    "on_input_available": Row(hook, hooked(answers), ["InputAvailableEvent"]),
    "on_output": Row(hook, hooked(answers), ["OutputEvent"]),
    "on_error": Row(hook, hooked(raises), ["ErrorEvent"]),
    "on_suspend": Row(hook, hooked(lambda _, context: context.suspend()), ["SuspendEvent"]),
    "repair_input": Row(False, by_repair_input, "input"),
    "run_sync_in": Row("inline", by_run_sync_in, True),
    "timeout": Row(0.01, by_timeout, "ToolTimeoutError"),
    "grace": Row(0.02, by_grace, True),
    "dialect": Row("draft7", by_dialect, "ok"),
    "registry": Row({"https://example.test/n": {"type": "integer"}}, by_registry, "input"),
    "formats": Row(False, by_formats, "ok"),
    "limits": Row(Limits(depth=2), by_limits, "input"),
    "redact": Row(["pin"], message, (False, True)),
    "show_data": Row(False, message, (False, False)),
}


def test_every_option_has_a_row() -> None:
    # `background` is about an engine: it is seen where the engine is tested.
    assert ROWS.keys() == DEFAULTS.keys() - {"background"}


@pytest.mark.parametrize("option", ROWS)
async def test_an_option_is_not_ignored(option: str) -> None:
    row = ROWS[option]

    def make(given: dict[str, Any]) -> Make:
        body = {} if option == "execute" else {"execute": answers}
        return lambda **more: create_tool(**{"id": "t", "description": "d", **body, **more, **given})

    assert await row.see(make({option: row.value})) == row.seen
    assert await row.see(make({})) != row.seen
