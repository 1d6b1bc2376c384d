"""A run as records: what is written of it, and how it is read back.

Rules: spec/api.md section 6. One record for the run, one for each call; the request context is never written: who goes
on with the run brings it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from toolhead.errors import AlreadyResolvedError, RunNotFoundError
from toolhead.runs.calls import CallRecord, Claim
from toolhead.runs.store import HEADER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from toolhead.runs.live import LiveCall
    from toolhead.runs.state import RunState
    from toolhead.runs.store import Store

_logger = logging.getLogger("toolhead")

VERSION = 2

LEASE = 60.0
"""For how many seconds a claim holds. It is renewed three times as often, so that only the claim of a process that is
gone, or has stood still for so long, runs out."""


class SavedStep(msgspec.Struct, kw_only=True):
    """A step of the run that is at its end."""

    provider: str
    """Whose form its messages have."""
    assistant: list[dict[str, Any]]
    """The assistant's part, in the provider's form."""
    calls: list[str]
    """The ids of its calls, in call order."""


class Header(msgspec.Struct, kw_only=True):
    """The record of the run itself."""

    version: int = VERSION
    finish_reason: str | None
    error: str | None = None
    """What the provider said where the latest response failed."""
    steps: list[SavedStep]
    transcript: list[dict[str, Any]]
    """The parts of the transcript, as it may show them; a call's part names the call."""


class Saved:
    """Writes the records of one run. Without a store it does nothing."""

    def __init__(self, store: Store | None, run_id: str) -> None:
        self.store = store
        self._run_id = run_id
        self._versions: dict[str, int] = {}
        self._lock = asyncio.Lock()  # a call in the background may end while its step is written

    async def step(self, state: RunState) -> None:
        """Writes the run and the calls of its latest step. Raises `RuntimeError` when the id is somebody else's."""
        if self.store is None:
            return
        for call in state.calls:
            await self._write(call.record.tool_call_id, _encoded(call.record))
        header = Header(
            finish_reason=state.finish_reason,
            error=state.error,
            steps=[
                SavedStep(
                    provider=step.provider,
                    assistant=step.assistant,
                    calls=[call.record.tool_call_id for call in step.calls],
                )
                for step in state.steps
            ],
            transcript=state.transcript.parts,
        )
        await self._write(HEADER, _encoded(header))

    @asynccontextmanager
    async def claimed(self, call: LiveCall) -> AsyncIterator[None]:
        """Holds a waiting call while its answer is worked on, and writes it as it is then.

        Raises `AlreadyResolvedError` when somebody else was faster, and when somebody else has taken the call over,
        which is possible when the claim could not be renewed in time.
        """
        if self.store is None:
            yield
            return
        waiting = msgspec.structs.replace(call.record)
        await self._claim(waiting)
        over = asyncio.get_running_loop().create_future()
        renewing = asyncio.ensure_future(self._renew(waiting, over))
        try:
            yield
        finally:
            over.set_result(None)  # not cancelled: a write that has begun is to be known
            await renewing
            if not await self._try_write(waiting.tool_call_id, _encoded(call.record)):
                raise _taken(waiting)

    async def _claim(self, waiting: CallRecord) -> None:
        claim = Claim(phase=waiting.phase, until=time.time() + LEASE)
        data = _encoded(msgspec.structs.replace(waiting, phase="running", claimed=claim))
        if not await self._try_write(waiting.tool_call_id, data):
            raise _taken(waiting)

    async def _renew(self, waiting: CallRecord, over: asyncio.Future[None]) -> None:
        while not (await asyncio.wait({over}, timeout=LEASE / 3))[0]:
            try:
                await self._claim(waiting)
            except AlreadyResolvedError:
                return  # told when the answer is written
            except Exception:
                _logger.exception("the claim of the call %s could not be renewed", waiting.tool_call_id)

    async def late(self, call: LiveCall) -> None:
        """Writes a deferred call as it is now. Who has read the run since and written it knows better."""
        if self.store is None:
            return
        key, data = call.record.tool_call_id, _encoded(call.record)
        if not await self._try_write(key, data):
            stored = (await self.store.read(self._run_id)).get(key)
            if stored is not None and stored.data == data:  # another object of the run was told the same
                self._versions[key] = stored.version

    async def current(self, call: LiveCall) -> CallRecord | None:
        """What the store has of a call."""
        key = call.record.tool_call_id
        stored = None if self.store is None else (await self.store.read(self._run_id)).get(key)
        if stored is None:
            return None
        self._versions[key] = stored.version
        return decoded(stored.data)

    async def read(self) -> tuple[Header, dict[str, CallRecord]]:
        """The run and its calls. Raises `RunNotFoundError`."""
        records = {} if self.store is None else await self.store.read(self._run_id)
        if HEADER not in records:
            raise RunNotFoundError(f"No run {self._run_id!r} is stored, or its step is not at its end")
        self._versions = {key: stored.version for key, stored in records.items()}
        header = msgspec.json.decode(records[HEADER].data, type=Header)
        if header.version != VERSION:
            raise RunNotFoundError(
                f"The run {self._run_id!r} was stored in form {header.version}; this reads {VERSION}"
            )
        return header, {key: decoded(stored.data) for key, stored in records.items() if key != HEADER}

    async def _write(self, key: str, data: bytes) -> None:
        if not await self._try_write(key, data):
            raise RuntimeError(f"The records of the run {self._run_id!r} were changed by somebody else")

    async def _try_write(self, key: str, data: bytes) -> bool:
        assert self.store is not None  # noqa: S101  the callers have asked
        async with self._lock:
            version = self._versions.get(key, 0)
            is_written = await self.store.write(self._run_id, key, data, expected=version)
            if is_written:
                self._versions[key] = version + 1
            return is_written


def decoded(data: bytes) -> CallRecord:
    """The record of a call as it is now: a claim that has run out holds no more."""
    record = msgspec.json.decode(data, type=CallRecord)
    record.release(time.time())
    return record


def _taken(record: CallRecord) -> AlreadyResolvedError:
    key = record.tool_call_id
    return AlreadyResolvedError(f"The call {key!r} has been answered elsewhere", tool_call_id=key)


def _encoded(record: msgspec.Struct) -> bytes:
    # Not msgspec's encoder: a tool's result may hold half a surrogate pair, which JSON can escape and UTF-8 cannot.
    return json.dumps(msgspec.to_builtins(record)).encode()
