"""A run: the tool work of one conversation turn.

Rules: spec/api.md section 6; behaviour document sections 11 to 14. Each call lives in a task of its own, and every call
id gets exactly one result, whatever ends the step: its stream, a failure, an abort, or a reader that goes away.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from toolhead.abort import AbortSignal
from toolhead.errors import AlreadyResolvedError, NotSuspendedError, ToolAbortedError
from toolhead.providers.answers import Answer
from toolhead.providers.events import (
    ArgumentsDelta,
    CallCompleted,
    CallStarted,
    Event,
    Finished,
    Other,
    TextDelta,
)
from toolhead.providers.registry import adapter, reader_for
from toolhead.runs import chunks
from toolhead.runs.calls import CallRecord, CallResult, PendingCall
from toolhead.runs.live import LiveCall
from toolhead.runs.source import items_of
from toolhead.runs.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from toolhead.providers.reader import Reader
    from toolhead.providers.registry import Provider
    from toolhead.request_context import RequestContext
    from toolhead.runs.runner import ToolRunner

RunStatus: TypeAlias = Literal["new", "running", "waiting", "done"]

AHEAD = 32
"""How many items of the model's stream are read before the reader of the chunks has taken them."""


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
        self.finish_reason: str | None = None
        self._provider: str | None = None
        self._assistant: list[dict[str, Any]] = []
        self._calls: list[LiveCall] = []  # of the latest step
        self._by_id: dict[str, LiveCall] = {}  # of the whole run
        self._transcript = Transcript()
        self._slots = asyncio.Semaphore(runner.concurrency)
        self._busy = False

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self.status}, calls={len(self._by_id)})"

    # ------------------------------------------------------------------------------------------- its state

    @property
    def status(self) -> RunStatus:
        """`new`, `running` (a step or an answer is being worked on), `waiting` (for answers), `done`."""
        if self._busy:
            return "running"
        if any(call.record.is_waiting for call in self._calls):
            return "waiting"
        return "done" if self._provider is not None else "new"

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for an answer, in their display form."""
        return tuple(call.pending() for call in self._calls if call.record.is_waiting)

    @property
    def results(self) -> tuple[CallResult, ...]:
        """The results of the latest step, in call order."""
        return tuple(call.result for call in self._calls if call.result is not None)

    def messages(self) -> list[dict[str, Any]]:
        """What the latest step adds to the conversation, in the provider's own form: the assistant's part, the results.

        Raises:
            RuntimeError: calls of the step still wait for an answer, or nothing was read yet.
        """
        if self._provider is None:
            raise RuntimeError("The run has read no response yet")
        if self._busy:
            raise RuntimeError("The run's step is not at its end")
        if waiting := [call.record.tool_call_id for call in self._calls if call.record.is_waiting]:
            raise RuntimeError(f"Calls of this run wait for an answer: {', '.join(waiting)}")
        answers = [
            Answer(
                id=call.record.provider_id or call.record.tool_call_id,
                has_id=call.record.provider_id is not None,
                name=call.record.called,
                kind=call.record.kind,
                output=call.record.outcome.answer(),
            )
            for call in self._calls
            if call.record.outcome is not None
        ]
        return [*self._assistant, *adapter(self._provider).answers(answers)]

    def transcript(self) -> list[dict[str, Any]]:
        """The run as a message to store, as the tools' transcript transforms show it."""
        return self._transcript.messages()

    # --------------------------------------------------------------------------------------------- its work

    def step(self, stream: Any, *, provider: Provider) -> AsyncIterator[chunks.Chunk]:
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
        if self._busy:
            raise RuntimeError("A step of this run is running")
        if self.pending:
            raise RuntimeError("Calls of this run wait for an answer: answer them before the next step")
        self._busy = True
        return _Step(self, reader, provider).chunks(stream)

    def approve(self, tool_call_id: str) -> AsyncIterator[chunks.Chunk]:
        """Lets a call run that waits for approval. Raises `NotSuspendedError` or `AlreadyResolvedError`."""
        call = self._waiting(tool_call_id, "approval")
        return self._answered(call, call.approved)

    def decline(self, tool_call_id: str, reason: str | None = None) -> AsyncIterator[chunks.Chunk]:
        """Answers a call that waits for approval with `reason`, without running it. Raises as `approve`."""
        call = self._waiting(tool_call_id, "approval")
        return self._answered(call, lambda: call.declined(reason))

    def resume(self, tool_call_id: str, data: Any) -> AsyncIterator[chunks.Chunk]:
        """Runs a suspended call again with resume data.

        Raises:
            NotSuspendedError, AlreadyResolvedError: as `approve`.
            ValidationError: the tool's `resume_schema` refuses the data; the call stays suspended.
        """
        call = self._waiting(tool_call_id, "suspended")
        return self._answered(call, lambda: call.resumed(data))

    def provide_result(self, tool_call_id: str, output: Any) -> AsyncIterator[chunks.Chunk]:
        """Gives the result of a call of a tool without a body.

        Raises:
            NotSuspendedError, AlreadyResolvedError: as `approve`.
            ValidationError: the tool's `output_schema` refuses the output; the call stays open.
        """
        call = self._waiting(tool_call_id, "client")
        assert call.tool is not None  # noqa: S101  a call without a tool does not wait
        output = call.tool.validate_output(output)
        return self._answered(call, lambda: call.provided(output))

    def _waiting(self, tool_call_id: str, phase: str) -> LiveCall:
        call = self._by_id.get(tool_call_id)
        where: dict[str, Any] = {"tool_call_id": tool_call_id, "phase": phase}
        if call is None:
            raise NotSuspendedError(f"The run {self.id} has no call {tool_call_id!r}", **where)
        if call.record.phase == "done":
            raise AlreadyResolvedError(f"The call {tool_call_id!r} has been answered before", **where)
        if call.record.phase != phase:
            raise NotSuspendedError(f"The call {tool_call_id!r} does not wait for this ({call.record.phase})", **where)
        if self._busy:
            raise RuntimeError("A step of this run is running")
        return call

    async def _answered(self, call: LiveCall, answer: Callable[[], Any]) -> AsyncIterator[chunks.Chunk]:
        self._busy = True
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        call.post, call.last, call.refused_answer = inbox.put_nowait, None, None
        task = asyncio.ensure_future(answer())
        task.add_done_callback(inbox.put_nowait)
        try:
            while (item := await inbox.get()) is not task:
                if isinstance(item, chunks.Chunk):
                    yield item
            task.result()
            if call.refused_answer is not None:
                raise call.refused_answer
            if call.last is not None:
                self._transcript.settle(call)
                yield call.last
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self._busy = False
        if not self.pending:
            yield self._finish()

    def _finish(self) -> chunks.Chunk:
        self._transcript.end_step()
        return chunks.StepFinish(
            run_id=self.id, reason=self.finish_reason or "other", is_continued=any(c.result for c in self._calls)
        )

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


class _Step:
    """One step while it runs."""

    def __init__(self, run: Run, reader: Reader, provider: Provider) -> None:
        self.run = run
        self.reader = reader
        self.provider = provider
        self.calls: list[LiveCall] = []
        self.inbox: asyncio.Queue[Any] = asyncio.Queue()
        self.credit = asyncio.Semaphore(AHEAD)
        self.told = 0  # calls whose result or question was yielded, or that have none here
        self.text_id: tuple[str, bool] | None = None
        self.texts = 0

    async def chunks(self, stream: Any) -> AsyncIterator[chunks.Chunk]:
        run = self.run
        run._provider, run.finish_reason, run._assistant, run._calls = self.provider, None, [], self.calls
        pump = asyncio.ensure_future(self._pump(stream))
        watch = asyncio.ensure_future(self._watch()) if run.abort_signal is not None else None
        failure: BaseException | None = None
        try:
            yield chunks.StepStart(run_id=run.id)
            async for chunk in self._read():
                yield chunk
        except (Exception, asyncio.CancelledError, GeneratorExit) as error:
            failure = error
            raise
        finally:
            await self._close(pump, watch)
            run._assistant = self.reader.assistant(self._ids())
            run._busy = False
        for chunk in self._settled():
            yield chunk
        if self.failure is not None:
            raise self.failure
        if not run.pending:
            yield run._finish()
