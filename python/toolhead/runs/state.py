"""What a run knows: shared by the run, its steps and its records.

Rules: spec/api.md section 6.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from toolhead.runs.transcript import Transcript

if TYPE_CHECKING:
    from toolhead.runs.chunks import CallChunk, Chunk
    from toolhead.runs.live import LiveCall


class ReadStep(NamedTuple):
    """A step that is at its end."""

    provider: str
    """Whose form its messages have."""
    assistant: list[dict[str, Any]]
    """The assistant's part."""
    calls: list[LiveCall]


class RunState:
    """The latest step, and what of all steps is still needed."""

    def __init__(self) -> None:
        self.provider: str | None = None
        self.finish_reason: str | None = None
        self.error: str | None = None
        """What the provider said where the latest response failed."""
        self.assistant: list[dict[str, Any]] = []
        """The assistant's part of the latest step, in the provider's form."""
        self.calls: list[LiveCall] = []
        """The calls of the latest step, in call order."""
        self.by_id: dict[str, LiveCall] = {}
        """The calls of all steps."""
        self.transcript = Transcript()
        self.is_stepping = False
        self.steps: list[ReadStep] = []
        """Each step that is at its end."""
        self.inbox: asyncio.Queue[tuple[str, Any]] | None = None
        """Of the step that is being read."""
        self.news: list[CallChunk] = []
        """What came of deferred calls while no step was read."""
        self.task_news: list[CallChunk] = []
        """What became of the tasks in the background, for who follows them."""
        self.changed = asyncio.Event()
        """Set with each of the news about tasks."""

    def begin(self, provider: str, inbox: asyncio.Queue[tuple[str, Any]]) -> None:
        """A step begins."""
        self.provider, self.finish_reason, self.assistant, self.calls = provider, None, [], []
        self.error = None
        self.inbox = inbox
        self.transcript.begin_step()

    def end(self, provider: str, assistant: list[dict[str, Any]]) -> None:
        """The step has been read: its messages have the form of `provider`."""
        self.provider, self.assistant, self.is_stepping = provider, assistant, False
        self.steps.append(ReadStep(provider, assistant, self.calls))

    def tell(self, chunk: CallChunk) -> None:
        """Something came of a deferred call: told by the step that is being read, else by the next one."""
        if self.inbox is None:
            self.news.append(chunk)
        else:
            self.inbox.put_nowait(("news", chunk))

    def tell_now(self, item: object) -> None:
        """Something that matters only while it happens: told by the step that is being read, else by none."""
        if self.inbox is not None:
            self.inbox.put_nowait(("call", item))

    def take_news(self) -> list[Chunk]:
        """What is to be told by the step that begins."""
        taken, self.news = self.news, []
        return [*taken]

    def tell_task(self, chunk: CallChunk) -> None:
        """Something became of a task."""
        self.task_news.append(chunk)
        self.changed.set()

    @property
    def is_working(self) -> bool:
        """Whether a step is read, or somebody's answer is worked on."""
        return self.is_stepping or any(call.is_answered for call in self.calls)

    @property
    def waiting(self) -> list[LiveCall]:
        """The calls of the step that wait for an answer that nobody has given, and hold up the conversation."""
        return [
            call for call in self.calls if call.record.is_waiting and not call.is_answered and not call.record.deferred
        ]

    @property
    def waiting_behind(self) -> list[LiveCall]:
        """The deferred calls of all steps that wait for an answer: the conversation goes on without it."""
        calls = self.by_id.values()
        return [call for call in calls if call.record.is_waiting and not call.is_answered and call.record.deferred]

    @property
    def is_idle(self) -> bool:
        """Whether no task of this run works in the background."""
        behind = ((call, call.behind.task) for call in self.by_id.values() if call.behind is not None)
        return not any(task and (call.record.phase == "deferred" or not task.is_resting) for call, task in behind)
