"""A context as a run of an agent gives it, for calling a tool directly.

Rules: spec/api.md sections 4 and 9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolhead.abort import AbortSignal
from toolhead.context import AgentToolExecutionContext, ToolWriter, prepared_context
from toolhead.request_context import RequestContext

if TYPE_CHECKING:
    from toolhead._core import ToolExecutionContext


class RecordingWriter(ToolWriter):
    """Keeps what a body writes: `written` by `write`, `custom_chunks` by `custom`."""

    def __init__(self) -> None:
        self.written: list[object] = []
        self.custom_chunks: list[object] = []

    async def write(self, output: object) -> None:
        """Keeps `output`."""
        self.written.append(output)

    async def custom(self, chunk: object) -> None:
        """Keeps `chunk`."""
        self.custom_chunks.append(chunk)


def fake_context(**members: Any) -> ToolExecutionContext:
    """A context for `tool.execute(input, context)` in which everything is there.

    Its `writer` is a `RecordingWriter`, its `agent` one that has an id and no messages, its request context empty, its
    signal not aborted. A body that suspends makes the call raise `ToolSuspended`, as every direct call does.

    Args:
        **members: members of the context to set otherwise: `request_context` and `agent` may be mappings,
            `resume_data` makes the call a resumed one.

    Raises:
        TypeError: an unknown member, or one of the wrong type, named.
    """
    call_id = members.get("tool_call_id", "call_test")
    given = {
        "request_context": RequestContext(),
        "abort_signal": AbortSignal(),
        "agent": AgentToolExecutionContext(agent_id="agent", tool_call_id=call_id),
        "writer": RecordingWriter(),
        "tool_call_id": call_id,
        "idempotency_key": f"run_test:{call_id}",
    }
    return prepared_context({**given, **members})
