"""A recorded stream of a model, as a file: the stream and, beside it, the sidecar that describes it.

Rules: the format of the recorded streams, `tool-stream/1`: `NAME.sse`, `NAME.jsonl` or `NAME.bin`, and `NAME.json`.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from toolhead.cli.errors import INVALID, CommandError
from toolhead.providers.registry import provider_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

FORMAT = "tool-stream/1"


class Recorded(NamedTuple):
    """A stream and what is known of it."""

    path: Path
    provider: str
    sidecar: dict[str, Any]

    @property
    def title(self) -> str:
        """API and model."""
        return " · ".join(filter(None, [self.sidecar.get("api", self.provider), self.sidecar.get("model")]))

    @property
    def origin(self) -> str:
        """Where it comes from, and its licence."""
        source = self.sidecar.get("source") or {}
        kind = {"recorded": "recorded", "fixture": "SDK fixture", "synthetic": "synthetic"}.get(
            self.sidecar.get("kind", "")
        )
        return ", ".join(filter(None, [kind, source.get("repo"), source.get("licence")]))

    def events(self) -> Iterator[bytes]:
        """The stream's bytes, cut where an event of it ends, so that it can be played at a pace."""
        data = self.path.read_bytes()
        if self.path.suffix == ".bin":
            at = 0
            while at + 4 <= len(data):
                length = max(int.from_bytes(data[at : at + 4]), 16)
                yield data[at : at + length]
                at += length
            return
        end = b"\n" if self.path.suffix == ".jsonl" else b"\n\n"
        for piece in data.replace(b"\r\n", b"\n").split(end):
            if piece.strip():
                yield piece + end

    async def play(self, pause: float) -> AsyncIterator[bytes]:
        """The events, one every `pause` seconds."""
        for event in self.events():
            yield event
            await asyncio.sleep(pause)


def load(path: Path, provider: str | None = None) -> Recorded:
    """The recorded stream at `path`, which may also be its sidecar.

    Raises `CommandError`: the file is missing, has no sidecar while no provider is given, or the sidecar has another
    form.
    """
    if path.suffix == ".json":
        sidecar = _sidecar(path)
        stream = path.parent / str(sidecar.get("stream", ""))
    else:
        stream = path
        beside = path.with_suffix(".json")
        sidecar = _sidecar(beside) if beside.is_file() else {}
    if not stream.is_file():
        raise CommandError(f"{stream}: no such file")
    if provider is None:
        if "api" not in sidecar:
            raise CommandError(
                f"{stream}: no sidecar ({stream.with_suffix('.json').name}) says which API this is: give --provider"
            )
        try:
            provider = provider_of(sidecar["api"])
        except ValueError as error:
            raise CommandError(f"{stream}: {error}", INVALID) from error
    return Recorded(stream, provider, sidecar)


def _sidecar(path: Path) -> dict[str, Any]:
    try:
        sidecar = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CommandError(f"{path}: no such file") from None
    except ValueError as error:
        raise CommandError(f"{path}: not JSON: {error}", INVALID) from error
    if not isinstance(sidecar, dict) or sidecar.get("format") != FORMAT:
        raise CommandError(f"{path}: not the sidecar of a recorded stream ({FORMAT})", INVALID)
    return sidecar
