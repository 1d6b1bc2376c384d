"""`ToolRunner`: which tools a service lets its models call, and how.

Rules: spec/api.md section 6. Immutable, and shared by a whole service; everything that changes is in a `Run`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from toolhead.abort import AbortSignal
from toolhead.request_context import RequestContext
from toolhead.runs.background import background_of
from toolhead.runs.run import Run
from toolhead.runs.step import new_id
from toolhead.runs.toolset import AnyTool, ToolSet
from toolhead.transforms import TransformPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from toolhead.providers.registry import Provider
    from toolhead.runs.background import Background, MakesBackground
    from toolhead.runs.calls import ApprovalRequest
    from toolhead.runs.store import Store
    from toolhead.transforms import TransformEvent

RunnerApproval: TypeAlias = "bool | Callable[[ApprovalRequest], Any] | None"


class ToolRunner:
    """Makes runs.

    Args:
        toolset: the tools, as a `ToolSet` or what makes one.
        concurrency: how many bodies of one run may run at the same time, at least 1.
        require_approval: whether calls need a person's approval: a flag, or a function of an `ApprovalRequest`, sync or
            async. A tool's own function decides alone; a tool's own flag adds to this.
        transform_policy: one function for all payloads, or a `TransformPolicy`, asked before the tools' own transforms.
        store: where the runs are kept, for `load`.
        timeout: seconds for the bodies of tools that have no `timeout` of their own. A call in the background has the
            time that its `background` says.
        reject_early: whether a call is answered as soon as its arguments can no longer become valid.
        engine: who runs calls in the background: a `BackgroundManager`, or a `LocalEngine` for one with its defaults.
            None: every call is an ordinary one, whatever its tool's `background` says.

    Raises:
        ValueError, TypeError: naming the argument and what was expected.
    """

    def __init__(
        self,
        toolset: ToolSet | Iterable[AnyTool] | Mapping[str, AnyTool],
        *,
        concurrency: int = 10,
        require_approval: RunnerApproval = None,
        transform_policy: TransformPolicy | Callable[[TransformEvent], Any] | None = None,
        store: Store | None = None,
        timeout: float | None = None,
        reject_early: bool = False,
        engine: Background | MakesBackground | None = None,
    ) -> None:
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise ValueError(f"concurrency: expected a whole number of at least 1, got {concurrency!r}")
        if require_approval is not None and not isinstance(require_approval, bool) and not callable(require_approval):
            raise TypeError(f"require_approval: expected a bool or a function, got {require_approval!r}")
        if transform_policy is not None and not isinstance(transform_policy, TransformPolicy):
            if not callable(transform_policy):
                raise TypeError(f"transform_policy: expected a function or a TransformPolicy, got {transform_policy!r}")
            transform_policy = TransformPolicy(transform_policy)
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0):
            raise ValueError(f"timeout: expected a number of seconds above 0, got {timeout!r}")
        given = ToolSet(toolset)
        tools = given if timeout is None else ToolSet({name: _limited(tool, timeout) for name, tool in given.items()})
        if store is not None and not all(callable(getattr(store, name, None)) for name in ("read", "write", "delete")):
            raise TypeError(f"store: expected a Store, got {type(store).__name__}")
        background = None if engine is None else background_of(engine)
        self._members = (tools, concurrency, require_approval, transform_policy, bool(reject_early), store, background)
        self._given = {id(tools[name]): tool for name, tool in given.items()}

    @property
    def toolset(self) -> ToolSet:
        """The tools."""
        return self._members[0]

    @property
    def concurrency(self) -> int:
        """How many bodies of one run may run at the same time."""
        return self._members[1]

    @property
    def require_approval(self) -> RunnerApproval:
        """Whether calls need approval."""
        return self._members[2]

    @property
    def transform_policy(self) -> TransformPolicy | None:
        """The policy asked before the tools' own transforms."""
        return self._members[3]

    @property
    def reject_early(self) -> bool:
        """Whether arguments that can no longer become valid are answered at once."""
        return self._members[4]

    @property
    def store(self) -> Store | None:
        """Where the runs are kept."""
        return self._members[5]

    @property
    def background(self) -> Background | None:
        """Who runs calls in the background."""
        return self._members[6]

    def in_background(self, tool: AnyTool) -> AnyTool:
        """One of the tools as it runs in the background: without the time that the runner gives to bodies."""
        return self._given.get(id(tool), tool)

    @property
    def instructions(self) -> str:
        """What a model's system prompt should say of the tools: which can work in the background. May be empty."""
        return "" if self.background is None else self.background.instructions(self.toolset)

    def definitions(self, provider: Provider) -> list[dict[str, Any]]:
        """The tools in the form in which a request to `provider` describes them.

        As `ToolSet.definitions`; tools that can work in the background take `_background` among their arguments.
        """
        return self.toolset.definitions(
            provider, schema=None if self.background is None else self.background.input_schema
        )

    def __repr__(self) -> str:
        return f"ToolRunner({self.toolset!r})"

    def run(
        self,
        *,
        request_context: RequestContext | Mapping[str, Any] | None = None,
        messages: Sequence[Any] = (),
        abort_signal: AbortSignal | None = None,
        run_id: str | None = None,
        agent_id: str = "",
        thread_id: str | None = None,
        resource_id: str | None = None,
    ) -> Run:
        """A new run.

        Args:
            request_context: what the tools' bodies see as `context.request_context`.
            messages: the conversation so far, handed to hooks and bodies as it is.
            abort_signal: ends the run: bodies are stopped, open calls get a `ToolAbortedError`.
            run_id: an id of the caller's own; else one is made.
            agent_id: told to the bodies in `context.agent`, like the next two.
            thread_id: the conversation's id.
            resource_id: whose conversation it is.
        """
        if run_id is not None and (not isinstance(run_id, str) or not run_id):
            raise ValueError(f"run_id: expected a text that is not empty, got {run_id!r}")
        if abort_signal is not None and not isinstance(abort_signal, AbortSignal):
            raise TypeError(f"abort_signal: expected an AbortSignal, got {type(abort_signal).__name__}")
        if request_context is not None and not isinstance(request_context, RequestContext):
            request_context = RequestContext(request_context)
        return Run(
            self,
            run_id or f"run_{new_id()}",
            request_context=request_context,
            messages=messages,
            abort_signal=abort_signal,
            agent={"agent_id": agent_id, "thread_id": thread_id, "resource_id": resource_id},
        )

    async def load(
        self,
        run_id: str,
        *,
        request_context: RequestContext | Mapping[str, Any] | None = None,
        messages: Sequence[Any] = (),
        abort_signal: AbortSignal | None = None,
        agent_id: str = "",
        thread_id: str | None = None,
        resource_id: str | None = None,
    ) -> Run:
        """The run that was stored under `run_id`, by this process or another one. Arguments as for `run`.

        Raises:
            RunNotFoundError: there is none, or its step is not at its end.
            ToolNotFoundError: a call of it waits for a tool that the runner does not have.
            RuntimeError: the runner has no store.
        """
        if self.store is None:
            raise RuntimeError("A runner without a store cannot load runs: ToolRunner(..., store=...)")
        run = self.run(
            request_context=request_context,
            messages=messages,
            abort_signal=abort_signal,
            run_id=run_id,
            agent_id=agent_id,
            thread_id=thread_id,
            resource_id=resource_id,
        )
        await run.read()
        return run


def _limited(tool: AnyTool, timeout: float) -> AnyTool:
    return tool.replace(timeout=timeout) if tool.can_execute and tool.timeout is None else tool
