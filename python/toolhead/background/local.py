"""`LocalEngine`: jobs as tasks of the event loop, in this process.

Rules: spec/api.md section 8 (limits, timeout, retries with back-off); section 17 of the behaviour document (statuses,
how long what has ended is kept). What it knows is lost with its process.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

import msgspec

from toolhead.abort import AbortSignal
from toolhead.background.engine import ENDED, RESTING, Attempt, Attempted, Job, TaskState, Topic, Work
from toolhead.errors import ToolTimeoutError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from toolhead.background.manager import BackgroundManager

_logger = logging.getLogger("toolhead")


class LocalEngine:
    """Runs jobs in the event loop that starts or resumes them; it belongs to one loop at a time.

    Args:
        keep_completed: seconds for which a completed job is still known.
        keep_failed: seconds for which one that failed, timed out or was cancelled is.
        clock: tells the time, in seconds since 1970.
    """

    def __init__(
        self, *, keep_completed: float = 3600.0, keep_failed: float = 86400.0, clock: Callable[[], float] = time.time
    ) -> None:
        for name, seconds in (("keep_completed", keep_completed), ("keep_failed", keep_failed)):
            if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds < 0:
                raise ValueError(f"{name}: expected a number of seconds of 0 or more, got {seconds!r}")
        self._keep = {"completed": keep_completed, "failed": keep_failed}
        self._clock = clock
        self._jobs: dict[str, _LocalJob] = {}
        self._queues: dict[str, deque[_LocalJob]] = {}  # jobs that wait for a place, by agent
        self._places: Counter[str] = Counter()  # jobs that have one, by agent
        self._ended: dict[str, deque[_LocalJob]] = {"completed": deque(), "failed": deque()}

    def manager(self) -> BackgroundManager:
        """A manager over this engine, as a runner makes it that is given the engine alone."""
        from toolhead.background.manager import BackgroundManager

        return BackgroundManager(self)

    def __repr__(self) -> str:
        return f"LocalEngine(running={self._places.total()}, pending={sum(map(len, self._queues.values()))})"

    async def start(self, job: Job, work: Work) -> bool:
        """See `Engine.start`."""
        self._forget()
        if job.id in self._jobs:
            return False
        made = self._jobs[job.id] = _LocalJob(TaskState(job=job, created_at=self._clock()), work)
        self._queue(made)
        return True

    async def signal(self, job_id: str, topic: Topic, data: Any = None) -> bool:
        """See `Engine.signal`."""
        job = self._jobs.get(job_id)
        if job is None or job.state.status in ENDED:
            return False
        if topic == "cancel":
            self._cancel(job)
        elif job.state.status != "suspended":
            return False
        else:
            job.resume(data)
            self._queue(job)
        return True

    async def state(self, job_id: str) -> TaskState | None:
        """See `Engine.state`."""
        self._forget()
        job = self._jobs.get(job_id)
        return None if job is None else job.state

    async def wait(self, job_id: str, timeout: float | None = None) -> TaskState:  # noqa: ASYNC109  the protocol's
        """See `Engine.wait`."""
        job = self._jobs[job_id]
        try:
            async with asyncio.timeout(timeout):
                while job.state.status not in ENDED:
                    await job.changed.wait()
        except TimeoutError:
            pass
        return job.state

    def stream(self, job_id: str) -> AsyncIterator[TaskState]:
        """See `Engine.stream`."""
        return self._jobs[job_id].states()

    # --------------------------------------------------------------------------------------------- places

    def _queue(self, job: _LocalJob) -> None:
        self._queues.setdefault(job.agent, deque()).append(job)
        self._begin()

    def _begin(self) -> None:
        """Gives the free places to who waits: first come first served, and a full agent holds back no other."""
        for agent, queue in list(self._queues.items()):
            while queue and self._has_place(queue[0].state.job):
                job = queue.popleft()
                if job.loop.is_closed():  # it waited for its place when its loop was closed
                    self._rest(job, None)
                    continue
                self._places[agent] += 1
                job.change(status="running", started_at=self._clock())
                # Whoever gives the place away, the job runs in the context of who asked for it.
                job.task = job.loop.create_task(self._run(job), context=job.context)
            if not queue:
                del self._queues[agent]

    def _has_place(self, job: Job) -> bool:
        return self._places.total() < job.concurrency and self._places[job.call.agent_id] < job.agent_concurrency

    def _leave(self, agent: str) -> None:
        self._places[agent] -= 1
        if not self._places[agent]:
            del self._places[agent]
        self._begin()

    # ------------------------------------------------------------------------------------------------ runs

    async def _run(self, job: _LocalJob) -> None:
        left: list[asyncio.Future[Any]] = []
        ended: Attempted | None = None
        try:
            ended = await self._attempts(job, left.append)
        except asyncio.CancelledError:
            self._close(job.loop)
            raise
        except Exception as error:
            _logger.exception("the work of the task %s of the tool '%s' raised", job.state.id, job.tool_id)
            ended = Attempted(status="failed", error={"name": type(error).__name__, "message": str(error)})
        finally:
            job.task = None
            self._rest(job, ended)
            behind = [future for future in left if not future.done()]
            if behind:  # a thread cannot be stopped: its place is free when it ends
                behind[0].add_done_callback(lambda _: self._leave(job.agent))
            else:
                self._leave(job.agent)

    async def _attempts(self, job: _LocalJob, left_behind: Callable[[asyncio.Future[Any]], object]) -> Attempted | None:
        """The end of the attempts; None when the job was cancelled."""
        loop = asyncio.get_running_loop()
        rules = job.state.job
        deadline = None if rules.timeout is None else loop.time() + rules.timeout
        delay = rules.retry_delay
        while True:
            attempt = Attempt(
                state=job.state, abort_signal=AbortSignal(), left_behind=left_behind, resume_data=job.resume_data
            )
            ended = await self._attempt(job, attempt, deadline)
            if ended is None or not ended.may_retry or job.state.retry_count >= rules.max_retries:
                return ended
            if await job.stopped_within(delay if deadline is None else min(delay, deadline - loop.time())):
                return None
            if deadline is not None and loop.time() >= deadline:
                return _timed_out(rules)
            delay *= rules.backoff
            job.change(retry_count=job.state.retry_count + 1)

    async def _attempt(self, job: _LocalJob, attempt: Attempt, deadline: float | None) -> Attempted | None:
        if job.stop.done():
            return None
        seconds = None if deadline is None else max(0.0, deadline - asyncio.get_running_loop().time())
        work = asyncio.ensure_future(job.work(attempt))
        try:
            waiting: set[asyncio.Future[Any]] = {work, job.stop}
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if job.stop.done():
                attempt.abort_signal._abort("the task was cancelled")
                await asyncio.wait({work})  # the call path sees to it that a body that was aborted ends in time
                return None
            if work.done():
                return work.result()
            attempt.abort_signal._abort(ToolTimeoutError(_timeout_text(job.state.job), phase="execute"))
            await asyncio.wait({work})
            return _timed_out(job.state.job)
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            raise

    def _rest(self, job: _LocalJob, ended: Attempted | None) -> None:
        if ended is None:
            self._end(job, status="cancelled", error={"name": "ToolAbortedError", "message": "The task was cancelled"})
        elif ended.status == "suspended":
            job.change(status="suspended", suspend_payload=ended.suspend_payload, suspended_at=self._clock())
        else:
            self._end(job, status=ended.status, result=ended.result, error=ended.error)

    def _cancel(self, job: _LocalJob) -> None:
        if job.task is not None:
            job.ask_to_stop()
            return
        queue = self._queues.get(job.agent)
        if queue is not None and job in queue:
            queue.remove(job)
        if job.state.status == "suspended":
            job.leg = []
        self._rest(job, None)

    def _close(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop is being closed: what waits for a place in it will not get one."""
        for queue in self._queues.values():
            for job in [job for job in queue if job.loop is loop]:
                queue.remove(job)
                self._rest(job, None)

    def _end(self, job: _LocalJob, **members: Any) -> None:
        job.change(**members, ended_at=self._clock())
        self._ended["completed" if job.state.status == "completed" else "failed"].append(job)

    def _forget(self) -> None:
        """Lets go of what ended long ago."""
        now = self._clock()
        for kind, jobs in self._ended.items():
            while jobs and now - (jobs[0].state.ended_at or 0.0) >= self._keep[kind]:
                del self._jobs[jobs.popleft().state.id]


class _LocalJob:
    """A job while it is known."""

    def __init__(self, state: TaskState, work: Work) -> None:
        self.state = state
        self.work = work
        self.leg = [state]
        """The states since the job was started or last resumed."""
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.loop = asyncio.get_running_loop()
        self.context = contextvars.copy_context()
        self.stop: asyncio.Future[None] = self.loop.create_future()
        """Done when somebody wants the job to end."""
        self.resume_data: Any = None

    @property
    def agent(self) -> str:
        return self.state.job.call.agent_id

    @property
    def tool_id(self) -> str:
        return self.state.job.call.tool_id

    def change(self, **members: Any) -> None:
        self.state = msgspec.structs.replace(self.state, **members)
        self.leg.append(self.state)
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def resume(self, data: Any) -> None:
        self.resume_data = data
        self.loop = asyncio.get_running_loop()
        self.context = contextvars.copy_context()
        self.stop = self.loop.create_future()
        self.leg = []
        self.change(status="pending")

    async def states(self) -> AsyncIterator[TaskState]:
        """The states of this leg, until it ends."""
        leg, told = self.leg, 0
        while True:
            while told < len(leg):
                told += 1
                yield leg[told - 1]
            if leg[-1].status in RESTING:
                return
            await self.changed.wait()

    def ask_to_stop(self) -> None:
        if not self.stop.done():
            self.stop.set_result(None)

    async def stopped_within(self, seconds: float) -> bool:
        """Waits; whether somebody wanted the job to end meanwhile."""
        await asyncio.wait({self.stop}, timeout=max(0.0, seconds))
        return self.stop.done()


def _timed_out(job: Job) -> Attempted:
    return Attempted(status="timed_out", error={"name": "ToolTimeoutError", "message": _timeout_text(job)})


def _timeout_text(job: Job) -> str:
    return f"The tool '{job.call.tool_id}' did not end within {job.timeout} seconds"
