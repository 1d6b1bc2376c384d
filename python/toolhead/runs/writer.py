"""`context.writer` of a call of a run: what a body sends goes to who reads the run.

Rules: section 9 of the behaviour document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolhead.context import ToolWriter
from toolhead.runs import chunks

if TYPE_CHECKING:
    from toolhead.runs.live import LiveCall


class RunWriter(ToolWriter):
    """Sends what the body of one call has to say before its end."""

    def __init__(self, live: LiveCall) -> None:
        self._live = live

    async def write(self, output: object) -> None:
        """Sends partial output, as the transform of the output shows it."""
        live = self._live
        projections = await live.views.once("output", {"input": live.record.args, "output": output})
        live.post(chunks.ToolOutput(**live.named, output=output, projections=projections))

    async def custom(self, chunk: object) -> None:
        """Sends a chunk of the body's own, as it is."""
        self._live.post(chunks.Custom(run_id=self._live.run.id, chunk=chunk))
