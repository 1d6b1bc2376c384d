"""`BackgroundTask`: what an application holds of a call that runs in the background.

Rules: spec/api.md section 8.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, Protocol

import msgspec

from toolhead.background.engine import ENDED, RESTING, TaskState, TaskStatus
from toolhead.call import told_directly
from toolhead.errors import (
    AlreadyResolvedError,
    NotSuspendedError,
    ToolAbortedError,
    ToolExecutionError,
    ToolTimeoutError,
    ValidationError,
)
from toolhead.runs.sendable import sendable
from toolhead.tool import Out

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from toolhead.background.engine import Engine
    from toolhead.runs.background import BackgroundCall, TaskHandle
    from toolhead.suspend import Suspension
    from toolhead.tool_options import ToolBackgroundConfig


class Owner(Protocol):
    """Who started the task: the manager."""

    @property
    def engine(self) -> Engine:
        """Where the task runs."""
        ...

    def follow(self, task: BackgroundTask[Any], states: AsyncIterator[TaskState]) -> None:
        """The task goes on: it is watched until it rests."""
        ...


class BackgroundTask(Generic[Out]):
    """A call in the background. Made by a `BackgroundManager`."""

    def __init__(
        self,
        owner: Owner,
        state: TaskState,
        *,
        call: BackgroundCall | None = None,
        config: ToolBackgroundConfig | None = None,
    ) -> None:
        self._owner = owner
        self.state = state
        """What became of it so far, as JSON data."""
        self.call = call
        """The call, in the process that started it; else None."""
        self.config = config
        self.listeners: list[Callable[[TaskHandle], Awaitable[None]]] = []
        self.is_told = False
        """Whether somebody has been told of the change that is being told."""
        self.returned: Any = None
        self.raised: Exception | None = None
        self.suspended_by: Suspension | None = None
        self.settled = asyncio.Event()
        """Set when who made the call knows how it ended."""
        if call is None:
            self.settled.set()

    def __repr__(self) -> str:
        return f"BackgroundTask({self.id!r}, {self.status}, tool={self.state.job.call.tool_id!r})"

    @property
    def id(self) -> str:
        """The task's id. Of a run's call: run id and call id, so that one call is one task."""
        return self.state.id

    @property
    def status(self) -> TaskStatus:
        """`pending`, `running`, `suspended`, `completed`, `failed`, `cancelled` or `timed_out`."""
        return self.state.status

    @property
    def is_resting(self) -> bool:
        """Whether nothing happens by itself any more: it has ended, or waits to be resumed."""
        return self.status in RESTING

    @property
    def is_local(self) -> bool:
        """Whether this process runs it."""
        return self.call is not None

    @property
    def suspend_payload(self) -> Any:
        """What a suspended task asks."""
        return self.state.suspend_payload

    @property
    def suspension(self) -> Suspension | None:
        """How the body suspended the task, in the process that runs it."""
        return self.suspended_by

    @property
    def times(self) -> tuple[float | None, float | None]:
        """When it began and when it came to rest, in seconds since 1970."""
        state = self.state
        return state.started_at, state.suspended_at if self.status == "suspended" else state.ended_at

    @property
    def output(self) -> Out:
        """The validated output of a completed task: in the declared type where it ran in this process, else as JSON."""
        output: Out = self.state.result if self.returned is None else self.returned
        return output

    @property
    def error(self) -> Exception | None:
        """Why the task ended without an output; None before its end and for a completed one."""
        state = self.state
        if state.status not in ENDED or state.status == "completed":
            return None
        if isinstance(self.raised, ValidationError):
            return self.raised
        call, message = state.job.call, (state.error or {}).get("message", "")
        kinds = {"cancelled": ToolAbortedError, "timed_out": ToolTimeoutError}
        kind = kinds.get(state.status, ToolExecutionError)
        error = kind(message, tool_id=call.tool_id, tool_call_id=call.tool_call_id or None, phase="execute")
        error.__cause__ = None if isinstance(self.raised, kind) else self.raised
        return error

    async def result(self, timeout: float | None = None) -> Out:  # noqa: ASYNC109  a wait, not a limit of the task
        """Waits for the end of the task, through a suspension too; its output.

        Args:
            timeout: how many seconds to wait; the task itself goes on.

        Raises:
            ToolExecutionError: the body raised.
            ToolTimeoutError: the task's time was over.
            ToolAbortedError: the task was cancelled.
            ValidationError: the output was refused by the tool's schema.
            TimeoutError: it has not ended within `timeout` seconds.
            KeyError: the engine no longer knows it.
        """
        if self.status not in ENDED:
            self.state = await self._owner.engine.wait(self.id, timeout)
        if self.status not in ENDED:
            raise TimeoutError(f"The task {self.id} has not ended within {timeout} seconds: it is {self.status}")
        await self.settled.wait()
        if (error := self.error) is not None:
            raise error
        return self.output

    async def cancel(self) -> bool:
        """Ends the task as `cancelled`; whether it had not ended before. A body in a thread is left behind."""
        engine = self._owner.engine
        if not await engine.signal(self.id, "cancel"):
            return False
        states = engine.stream(self.id)
        await engine.wait(self.id)
        await self.settled.wait()
        if self.status not in ENDED:  # it was suspended, and nobody watched it any more
            self._owner.follow(self, states)
            await self.settled.wait()
        return True

    async def resume(self, data: Any) -> None:
        """Runs a suspended task again, with `data` as `context.resume_data`.

        Raises:
            NotSuspendedError: it does not wait.
            AlreadyResolvedError: somebody else was faster.
            ValidationError: the tool's `resume_schema` refuses the data; the task stays suspended.
            ToolSuspended: the schema's own check of the data asks in its turn; the task stays suspended.
        """
        await self.settled.wait()  # what it asks is told before it is answered
        known = await self._owner.engine.state(self.id)
        where = {"tool_id": self.state.job.call.tool_id, "tool_call_id": self.state.job.call.tool_call_id or None}
        if known is None or known.status != "suspended":
            status = "not known" if known is None else known.status
            raise NotSuspendedError(f"The task {self.id} does not wait to be resumed: it is {status}", **where)
        if self.call is not None:
            with told_directly(self.call.tool):
                self.call.tool.validate_resume(data)
        if not await self._owner.engine.signal(self.id, "resume", sendable(data)):
            raise AlreadyResolvedError(f"The task {self.id} has been resumed before", **where)
        self.state = msgspec.structs.replace(known, status="pending")
        self._owner.follow(self, self._owner.engine.stream(self.id))

    def to_dict(self) -> dict[str, Any]:
        """The task as JSON data, in Mastra's names. It shows everything: no transform applies."""
        state, call = self.state, self.state.job.call
        shown: dict[str, Any] = {
            "id": self.id,
            "status": state.status,
            "toolName": call.tool_name,
            "toolCallId": call.tool_call_id,
            "args": call.input,
            "agentId": call.agent_id,
            "threadId": call.thread_id,
            "resourceId": call.resource_id,
            "runId": call.run_id,
            "retryCount": state.retry_count,
            "maxRetries": state.job.max_retries,
            "timeoutMs": None if state.job.timeout is None else round(state.job.timeout * 1000),
            "createdAt": state.created_at,
            "startedAt": state.started_at,
            "suspendedAt": state.suspended_at,
            "completedAt": state.ended_at,
        }
        if state.status == "completed":
            shown["result"] = state.result
        if state.error is not None:
            shown["error"] = state.error.get("message")
        if state.status == "suspended":
            shown["suspendPayload"] = state.suspend_payload
        return shown
