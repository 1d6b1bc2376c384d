"""One turn of a conversation: ask the model, run its calls, ask again, until it has said what it has to say.

Rules: spec/api.md section 7; behaviour document sections 9 and 11 to 14. The calls are the run's work; here is only the
loop around it, and what has to be known to go on with it in another process.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec

from toolhead.agent import chunks
from toolhead.agent.model import ModelRequest
from toolhead.agent.record import TurnRecord, TurnStore
from toolhead.runs.chunks import Chunk, StepFinish, TextDelta, ToolCallApproval, ToolCallSuspended
from toolhead.runs.run import messages_of
from toolhead.runs.step import finish

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator

    from toolhead.agent.agent import Agent
    from toolhead.runs.background import TaskHandle
    from toolhead.runs.calls import CallResult, PendingCall
    from toolhead.runs.live import LiveCall
    from toolhead.runs.run import Run
    from toolhead.runs.state import ReadStep

TurnEnd: TypeAlias = Literal[
    "stop", "tool-calls", "length", "content-filter", "error", "other", "abort", "suspended", "elsewhere"
]
"""Why a turn came to its end: what the model's last response said, or `abort`; `suspended`: calls wait for an answer;
`tool-calls`: the steps are used up, or calls wait for a result from outside; `elsewhere`: another answer to the same
turn goes on with it."""


NOTE = "Work in the background has ended. Its results stand where the calls were answered; go on with them:"
"""What the model is told when it is asked again: a conversation cannot end with its own words."""


class AgentStep(msgspec.Struct, frozen=True, kw_only=True):
    """A response of the model with the results of its calls. `number` counts from 1; `messages` is what it added."""

    number: int
    text: str
    finish_reason: str
    results: tuple[CallResult, ...]
    messages: tuple[dict[str, Any], ...]


class AgentResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a turn.

    `text` is the model's last response. `messages` is what the turn added to the conversation since its beginning, in
    the provider's form; a step that waits is not in it, and a placeholder stands for what works in the background.
    `steps` are those of this process. `pending`: calls that wait, deferred ones last. `tasks`: the calls in the
    background, in call order.
    """

    run_id: str
    text: str
    finish_reason: TurnEnd
    messages: list[dict[str, Any]]
    steps: tuple[AgentStep, ...]
    pending: tuple[PendingCall, ...]
    tasks: tuple[TaskHandle, ...] = ()
    error: str | None = None
    """Of a turn that ended with `error`: what the provider said in its response, or what the model's client raised."""
    transcript: list[dict[str, Any]]

    @property
    def results(self) -> tuple[CallResult, ...]:
        """The results of all steps, in call order."""
        return tuple(result for step in self.steps for result in step.results)


class AgentTurn:
    """A turn while it runs: iterate over its chunks, or await its `AgentResult`, or first the one and then the other.

    A turn that is only awaited asks the model for whole responses. `run_id` names it for whoever answers its calls.
    """

    def __init__(
        self,
        agent: Agent,
        run_id: str,
        work: Callable[[AgentTurn], AsyncGenerator[Chunk, None]],
        members: dict[str, Any],
    ) -> None:
        self.run_id = run_id
        self._agent = agent
        self._work = work
        self._members = members
        """Request context and abort signal."""
        self._chunks: AsyncGenerator[Chunk, None] | None = None
        self._result: AgentResult | None = None
        self._streams = True
        self._run: Run
        self._record: TurnRecord
        self._store = TurnStore(agent._store, run_id)
        self._tools: list[dict[str, Any]] | None = None
        """What the model is told of the tools now, where it is not what the agent always tells."""
        self._reminder: str | None = None
        """What the model is told now beside the agent's instructions."""
        self._steps: list[tuple[AgentStep, ReadStep]] = []
        self._pieces: list[str] = []
        """Of the latest response's text."""
        self._owns = False
        """Whether the loop is this turn's to go on with."""
        self._limit = agent.max_steps
        self._saved_as: str | None = "running"
        """The state in which the store knows the turn as it is now."""
        self._is_reading = False
        """Whether the run has begun with the latest response."""
        self._is_continued = True
        """Whether the model has something to read that it has not read."""

    def __repr__(self) -> str:
        state = "new" if self._chunks is None else "running" if self._result is None else self._result.finish_reason
        return f"AgentTurn({self.run_id!r}, {state})"

    def __aiter__(self) -> AsyncIterator[Chunk]:
        if self._chunks is None:
            self._chunks = self._whole()
        return self._chunks

    def __await__(self) -> Generator[Any, None, AgentResult]:
        return self._awaited().__await__()

    async def _awaited(self) -> AgentResult:
        if self._chunks is None:
            self._streams = False
        async for _ in self:
            pass
        return self.result

    @property
    def tasks(self) -> tuple[TaskHandle, ...]:
        """The tasks that calls of the turn became in the background, in call order."""
        run: Run | None = getattr(self, "_run", None)
        return () if run is None else run.tasks

    async def until_idle(self) -> AsyncIterator[Chunk]:
        """Tells what becomes of the turn's tasks after its end, until none of them works any more: as `Run.until_idle`.

        `result` has their results then. The model is not asked again: that is `follow_up`.

        Raises `RuntimeError` before the turn's end.
        """
        result = self.result
        async with _closing(self._run.until_idle()) as made:
            async for chunk in made:
                yield chunk
        self._end(result.finish_reason, result.error)

    async def aclose(self) -> None:
        """Ends the turn here: the request to the model is closed, open calls are stopped and have their result."""
        if self._chunks is not None:
            await self._chunks.aclose()

    @property
    def result(self) -> AgentResult:
        """What came of the turn, also of one that the model's client broke off with an exception (`error`).

        Raises `RuntimeError` before its end.
        """
        if self._result is None:
            raise RuntimeError("The turn has not come to its end")
        return self._result

    # ------------------------------------------------------------------------------------------- the loop

    async def _whole(self) -> AsyncGenerator[Chunk, None]:
        try:
            async with aclosing(self._work(self)) as made:
                async for chunk in made:
                    if isinstance(chunk, (ToolCallApproval, ToolCallSuspended)):
                        await self._save()  # who answers must find the turn
                    elif isinstance(chunk, StepFinish):
                        self._is_continued = chunk.is_continued
                    yield chunk
        finally:
            if self._owns and not self._waits:
                await self._let_go()

    async def _begin(self, run: Run, record: TurnRecord) -> AsyncGenerator[Chunk, None]:
        """A new turn."""
        self._run, self._record, self._owns = run, record, True
        self._agent._watch(self._store, run)
        yield chunks.Start(run_id=self.run_id)
        async with aclosing(self._loop()) as made:
            async for chunk in made:
                yield chunk

    async def _go_on(self, answer: Callable[[Run], AsyncIterator[Chunk]]) -> AsyncGenerator[Chunk, None]:
        """A turn that waited: first the answer, then the rest if nothing else waits."""
        record = await self._read()
        last: Chunk | None = None
        async with _closing(answer(self._run)) as made:
            async for last in made:
                yield last
        if record.state == "ended" and not record.follow_up:
            self._end(cast("TurnEnd", record.finish_reason))
            return
        if record.state == "running":
            self._end("elsewhere")
            return
        if not self._is_settled():
            # Somebody else may have answered the other calls meanwhile.
            await self._load()
            if not self._is_settled():
                self._end()
                return
            if not isinstance(last, StepFinish):
                yield finish(self.run_id, self._run._state)
        is_new = record.state == "waiting"
        if not await self._take_up():
            return
        if is_new:
            await self._close_step()
        else:
            self._is_continued = False
        async with aclosing(self._loop()) as made:
            async for chunk in made:
                yield chunk

    async def _follow(self) -> AsyncGenerator[Chunk, None]:
        """A turn that has ended: the model is asked again when its work in the background has."""
        record = await self._read()
        if record.state == "waiting":
            raise RuntimeError(f"The turn {self.run_id!r} has not ended: calls of it wait for an answer")
        if record.state == "running":
            raise RuntimeError(f"The turn {self.run_id!r} has not ended: somebody goes on with it")
        if not await self._take_up():
            return
        record.follow_up, self._is_continued = True, False
        self._limit = record.steps + self._agent.max_steps
        async with aclosing(self._loop()) as made:
            async for chunk in made:
                yield chunk

    async def _read(self) -> TurnRecord:
        record = self._record = await self._store.read()
        if record.provider != self._agent.model.provider:
            raise ValueError(f"The turn {self.run_id!r} was begun with a model of {record.provider}")
        await self._load()
        return record

    async def _take_up(self) -> bool:
        """Goes on with the turn, unless somebody else does."""
        self._record.state = "running"
        self._owns = await self._store.write(self._record)
        if not self._owns:
            self._end("elsewhere")
        return self._owns

    async def _load(self) -> None:
        agent, record = self._agent, self._record
        members = {**self._members, **record.agent, "agent_id": agent.id}
        self._run = await agent._runner.load(self.run_id, messages=record.messages, **members)
        agent._watch(self._store, self._run)
        await agent._recall(self, self._run, record)

    async def _loop(self) -> AsyncGenerator[Chunk, None]:
        while self._goes_on or self._is_followed_up:
            if not self._is_continued:
                async with aclosing(self._follow_up()) as made:
                    async for chunk in made:
                        yield chunk
                if not self._goes_on:
                    break
            try:
                async with aclosing(self._step()) as made:
                    async for chunk in made:
                        yield chunk
            except Exception as raised:
                # What its calls have done is done: the conversation can go on from there.
                if self._is_reading and not self._waits and self._run._state.calls:
                    await self._close_step()
                self._end("error", str(raised) or type(raised).__name__)
                raise
            finally:
                if self._waits:  # also when the reader went away: somebody else may answer
                    await self._save()
            if self._waits:
                if self._end() == "tool-calls":
                    yield StepFinish(run_id=self.run_id, reason=self._run.finish_reason or "other", is_continued=False)
                    yield chunks.Finish(run_id=self.run_id, reason="tool-calls")
                return
            await self._close_step()
        reason = self._end()
        await self._let_go()
        if reason == "abort":
            yield chunks.Abort(run_id=self.run_id)
        yield chunks.Finish(run_id=self.run_id, reason=reason)

    async def _step(self) -> AsyncGenerator[Chunk, None]:
        """One response of the model, with its calls."""
        agent, record = self._agent, self._record
        record.steps += 1
        self._saved_as, self._is_reading = None, False
        self._pieces.clear()
        record.told = [call.record.tool_call_id for call in self._deferred if call.record.outcome is not None]
        await agent._recall(self, self._run, record)
        request = ModelRequest(
            messages=[*record.messages, *self._added],
            tools=agent._definitions if self._tools is None else self._tools,
            instructions=[text for text in (agent.instructions, agent._runner.instructions, self._reminder) if text],
            stream=self._streams,
        )
        async with (
            aclosing(agent.model.respond(request)) as response,
            _closing(self._run.step(response, provider=agent.model.provider)) as made,
        ):
            async for chunk in made:
                self._is_reading = True
                if isinstance(chunk, TextDelta) and chunk.type == "text-delta":  # reasoning is one too
                    self._pieces.append(chunk.text)
                yield chunk

    async def _close_step(self) -> None:
        """The step has all its results."""
        run = self._run
        messages = run.messages()
        self._record.closed = len(run._state.steps)
        step = AgentStep(
            number=self._record.steps,
            text="".join(self._pieces),
            finish_reason=run.finish_reason or "other",
            results=run.results,
            messages=tuple(messages),
        )
        self._steps.append((step, run._state.steps[-1]))
        await self._agent._tell(step)

    @property
    def _goes_on(self) -> bool:
        """Whether the model is to be asked."""
        return self._is_continued and self._may_ask

    @property
    def _may_ask(self) -> bool:
        return not self._run.signal.aborted and self._record.steps < self._limit

    @property
    def _is_followed_up(self) -> bool:
        """Whether the model, which has nothing to read, is to read what comes of work in the background."""
        is_over = self._is_continued or self._run.error is not None or not self._may_ask
        return self._record.follow_up and not is_over and any(map(self._is_untold, self._deferred))

    async def _follow_up(self) -> AsyncGenerator[Chunk, None]:
        """Waits for the work in the background; what came of it is for the model to read."""
        run, record = self._run, self._record
        async with aclosing(run.task_news(run.signal)) as made:
            async for chunk in made:
                for new in run._state.take_news():  # its result is told before its end is
                    yield new
                yield chunk
        news = [call for call in self._deferred if call.record.outcome is not None and self._is_untold(call)]
        if news and self._may_ask:
            which = ", ".join(f"{call.record.called} ({call.provider_id})" for call in news)
            record.notes.append((record.closed, self._agent.model.user_message(f"{NOTE} {which}")))
            self._is_continued = True

    @property
    def _deferred(self) -> list[LiveCall]:
        return [call for call in self._run._state.by_id.values() if call.record.deferred]

    def _is_untold(self, call: LiveCall) -> bool:
        """Whether the model has not read what came of a deferred call."""
        return call.record.tool_call_id not in self._record.told

    @property
    def _added(self) -> list[dict[str, Any]]:
        """What the turn has added to the conversation, with all that is known of it now."""
        record, added = self._record, list[dict[str, Any]]()
        for number, step in enumerate(self._run._state.steps[: record.closed], 1):
            added += [*messages_of(step), *(note for place, note in record.notes if place == number)]
        return added

    @property
    def _waits(self) -> bool:
        """Whether the conversation cannot go on before somebody has answered."""
        return bool(self._run._state.waiting)

    def _is_settled(self) -> bool:
        """Whether every call of the step has its result; one may also be worked on elsewhere."""
        calls = self._run._state.calls
        records = [call.record for call in calls]
        return all(record.outcome is not None or record.server or record.deferred for record in records)

    async def _save(self) -> None:
        """Who answers must find the turn: one that waits, or whose deferred calls do while it goes on."""
        state: Literal["waiting", "running"] = "waiting" if self._waits else "running"
        if self._owns and self._saved_as != state:
            self._record.state = state
            await self._write()

    async def _let_go(self) -> None:
        """The turn has ended. It is kept while calls in the background go on, or somebody may follow them up."""
        record, deferred = self._record, self._deferred
        if self._agent._forgets and not any(call.record.is_open for call in deferred):
            await self._store.delete()
        elif self._saved_as != "ended" and (self._store.is_written or any(map(self._is_untold, deferred))):
            record.state = "ended"
            record.finish_reason = "error" if self._result is None else self._result.finish_reason
            await self._write()

    async def _write(self) -> None:
        self._saved_as = self._record.state
        if not await self._store.write(self._record):
            raise RuntimeError(f"The turn {self.run_id!r} is somebody else's: its id was used before")
        await self._agent._remember(self.run_id, self._record)

    def _end(self, reason: TurnEnd | None = None, error: str | None = None) -> TurnEnd:
        reason = reason or self._reason
        self._result = AgentResult(
            run_id=self.run_id,
            text="".join(self._pieces),
            finish_reason=reason,
            messages=self._added,
            steps=tuple(_as_now(step, read) for step, read in self._steps),
            pending=self._run.pending,
            tasks=self._run.tasks,
            error=error or (self._run.error if reason == "error" else None),
            transcript=self._run.transcript(),
        )
        return reason

    @property
    def _reason(self) -> TurnEnd:
        run = self._run
        if self._waits:
            kinds = {call.record.phase for call in run._state.waiting}
            return "tool-calls" if kinds == {"client"} else "suspended"
        if not self._is_settled():
            return "elsewhere"
        if run.signal.aborted:
            return "abort"
        if run.error is not None:
            return "error"
        if self._is_continued:
            return "tool-calls"  # the model has not read them: its steps are used up
        return cast("TurnEnd", run.finish_reason or "other")


def _as_now(step: AgentStep, read: ReadStep) -> AgentStep:
    """The step with what has come of its deferred calls since."""
    results = tuple(call.result for call in read.calls if call.result is not None)
    return msgspec.structs.replace(step, results=results, messages=tuple(messages_of(read)))


def _closing(made: AsyncIterator[Chunk]) -> aclosing[AsyncGenerator[Chunk, None]]:
    return aclosing(cast("AsyncGenerator[Chunk, None]", made))
