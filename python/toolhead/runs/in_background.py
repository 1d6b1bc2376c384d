"""The part of a call's life that it spends in the background: dispatched, waited for or deferred, and what comes of it.

Rules: spec/api.md section 8; section 17 of the behaviour document. The input is validated before anything is
dispatched; the call has one result, which for a deferred call comes after a placeholder was told to the model.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolhead import call
from toolhead.context import prepared_context
from toolhead.errors import ToolAbortedError, ToolError, ToolSuspended, ValidationError
from toolhead.runs import chunks
from toolhead.runs.background import BackgroundCall, placeholder
from toolhead.runs.transcript import invocation
from toolhead.suspend import Suspension

if TYPE_CHECKING:
    from toolhead.runs.background import AnyTool, Background, Entry, Plan, TaskHandle
    from toolhead.runs.live import LiveCall

_logger = logging.getLogger("toolhead")


class InBackground:
    """What a call has to do with its task, if it has one."""

    def __init__(self, live: LiveCall, background: Background) -> None:
        self.live = live
        self.background = background
        self.plan: Plan | None = None
        self.task: TaskHandle | None = None
        self._repairs: tuple[str, ...] = ()
        self._rest: asyncio.Future[None] | None = None  # of who waits for the task
        self._is_let_go = False
        self._is_settling = False

    # -------------------------------------------------------------------------------------------- dispatch

    def planned(self, tool: AnyTool, text: str) -> str | ValidationError:
        """Makes the plan of the call; its argument text without what it says of that, or what is wrong with it."""
        record = self.live.record
        text, override = self.background.without_override(tool, text)
        if override is not None and (issues := self.background.override_issues(override)):
            return ValidationError(issues, phase="input", tool_id=tool.id, value=record.args)
        self.plan = self.background.plan(record.tool_name, tool, override)
        return text

    async def takes(self, tool: AnyTool, checked: call.Accepted, members: dict[str, Any]) -> bool:
        """Runs the call as a task, to its result, question or placeholder; False for a call in the foreground."""
        live, record = self.live, self.live.record
        self._repairs = checked.repairs
        if record.task_id is not None and members and await self._resumed(tool, record.task_id, members["resume_data"]):
            return True
        if self.plan is None:
            return False
        if live.run.signal.aborted:
            await live.failed(ToolAbortedError("The run was aborted", tool_id=tool.id, phase="execute"))
            return True
        tool = live.run.runner.in_background(tool)

        async def enter(entry: Entry) -> Any:
            more = {**members, "abort_signal": entry.abort_signal}
            if entry.resume_data is not None:
                more |= {"resume_data": entry.resume_data, "suspend_payload": entry.suspend_payload}
            context = call.with_repairs(prepared_context(live.members(more, in_background=True)), checked.repairs)
            return await call.observed_run(tool, checked.value, context, left_behind=entry.left_behind)

        made = BackgroundCall(
            tool=tool,
            tool_name=record.tool_name,
            input=checked.value,
            enter=enter,
            changed=self.changed,
            tool_call_id=record.tool_call_id,
            run_id=live.run.id,
            **live.run.agent,
        )
        known = live.run.task_of_twin(record)
        try:
            self.task = None if known is None else await self.background.attach(known, self.changed)
            self.task = self.task or await self.background.dispatch(made, self.plan)
        except ToolError as error:
            await live.failed(error, told=_told(error))
            return True
        if self.task is None:
            return False
        record.task_id = self.task.id
        live.post(chunks.BackgroundTaskStarted(**live.named, task_id=self.task.id))
        if self.task.is_resting:  # it was there before
            await self.changed(self.task)
        else:
            await self._go_on(self.task)
        return True

    async def _resumed(self, tool: AnyTool, task_id: str, data: Any) -> bool:
        """Resumes the task of a suspended call; False where nobody knows it any more."""
        live, record = self.live, self.live.record
        if self.task is None:
            self.task = await self.background.attach(task_id, self.changed)
        if self.task is None:
            return False
        try:
            await self.task.resume(data)
        except ValidationError as error:  # the suspension stays open: somebody may answer again
            record.advance("suspended")
            live.refused_answer = live.named_error(error)
            return True
        except ToolSuspended as asked:  # the check of the answer asks in its turn: the task waits as before
            await live.suspended(tool, Suspension(asked.payload, asked.options))
            return True
        except ToolError:
            record.advance("suspended")
            raise
        live.post(chunks.BackgroundTaskResumed(**live.named, task_id=task_id))
        await self._go_on(self.task)
        return True

    async def _go_on(self, task: TaskHandle) -> None:
        if self.live.record.deferred or self.plan is None or self.plan.disposition == "deferred":
            self._defer(task)
        else:
            await self._wait(task, self.plan.wait_timeout)

    def _defer(self, task: TaskHandle) -> None:
        """The model goes on with a placeholder: the result is told when it is there."""
        live, record = self.live, self.live.record
        record.advance("deferred")
        live.post = live.run.tell_now  # the step goes on without the call, and may be over when its body writes
        if record.deferred:  # it has been told before
            return
        record.deferred = True
        live.ends.append(
            chunks.ToolResultPlaceholder(
                **live.named,
                args=record.args,
                result=placeholder(task.id),
                task={"taskId": task.id, "status": "running"},
                projections=live.views.of("input"),
            )
        )

    async def _wait(self, task: TaskHandle, timeout: float | None) -> None:  # noqa: ASYNC109  after it, the call is deferred
        """Waits until the task has the call's result, or a question; not longer than `timeout` seconds."""
        rest = self._rest = asyncio.get_running_loop().create_future()
        signal = self.live.run.signal
        fired, let_go = signal._future()
        try:
            await asyncio.wait({rest, fired}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if rest.done():
                return
            if signal.aborted:
                await task.cancel()
            elif not self._is_settling:
                self._rest = None
                self._defer(task)
                return
            await rest
        except asyncio.CancelledError:
            if self._is_settling:
                await asyncio.wait({rest})
            else:
                self._is_let_go = True
                await task.cancel()
            raise
        finally:
            let_go()
            self._rest = None

    # ------------------------------------------------------------------------------------ what comes of it

    async def attached(self) -> None:
        """The call was read from a store: its task, if it is known here, is listened to again."""
        record = self.live.record
        if record.task_id is None or not record.deferred or record.phase == "done":
            return
        self.task = await self.background.attach(record.task_id, self.changed)
        if self.task is not None and self.task.is_resting and record.phase == "deferred":
            await self.changed(self.task)

    async def changed(self, task: TaskHandle) -> None:
        """The task's status changed; when it rests, the call gets its result or its question."""
        live, record = self.live, self.live.record
        if self._is_let_go or record.phase == "done":
            return
        if not task.is_resting:
            if record.phase == "suspended":  # somebody resumed the task itself
                record.advance("running")
                record.advance("deferred")
            await self._tell_task(task)
            return
        self._is_settling = True
        live.is_echo = task.is_told
        try:
            if not (record.phase == "suspended" and task.status == "cancelled" and await live.run.adopted(live)):
                await self._settle(task)
        except Exception as error:
            _logger.exception("the result of the task %s of the tool '%s' cannot be told", task.id, record.tool_id)
            await live.broke(error, "background")
        finally:
            self._is_settling = live.is_echo = False
            if self._rest is not None and not self._rest.done():
                self._rest.set_result(None)
        if live.record.deferred:
            live.record.shown = invocation(live)
            await live.run.late(live)
        await self._tell_task(task)

    async def _settle(self, task: TaskHandle) -> None:
        live, tool = self.live, self.live.tool
        assert tool is not None  # noqa: S101  only a tool runs in the background
        if live.record.phase == "suspended":
            live.record.advance("running")
        if task.status == "suspended":
            await live.suspended(tool, task.suspension or Suspension(task.suspend_payload, {}))
            return
        about = {"taskId": task.id, "status": task.status}
        error, output = task.error, task.output
        if error is None and not task.is_local:
            try:
                output = tool.validate_output(output)
            except ValidationError as refused:  # the tool is not the one that the task ran
                error = refused
        if isinstance(error, ValidationError):
            await live.refused(error, task=about)
        elif isinstance(error, ToolError):
            await live.failed(error, told=_told(error), task=about)
        else:
            await live.succeeded(output, self._repairs, task=about)

    async def _tell_task(self, task: TaskHandle) -> None:
        """Keeps a chunk for who follows the run's tasks."""
        live, record = self.live, self.live.record
        about = {**live.named, "task_id": task.id, "agent_id": live.run.agent["agent_id"]}
        began, rested = map(_iso, task.times)
        tell, of, outcome = live.run.tell_task, live.views.of, record.outcome
        if task.status == "running":
            tell(chunks.BackgroundTaskRunning(**about, started_at=began, args=record.args, projections=of("input")))
        elif task.status == "suspended":
            about |= {"suspended_at": rested, "suspend_payload": record.suspend_payload}
            tell(chunks.BackgroundTaskSuspended(**about, projections=of("suspend")))
        elif task.status == "completed" and outcome is not None:
            about |= {"completed_at": rested, "result": outcome.result}
            tell(chunks.BackgroundTaskCompleted(**about, projections=of("output")))
        elif outcome is not None:
            kind = chunks.BackgroundTaskCancelled if task.status == "cancelled" else chunks.BackgroundTaskFailed
            await live.views.add("error", {"input": record.args, "error": outcome.result})
            about |= {"status": task.status, "completed_at": rested, "error": outcome.result}
            tell(kind(**about, projections=of("error")))


def _told(error: ToolError) -> dict[str, Any]:
    """What crosses an engine of an error: its text, without its cause."""
    return {"name": "Error", "message": str(error)}


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
