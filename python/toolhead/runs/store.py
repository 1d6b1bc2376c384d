"""Where runs that wait are kept between requests and processes.

Rules: spec/api.md section 6: records are versioned JSON, one for each (run, call), written by compare-and-swap, so that
of two who answer a call at once one wins and the other is told. A store knows nothing of what it keeps.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

HEADER = ""
"""The key of the record of the run itself; calls are kept under their ids, which are never empty."""


class Stored(NamedTuple):
    """A record: how often it was written, from 1, and its JSON text."""

    version: int
    data: bytes


class Store(Protocol):
    """Keeps records. All methods may be called from any event loop, at any time."""

    async def read(self, run_id: str) -> Mapping[str, Stored]:
        """All records of a run by their keys; empty for an unknown run."""
        ...

    async def write(self, run_id: str, key: str, data: bytes, *, expected: int) -> bool:
        """Writes a record whose version is `expected` (0: there is none), as the next version.

        Returns False, and changes nothing, when the record has another version: somebody else was faster.
        """
        ...

    async def delete(self, run_id: str) -> None:
        """Forgets a run."""


class MemoryStore:
    """A store in this process: for tests, and for services of one process."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[str, Stored]] = {}
        self._lock = threading.Lock()

    async def read(self, run_id: str) -> Mapping[str, Stored]:
        """See `Store.read`."""
        with self._lock:
            return dict(self._runs.get(run_id, {}))

    async def write(self, run_id: str, key: str, data: bytes, *, expected: int) -> bool:
        """See `Store.write`."""
        with self._lock:
            records = self._runs.setdefault(run_id, {})
            version = records[key].version if key in records else 0
            if version != expected:
                return False
            records[key] = Stored(version + 1, data)
            return True

    async def delete(self, run_id: str) -> None:
        """See `Store.delete`."""
        with self._lock:
            self._runs.pop(run_id, None)


class SQLiteStore:
    """A store in a SQLite file, which several processes may share.

    Args:
        path: the file; made with its table when it is missing.
        busy: seconds to wait for another process that writes.
    """

    def __init__(self, path: str | Path, *, busy: float = 10.0) -> None:
        self.path = Path(path)
        self._busy = busy
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self.path)!r})"

    async def read(self, run_id: str) -> Mapping[str, Stored]:
        """See `Store.read`."""
        return await asyncio.to_thread(self._read, run_id)

    async def write(self, run_id: str, key: str, data: bytes, *, expected: int) -> bool:
        """See `Store.write`."""
        return await asyncio.to_thread(self._write, run_id, key, data, expected)

    async def delete(self, run_id: str) -> None:
        """See `Store.delete`."""
        await asyncio.to_thread(self._change, "DELETE FROM toolhead_runs WHERE run_id = ?", (run_id,))

    def close(self) -> None:
        """Closes the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _read(self, run_id: str) -> dict[str, Stored]:
        with self._lock:
            rows = self._open().execute("SELECT key, version, data FROM toolhead_runs WHERE run_id = ?", (run_id,))
            return {key: Stored(version, bytes(data)) for key, version, data in rows}

    def _write(self, run_id: str, key: str, data: bytes, expected: int) -> bool:
        if expected == 0:
            insert = "INSERT INTO toolhead_runs (run_id, key, version, data) VALUES (?, ?, 1, ?) ON CONFLICT DO NOTHING"
            return self._change(insert, (run_id, key, data)) == 1
        update = "UPDATE toolhead_runs SET version = version + 1, data = ? WHERE run_id = ? AND key = ? AND version = ?"
        return self._change(update, (data, run_id, key, expected)) == 1

    def _change(self, statement: str, values: tuple[object, ...]) -> int:
        """How many rows the statement, a transaction of its own, changed."""
        with self._lock:
            return self._open().execute(statement, values).rowcount

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            import sqlite3

            connection = sqlite3.connect(self.path, timeout=self._busy, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS toolhead_runs (run_id TEXT NOT NULL, key TEXT NOT NULL, "
                "version INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run_id, key)) WITHOUT ROWID"
            )
            self._connection = connection
        return self._connection
