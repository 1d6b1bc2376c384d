"""A call that was read from a store: what is known of it is made anew.

Rules: spec/api.md section 6. The record has the JSON data; projections, and the result for the application, are made
from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolhead.errors import ToolError
from toolhead.runs.calls import CallResult

if TYPE_CHECKING:
    from toolhead.runs.live import LiveCall


async def restore(live: LiveCall) -> None:
    """Brings a call, made from its record, to where it was."""
    record, views = live.record, live.views
    live.is_told = True
    if record.outcome is not None:
        status, result = record.outcome.status, record.outcome.result
        where = {"tool_id": record.tool_id, "tool_call_id": record.tool_call_id}
        live.result = CallResult(
            tool_call_id=record.tool_call_id,
            tool_name=record.tool_name,
            status=status,
            output=result if status == "ok" else None,
            error=None if status in ("ok", "denied") else ToolError(record.outcome.message, **where),
            answer=record.outcome.answer(),
        )
    elif record.is_waiting or record.phase == "deferred":
        payload = {"input": record.args}
        await views.add("input", payload)
        if record.phase == "approval":
            await views.add("approval", {"input": record.asked})
        elif record.phase == "suspended":
            await views.add("suspend", {**payload, "suspend_payload": record.suspend_payload})
        if live.behind is not None:
            await live.behind.attached()
