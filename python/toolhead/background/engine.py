"""What an engine is: something that runs jobs to their end, and keeps what becomes of them.

Rules: spec/api.md section 8. Everything that an engine is given or tells is JSON data, so that one may keep it in a
database and go on in another process; only the work itself and the attempt's signal belong to a process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from toolhead.abort import AbortSignal

if TYPE_CHECKING:
    import asyncio

TaskStatus: TypeAlias = Literal["pending", "running", "suspended", "completed", "failed", "cancelled", "timed_out"]
ENDED: frozenset[str] = frozenset({"completed", "failed", "cancelled", "timed_out"})
RESTING: frozenset[str] = ENDED | {"suspended"}
"""Where nothing happens by itself any more."""

Topic: TypeAlias = Literal["resume", "cancel"]


class TaskCall(msgspec.Struct, frozen=True, kw_only=True):
    """Which call of which tool a task is. `input` is the validated input as JSON data."""

    tool_id: str
    tool_name: str
    input: Any
    tool_call_id: str = ""
    run_id: str = ""
    agent_id: str = ""
    thread_id: str | None = None
    resource_id: str | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A task to run, with the rules that hold for it. Times in seconds."""

    id: str
    """A second job with the id of a known one is not started: it is the first."""
    call: TaskCall
    timeout: float | None = None
    """How long it may run, its retries and the waits between them included. None: as long as it takes."""
    max_retries: int = 0
    """How many further attempts a failure may cost."""
    retry_delay: float = 0.0
    """The wait before the first retry; each further one is `backoff` times as long."""
    backoff: float = 1.0
    concurrency: int = 10
    """How many jobs of the engine may run at once for this one to begin."""
    agent_concurrency: int = 5
    """How many jobs of its agent may run at once for this one to begin."""


class TaskState(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a job so far. Times in seconds since 1970."""

    job: Job
    status: TaskStatus = "pending"
    retry_count: int = 0
    result: Any = None
    """The output of a completed task, as JSON data."""
    error: dict[str, Any] | None = None
    """`name` and `message` of what went wrong."""
    suspend_payload: Any = None
    created_at: float = 0.0
    started_at: float | None = None
    suspended_at: float | None = None
    ended_at: float | None = None

    @property
    def id(self) -> str:
        """The id of the job."""
        return self.job.id


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One entry into the work of a job."""

    state: TaskState
    abort_signal: AbortSignal
    """Fires when the job is cancelled or its time is over."""
    left_behind: Callable[[asyncio.Future[Any]], object]
    """Takes what still runs when the attempt is over: the job keeps its place until that ends."""
    resume_data: Any = None
    """What a suspended job was resumed with, else None."""


class Attempted(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended. `result`, `error` and `suspend_payload` as in `TaskState`."""

    status: Literal["completed", "failed", "suspended", "timed_out"]
    result: Any = None
    error: dict[str, Any] | None = None
    suspend_payload: Any = None
    may_retry: bool = False
    """Whether a further attempt at what went wrong makes sense."""


Work: TypeAlias = Callable[[Attempt], Awaitable[Attempted]]


class Engine(Protocol):
    """Runs jobs. `LocalEngine` is one; another may keep its jobs in a database and share them between processes."""

    async def start(self, job: Job, work: Work) -> bool:
        """Takes a job to run with `work`, now or when its limits allow; False when one with its id is known."""
        ...

    async def signal(self, job_id: str, topic: Topic, data: Any = None) -> bool:
        """Tells a job something.

        `resume`: a suspended job runs again with `data`. `cancel`: a job that has not ended ends as `cancelled`.

        Returns:
            Whether it was taken: of two who resume at once, one is told False.
        """
        ...

    async def state(self, job_id: str) -> TaskState | None:
        """What became of a job; None for one that is not known, or no longer."""
        ...

    async def wait(self, job_id: str, timeout: float | None = None) -> TaskState:  # noqa: ASYNC109  a database may wait
        """The state when the job has ended, or when `timeout` seconds have passed.

        Raises:
            KeyError: the job is not known.
        """
        ...

    def stream(self, job_id: str) -> AsyncIterator[TaskState]:
        """Each state since the job was started or last resumed, and each to come, until it rests. Raises as `wait`."""
        ...
