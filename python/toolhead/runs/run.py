"""A run: the tool work of one conversation turn.

Rules: spec/api.md section 6; behaviour document sections 11 to 14. Each call lives in a task of its own, and every call
id gets exactly one result, whatever ends the step: its stream, a failure, an abort, or a reader that goes away.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from toolhead.abort import AbortSignal
from toolhead.call import told_directly
from toolhead.errors import AlreadyResolvedError, NotSuspendedError, ToolNotFoundError
from toolhead.providers.registry import adapter, reader_for
from toolhead.runs import asking
from toolhead.runs.chunks import BackgroundTaskRunning, Chunk
from toolhead.runs.live import LiveCall
from toolhead.runs.restored import restore
from toolhead.runs.saved import Saved
from toolhead.runs.state import ReadStep, RunState
from toolhead.runs.step import Step, finish
from toolhead.runs.transcript import invocation

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence

    from toolhead.errors import ValidationError
    from toolhead.providers.registry import Provider
    from toolhead.request_context import RequestContext
    from toolhead.runs.background import TaskHandle
    from toolhead.runs.calls import CallRecord, CallResult, PendingCall
    from toolhead.runs.carried import Carried
    from toolhead.runs.chunks import CallChunk
    from toolhead.runs.runner import ToolRunner

TakeUp: TypeAlias = "Callable[[LiveCall, Carried], Awaitable[ValidationError | None]]"
"""Returns why the data are refused; raises a `ToolError` where there is no such suspended call any more."""
RunStatus: TypeAlias = Literal["new", "running", "waiting", "done"]


class Run:
    """Made by `ToolRunner.run`. One step at a time: a step is one response of the model."""

    def __init__(
        self,
        runner: ToolRunner,
        run_id: str,
        *,
        request_context: RequestContext | None,
        messages: Sequence[Any],
        abort_signal: AbortSignal | None,
        agent: dict[str, Any],
    ) -> None:
        self.runner = runner
        self.id = run_id
        self.request_context = request_context
        self.input_messages = messages
        self.abort_signal = abort_signal
        self.signal = abort_signal or AbortSignal()
        self.agent = agent
        self._state = RunState()
        self._saved = Saved(runner.store, run_id)
        self._slots = asyncio.Semaphore(runner.concurrency)
        self.take_up: TakeUp | None = None
        """Set where calls may carry resume data: takes the suspended call over for the call that carries them."""
        self.when_done: Callable[[], Awaitable[None]] | None = None
        """Called when something came of a deferred call, and none is open any more."""
        self.resumable: frozenset[str] = frozenset()
        """The ids of the tools whose calls may."""

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self.status}, calls={len(self._state.by_id)})"

    # ------------------------------------------------------------------------------------------- its state

    @property
    def status(self) -> RunStatus:
        """`new`, `running` (a step or an answer is being worked on), `waiting` (for answers), `done`."""
        if self._state.is_working:
            return "running"
        if self._state.waiting:
            return "waiting"
        return "done" if self._state.provider is not None else "new"

    @property
    def finish_reason(self) -> str | None:
        """Why the latest response ended (`tool-calls`, `stop`, `length`, `abort`, ...); None before its end."""
        return self._state.finish_reason

    @property
    def error(self) -> str | None:
        """What the provider said where the latest response failed (`finish_reason` is `error`), else None."""
        return self._state.error

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for an answer, in their display form; those that run in the background last."""
        return tuple(asking.pending(call) for call in (*self._state.waiting, *self._state.waiting_behind))

    @property
    def tasks(self) -> tuple[TaskHandle, ...]:
        """The tasks that calls of this run became in the background, in call order."""
        behind = (call.behind for call in self._state.by_id.values())
        return tuple(part.task for part in behind if part is not None and part.task is not None)

    @property
    def results(self) -> tuple[CallResult, ...]:
        """The results of the latest step, in call order."""
        return tuple(call.result for call in self._state.calls if call.result is not None)

    def messages(self, *, every_step: bool = False) -> list[dict[str, Any]]:
        """What the latest step adds to the conversation, in the provider's own form: the assistant's part, the results.

        A deferred call that has no result yet is answered by a placeholder, which names its task.

        Args:
            every_step: whether to give what all steps of the run add: with the results that calls in the background
                have got since, in place of their placeholders.

        Raises:
            RuntimeError: calls of the step still wait for an answer, or nothing was read yet.
        """
        state = self._state
        if state.provider is None:
            raise RuntimeError("The run has read no response yet")
        if state.is_working:
            raise RuntimeError("The run's step is not at its end")
        self._refuse_waiting()
        return [message for step in state.steps[0 if every_step else -1 :] for message in messages_of(step)]

    def _refuse_waiting(self) -> None:
        if waiting := [call.record.tool_call_id for call in self._state.waiting]:
            raise RuntimeError(f"Calls of this run wait for an answer: {', '.join(waiting)}")

    def transcript(self) -> list[dict[str, Any]]:
        """The run as a message to store, as the tools' transcript transforms show it."""
        return self._state.transcript.messages(self._state.by_id)

    # --------------------------------------------------------------------------------------------- its work

    def step(self, stream: Any, *, provider: Provider) -> AsyncIterator[Chunk]:
        """Reads one response of the model and runs its calls; yields what happens.

        Args:
            stream: raw bytes, event dicts or the SDK's objects, streamed or whole; or a coroutine of them.
            provider: whose form it has.

        Raises:
            ValueError: the provider is not known.
            RuntimeError: a step is running, or calls of the step before wait for answers.
            DecodeError, TypeError: the stream is damaged or has another form; its calls have their results then.
        """
        reader = reader_for(provider)
        if self._state.is_working:
            raise RuntimeError("A step of this run is running")
        self._refuse_waiting()
        return Step(self, self._state, self._saved, reader, provider).read(stream)

    def approve(self, tool_call_id: str) -> AsyncIterator[Chunk]:
        """Lets a call run that waits for approval.

        Raises:
            NotSuspendedError: there is no such call, or it waits for something else.
            AlreadyResolvedError: it has been answered before.
        """
        return self._answer(self._waiting(tool_call_id, "approval"), LiveCall.approved)

    def decline(self, tool_call_id: str, reason: str | None = None) -> AsyncIterator[Chunk]:
        """Answers a call that waits for approval with `reason`, without running it. Raises as `approve`."""
        return self._answer(self._waiting(tool_call_id, "approval"), lambda call: asking.decline(call, reason))

    def resume(self, tool_call_id: str, data: Any) -> AsyncIterator[Chunk]:
        """Runs a suspended call again with resume data.

        Raises:
            NotSuspendedError, AlreadyResolvedError: as `approve`.
            ValidationError: the tool's `resume_schema` refuses the data; the call stays suspended.
        """
        return self._answer(self._waiting(tool_call_id, "suspended"), lambda call: call.resumed(data))

    def provide_result(self, tool_call_id: str, output: Any) -> AsyncIterator[Chunk]:
        """Gives the result of a call of a tool without a body.

        Raises:
            NotSuspendedError, AlreadyResolvedError: as `approve`.
            ValidationError: the tool's `output_schema` refuses the output; the call stays open.
            ToolSuspended: the schema's own check of the output asks something; the call stays open.
        """
        call = self._waiting(tool_call_id, "client")
        assert call.tool is not None  # noqa: S101  a call without a tool never waits
        with told_directly(call.tool):
            accepted = call.tool.validate_output(output)
        return self._answer(call, lambda call: call.provided(accepted))

    def _waiting(self, tool_call_id: str, phase: str) -> LiveCall:
        call = self._state.by_id.get(tool_call_id)
        where: dict[str, Any] = {"tool_call_id": tool_call_id, "phase": phase}
        if call is None:
            waiting = ", ".join(call.record.tool_call_id for call in self._state.waiting) or "none"
            text = f"The run {self.id} has no call {tool_call_id!r}; waiting for an answer: {waiting}"
            raise NotSuspendedError(text, **where)
        # Read as running from a store, it is being answered by somebody else.
        is_claimed = call.record.phase == "running" and call.task is None
        if call.record.phase == "done" or call.is_answered or is_claimed:
            raise AlreadyResolvedError(f"The call {tool_call_id!r} has been answered before", **where)
        if call.record.phase != phase:
            raise NotSuspendedError(f"The call {tool_call_id!r} does not wait for this ({call.record.phase})", **where)
        return call

    async def _answer(self, call: LiveCall, answer: Callable[[LiveCall], Awaitable[None]]) -> AsyncIterator[Chunk]:
        self._waiting(call.record.tool_call_id, call.record.phase)  # somebody else may have been faster
        is_behind = call.record.deferred  # the conversation does not wait for this answer
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        call.begin_answer(inbox.put_nowait)
        try:
            asking.check_digest(call)
            async with self._saved.claimed(call):
                task = asyncio.ensure_future(answer(call))
                task.add_done_callback(inbox.put_nowait)
                try:
                    while (item := await inbox.get()) is not task:
                        if isinstance(item, Chunk):
                            yield item
                    task.result()
                finally:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                    call.is_answered = False
                    call.record.shown = invocation(call)
        finally:
            call.is_answered = False
        await self._let_go()
        if call.refused_answer is not None:
            raise call.refused_answer
        for end in call.take_ends():
            yield end
        if not self._state.waiting and not self._state.is_working and not is_behind:
            yield finish(self.id, self._state)

    async def until_idle(self) -> AsyncIterator[Chunk]:
        """Tells what becomes of the run's tasks in the background, until none of them works any more.

        Yields `background-task-*` chunks, those of before first. What they tell is not told again by the next step;
        `messages(every_step=True)` has the results.
        """
        state = self._state
        async with aclosing(self.task_news(None)) as made:
            async for chunk in made:
                if not isinstance(chunk, BackgroundTaskRunning):
                    state.news = [new for new in state.news if new.tool_call_id != chunk.tool_call_id]
                yield chunk

    async def task_news(self, signal: AbortSignal | None) -> AsyncGenerator[CallChunk, None]:
        """What becomes of the tasks, until none works any more or `signal` has fired."""
        state = self._state
        stopped, let_go = (None, None) if signal is None else signal._future()
        if stopped is not None:
            stopped.add_done_callback(lambda _: state.changed.set())
        try:
            while True:
                state.changed.clear()
                while state.task_news:
                    yield state.task_news.pop(0)
                if state.is_idle or (signal is not None and signal.aborted):
                    return
                await state.changed.wait()
        finally:
            if let_go is not None:
                let_go()

    def task_of_twin(self, record: CallRecord) -> str | None:
        """The task that an earlier call became which was this one: the same call is not started twice.

        A model that was told to wait may ask again, with the same id and arguments.
        """
        for call in self._state.by_id.values():
            twin = call.record
            if twin.task_id is not None and twin.provider_id is not None and twin is not record:
                told = (twin.provider_id, twin.called, twin.args_text)
                if told == (record.provider_id, record.called, record.args_text):
                    return twin.task_id
        return None

    async def late(self, call: LiveCall) -> None:
        """Something came of a deferred call: it is written, then told."""
        await self._saved.late(call)
        await self._let_go()
        if call.is_told:
            for chunk in call.take_ends():
                self._state.tell(cast("CallChunk", chunk))

    async def _let_go(self) -> None:
        """Tells who waits for it that no call of the run is open any more."""
        calls = self._state.by_id.values()
        if self.when_done is not None and not any(call.is_answered or call.record.is_open for call in calls):
            await self.when_done()

    async def adopted(self, call: LiveCall) -> bool:
        """Whether somebody else has given the call its result: what the store has is what this run has, then."""
        record = await self._saved.current(call)
        if record is None or record.outcome is None:
            return False
        call.record = record
        await restore(call)
        return True

    def tell_now(self, item: object) -> None:
        """Something that matters only while it happens."""
        self._state.tell_now(item)

    def tell_task(self, chunk: CallChunk) -> None:
        """Something became of a task."""
        self._state.tell_task(chunk)

    async def read(self) -> None:
        """Reads the run from its store. Raises `RunNotFoundError`; `ToolNotFoundError` when a tool of it is gone."""
        header, records = await self._saved.read()
        state = self._state
        latest = header.steps[-1]
        state.provider, state.assistant = latest.provider, latest.assistant
        state.finish_reason, state.error = header.finish_reason, header.error
        state.transcript.parts = header.transcript
        for key, record in records.items():
            found = self.runner.toolset.resolve(record.called, latest.provider) if record.tool_id is not None else None
            if found is None and record.is_waiting:
                raise ToolNotFoundError(f"The tool {record.tool_name!r} of a call that waits is gone", tool_call_id=key)
            call = state.by_id[key] = LiveCall(self, record, None if found is None else found[1], _nobody)
            await restore(call)
        state.steps = [
            ReadStep(step.provider, step.assistant, [state.by_id[key] for key in step.calls]) for step in header.steps
        ]
        state.calls = state.steps[-1].calls

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Callable[[asyncio.Future[Any]], object]]:
        """One of the places for running bodies. A body left behind in a thread keeps its place until it ends."""
        left: list[asyncio.Future[Any]] = []
        await self._slots.acquire()
        try:
            yield left.append
        finally:
            if left and not left[0].done():
                left[0].add_done_callback(lambda _: self._slots.release())
            else:
                self._slots.release()


def messages_of(step: ReadStep) -> list[dict[str, Any]]:
    """What a step adds to the conversation; what is not known yet of its deferred calls is a placeholder."""
    answers = [call.answer for call in step.calls if call.record.outcome is not None or call.record.deferred]
    return [*step.assistant, *adapter(step.provider).answers(answers)]


def _nobody(_: Any) -> None:
    """Who takes what happens to a call on which nobody works."""
