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
from toolhead.runs.step import finish

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator

    from toolhead.agent.agent import Agent
    from toolhead.runs.calls import CallResult, PendingCall
    from toolhead.runs.run import Run

TurnEnd: TypeAlias = Literal[
    "stop", "tool-calls", "length", "content-filter", "error", "other", "abort", "suspended", "elsewhere"
]
"""Why a turn came to its end: what the model's last response said, or `abort`; `suspended`: calls wait for an answer;
`tool-calls`: the steps are used up, or calls wait for a result from outside; `elsewhere`: another answer to the same
turn goes on with it."""


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
    the provider's form; a step that waits is not in it. `steps` are those of this process. `pending`: calls that wait.
    """

    run_id: str
    text: str
    finish_reason: TurnEnd
    messages: list[dict[str, Any]]
    steps: tuple[AgentStep, ...]
    pending: tuple[PendingCall, ...]
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
        self._steps: list[AgentStep] = []
        self._pieces: list[str] = []
        """Of the latest response's text."""
        self._owns = False
        """Whether the loop is this turn's to go on with."""
        self._is_saved = True
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
            if self._owns and not self._waits and self._agent._forgets:
                await self._store.delete()

    async def _begin(self, run: Run, record: TurnRecord) -> AsyncGenerator[Chunk, None]:
        """A new turn."""
        self._run, self._record, self._owns = run, record, True
        yield chunks.Start(run_id=self.run_id)
        async with aclosing(self._loop()) as made:
            async for chunk in made:
                yield chunk

    async def _go_on(self, answer: Callable[[Run], AsyncIterator[Chunk]]) -> AsyncGenerator[Chunk, None]:
        """A turn that waited: first the answer, then the rest if nothing else waits."""
        record = self._record = await self._store.read()
        if record.provider != self._agent.model.provider:
            raise ValueError(f"The turn {self.run_id!r} was begun with a model of {record.provider}")
        await self._load()
        last: Chunk | None = None
        async with _closing(answer(self._run)) as made:
            async for last in made:
                yield last
        if not self._is_settled():
            # Somebody else may have answered the other calls meanwhile.
            await self._load()
            if not self._is_settled():
                self._end()
                return
            if not isinstance(last, StepFinish):
                yield finish(self.run_id, self._run._state)
        self._record.is_taken_up = True
        if not await self._store.write(self._record):
            self._end("elsewhere")
            return
        self._owns = True
        await self._close_step()
        async with aclosing(self._loop()) as made:
            async for chunk in made:
                yield chunk

    async def _load(self) -> None:
        agent, record = self._agent, self._record
        members = {**self._members, **record.agent, "agent_id": agent.id}
        self._run = await agent._runner.load(self.run_id, messages=record.messages, **members)
        await agent._recall(self, self._run, record)

    async def _loop(self) -> AsyncGenerator[Chunk, None]:
        while self._goes_on:
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
        if reason == "abort":
            yield chunks.Abort(run_id=self.run_id)
        yield chunks.Finish(run_id=self.run_id, reason=reason)

    async def _step(self) -> AsyncGenerator[Chunk, None]:
        """One response of the model, with its calls."""
        agent, record = self._agent, self._record
        record.steps += 1
        self._is_saved = self._is_reading = False
        self._pieces.clear()
        await agent._recall(self, self._run, record)
        request = ModelRequest(
            messages=[*record.messages, *record.added],
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
        self._record.added += messages
        step = AgentStep(
            number=self._record.steps,
            text="".join(self._pieces),
            finish_reason=run.finish_reason or "other",
            results=run.results,
            messages=tuple(messages),
        )
        self._steps.append(step)
        await self._agent._tell(step)

    @property
    def _goes_on(self) -> bool:
        """Whether the model is to be asked."""
        if self._run.signal.aborted or self._record.steps >= self._agent.max_steps:
            return False
        return self._is_continued

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
        if not self._is_saved:
            self._is_saved = True
            self._record.is_taken_up = False
            if not await self._store.write(self._record):
                raise RuntimeError(f"The turn {self.run_id!r} is somebody else's: its id was used before")
            await self._agent._remember(self.run_id, self._record)

    def _end(self, reason: TurnEnd | None = None, error: str | None = None) -> TurnEnd:
        reason = reason or self._reason
        self._result = AgentResult(
            run_id=self.run_id,
            text="".join(self._pieces),
            finish_reason=reason,
            messages=list(self._record.added),
            steps=tuple(self._steps),
            pending=self._run.pending,
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


def _closing(made: AsyncIterator[Chunk]) -> aclosing[AsyncGenerator[Chunk, None]]:
    return aclosing(cast("AsyncGenerator[Chunk, None]", made))
