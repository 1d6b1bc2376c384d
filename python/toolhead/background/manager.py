"""`BackgroundManager`: which calls run in the background, how many at once, and who is told when they end.

Rules: spec/api.md section 8; section 17 of the behaviour document.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from toolhead import call as calls
from toolhead.background import override as overrides
from toolhead.background.engine import ENDED, Attempted, Job, TaskCall, TaskState
from toolhead.background.local import LocalEngine
from toolhead.background.settings import checked_settings, config_of, plan_of
from toolhead.background.task import BackgroundTask
from toolhead.context import AgentToolExecutionContext, prepared_context
from toolhead.errors import ToolAbortedError, ToolExecutionError, ToolTimeoutError, ValidationError
from toolhead.hooks import run_hook
from toolhead.runs.background import AnyTool, BackgroundCall, Entry, Plan
from toolhead.runs.sendable import sendable
from toolhead.suspend import Suspension
from toolhead.tool import Out
from toolhead.tool_options import checked_background

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from toolhead._core import Issue
    from toolhead.background.engine import Attempt, Engine
    from toolhead.background.settings import CheckedSettings, ToolSettings
    from toolhead.runs.background import TaskHandle
    from toolhead.tool import Tool
    from toolhead.tool_options import ToolBackgroundConfig

_logger = logging.getLogger("toolhead")

Backpressure = Literal["queue", "reject", "fallback-sync"]
_BACKPRESSURES: tuple[str, ...] = ("queue", "reject", "fallback-sync")
_ENGINE = ("start", "signal", "state", "wait", "stream")


class BackgroundManager:
    """Runs calls in the background: of runs (`ToolRunner(..., engine=manager)`) and of its own (`start`).

    Args:
        engine: where the tasks run. None: a `LocalEngine` of its own.
        enabled: False: every call is an ordinary one, whatever tools and calls say.
        tools: what is said of tools beside their own option `background`: `"all"`: every tool may run in the
            background; or, by the name that a run knows a tool by, True, False, or how. Outweighs the tool's own.
        global_concurrency: how many tasks may run at once.
        per_agent_concurrency: how many tasks of one agent may.
        backpressure: what becomes of a call beyond that: it waits for a place (`queue`), it fails (`reject`), or it
            runs in the foreground (`fallback-sync`).
        timeout, max_retries, retry_delay, backoff, wait_timeout, on_complete, on_failed: for tools that say nothing of
            it, as in `ToolBackgroundConfig`.

    Raises:
        TypeError, ValueError: naming the argument and what was expected.
    """

    def __init__(
        self,
        engine: Engine | None = None,
        *,
        enabled: bool = True,
        tools: ToolSettings = None,
        global_concurrency: int = 10,
        per_agent_concurrency: int = 5,
        backpressure: Backpressure = "queue",
        timeout: float | None = 300.0,
        max_retries: int = 0,
        retry_delay: float = 1.0,
        backoff: float = 2.0,
        wait_timeout: float | None = None,
        on_complete: Callable[[BackgroundTask[Any]], Any] | None = None,
        on_failed: Callable[[BackgroundTask[Any]], Any] | None = None,
    ) -> None:
        for name, limit in (
            ("global_concurrency", global_concurrency),
            ("per_agent_concurrency", per_agent_concurrency),
        ):
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
                raise ValueError(f"{name}: expected a whole number of at least 1, got {limit!r}")
        if backpressure not in _BACKPRESSURES:
            raise ValueError(f"backpressure: expected one of {', '.join(_BACKPRESSURES)}, got {backpressure!r}")
        if engine is not None and not all(callable(getattr(engine, name, None)) for name in _ENGINE):
            raise TypeError(f"engine: expected an Engine, got {type(engine).__name__}")
        self._engine: Engine = LocalEngine() if engine is None else engine
        self._enabled = bool(enabled)
        self._tools: CheckedSettings = checked_settings(tools)
        self._limits = {"concurrency": global_concurrency, "agent_concurrency": per_agent_concurrency}
        self._backpressure = backpressure
        self._defaults = checked_background(
            "background",
            {
                "timeout": timeout,
                "max_retries": max_retries,
                "retry_delay": retry_delay,
                "backoff": backoff,
                "wait_timeout": wait_timeout,
                "on_complete": on_complete,
                "on_failed": on_failed,
            },
        )
        self._active: dict[str, BackgroundTask[Any]] = {}  # of this process, until they have ended
        self._busy: Counter[str] = Counter()  # those that do not rest, by agent
        self._watchers: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"BackgroundManager({self._engine!r})"

    @property
    def engine(self) -> Engine:
        """Where the tasks run."""
        return self._engine

    # --------------------------------------------------------------------------------- for an application

    async def start(
        self,
        tool: Tool[Any, Out],
        input: object,
        context: object = None,
        *,
        task_id: str | None = None,
        agent_id: str = "",
    ) -> BackgroundTask[Out]:
        """Starts a call of `tool` in the background, whatever its option says; it waits for a place if need be.

        Args:
            tool: the tool.
            input: its input, validated before anything is started.
            context: as for `tool.execute`.
            task_id: an id of the caller's own: a second start with it is the first one.
            agent_id: whose limit counts.

        Raises:
            ValidationError: the input is refused.
            ToolSuspended: the input schema's own check asks something: start again with the answer.
            ToolNotExecutableError: the tool has no body.
        """
        if not tool.can_execute:
            raise calls.not_executable(tool.id)
        with calls.told_directly(tool):
            checked = calls.check_input(tool, input)
        if isinstance(checked, ValidationError):
            raise checked
        given = calls.with_repairs(prepared_context(context), checked.repairs)
        agent = given.agent or AgentToolExecutionContext(agent_id=agent_id)
        members = {"agent": msgspec.structs.replace(agent, is_background_task=True)}

        async def enter(entry: Entry) -> Any:
            changes = {**members, "abort_signal": entry.abort_signal, **resumed(entry)}
            prepared = prepared_context(calls.changed_context(given, **changes))
            return await calls.observed_run(tool, checked.value, prepared, left_behind=entry.left_behind)

        made = BackgroundCall(tool=tool, tool_name=tool.id, input=checked.value, enter=enter, agent_id=agent.agent_id)
        return await self._start(task_id or f"task_{os.urandom(12).hex()}", made, Plan(disposition="deferred"))

    async def get(self, task_id: str) -> BackgroundTask[Any] | None:
        """The task with this id, or None where neither manager nor engine knows it."""
        if (task := self._active.get(task_id)) is not None:
            return task
        state = await self._engine.state(task_id)
        return None if state is None else BackgroundTask(self, state)

    # ----------------------------------------------------------------------------------------- for a run

    override_key = overrides.KEY

    def without_override(self, tool: AnyTool, text: str) -> tuple[str, Any]:
        """See `toolhead.runs.background.Background`."""
        return (text, None) if _declares_override(tool) else overrides.without_override(text)

    def override_issues(self, override: Any) -> list[Issue]:
        """See `toolhead.runs.background.Background`."""
        return overrides.issues_of(override)

    def plan(self, tool_name: str, tool: AnyTool, override: Any) -> Plan | None:
        """See `toolhead.runs.background.Background`."""
        config = self._config(tool_name, tool)
        return None if config is None else plan_of(self._completed_config(config), override)

    def input_schema(self, tool_name: str, tool: AnyTool) -> Any:
        """See `toolhead.runs.background.Background`."""
        schema = tool.input_json_schema
        if self._config(tool_name, tool) is None or _declares_override(tool):
            return schema
        if schema is None or schema is True:
            schema = {"type": "object"}
        if not isinstance(schema, dict) or schema.get("type") != "object":
            return schema  # no object to add a member to: such calls run as tool and manager say
        properties = {**cast("dict[str, Any]", schema.get("properties", {})), overrides.KEY: overrides.SCHEMA}
        return {**schema, "properties": properties}

    def instructions(self, tools: Mapping[str, AnyTool]) -> str:
        """See `toolhead.runs.background.Background`."""
        eligible = {name: config for name, tool in tools.items() if (config := self._config(name, tool)) is not None}
        if not eligible:
            return ""
        lines = [f"- {name}: {config.default_disposition} by default" for name, config in eligible.items()]
        return (
            "Some tools can work in the background while you go on. A deferred call answers at once with the id of its "
            "task; its result follows later, so do not call again and do not invent it. The argument "
            f"`{overrides.KEY}` of a call overrides how it runs. These tools can:\n" + "\n".join(lines)
        )

    async def dispatch(self, call: BackgroundCall, plan: Plan) -> BackgroundTask[Any] | None:
        """See `toolhead.runs.background.Background`."""
        is_full = (
            self._busy.total() >= self._limits["concurrency"]
            or self._busy[call.agent_id] >= self._limits["agent_concurrency"]
        )
        if is_full and self._backpressure == "fallback-sync":
            return None
        if is_full and self._backpressure == "reject":
            raise ToolExecutionError(
                f"Too many tasks are running: the tool '{call.tool_name}' cannot run in the background now",
                tool_id=call.tool.id,
                tool_call_id=call.tool_call_id,
                phase="execute",
            )
        return await self._start(f"{call.run_id}:{call.tool_call_id}", call, plan)

    async def attach(
        self, task_id: str, changed: Callable[[TaskHandle], Awaitable[None]] | None = None
    ) -> BackgroundTask[Any] | None:
        """See `toolhead.runs.background.Background`."""
        task = await self.get(task_id)
        if task is None:
            return None
        if task.call is None and not task.is_resting:
            self._active[task_id] = task
            self.follow(task, self._engine.stream(task_id))
        if changed is not None:
            task.listeners.append(changed)
        return task

    # --------------------------------------------------------------------------------------------- tasks

    def _config(self, tool_name: str, tool: AnyTool) -> ToolBackgroundConfig | None:
        return config_of(self._tools, tool_name, tool) if self._enabled else None

    async def _start(self, task_id: str, call: BackgroundCall, plan: Plan) -> BackgroundTask[Any]:
        config = self._completed_config(config_of(self._tools, call.tool_name, call.tool) or call.tool.background)
        job = Job(
            id=task_id,
            call=TaskCall(
                tool_id=call.tool.id,
                tool_name=call.tool_name,
                input=sendable(call.input),
                tool_call_id=call.tool_call_id,
                run_id=call.run_id,
                agent_id=call.agent_id,
                thread_id=call.thread_id,
                resource_id=call.resource_id,
            ),
            timeout=config.timeout if plan.timeout is None else plan.timeout,
            max_retries=(config.max_retries if plan.max_retries is None else plan.max_retries) or 0,
            retry_delay=config.retry_delay or 0.0,
            backoff=1.0 if config.backoff is None else config.backoff,
            **self._limits,
        )
        if await self.get(task_id) is None:
            task = self._active[task_id] = BackgroundTask(self, TaskState(job=job), call=call, config=config)
            if await self._engine.start(job, self._work):
                if call.changed is not None:
                    task.listeners.append(call.changed)
                self.follow(task, self._engine.stream(task_id))
                return task
            del self._active[task_id]  # another process was faster
        known = await self.attach(task_id, call.changed)
        if known is None:
            raise ToolExecutionError(f"The engine does not know the task {task_id}", tool_id=call.tool.id)
        return known

    def follow(self, task: BackgroundTask[Any], states: AsyncIterator[TaskState]) -> None:
        """Watches a task that has just begun or goes on, until it rests."""
        task.settled = asyncio.Event()  # the loop may be another one
        self._busy[task.state.job.call.agent_id] += 1
        watcher = asyncio.get_running_loop().create_task(self._watch(task, states))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    async def _watch(self, task: BackgroundTask[Any], states: AsyncIterator[TaskState]) -> None:
        agent = task.state.job.call.agent_id
        try:
            async for state in states:
                task.state = state
                await _tell(task)
        except asyncio.CancelledError:  # the loop is being closed, and nobody will watch any more
            await _tell_lost(task, "cancelled", "The event loop of the task was closed")
            raise
        except Exception:
            _logger.exception("the engine lost the task %s of the tool '%s'", task.id, task.state.job.call.tool_id)
            await _tell_lost(task, "failed", "The engine lost the task")
        finally:
            self._busy[agent] -= 1
            if not self._busy[agent]:
                del self._busy[agent]
            if task.status in ENDED:
                self._active.pop(task.id, None)
            task.settled.set()
        await self._call_back(task)

    async def _call_back(self, task: BackgroundTask[Any]) -> None:
        config = self._defaults if task.config is None else task.config
        name, callback = "on_complete", config.on_complete
        if task.status in ("failed", "timed_out"):
            name, callback = "on_failed", config.on_failed
        elif task.status != "completed":
            return
        await run_hook(task.state.job.call.tool_id, f"background.{name}", callback, task)

    async def _work(self, attempt: Attempt) -> Attempted:
        """One attempt at a task of this process."""
        task = self._active.get(attempt.state.id)
        if task is None or task.call is None:
            message = "The process that runs the task does not know its call"
            return Attempted(status="failed", error={"name": "ToolNotFoundError", "message": message})
        entry = Entry(
            abort_signal=attempt.abort_signal,
            left_behind=attempt.left_behind,
            resume_data=attempt.resume_data,
            suspend_payload=None if attempt.resume_data is None else attempt.state.suspend_payload,
        )
        task.returned = task.raised = task.suspended_by = None
        try:
            if attempt.abort_signal.aborted:
                raise ToolAbortedError("The task was aborted", tool_id=task.call.tool.id, phase="execute")  # noqa: TRY301
            output = await task.call.enter(entry)
        except Suspension as suspension:
            task.suspended_by = suspension
            return Attempted(status="suspended", suspend_payload=sendable(suspension.payload))
        except Exception as error:  # noqa: BLE001  whatever the body raises is how the attempt ended
            task.raised = error
            status: Literal["timed_out", "failed"] = "timed_out" if isinstance(error, ToolTimeoutError) else "failed"
            may_retry = not isinstance(error, ToolAbortedError) and _may_retry(task, error, otherwise=True)
            return Attempted(status=status, error=_told(error), may_retry=may_retry)
        if isinstance(output, ValidationError):
            task.raised = output
            may_retry = _may_retry(task, output, otherwise=False)
            return Attempted(status="failed", error=_told(output), may_retry=may_retry)
        task.returned = output
        return Attempted(status="completed", result=sendable(output))

    def _completed_config(self, config: ToolBackgroundConfig | None) -> ToolBackgroundConfig:
        """What a tool says, and where it says nothing what the manager says."""
        defaults = self._defaults
        if config is None:
            return defaults
        missing = {name: getattr(defaults, name) for name in config.__struct_fields__ if getattr(config, name) is None}
        return msgspec.structs.replace(config, **missing)


async def _tell(task: BackgroundTask[Any]) -> None:
    for listener in list(task.listeners):
        try:
            await listener(task)
        except Exception:
            _logger.exception("what became of the task %s could not be told", task.id)
        task.is_told = True
    task.is_told = False


async def _tell_lost(task: BackgroundTask[Any], status: Literal["cancelled", "failed"], message: str) -> None:
    """The task is no longer watched: for its call it has ended."""
    if not task.is_resting:
        error = {"name": "ToolAbortedError", "message": message}
        task.state = msgspec.structs.replace(task.state, status=status, error=error)
        await _tell(task)


def _may_retry(task: BackgroundTask[Any], error: Exception, *, otherwise: bool) -> bool:
    """Whether the tool wants a further attempt after `error`; `otherwise` where it does not say."""
    retry_on = None if task.config is None else task.config.retry_on
    if retry_on is None:
        return otherwise
    try:
        return bool(retry_on(error))
    except Exception:
        _logger.exception("retry_on of the tool '%s' raised: there is no retry", task.state.job.call.tool_id)
        return False


def _told(error: Exception) -> dict[str, Any]:
    return {"name": type(error).__name__, "message": str(error) or type(error).__name__}


def _declares_override(tool: AnyTool) -> bool:
    """Whether the tool itself has an argument of the override's name."""
    schema = tool.input_json_schema
    return isinstance(schema, dict) and overrides.KEY in schema.get("properties", {})


def resumed(entry: Entry) -> dict[str, Any]:
    """The members of a context that say that a body is entered again."""
    if entry.resume_data is None:
        return {}
    return {"resume_data": entry.resume_data, "suspend_payload": entry.suspend_payload}
