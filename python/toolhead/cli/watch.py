"""Shows a run while it works: puts hooks and a clock around the tools, and reads the chunks."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any, cast

from toolhead.cli.screen import to_text
from toolhead.errors import ValidationError
from toolhead.runs import chunks
from toolhead.runs.runner import ToolRunner
from toolhead.tool_options import HOOKS, body_shape, is_async_callable

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolhead.cli.recorded import Recorded
    from toolhead.cli.screen import Screen
    from toolhead.providers.registry import Provider
    from toolhead.runs.run import Run
    from toolhead.runs.toolset import AnyTool


async def watch(screen: Screen, recorded: Recorded, tools: dict[str, AnyTool], *, pause: float) -> Run:
    """Plays `recorded` through a runner with `tools` and shows everything that happens."""
    clock: dict[str, float] = {}
    runner = ToolRunner({name: _watched(tool, screen, clock) for name, tool in tools.items()})
    run = runner.run()
    async for chunk in run.step(recorded.play(pause), provider=cast("Provider", recorded.provider)):
        show(screen, run, chunk)
    for call in run.pending:
        screen.fact(call.tool_call_id, "waits", f"for an answer ({call.kind})", "note")
    screen.end()
    return run


def _watched(tool: AnyTool, screen: Screen, clock: dict[str, float]) -> AnyTool:
    """`tool` with its hooks shown, and its body timed."""
    options: dict[str, Any] = {name: _hook(name, getattr(tool, name), screen, clock) for name in HOOKS}
    if tool.function is not None:
        options["execute"] = _timed(tool.function, clock)
    return tool.replace(**options)


def _timed(body: Callable[..., Any], clock: dict[str, float]) -> Callable[[Any, Any], Any]:
    """`body`, asynchronous or not as it is, with the seconds of each call in `clock`."""
    takes_context = body_shape(body)

    def arguments(input: Any, context: Any) -> tuple[Any, ...]:
        return (input, context) if takes_context else (input,)

    def passed(context: Any, began: float) -> None:
        clock[context.tool_call_id] = time.perf_counter() - began

    if is_async_callable(body):

        async def awaited(input: Any, context: Any) -> Any:
            began = time.perf_counter()
            try:
                return await body(*arguments(input, context))
            finally:
                passed(context, began)

        return awaited

    def called(input: Any, context: Any) -> Any:
        began = time.perf_counter()
        try:
            return body(*arguments(input, context))
        finally:
            passed(context, began)

    return called


def _hook(name: str, own: Callable[[Any], Any] | None, screen: Screen, clock: dict[str, float]) -> Callable[[Any], Any]:
    async def hook(event: Any) -> None:
        call_id = event.tool_call_id
        if call_id in clock:
            screen.fact(call_id, "execution", f"the body ran, {_duration(clock.pop(call_id))}")
        screen.hook(call_id, name)
        if name == "on_input_available":
            screen.fact(call_id, "verdict", "valid", "good")
        if own is not None:
            answer = own(event)
            if inspect.isawaitable(answer):
                await answer

    return hook


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.001 else f"{seconds * 1e6:.0f} µs"


def show(screen: Screen, run: Run, chunk: chunks.Chunk) -> None:
    """One chunk."""
    match chunk:
        case chunks.InputStreamingStart(tool_call_id=call_id, tool_name=name, provider_executed=server):
            screen.call(call_id, name, "the provider runs this one" if server else "")
        case chunks.ToolCallDelta(tool_call_id=call_id, value=value):
            screen.arguments(call_id, value)
        case chunks.ToolInputRejected(tool_call_id=call_id, offset=offset, issues=issues):
            for issue in issues:
                text = f"can no longer be valid from byte {offset}: {issue['pointer'] or '/'}: {issue['message']}"
                screen.fact(call_id, "early", text, "bad")
        case chunks.ToolCall(tool_call_id=call_id, args=args):
            # Text that is no JSON: what could be read of it stays.
            screen.arguments(call_id, screen.calls[call_id].value if isinstance(args, str) else args, whole=True)
        case chunks.ToolResult() | chunks.ToolError() | chunks.ToolOutputDenied():
            _result(screen, run, chunk)
        case chunks.ToolOutput(tool_call_id=call_id, output=output):
            screen.fact(call_id, "partial", to_text(output))


def _result(screen: Screen, run: Run, chunk: chunks.CallChunk) -> None:
    call_id = chunk.tool_call_id
    result = next(result for result in run.results if result.tool_call_id == call_id)
    if isinstance(result.error, ValidationError):
        for issue in result.error.issues:
            text = f"{issue.pointer or '/'}: {issue.message}"
            screen.fact(call_id, "verdict", f"{result.error.phase} refused: {text}", "bad")
        screen.fact(call_id, "result", "ValidationError", "bad")
    elif result.error is not None:
        screen.fact(call_id, "result", f"{type(result.error).__name__}: {result.error}", "bad")
    else:
        screen.fact(call_id, "result", to_text(result.output), "good")
    screen.fact(call_id, "model gets", _answer(result.answer))
    payload = chunk.to_dict()["payload"]
    seen = {key: payload[key] for key in ("args", "result", "error") if key in payload}
    screen.fact(call_id, "user sees", to_text(seen))


def _answer(answer: dict[str, Any]) -> str:
    value = answer["value"]
    return value if isinstance(value, str) else to_text(value)
