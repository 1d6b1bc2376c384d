"""What a run needs of who works in the background for it: the types between the two.

Rules: spec/api.md section 8. A run knows only these; `toolhead.background` stands above it and fulfils them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from toolhead.abort import AbortSignal
from toolhead.tool import Tool

if TYPE_CHECKING:
    import asyncio

    from toolhead._core import Issue
    from toolhead.suspend import Suspension

AnyTool: TypeAlias = Tool[Any, Any]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How one call is to run in the background. Times in seconds; None takes what tool and manager say."""

    disposition: Literal["deferred", "awaited"]
    timeout: float | None = None
    max_retries: int | None = None
    wait_timeout: float | None = None


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry into the body of a call in the background."""

    abort_signal: AbortSignal
    left_behind: Callable[[asyncio.Future[Any]], object]
    """Takes what still runs when the body is left."""
    resume_data: Any = None
    suspend_payload: Any = None


class BackgroundCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call to run in the background: what it is, how its body is entered, and who is told what becomes of it."""

    tool: AnyTool
    tool_name: str
    input: Any
    """The validated input."""
    enter: Callable[[Entry], Awaitable[Any]]
    """Enters the body: the validated output or a `ValidationError`; raises what the body raises."""
    changed: Callable[[TaskHandle], Awaitable[None]] | None = None
    """Told of each change of the task's status, the last one before anybody else is."""
    tool_call_id: str = ""
    run_id: str = ""
    agent_id: str = ""
    thread_id: str | None = None
    resource_id: str | None = None


class TaskHandle(Protocol):
    """A task, as a run sees it."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def status(self) -> str:
        """`pending`, `running`, `suspended`, `completed`, `failed`, `cancelled` or `timed_out`."""
        ...

    @property
    def is_resting(self) -> bool:
        """Whether nothing happens by itself any more: it has ended, or waits to be resumed."""
        ...

    @property
    def is_told(self) -> bool:
        """Whether another object of the call has been told of the change that is being told: its hooks have run."""
        ...

    @property
    def output(self) -> Any:
        """The validated output of a completed task, in the declared type."""
        ...

    @property
    def error(self) -> Exception | None:
        """Why a task ended without an output."""
        ...

    @property
    def suspend_payload(self) -> Any:
        """What a suspended task asks, as JSON data."""
        ...

    @property
    def suspension(self) -> Suspension | None:
        """How the body suspended the task, in the process that runs it."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether this process runs it: `output` has the declared type then, else it is JSON data."""
        ...

    @property
    def times(self) -> tuple[float | None, float | None]:
        """When it began and when it came to rest, in seconds since 1970."""
        ...

    async def result(self, timeout: float | None = None) -> Any:  # noqa: ASYNC109  a wait, not a limit of the task
        """Waits for its end; its output, or raises why there is none."""
        ...

    async def cancel(self) -> bool:
        """Ends it; whether it had not ended before."""
        ...

    async def resume(self, data: Any) -> None:
        """Runs a suspended task again."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The task as JSON data; no transform applies."""
        ...


class Background(Protocol):
    """Runs calls in the background: `BackgroundManager`."""

    override_key: str
    """The member of a call's arguments that says how the call is to run."""

    def without_override(self, tool: AnyTool, text: str) -> tuple[str, Any]:
        """Argument text without what the call itself says about the background, and that, or None."""
        ...

    def override_issues(self, override: Any) -> list[Issue]:
        """What is wrong with what the call says."""
        ...

    def plan(self, tool_name: str, tool: AnyTool, override: Any) -> Plan | None:
        """How the call is to run, or None for an ordinary call."""
        ...

    def input_schema(self, tool_name: str, tool: AnyTool) -> Any:
        """The schema of the arguments that a model is told."""
        ...

    def instructions(self, tools: Any) -> str:
        """What a model's system prompt should say of the tools, or an empty text."""
        ...

    async def dispatch(self, call: BackgroundCall, plan: Plan) -> TaskHandle | None:
        """Starts a task, or None where the call is to run in the foreground after all.

        Raises:
            ToolExecutionError: too many tasks are running.
        """
        ...

    async def attach(
        self, task_id: str, changed: Callable[[TaskHandle], Awaitable[None]] | None = None
    ) -> TaskHandle | None:
        """The task with this id, if it is known; `changed` is told of it from now on."""
        ...


class MakesBackground(Protocol):
    """An engine that makes its own manager: `LocalEngine`."""

    def manager(self) -> Background:
        """A manager over this engine, with its defaults."""
        ...


def background_of(engine: Background | MakesBackground) -> Background:
    """Who runs calls in the background: `engine` itself, or the manager that it makes.

    Raises:
        TypeError: it is neither.
    """
    made: Any = engine
    if callable(getattr(made, "manager", None)):
        made = made.manager()
    if not callable(getattr(made, "dispatch", None)):
        raise TypeError(f"engine: expected a BackgroundManager or a LocalEngine, got {type(engine).__name__}")
    background: Background = made
    return background


def placeholder(task_id: str) -> str:
    """What a model is told of a call that is deferred, in place of its result."""
    return f"The call goes on in the background, as task {task_id}. Its result will follow; do not call again."
