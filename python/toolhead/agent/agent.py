"""`Agent`: a model with tools, as a deliberately thin loop over the runs of a `ToolRunner`.

Rules: spec/api.md section 7; behaviour document sections 7 and 11 to 16. Immutable, and shared by a whole service:
everything that changes is in an `AgentTurn` and in the store.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from contextlib import aclosing
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolhead.agent.auto_resume import Thread, reminder, with_resumption
from toolhead.agent.record import TurnRecord, TurnStore
from toolhead.agent.turn import AgentTurn
from toolhead.approval import answered
from toolhead.errors import NotSuspendedError
from toolhead.request_context import RequestContext
from toolhead.runs import asking
from toolhead.runs.runner import ToolRunner
from toolhead.runs.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence

    from toolhead.abort import AbortSignal
    from toolhead.agent.model import Model, SchemaOf
    from toolhead.agent.turn import AgentResult, AgentStep
    from toolhead.runs.background import Background, MakesBackground
    from toolhead.runs.chunks import Chunk
    from toolhead.runs.run import Run
    from toolhead.runs.runner import RunnerApproval
    from toolhead.runs.store import Store
    from toolhead.runs.toolset import AnyTool, ToolSet
    from toolhead.transforms import TransformEvent, TransformPolicy

    RequestContextLike = RequestContext | Mapping[str, Any] | None

_logger = logging.getLogger("toolhead")


class Agent:
    """Asks a model, runs the calls it makes, and asks again with their results.

    Args:
        model: `OpenAIChat`, `OpenAIResponses`, `Anthropic`, `Gemini`, or anything of the form of `Model`.
        tools: the tools, as a `ToolSet` or what makes one.
        instructions: what the model is told before the conversation.
        max_steps: how many responses of the model one turn may take, at least 1.
        store: where turns that wait for an answer are kept. None: in this process, until they end.
        id: told to the tools' bodies as `context.agent.agent_id`.
        on_step: called with an `AgentStep` after each response whose calls all have their results, sync or async; a
            raise is logged and changes nothing.
        auto_resume_suspended_tools: whether the model may resume a suspended call of the same thread when the user's
            next message answers it. Needs a `thread_id` in every turn. The model decides what the message means, so it
            is no substitute for an approval.
        concurrency, require_approval, transform_policy, timeout, reject_early, engine: as of `ToolRunner`.

    Raises:
        ValueError, TypeError: naming the argument and what was expected.
    """

    def __init__(
        self,
        model: Model,
        tools: ToolSet | Iterable[AnyTool] | Mapping[str, AnyTool] = (),
        *,
        instructions: str | None = None,
        max_steps: int = 10,
        store: Store | None = None,
        id: str = "agent",
        on_step: Callable[[AgentStep], Any] | None = None,
        auto_resume_suspended_tools: bool = False,
        concurrency: int = 10,
        require_approval: RunnerApproval = None,
        transform_policy: TransformPolicy | Callable[[TransformEvent], Any] | None = None,
        timeout: float | None = None,
        reject_early: bool = False,
        engine: Background | MakesBackground | None = None,
    ) -> None:
        if not callable(getattr(model, "respond", None)) or not isinstance(getattr(model, "provider", None), str):
            raise TypeError(f"model: expected a Model such as OpenAIChat(client, name), got {type(model).__name__}")
        if instructions is not None and not isinstance(instructions, str):
            raise TypeError(f"instructions: expected a text, got {type(instructions).__name__}")
        if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
            raise ValueError(f"max_steps: expected a whole number of at least 1, got {max_steps!r}")
        if not isinstance(id, str):
            raise TypeError(f"id: expected a text, got {type(id).__name__}")
        if on_step is not None and not callable(on_step):
            raise TypeError(f"on_step: expected a function, got {on_step!r}")
        self.model = model
        self.instructions = instructions
        self.max_steps = max_steps
        self.id = id
        self.on_step = on_step
        self.auto_resume_suspended_tools = bool(auto_resume_suspended_tools)
        self._forgets = store is None
        self._store: Store = MemoryStore() if store is None else store
        self._runner = ToolRunner(
            tools,
            concurrency=concurrency,
            require_approval=require_approval,
            transform_policy=transform_policy,
            store=self._store,
            timeout=timeout,
            reject_early=reject_early,
            engine=engine,
        )

    @property
    def toolset(self) -> ToolSet:
        """The tools."""
        return self._runner.toolset

    def __repr__(self) -> str:
        return f"Agent({self.model!r}, {self.toolset!r})"

    # --------------------------------------------------------------------------------------------- new turns

    def stream(
        self,
        messages: str | Sequence[Any],
        *,
        request_context: RequestContextLike = None,
        abort_signal: AbortSignal | None = None,
        run_id: str | None = None,
        thread_id: str | None = None,
        resource_id: str | None = None,
        follow_up: bool = False,
    ) -> AgentTurn:
        """A turn of the conversation, to be iterated over: `async for chunk in agent.stream(...)`.

        Args:
            messages: the conversation so far in the provider's own form, or a text as the only message of a user.
            request_context: what the tools' bodies see as `context.request_context`.
            abort_signal: ends the turn: the request to the model is closed, bodies are stopped.
            run_id: an id of the caller's own for the turn; else one is made.
            thread_id: the conversation's id, told to the tools' bodies; `RequestContext.THREAD_ID` in the request
                context wins over it.
            resource_id: whose conversation it is, told to the tools' bodies; `RequestContext.RESOURCE_ID` wins over it.
            follow_up: whether the turn goes on when calls work in the background while the model has nothing more to
                say: it waits for them and asks the model again with their results, until none works any more.

        Raises:
            TypeError, ValueError: naming the argument and what was expected.
            Exception: while iterating, what the model's client raises.
        """
        if isinstance(messages, str):
            conversation: list[Any] = [self.model.user_message(messages)]
        elif isinstance(messages, (list, tuple)):
            conversation = list(messages)
        else:
            raise TypeError(f"messages: expected a text or a list of messages, got {type(messages).__name__}")
        # What the service has put into the request context wins over what may have come from its client.
        if request_context is not None and not isinstance(request_context, RequestContext):
            request_context = RequestContext(request_context)
        if request_context is not None:
            thread_id = request_context.get(RequestContext.THREAD_ID, thread_id)
            resource_id = request_context.get(RequestContext.RESOURCE_ID, resource_id)
        if self.auto_resume_suspended_tools and not thread_id:
            raise ValueError("thread_id: expected the conversation's id, by which suspended calls are found again")
        run = self._runner.run(
            request_context=request_context,
            messages=conversation,
            abort_signal=abort_signal,
            run_id=run_id,
            agent_id=self.id,
            thread_id=thread_id,
            resource_id=resource_id,
        )
        agent = {"thread_id": thread_id, "resource_id": resource_id}
        record = TurnRecord(
            provider=self.model.provider, messages=conversation, steps=0, agent=agent, follow_up=bool(follow_up)
        )

        async def work(turn: AgentTurn) -> AsyncGenerator[Chunk, None]:
            async with aclosing(turn._begin(run, record)) as chunks:
                async for chunk in chunks:
                    yield chunk

        return AgentTurn(self, run.id, work, {})

    async def generate(
        self,
        messages: str | Sequence[Any],
        *,
        request_context: RequestContextLike = None,
        abort_signal: AbortSignal | None = None,
        run_id: str | None = None,
        thread_id: str | None = None,
        resource_id: str | None = None,
        follow_up: bool = False,
    ) -> AgentResult:
        """The same as `stream`, whole: the model is asked for whole responses. Takes and raises what `stream` does."""
        return await self.stream(
            messages,
            request_context=request_context,
            abort_signal=abort_signal,
            run_id=run_id,
            thread_id=thread_id,
            resource_id=resource_id,
            follow_up=follow_up,
        )

    def follow_up(
        self,
        run_id: str,
        *,
        request_context: RequestContextLike = None,
        abort_signal: AbortSignal | None = None,
    ) -> AgentTurn:
        """Goes on with a turn that ended while calls of it worked in the background.

        Waits for them, and asks the model again with their results, as `follow_up` of `stream` does; the turn may take
        `max_steps` further responses. Of several who do, one goes on; the turns of the others end with
        `elsewhere`. Needs a `store`.

        Args:
            run_id: the turn, of this process or another one with the same store.
            request_context: as of `stream`: it is never stored.
            abort_signal: as of `stream`; the work in the background goes on without the turn.

        Raises:
            RuntimeError: the agent has no store; when iterated over or awaited: the turn has not ended.
            RunNotFoundError: when iterated over or awaited: no such turn has had work in the background.
        """
        if self._forgets:
            raise RuntimeError("An agent without a store forgets turns that have ended: Agent(..., store=...)")
        members = {"request_context": request_context, "abort_signal": abort_signal}
        return AgentTurn(self, run_id, AgentTurn._follow, members)

    # ------------------------------------------------------------------------------------ answers to waiting calls

    def approve_tool_call(
        self,
        run_id: str,
        tool_call_id: str | None = None,
        *,
        request_context: RequestContextLike = None,
        abort_signal: AbortSignal | None = None,
    ) -> AgentTurn:
        """Lets a call run that waits for approval, and goes on with its turn.

        Args:
            run_id: the turn, of this process or another one with the same store.
            tool_call_id: the call; None where only one waits.
            request_context: as of `stream`: it is never stored.
            abort_signal: as of `stream`.

        Raises: when iterated over or awaited,
            RunNotFoundError: no such turn waits.
            NotSuspendedError: there is no such call, it waits for something else, or it is not said which.
            AlreadyResolvedError: it has been answered before.
        """
        return self._answered(
            run_id, lambda run: run.approve(_only(run, tool_call_id, "approval")), request_context, abort_signal
        )

    def decline_tool_call(
        self,
        run_id: str,
        tool_call_id: str | None = None,
        *,
        reason: str | None = None,
        request_context: RequestContextLike = None,
        abort_signal: AbortSignal | None = None,
    ) -> AgentTurn:
        """Answers a call that waits for approval with `reason` instead of running it. As `approve_tool_call`."""
        return self._answered(
            run_id, lambda run: run.decline(_only(run, tool_call_id, "approval"), reason), request_context, abort_signal
        )

    def resume(
        self,
        run_id: str,
        data: Any,
        tool_call_id: str | None = None,
        *,
        request_context: RequestContextLike = None,
        abort_signal: AbortSignal | None = None,
    ) -> AgentTurn:
        """Runs a suspended call again with resume data, and goes on with its turn. As `approve_tool_call`.

        A call that waits for approval takes `{"approved": bool, "reason": text}`; other data asks again.

        Raises: when iterated over or awaited, also
            ValidationError: the tool's `resume_schema` refuses the data; the call stays suspended.
        """
        return self._answered(run_id, lambda run: _resumed(run, tool_call_id, data), request_context, abort_signal)

    def provide_result(
        self,
        run_id: str,
        output: Any,
        tool_call_id: str | None = None,
        *,
        request_context: RequestContextLike = None,
        abort_signal: AbortSignal | None = None,
    ) -> AgentTurn:
        """Gives the result of a call of a tool without a body, and goes on with its turn. As `approve_tool_call`.

        Raises: when iterated over or awaited, also
            ValidationError: the tool's `output_schema` refuses the output; the call stays open.
        """
        return self._answered(
            run_id,
            lambda run: run.provide_result(_only(run, tool_call_id, "client"), output),
            request_context,
            abort_signal,
        )

    def _answered(
        self,
        run_id: str,
        answer: Callable[[Run], AsyncIterator[Chunk]],
        request_context: RequestContextLike,
        abort_signal: AbortSignal | None,
    ) -> AgentTurn:
        members = {"request_context": request_context, "abort_signal": abort_signal}
        return AgentTurn(self, run_id, lambda turn: turn._go_on(answer), members)

    # --------------------------------------------------------------------------------------- what a turn asks of it

    @cached_property
    def _definitions(self) -> list[dict[str, Any]]:
        return self._told(self._schema)

    @property
    def _schema(self) -> SchemaOf | None:
        """What the model is told of arguments, where it is not what the tools' authors wrote."""
        background = self._runner.background
        return None if background is None else background.input_schema

    def _told(self, schema: SchemaOf | None) -> list[dict[str, Any]]:
        return self.model.definitions(self.toolset, schema=schema)

    def _thread(self, record: TurnRecord) -> Thread | None:
        """The conversation's suspended calls, where the model may resume them."""
        thread_id = record.agent["thread_id"]
        if not self.auto_resume_suspended_tools or thread_id is None:
            return None
        return Thread(self._store, record.agent["resource_id"], thread_id, forgets=self._forgets)

    def _watch(self, turns: TurnStore, run: Run) -> None:
        """An agent without a store forgets a turn when the last of its work in the background is done."""
        if self._forgets:

            async def done() -> None:
                if await turns.is_over("ended"):
                    await turns.delete()

            run.when_done = done

    async def _remember(self, run_id: str, record: TurnRecord) -> None:
        """The turn waits, or calls of it may."""
        if (thread := self._thread(record)) is not None:
            await thread.add(run_id)

    async def _recall(self, turn: AgentTurn, run: Run, record: TurnRecord) -> None:
        """Tells the model of suspended calls of earlier turns, and lets the turn's calls resume them."""
        if (thread := self._thread(record)) is None:
            return
        suspended = [call for call in await thread.suspended() if call.run_id != run.id]
        record.resumes = sorted({*record.resumes, *(call.record.tool_id or "" for call in suspended)})
        run.take_up, run.resumable = thread.take_up, frozenset(record.resumes)
        turn._tools = self._told(with_resumption(suspended, self._schema)) if suspended else None
        turn._reminder = reminder(suspended, self.toolset) if suspended else None

    async def _tell(self, step: AgentStep) -> None:
        if self.on_step is None:
            return
        try:
            told = self.on_step(step)
            if inspect.isawaitable(told):
                await told
        except Exception:
            _logger.exception("on_step of the agent '%s' raised", self.id)


def _only(run: Run, tool_call_id: str | None, *kinds: str) -> str:
    """The call that an answer is about."""
    if tool_call_id is not None:
        return tool_call_id
    waiting = [call.tool_call_id for call in run.pending if call.kind in kinds]
    if len(waiting) == 1:
        return waiting[0]
    which = f"several do: {', '.join(waiting)}" if waiting else "none does"
    raise NotSuspendedError(f"No tool_call_id is given and not one call of {run.id} waits for this: {which}")


def _resumed(run: Run, tool_call_id: str | None, data: Any) -> AsyncIterator[Chunk]:
    call_id = _only(run, tool_call_id, "approval", "suspended")
    call = run._state.by_id.get(call_id)
    if call is None or call.record.phase != "approval":
        return run.resume(call_id, data)
    decision = answered(data)
    if decision is None:
        return _asked_again(run, call_id)
    return run.approve(call_id) if decision.approved else run.decline(call_id, decision.reason)


async def _asked_again(run: Run, call_id: str) -> AsyncIterator[Chunk]:
    yield asking.question(run._state.by_id[call_id])
