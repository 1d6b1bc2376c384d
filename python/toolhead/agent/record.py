"""What a store keeps of a turn that waits, or has work in the background: the conversation, and how far the turn is.

Rules: spec/api.md sections 6 and 7. The run's own records stand beside it, under the run's id; the request context is
never written. Of several who answer calls of one turn, the record lets one go on with it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from toolhead.errors import RunNotFoundError
from toolhead.providers.plain import _plain
from toolhead.runs.saved import decoded
from toolhead.runs.store import HEADER

if TYPE_CHECKING:
    from toolhead.runs.store import Store

VERSION = 2


class TurnRecord(msgspec.Struct, kw_only=True):
    """A turn that waits or has work in the background, as JSON. What it has added is in the records of its run."""

    version: int = VERSION
    provider: str
    """Whose form the messages have."""
    messages: list[Any]
    """The conversation that the turn began with, in the provider's form."""
    steps: int
    """How many responses the model has given."""
    agent: dict[str, Any]
    """`thread_id` and `resource_id`."""
    resumes: list[str] = []
    """The ids of the tools whose calls may carry resume data."""
    state: Literal["waiting", "running", "ended"] = "waiting"
    """`waiting` for answers; `running`: somebody goes on with it; `ended`, while calls in the background may go on."""
    finish_reason: str = "other"
    """Of a turn that has ended."""
    closed: int = 0
    """How many of its run's steps have all that the model is to read."""
    follow_up: bool = False
    """Whether the model is asked again when work in the background has ended."""
    told: list[str] = []
    """The deferred calls whose results the model has read."""
    notes: list[tuple[int, dict[str, Any]]] = []
    """Messages that tell the model that work in the background has ended, and after which step each stands."""


class TurnStore:
    """Reads and writes the record of one turn."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._key = f"agent:{run_id}"
        self._run_id = run_id
        self._version = 0

    @property
    def is_written(self) -> bool:
        """Whether there is a record."""
        return self._version > 0

    async def read(self) -> TurnRecord:
        """The record. Raises `RunNotFoundError`."""
        records = await self._store.read(self._key)
        if HEADER not in records:
            raise RunNotFoundError(f"No turn {self._run_id!r} waits for an answer or for work in the background")
        self._version, data = records[HEADER]
        record = msgspec.json.decode(data, type=TurnRecord)
        if record.version != VERSION:
            raise RunNotFoundError(
                f"The turn {self._run_id!r} was stored in form {record.version}; this reads {VERSION}"
            )
        return record

    async def write(self, record: TurnRecord) -> bool:
        """Writes the record; False when somebody else has written it since it was read.

        Raises `TypeError` for messages that are not JSON.
        """
        try:
            data = json.dumps(_plain(msgspec.structs.asdict(record))).encode()
        except TypeError as error:
            raise TypeError(f"The messages of a turn that waits are stored as JSON: {error}") from error
        if not await self._store.write(self._key, HEADER, data, expected=self._version):
            return False
        self._version += 1
        return True

    async def is_over(self, *states: str) -> bool:
        """Whether the turn is in one of `states`, and no call of it is open."""
        turn = (await self._store.read(self._key)).get(HEADER)
        if turn is None or msgspec.json.decode(turn.data, type=TurnRecord).state not in states:
            return False
        records = await self._store.read(self._run_id)
        return not any(decoded(stored.data).is_open for key, stored in records.items() if key != HEADER)

    async def delete(self) -> None:
        """Forgets the turn and its run."""
        await self._store.delete(self._key)
        await self._store.delete(self._run_id)
