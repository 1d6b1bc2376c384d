"""One step of a run: one response of the model, read to its end, with the calls in it.

Rules: spec/api.md section 6; behaviour document sections 11 to 13. The model's items, the calls' chunks and their ends
all come through one inbox, so that nothing waits for anything but its own turn.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from toolhead.errors import DecodeError, ToolAbortedError, ToolError
from toolhead.providers.events import (
    ArgumentsDelta,
    CallCompleted,
    CallStarted,
    Event,
    Failed,
    Finished,
    Other,
    TextDelta,
)
from toolhead.runs import chunks
from toolhead.runs.calls import CallRecord
from toolhead.runs.chunks import Chunk
from toolhead.runs.live import LiveCall
from toolhead.runs.source import items_of
from toolhead.runs.transcript import invocation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolhead.abort import AbortSignal
    from toolhead.providers.reader import Reader
    from toolhead.runs.run import Run
    from toolhead.runs.saved import Saved
    from toolhead.runs.state import RunState

CUSTOM_KINDS = frozenset({"custom", "custom_tool_call"})
"""Calls of tools that take free text."""

QUESTIONS = (chunks.ToolCallApproval, chunks.ToolCallSuspended)

AHEAD = 32
"""How many items of the model's stream are read before the reader of the chunks has taken them."""


class Step:
    """One step while it runs: the model's items, the calls' chunks and ends all come through one inbox."""

    def __init__(self, run: Run, state: RunState, saved: Saved, reader: Reader, provider: str) -> None:
        self.run = run
        self.state = state
        self.saved = saved
        self.reader = reader
        self.provider = provider
        self.calls: dict[int, LiveCall] = {}  # by the call's number in the response
        self.inbox: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self.credit = asyncio.Semaphore(AHEAD)
        self.told = 0  # calls whose result or question was yielded, or that have none here
        self.questions: list[Chunk] = []  # told when the run can be loaded by who answers
        self.failure: BaseException | None = None
        self.is_left = False  # by the reader of its chunks

    async def read(self, stream: Any) -> AsyncIterator[Chunk]:
        """Reads `stream` and runs its calls; yields what happens."""
        run, state = self.run, self.state
        if state.is_stepping:
            raise RuntimeError("A step of this run is running")
        state.is_stepping = True
        state.begin(self.provider, self.inbox)
        helpers = [asyncio.ensure_future(self._pump(stream))]
        if run.abort_signal is not None:
            helpers.append(asyncio.ensure_future(self._watch(run.abort_signal)))
        try:
            yield chunks.StepStart(run_id=run.id)
            for chunk in state.take_news():
                yield chunk
            async for chunk in self._work():
                yield chunk
        except GeneratorExit:
            self.is_left = True
            raise
        finally:
            # Also when the reader goes away: no task is left, and every call has its result.
            state.inbox = None
            await _stop(helpers)
            await _stop([call.task for call in self.calls.values() if call.task is not None])
            self.reader.close(failed=True)
            for call in self.reader.calls[len(self.calls) :]:  # read, and not yet told
                self._start(CallStarted(call.number, call.id, call.name, call.kind, call.server))
            for number, live in self.calls.items():
                text = self.reader.calls[number].text if self.reader.calls else None
                await live.interrupted(self._reason(live), text)
                live.record.shown = invocation(live)
            state.transcript.end_text()
            form = self.reader.form or self.provider
            state.end(form, self.reader.assistant([call.provider_id for call in state.calls]))
            if self.is_left:
                self._leave()
            await self.saved.step(state)
        for chunk in (*self._ends(), *self.questions):
            yield chunk
        if self.failure is not None:
            raise self.failure
        if not state.waiting:
            yield finish(run.id, state)

    async def _work(self) -> AsyncIterator[Chunk]:
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
                self.state.finish_reason = "abort"
                events = []
            else:
                events = []
                for chunk in self._told(item):
                    yield chunk
            for event in events:
                for chunk in await self._event(event):
                    yield chunk
            is_open = is_open and self.failure is None  # an item itself may be damaged
            for chunk in self._ends():
                yield chunk
        while not self.inbox.empty():
            _, item = self.inbox.get_nowait()
            for chunk in self._told(item):
                yield chunk

    def _fed(self, item: Any) -> list[Event]:
        try:
            return self.reader.feed(item)
        except (DecodeError, TypeError) as error:
            self.failure = error
            return []

    async def _event(self, event: Event) -> list[Chunk]:
        match event:
            case CallStarted():
                return [*self._end_text(), *await self._start(event).started()]
            case ArgumentsDelta(call=number, text=text):
                return await self._delta(self.calls[number], text)
            case CallCompleted(call=number, cut_off=cut_off, replacement=replacement):
                return await self._completed(self.calls[number], cut_off=cut_off, replacement=replacement)
            case TextDelta(text=text, reasoning=reasoning):
                return self._text(text, reasoning=reasoning)
            case Finished(reason=reason):
                if self.state.error is None:  # what came before an error was no end
                    self.state.finish_reason = reason
                return self._end_text()
            case Failed(message=message):
                self.state.finish_reason = "error"
                self.state.error = self.state.error or message
                return [*self._end_text(), chunks.ResponseFailed(run_id=self.run.id, error=message)]
            case Other(payload=payload):
                return [chunks.Raw(run_id=self.run.id, event=payload)]

    def _start(self, event: CallStarted) -> LiveCall:
        run = self.run
        found = None if event.server else run.runner.toolset.resolve(event.name, self.provider)
        name, tool = (event.name, None) if found is None else found
        call_id = event.id
        if call_id is None or call_id in self.state.by_id:
            call_id = f"call_{new_id()}"
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
        call.is_whole = event.whole
        self.calls[event.call] = self.state.by_id[call_id] = call
        self.state.calls.append(call)
        self.state.transcript.call(call_id)
        return call

    async def _delta(self, call: LiveCall, text: str) -> list[Chunk]:
        made = await call.delta(text)
        if call.arguments.rejection and self.run.runner.reject_early and call.record.phase == "streaming":
            await call.answer_early()
        return made

    async def _completed(self, call: LiveCall, *, cut_off: bool, replacement: str | None) -> list[Chunk]:
        made = await call.completed(cut_off=cut_off, replacement=replacement)
        if call.record.phase == "streaming" and not call.record.server and not self.run.signal.aborted:
            call.task = asyncio.ensure_future(call.live())
        return made

    def _ends(self) -> list[Chunk]:
        """The results in call order, as far as they are there; a call that waits holds back no other."""
        ready: list[Chunk] = []
        calls = self.state.calls
        while self.told < len(calls):
            call = calls[self.told]
            if not call.record.server:
                if call.record.phase not in ("deferred", "done") and not call.record.is_waiting:
                    break
                ready += [chunk for end in call.take_ends() for chunk in self._told(end)]
            self.told += 1
        return ready

    def _told(self, item: Any) -> list[Chunk]:
        """What of the inbox is to be told now: chunks, but for questions that could not be answered yet."""
        if not isinstance(item, Chunk):
            return []
        if isinstance(item, QUESTIONS) and self.saved.store is not None and self._is_own(item):
            self.questions.append(item)
            return []
        return [item]

    def _is_own(self, question: chunks.CallChunk) -> bool:
        """Whether a call of this step asks; the steps before can be loaded already."""
        return any(call.record.tool_call_id == question.tool_call_id for call in self.state.calls)

    def _leave(self) -> None:
        """Nobody reads what is still to be told; what comes of deferred calls is told by the next step."""
        for call in self.calls.values():
            for end in call.take_ends():
                if call.record.deferred and not isinstance(end, chunks.ToolResultPlaceholder):
                    self.state.tell(cast("chunks.CallChunk", end))
        while not self.inbox.empty():
            kind, item = self.inbox.get_nowait()
            if kind == "news":
                self.state.tell(item)

    def _text(self, text: str, *, reasoning: bool) -> list[Chunk]:
        transcript = self.state.transcript
        made: list[Chunk] = []
        if transcript.open_text is not None and transcript.open_text[1] is not reasoning:
            made = self._end_text()
        if transcript.open_text is None:
            start = chunks.ReasoningStart if reasoning else chunks.TextStart
            made.append(start(run_id=self.run.id, id=transcript.start_text(reasoning=reasoning)))
        delta = chunks.ReasoningDelta if reasoning else chunks.TextDelta
        return [*made, delta(run_id=self.run.id, id=transcript.text(text), text=text)]

    def _end_text(self) -> list[Chunk]:
        ended = self.state.transcript.end_text()
        if ended is None:
            return []
        end = chunks.ReasoningEnd if ended[1] else chunks.TextEnd
        return [end(run_id=self.run.id, id=ended[0])]

    async def _pump(self, stream: Any) -> None:
        """Reads the model's stream, a little ahead of who takes the chunks."""
        try:
            async with aclosing(items_of(stream)) as items:
                async for item in items:
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


async def _stop(tasks: list[asyncio.Future[None]] | list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def finish(run_id: str, state: RunState) -> Chunk:
    """The chunk that ends a step whose calls are all dealt with."""
    has_answers = any(call.result is not None or call.record.deferred for call in state.calls)
    is_continued = has_answers and state.error is None
    return chunks.StepFinish(run_id=run_id, reason=state.finish_reason or "other", is_continued=is_continued)


def new_id() -> str:
    """The random part of an id."""
    return os.urandom(12).hex()
