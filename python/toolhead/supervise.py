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
import logging
import threading
from typing import TYPE_CHECKING, Any

from toolhead._core import ToolExecutionContext
from toolhead.abort import AbortSignal
from toolhead.errors import ToolAbortedError, ToolError, ToolTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolhead.tool import Tool

__all__ = ["body", "body_now"]

_logger = logging.getLogger("toolhead")


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
    thread = _Thread(tool, value, context) if in_thread else None
    steps = _awaited(tool, value, context) if thread is None else thread.answer()
    try:
        if tool.timeout is not None or watched is not None:
            return await _watched(tool, asyncio.ensure_future(steps), signal, watched, context)
        return await steps
    except asyncio.CancelledError as cancelled:
        signal._abort(cancelled)
        raise
    finally:
        unfollow()
        if thread is not None:
            thread.leave(left_behind)


async def _watched(
    tool: Tool[Any, Any],
    work: asyncio.Future[Any],
    signal: AbortSignal,
    given: AbortSignal | None,
    context: ToolExecutionContext,
) -> Any:
    waiting = {work}
    let_go = _nothing
    if given is not None:
        fired, let_go = given._future()
        waiting.add(fired)
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
        await _stopped(tool, work)
        raise error
    except asyncio.CancelledError as cancelled:
        signal._abort(cancelled)
        await _stopped(tool, work)
        raise
    finally:
        let_go()


async def _stopped(tool: Tool[Any, Any], work: asyncio.Future[Any]) -> None:
    """Cancels what runs and gives it `grace` seconds; whatever it still answers is dropped."""
    if work.done():
        _seen(work)
        return
    work.cancel()
    work.add_done_callback(_seen)
    await asyncio.wait({work}, timeout=tool.grace)
    if not work.done():
        _logger.warning(
            "the body of the tool '%s' still runs %s s after it was stopped: left behind", tool.id, tool.grace
        )


async def _awaited(tool: Tool[Any, Any], value: object, context: ToolExecutionContext) -> Any:
    result = _call(tool, value, context)
    return await result if inspect.isawaitable(result) else result


class _Thread:
    """A synchronous body in a thread of the loop's executor. It cannot be stopped, only left behind."""

    def __init__(self, tool: Tool[Any, Any], value: object, context: ToolExecutionContext) -> None:
        self.is_left = False
        self.tool_id = tool.id
        carried = contextvars.copy_context()

        def work() -> Any:
            # A body that has not begun when its call is over never begins.
            return None if self.is_left else carried.run(_call, tool, value, context)

        self.future = asyncio.get_running_loop().run_in_executor(None, work)

    async def answer(self) -> Any:
        # Shielded: a cancelled future would tell that the thread has ended.
        result = await asyncio.shield(self.future)
        return await result if inspect.isawaitable(result) else result

    def leave(self, left_behind: Callable[[asyncio.Future[Any]], object] | None) -> None:
        self.is_left = True
        if self.future.done():
            _seen(self.future)
            return
        self.future.add_done_callback(_seen)
        _logger.warning(
            "the body of the tool '%s' runs on in its thread, which nothing can stop: left behind", self.tool_id
        )
        if left_behind is not None:
            left_behind(self.future)


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
