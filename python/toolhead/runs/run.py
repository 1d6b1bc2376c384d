"""A run: the tool work of one conversation turn.

Rules: spec/api.md section 6; behaviour document sections 11 to 14. Each call lives in a task of its own, and every call
id gets exactly one result, whatever ends the step: its stream, a failure, an abort, or a reader that goes away.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolhead.abort import AbortSignal
from toolhead.errors import (
    AlreadyResolvedError,
    DecodeError,
    NotSuspendedError,
    ToolAbortedError,
    ToolError,
    ToolNotFoundError,
)
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
from toolhead.runs.saved import Header, Saved
from toolhead.runs.source import items_of
from toolhead.runs.transcript import Transcript, invocation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from toolhead.providers.reader import Reader
    from toolhead.providers.registry import Provider
    from toolhead.request_context import RequestContext
    from toolhead.runs.runner import ToolRunner

RunStatus: TypeAlias = Literal["new", "running", "waiting", "done"]

CUSTOM_KINDS = frozenset({"custom", "custom_tool_call"})
"""Calls of tools that take free text."""

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
        self._saved = Saved(runner.store, run_id)

    def __repr__(self) -> str:
        return f"Run({self.id!r}, {self.status}, calls={len(self._by_id)})"

    # ------------------------------------------------------------------------------------------- its state

    @property
    def status(self) -> RunStatus:
        """`new`, `running` (a step or an answer is being worked on), `waiting` (for answers), `done`."""
        if self._busy or any(call.is_answered for call in self._calls):
            return "running"
        if any(call.record.is_waiting for call in self._calls):
            return "waiting"
        return "done" if self._provider is not None else "new"

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for an answer, in their display form."""
        return tuple(call.pending() for call in self._calls if call.record.is_waiting and not call.is_answered)

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
        if self.status == "running":
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

    @property
    def calls(self) -> tuple[LiveCall, ...]:
        """The calls of the latest step."""
        return tuple(self._calls)

    def transcript(self) -> list[dict[str, Any]]:
        """The run as a message to store, as the tools' transcript transforms show it."""
        return self._transcript.messages(self._by_id)

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
        if self.status == "running":
            raise RuntimeError("A step of this run is running")
        if self.pending:
            raise RuntimeError(f"Calls of this run wait for an answer: {', '.join(c.tool_call_id for c in self.pending)}")
        return _Step(self, reader, provider).chunks(stream)

    def approve(self, tool_call_id: str) -> AsyncIterator[chunks.Chunk]:
        """Lets a call run that waits for approval.

        Raises:
            NotSuspendedError: there is no such call, or it waits for something else.
            AlreadyResolvedError: it has been answered before.
        """
        return self._answer(self._waiting(tool_call_id, "approval"), LiveCall.approved)

    def decline(self, tool_call_id: str, reason: str | None = None) -> AsyncIterator[chunks.Chunk]:
        """Answers a call that waits for approval with `reason`, without running it. Raises as `approve`."""
        return self._answer(self._waiting(tool_call_id, "approval"), lambda call: call.declined(reason))

    def resume(self, tool_call_id: str, data: Any) -> AsyncIterator[chunks.Chunk]:
        """Runs a suspended call again with resume data.

        Raises:
            NotSuspendedError, AlreadyResolvedError: as `approve`.
            ValidationError: the tool's `resume_schema` refuses the data; the call stays suspended.
        """
        return self._answer(self._waiting(tool_call_id, "suspended"), lambda call: call.resumed(data))

    def provide_result(self, tool_call_id: str, output: Any) -> AsyncIterator[chunks.Chunk]:
        """Gives the result of a call of a tool without a body.

        Raises:
            NotSuspendedError, AlreadyResolvedError: as `approve`.
            ValidationError: the tool's `output_schema` refuses the output; the call stays open.
        """
        call = self._waiting(tool_call_id, "client")
        accepted = call.validate_output(output)
        return self._answer(call, lambda call: call.provided(accepted))

    def _waiting(self, tool_call_id: str, phase: str) -> LiveCall:
        call = self._by_id.get(tool_call_id)
        where: dict[str, Any] = {"tool_call_id": tool_call_id, "phase": phase}
        if call is None:
            raise NotSuspendedError(f"The run {self.id} has no call {tool_call_id!r}", **where)
        if call.record.phase == "done" or call.is_answered:
            raise AlreadyResolvedError(f"The call {tool_call_id!r} has been answered before", **where)
        if call.record.phase != phase:
            raise NotSuspendedError(f"The call {tool_call_id!r} does not wait for this ({call.record.phase})", **where)
        return call

    async def _answer(
        self, call: LiveCall, answer: Callable[[LiveCall], Awaitable[None]]
    ) -> AsyncIterator[chunks.Chunk]:
        self._waiting(call.record.tool_call_id, call.record.phase)  # somebody else may have been faster
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        call.is_answered, call.last, call.refused_answer = True, None, None
        call.post = inbox.put_nowait
        try:
            await self._saved.claim(call)
            call.check_digest()
        except BaseException:
            call.is_answered = False
            raise
        task = asyncio.ensure_future(answer(call))
        task.add_done_callback(inbox.put_nowait)
        try:
            while (item := await inbox.get()) is not task:
                if isinstance(item, chunks.Chunk):
                    yield item
            task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            call.is_answered = False
            call.record.shown = invocation(call)
            await self._saved.call(call)
        if call.refused_answer is not None:
            raise call.refused_answer
        if call.last is not None:
            yield call.last
        if not self.pending and not any(call.is_answered for call in self._calls):
            yield self._finish()

    def _header(self) -> Header:
        return Header(
            provider=self._provider or "",
            finish_reason=self.finish_reason,
            assistant=self._assistant,
            calls=[call.record.tool_call_id for call in self._calls],
            transcript=self._transcript.parts,
        )

    async def read(self) -> None:
        """Reads the run from its store. Raises `RunNotFoundError`; `ToolNotFoundError` when a tool of it is gone."""
        header, records = await self._saved.read()
        self._provider, self.finish_reason, self._assistant = header.provider, header.finish_reason, header.assistant
        self._transcript = Transcript(header.transcript)
        for key, record in records.items():
            tool = self.runner.toolset.get(record.tool_name) if record.tool_id is not None else None
            if tool is None and record.is_waiting:
                raise ToolNotFoundError(f"The tool {record.tool_name!r} of a call that waits is gone", tool_call_id=key)
            call = self._by_id[key] = LiveCall(self, record, tool, lambda _: None)
            await call.restored()
        self._calls = [self._by_id[key] for key in header.calls]

    def _finish(self) -> chunks.Chunk:
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
    """One step while it runs: the model's items, the calls' chunks and ends all come through one inbox."""

    def __init__(self, run: Run, reader: Reader, provider: Provider) -> None:
        self.run = run
        self.reader = reader
        self.provider = provider
        self.calls: dict[int, LiveCall] = {}  # by the call's number in the response
        self.inbox: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self.credit = asyncio.Semaphore(AHEAD)
        self.told = 0  # calls whose result or question was yielded, or that have none here
        self.failure: BaseException | None = None

    async def chunks(self, stream: Any) -> AsyncIterator[chunks.Chunk]:
        run = self.run
        if run._busy:
            raise RuntimeError("A step of this run is running")
        run._busy = True
        run._transcript.begin_step()
        run._provider, run.finish_reason, run._assistant, run._calls = self.provider, None, [], []
        helpers = [asyncio.ensure_future(self._pump(stream))]
        if run.abort_signal is not None:
            helpers.append(asyncio.ensure_future(self._watch(run.abort_signal)))
        try:
            yield chunks.StepStart(run_id=run.id)
            async for chunk in self._work():
                yield chunk
        finally:
            # Also when the reader goes away: no task is left, and every call has its result.
            await _stop(helpers)
            await _stop([call.task for call in self.calls.values() if call.task is not None])
            self.reader.close(failed=True)
            for call in self.calls.values():
                await call.interrupted(self._reason(call))
                call.record.shown = invocation(call)
            run._transcript.end_text()
            run._assistant = self.reader.assistant(self._ids())
            run._busy = False
            await run._saved.step(run, run._header())
        for chunk in self._ends():
            yield chunk
        if self.failure is not None:
            raise self.failure
        if not run.pending:
            yield run._finish()

    async def _work(self) -> AsyncIterator[chunks.Chunk]:
        """Until the response is read and every call has its result or waits for an answer."""
        is_open = True
        while is_open or any(call.task is not None and not call.task.done() for call in self.calls.values()):
            kind, item = await self.inbox.get()
            if kind == "item":
                events = self._fed(item)
                self.credit.release()
            elif kind == "end":
                is_open = False
                events = self.reader.close()
            elif kind == "failed":  # what was not complete will not be: such calls end with the step
                is_open = False
                self.failure = item
                events = []
            elif kind == "abort":
                is_open = False
                self.run.finish_reason = "abort"
                events = []
            else:
                events = []
                if isinstance(item, chunks.Chunk):
                    yield item
            for event in events:
                for chunk in await self._event(event):
                    yield chunk
            is_open = is_open and self.failure is None  # an item itself may be damaged
            for chunk in self._ends():
                yield chunk
        while not self.inbox.empty():
            _, item = self.inbox.get_nowait()
            if isinstance(item, chunks.Chunk):
                yield item

    def _fed(self, item: Any) -> list[Event]:
        try:
            return self.reader.feed(item)
        except (DecodeError, TypeError) as error:
            self.failure = error
            return []

    async def _event(self, event: Event) -> list[chunks.Chunk]:
        match event:
            case CallStarted():
                return [*self._end_text(), *await self._start(event).started()]
            case ArgumentsDelta(call=number, text=text):
                return await self._delta(self.calls[number], text)
            case CallCompleted(call=number, cut_off=cut_off, replacement=replacement):
                return await self._completed(self.calls[number], cut_off, replacement)
            case TextDelta(text=text, reasoning=reasoning):
                return self._text(text, reasoning)
            case Finished(reason=reason):
                self.run.finish_reason = reason
                return self._end_text()
            case Other(payload=payload):
                return [chunks.Raw(run_id=self.run.id, event=payload)]

    def _start(self, event: CallStarted) -> LiveCall:
        run = self.run
        found = None if event.server else run.runner.toolset.resolve(event.name, self.provider)
        name, tool = (event.name, None) if found is None else found
        call_id = event.id
        if call_id is None or call_id in run._by_id:
            call_id = f"call_{secrets.token_hex(12)}"
        record = CallRecord(
            tool_call_id=call_id,
            provider_id=event.id,
            called=event.name,
            tool_name=name,
            tool_id=None if tool is None else tool.id,
            kind=event.kind,
            # A custom tool that is none of ours is declared by somebody else, who runs it.
            server=event.server or (tool is None and event.kind in CUSTOM_KINDS),
        )
        call = LiveCall(run, record, tool, lambda item: self.inbox.put_nowait(("call", item)))
        self.calls[event.call] = run._by_id[call_id] = call
        run._calls.append(call)
        run._transcript.call(call_id)
        return call

    async def _delta(self, call: LiveCall, text: str) -> list[chunks.Chunk]:
        made = await call.delta(text)
        if call.is_rejected and self.run.runner.reject_early and call.record.phase == "streaming":
            await call.answer_early()
        return made

    async def _completed(self, call: LiveCall, cut_off: bool, replacement: str | None) -> list[chunks.Chunk]:
        made = await call.completed(cut_off=cut_off, replacement=replacement)
        if call.record.phase == "streaming" and not call.record.server and not self.run.signal.aborted:
            call.task = asyncio.ensure_future(call.live())
        return made

    def _ends(self) -> list[chunks.Chunk]:
        """The results in call order, as far as they are there; a call that waits holds back no other."""
        ready = []
        calls = self.run._calls
        while self.told < len(calls):
            call = calls[self.told]
            if not call.record.server:
                if call.record.phase != "done" and not call.record.is_waiting:
                    break
                if call.last is not None:
                    ready.append(call.last)
            elif call.record.phase == "streaming" and not self.reader.finished:
                break
            self.told += 1
        return ready

    def _text(self, text: str, reasoning: bool) -> list[chunks.Chunk]:
        transcript = self.run._transcript
        made = []
        if transcript.open_text is not None and transcript.open_text[1] is not reasoning:
            made = self._end_text()
        if transcript.open_text is None:
            start = chunks.ReasoningStart if reasoning else chunks.TextStart
            made.append(start(run_id=self.run.id, id=transcript.start_text(reasoning=reasoning)))
        delta = chunks.ReasoningDelta if reasoning else chunks.TextDelta
        return [*made, delta(run_id=self.run.id, id=transcript.text(text), text=text)]

    def _end_text(self) -> list[chunks.Chunk]:
        ended = self.run._transcript.end_text()
        if ended is None:
            return []
        end = chunks.ReasoningEnd if ended[1] else chunks.TextEnd
        return [end(run_id=self.run.id, id=ended[0])]

    async def _pump(self, stream: Any) -> None:
        """Reads the model's stream, a little ahead of who takes the chunks."""
        try:
            async for item in items_of(stream):
                await self.credit.acquire()
                self.inbox.put_nowait(("item", item))
        except Exception as error:  # noqa: BLE001  raised to the reader of the chunks, after the results
            self.inbox.put_nowait(("failed", error))
        else:
            self.inbox.put_nowait(("end", None))

    async def _watch(self, signal: AbortSignal) -> None:
        await signal.wait()
        self.inbox.put_nowait(("abort", None))

    def _reason(self, call: LiveCall) -> ToolError:
        where = {"tool_id": call.record.tool_id, "tool_call_id": call.record.tool_call_id}
        if self.run.signal.aborted:
            return ToolAbortedError("The run was aborted", **where)
        return ToolAbortedError("The response ended before the call was complete", **where)

    def _ids(self) -> list[str]:
        return [call.record.provider_id or call.record.tool_call_id for call in self.run._calls]


async def _stop(tasks: list[asyncio.Future[None]] | list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
