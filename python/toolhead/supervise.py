"""Running a body where it belongs: in the awaiting task, in a task of its own, or in a thread.

Source: spec/api.md sections 1 (`run_sync_in`, `timeout`, `grace`) and 4 (abort). A body gets a task of its own only
when it has to be stopped from outside. Whatever happens, the call has exactly one outcome: what comes later is
dropped.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import threading
from typing import TYPE_CHECKING, Any

from toolhead._core import ToolExecutionContext
from toolhead.abort import AbortSignal
from toolhead.errors import ToolAbortedError, ToolError, ToolTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolhead.tool import Tool

__all__ = ["body", "body_now"]

LeftBehind = "Callable[[asyncio.Future[Any]], object] | None"


async def body(
    tool: Tool[Any, Any],
    value: object,
    context: ToolExecutionContext,
    left_behind: Callable[[asyncio.Future[Any]], object] | None = None,
) -> Any:
    """Runs the body and returns what it returned."""
    given = context._members().get("abort_signal")
    in_thread = not tool._is_async and tool.run_sync_in == "thread"
    if tool.timeout is None and given is None and not in_thread:
        result = _call(tool, value, context)
        return await result if inspect.isawaitable(result) else result
    # The signal of this call: it follows the caller's, and is aborted alone by a timeout or a cancellation.
    signal = AbortSignal()
    unfollow = _nothing if given is None else given.add_callback(lambda: signal._abort(given.reason))
    watched = None if given is None or given.aborted else given
    context = ToolExecutionContext(**{**context._members(), "abort_signal": signal})
    if in_thread:
        work: asyncio.Future[Any] = asyncio.ensure_future(_threaded(tool, value, context, left_behind))
    else:
        work = asyncio.ensure_future(_awaited(tool, value, context))
    try:
        return await _watched(tool, work, signal, watched, context)
    finally:
        unfollow()


async def _watched(
    tool: Tool[Any, Any],
    work: asyncio.Future[Any],
    signal: AbortSignal,
    given: AbortSignal | None,
    context: ToolExecutionContext,
) -> Any:
    waiting = {work}
    abort = None
    if given is not None:
        abort = asyncio.ensure_future(given.wait())
        waiting.add(abort)
    try:
        await asyncio.wait(waiting, timeout=tool.timeout, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        where = {"tool_id": tool.id, "tool_call_id": context.tool_call_id, "phase": "execute"}
        error: ToolError
        if given is not None and given.aborted:
            reason = "" if given.reason is None else f": {given.reason}"
            error = ToolAbortedError(f"The call of the tool '{tool.id}' was aborted{reason}", **where)
            error.__cause__ = given.reason if isinstance(given.reason, BaseException) else None
        else:
            error = ToolTimeoutError(f"The tool '{tool.id}' did not end within {tool.timeout} seconds", **where)
        signal._abort(error)
        await _stopped(work, tool.grace)
        raise error
    except asyncio.CancelledError as cancelled:
        signal._abort(cancelled)
        await _stopped(work, tool.grace)
        raise
    finally:
        if abort is not None:
            abort.cancel()


async def _stopped(work: asyncio.Future[Any], grace: float) -> None:
    """Cancels what runs and gives it `grace` seconds; whatever it still answers is dropped."""
    if work.done():
        return
    work.cancel()
    work.add_done_callback(_seen)
    await asyncio.wait({work}, timeout=grace)


async def _awaited(tool: Tool[Any, Any], value: object, context: ToolExecutionContext) -> Any:
    result = _call(tool, value, context)
    return await result if inspect.isawaitable(result) else result


async def _threaded(
    tool: Tool[Any, Any],
    value: object,
    context: ToolExecutionContext,
    left_behind: Callable[[asyncio.Future[Any]], object] | None,
) -> Any:
    loop = asyncio.get_running_loop()
    carried = contextvars.copy_context()
    thread = loop.run_in_executor(None, lambda: carried.run(_call, tool, value, context))
    try:
        result = await asyncio.shield(thread)
    except asyncio.CancelledError:
        if not thread.cancel() or not thread.done():
            thread.add_done_callback(_seen)
            if left_behind is not None:
                left_behind(thread)
        raise
    return await result if inspect.isawaitable(result) else result


def body_now(tool: Tool[Any, Any], value: object, context: ToolExecutionContext) -> Any:
    """Runs a synchronous body for a caller without an event loop, in this thread unless it has a timeout."""
    if tool.timeout is None:
        return _call(tool, value, context)
    signal = AbortSignal()
    context = ToolExecutionContext(**{**context._members(), "abort_signal": signal})
    answer: concurrent.futures.Future[Any] = concurrent.futures.Future()
    carried = contextvars.copy_context()

    def work() -> None:
        try:
            answer.set_result(carried.run(_call, tool, value, context))
        except BaseException as error:  # noqa: BLE001  handed to the caller's thread, whatever it is
            answer.set_exception(error)

    threading.Thread(target=work, name=f"toolhead {tool.id}", daemon=True).start()
    try:
        return answer.result(tool.timeout)
    except concurrent.futures.TimeoutError:
        if answer.done():
            raise
        error = ToolTimeoutError(
            f"The tool '{tool.id}' did not end within {tool.timeout} seconds",
            tool_id=tool.id,
            tool_call_id=context.tool_call_id,
            phase="execute",
        )
        signal._abort(error)
        raise error from None


def _call(tool: Tool[Any, Any], value: object, context: ToolExecutionContext) -> Any:
    try:
        return tool._call_body(value, context)
    except StopIteration as error:
        # Neither a task nor a future can carry a StopIteration.
        raise RuntimeError("the body of a tool raised StopIteration") from error


def _seen(work: asyncio.Future[Any]) -> None:
    """Looks at a dropped answer, so that asyncio does not report it as never retrieved."""
    if not work.cancelled():
        work.exception()


def _nothing() -> None:
    pass
