"""What somebody is asked about a call: whether it may run, the question itself, a no, and what an answer holds for.

Rules: spec/api.md section 6; behaviour document section 14.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolhead import approval, call
from toolhead.context import prepared_context
from toolhead.errors import NotSuspendedError, ValidationError
from toolhead.runs.calls import ApprovalRequest, CallResult, Outcome, PendingCall
from toolhead.runs.chunks import ToolCallApproval, ToolOutputDenied
from toolhead.runs.sendable import sendable

if TYPE_CHECKING:
    from toolhead.runs.calls import CallRecord
    from toolhead.runs.live import LiveCall
    from toolhead.runs.toolset import AnyTool

APPROVAL_TEXT = json.dumps(approval.APPROVAL_SCHEMA)


async def needs_approval(live: LiveCall, tool: AnyTool, value: Any, members: dict[str, Any]) -> bool | ValidationError:
    """A tool's predicate decides alone; else the tool's flag or the runner's.

    A request context that its schema refuses is told before anybody is asked.
    """
    own, general = tool.require_approval, live.run.runner.require_approval
    if not (callable(own) or own or general):
        return False
    context = call.entered(tool, prepared_context(live.members(members)))
    if isinstance(context, ValidationError):
        return context
    if callable(own) or own:
        return await approval.needs_approval(tool.id, own, value, context)
    if callable(general):
        request = ApprovalRequest(live.record.tool_name, live.record.tool_call_id)
        return await approval.needs_approval(tool.id, lambda i, c: general(request.of(i, c)), value, context)
    return bool(general)


async def ask(live: LiveCall, value: Any) -> None:
    """The call, with the validated input `value`, waits for a person's yes."""
    live.record.advance("approval")
    live.record.asked = sendable(value)
    await live.views.add("approval", {"input": live.record.asked})
    live.ends.append(question(live))


def question(live: LiveCall) -> ToolCallApproval:
    """The question of a call that waits for approval."""
    projections = live.views.of("input", "approval")
    return ToolCallApproval(**live.named, args=live.record.asked, resume_schema=APPROVAL_TEXT, projections=projections)


async def decline(live: LiveCall, reason: str | None) -> None:
    """A person said no; `reason` is what the model is told."""
    reason = reason if reason is not None and reason.strip() else approval.DEFAULT_REASON
    args = live.record.args
    await live.views.add("input", {"input": args})
    await live.views.add("approval", {"input": args})
    live.end(
        CallResult(**live.about, status="denied"),
        Outcome(status="denied", result=reason, message=reason),
        ToolOutputDenied(**live.named, args=args, reason=reason, projections=live.views.of("input", "approval")),
    )


def digest(tool: AnyTool, record: CallRecord) -> str:
    """What an answer holds for: the tool, the call and its arguments."""
    return approval.call_digest(tool.id, record.tool_call_id, record.args_text)


def check_digest(live: LiveCall) -> None:
    """An answer holds for the tool, call and arguments that were asked about. Raises `NotSuspendedError`."""
    tool, record = live.tool, live.record
    if tool is None or record.digest != digest(tool, record):
        text = "The tool or the arguments of the call are not those that the question was about"
        raise NotSuspendedError(text, tool_id=record.tool_id, tool_call_id=record.tool_call_id)


def pending(live: LiveCall) -> PendingCall:
    """The question that a call waits for, as a display sees it."""
    record, views = live.record, live.views
    if record.phase == "approval":
        asked = views.shown("display", ("approval", "input"), record.asked)
        return PendingCall(**live.about, kind="approval", args=asked, resume_schema=APPROVAL_TEXT)
    args = views.shown("display", ("input",), record.args)
    if record.phase == "client":
        return PendingCall(**live.about, kind="client", args=args)
    payload = views.shown("display", ("suspend",), record.suspend_payload)
    schema = None if live.tool is None else resume_schema_text(live.tool)
    return PendingCall(**live.about, kind="suspended", args=args, payload=payload, resume_schema=schema)


def resume_schema_text(tool: AnyTool) -> str | None:
    """The schema of what resumes a suspended call of the tool, as JSON."""
    schema = tool._schemas.get("resume_schema")
    return None if schema is None else json.dumps(schema.json_schema)
