"""Suspended calls of a conversation that its next message may answer: how the model learns of them and resumes them.

Rules: spec/api.md section 6; behaviour document section 7 (`autoResumeSuspendedTools`). What is suspended is read from
the runs' own records; the thread only keeps which runs to look into.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from toolhead.agent.record import TurnStore
from toolhead.errors import AlreadyResolvedError, NotSuspendedError, ValidationError
from toolhead.runs.calls import CallRecord, Outcome
from toolhead.runs.carried import with_members
from toolhead.runs.saved import _encoded, decoded
from toolhead.runs.store import HEADER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolhead.agent.model import SchemaOf
    from toolhead.runs.carried import Carried
    from toolhead.runs.live import LiveCall
    from toolhead.runs.store import Store
    from toolhead.runs.toolset import AnyTool, ToolSet


REMINDER = """\
These tool calls are suspended until the user has given what they wait for. If the user's latest message gives it, call
the same tool again with the same arguments and put it into resumeData; take suspendedToolCallId and suspendedToolRunId
from this list. If it does not, do not call the tool on account of this list."""


class Suspended(NamedTuple):
    """A suspended call of the thread."""

    run_id: str
    record: CallRecord


class Thread:
    """The suspended calls of one conversation.

    Args:
        store: where the runs are.
        resource_id, thread_id: whose conversation, and which.
        forgets: whether runs are deleted when nothing of them waits any more.
    """

    def __init__(self, store: Store, resource_id: str | None, thread_id: str, *, forgets: bool) -> None:
        self._store = store
        self._key = f"thread:{json.dumps([resource_id, thread_id])}"
        self._forgets = forgets

    async def add(self, run_id: str) -> None:
        """The run has a call that waits, or may. Runs in which none does any more are dropped from the list."""
        while True:
            version, run_ids = await self._runs()
            waiting = [known for known in run_ids if known != run_id and await self._open(known)]
            data = msgspec.json.encode([*waiting, run_id])
            if await self._store.write(self._key, HEADER, data, expected=version):
                return

    async def suspended(self) -> list[Suspended]:
        """The calls that are suspended now, oldest run first."""
        _, run_ids = await self._runs()
        return [call for run_id in run_ids for call in await self._open(run_id) if call.record.phase == "suspended"]

    async def _runs(self) -> tuple[int, list[str]]:
        stored = (await self._store.read(self._key)).get(HEADER)
        return (0, []) if stored is None else (stored.version, msgspec.json.decode(stored.data, type=list[str]))

    async def _open(self, run_id: str) -> list[Suspended]:
        records = await self._store.read(run_id)
        calls = [decoded(stored.data) for key, stored in records.items() if key != HEADER]
        return [Suspended(run_id, call) for call in calls if call.is_open]

    async def take_up(self, call: LiveCall, carried: Carried) -> ValidationError | None:
        """Ends the suspended call that `call` resumes: its own result names the call that has taken it over.

        Returns the `ValidationError` of data that the tool's `resume_schema` refuses; the suspension stands then.

        Raises:
            NotSuspendedError: there is none.
            AlreadyResolvedError: somebody else has answered it.
        """
        where = {"tool_id": call.record.tool_id, "tool_call_id": call.record.tool_call_id, "phase": "resume"}
        found = _meant(await self.suspended(), call.record.tool_id, carried)
        if found is None:
            raise NotSuspendedError(f"No call of the tool {call.record.tool_name!r} is suspended here", **where)
        assert call.tool is not None  # noqa: S101  only a tool runs
        try:
            call.tool.validate_resume(carried.data)
        except ValidationError as error:
            return error
        key = found.record.tool_call_id
        stored = (await self._store.read(found.run_id))[key]
        outcome = Outcome(status="ok", result={"resumedBy": call.record.tool_call_id})
        done = msgspec.structs.replace(found.record, phase="done", outcome=outcome)
        is_open = decoded(stored.data).phase == "suspended"
        if not is_open or not await self._store.write(found.run_id, key, _encoded(done), expected=stored.version):
            raise AlreadyResolvedError(f"The call {key!r} has been answered elsewhere", **where)
        await _cancel_task(call, found.record)
        turn = TurnStore(self._store, found.run_id)
        if self._forgets and await turn.is_over("waiting", "ended"):
            await turn.delete()
        return None


async def _cancel_task(call: LiveCall, resumed: CallRecord) -> None:
    """The task that the resumed call was waits for an answer that it will not get."""
    background = call.run.runner.background
    if background is not None and resumed.task_id is not None:
        task = await background.attach(resumed.task_id)
        if task is not None:
            await task.cancel()


def _meant(suspended: Sequence[Suspended], tool_id: str | None, carried: Carried) -> Suspended | None:
    """The call that the model means: the one it names, else the latest of the same tool."""
    same = [
        call
        for call in suspended
        if call.record.tool_id == tool_id
        and carried.tool_call_id in (None, call.record.tool_call_id)
        and carried.run_id in (None, call.run_id)
    ]
    return same[-1] if same else None


def reminder(suspended: Sequence[Suspended], tools: ToolSet) -> str:
    """What the model is told of the suspended calls."""
    lines = [REMINDER]
    for run_id, record in suspended:
        tool = tools.get(record.tool_name)
        schema = None if tool is None else tool._schemas.get("resume_schema")
        told = {
            "toolName": record.tool_name,
            "suspendedToolCallId": record.tool_call_id,
            "suspendedToolRunId": run_id,
            "args": record.args,
            "suspendPayload": record.suspend_payload,
            **({} if schema is None else {"resumeSchema": schema.json_schema}),
        }
        lines.append(f"- {json.dumps(told, ensure_ascii=False)}")
    return "\n".join(lines)


def with_resumption(suspended: Sequence[Suspended], schema: SchemaOf | None) -> SchemaOf:
    """What a model is told of the arguments of tools, of which some may resume `suspended`."""
    ids = {call.record.tool_id for call in suspended}

    def told(name: str, tool: AnyTool) -> Any:
        own = tool.input_json_schema if schema is None else schema(name, tool)
        return with_members(own) if tool.id in ids else own

    return told
