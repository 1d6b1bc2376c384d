"""What a store keeps of a turn that waits: the conversation, and how far the turn is.

Rules: spec/api.md sections 6 and 7. The run's own records stand beside it, under the run's id; the request context is
never written. Of several who answer calls of one turn, the record lets one go on with it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from toolhead.errors import RunNotFoundError
from toolhead.providers.plain import _plain
from toolhead.runs.store import HEADER

if TYPE_CHECKING:
    from toolhead.runs.store import Store

VERSION = 1


class TurnRecord(msgspec.Struct, kw_only=True):
    """A turn that waits, as JSON."""

    version: int = VERSION
    provider: str
    """Whose form the messages have."""
    messages: list[Any]
    """The conversation that the turn began with, in the provider's form."""
    added: list[Any]
    """What the turn has added to it."""
    steps: int
    """How many responses the model has given."""
    agent: dict[str, Any]
    """`thread_id` and `resource_id`."""
    resumes: list[str] = []
    """The ids of the tools whose calls may carry resume data."""
    is_taken_up: bool = False
    """Whether somebody goes on with the turn."""


class TurnStore:
    """Reads and writes the record of one turn."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._key = f"agent:{run_id}"
        self._run_id = run_id
        self._version = 0

    async def read(self) -> TurnRecord:
        """The record. Raises `RunNotFoundError`."""
        records = await self._store.read(self._key)
        if HEADER not in records:
            raise RunNotFoundError(f"No turn {self._run_id!r} waits for an answer")
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

    async def delete(self) -> None:
        """Forgets the turn and its run."""
        await self._store.delete(self._key)
        await self._store.delete(self._run_id)
