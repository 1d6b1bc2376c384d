"""What a run says while it works: typed chunks, with their JSON form for a display, raw, or for a transcript.

Rules: spec/api.md section 6; types, fields and order of sections 11 to 16 of the behaviour document. A chunk holds the
raw payloads and, beside them, the projections of a tool's `transform`: `to_dict` decides which of the two go out, so
that no consumer can forget it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import msgspec

from toolhead.runs.sendable import sendable

View: TypeAlias = Literal["display", "transcript", "raw"]
Projections: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By target, then by phase: `{"transformed": value}` or `{"suppress": True}`, with `"failed": True` after a raise."""

NOTHING: Projections = {}


class Field(NamedTuple):
    """A member of a chunk's payload: its attribute, its name on the wire, the transform phase that it belongs to."""

    attribute: str
    wire: str
    phase: str | None = None
    optional: bool = False
    """Left out where it is None."""


CALL_ID = Field("tool_call_id", "toolCallId")
TOOL_NAME = Field("tool_name", "toolName")
ARGS = Field("args", "args", "input-available")


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened in a run. `type` is its name on the wire."""

    type: ClassVar[str] = ""
    sender: ClassVar[str] = "AGENT"
    fields: ClassVar[tuple[Field, ...]] = ()

    run_id: str
    projections: Projections = NOTHING

    def to_dict(self, *, view: View = "display") -> dict[str, Any]:
        """The JSON form, in Mastra's names.

        `display` and `transcript` show what the tool's transform lets through, and everything where it has none for
        the target; `raw` shows everything, with both projections under `metadata.mastra.toolPayloadTransform`.
        """
        payload: dict[str, Any] = {}
        shown = None if view == "raw" else self.projections.get(view) or None
        for field in self.fields:
            value = getattr(self, field.attribute)
            if field.optional and value is None:
                continue
            if shown is not None and field.phase is not None:
                projection = self._projection(shown, field.phase)
                payload[field.wire] = "" if "suppress" in projection else projection["transformed"]
            else:
                payload[field.wire] = sendable(value)
        self._finish(payload, hidden=shown is not None)
        chunk: dict[str, Any] = {"type": self.type, "runId": self.run_id, "from": self.sender, "payload": payload}
        metadata = self._metadata(shown)
        if view == "raw" and self.projections:
            metadata["mastra"] = {"toolPayloadTransform": sendable(self.projections)}
        if metadata:
            chunk["metadata"] = metadata
        return chunk

    def hides(self, view: View) -> bool:
        """Whether `view` shows nothing of this chunk's payload: a suppressed delta."""
        return any("suppress" in projection for projection in self.projections.get(view, {}).values())

    def _projection(self, shown: Mapping[str, Mapping[str, Any]], phase: str) -> Mapping[str, Any]:
        return shown[phase]

    def _finish(self, payload: dict[str, Any], *, hidden: bool) -> None:
        """What a chunk adds to its payload; `hidden`: the tool has a transform for this view."""

    def _metadata(self, shown: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Any]:  # noqa: ARG002
        """What Mastra's payload has no place for; `shown`: the projections of this view, if it has any."""
        return {}


class StepStart(Chunk, frozen=True, kw_only=True):
    """A model's response begins."""

    type: ClassVar[str] = "step-start"


class StepFinish(Chunk, frozen=True, kw_only=True):
    """The response and all its calls are dealt with; `is_continued`: the model has results to read."""

    type: ClassVar[str] = "step-finish"

    reason: str
    is_continued: bool

    def _finish(self, payload: dict[str, Any], *, hidden: bool) -> None:  # noqa: ARG002
        payload["stepResult"] = {"reason": self.reason, "isContinued": self.is_continued}


class TextStart(Chunk, frozen=True, kw_only=True):
    """The model begins to write; `id` names this stretch of text."""

    type: ClassVar[str] = "text-start"
    fields = (Field("id", "id"),)

    id: str


class TextDelta(Chunk, frozen=True, kw_only=True):
    """More of the model's text."""

    type: ClassVar[str] = "text-delta"
    fields = (Field("id", "id"), Field("text", "text"))

    id: str
    text: str


class TextEnd(Chunk, frozen=True, kw_only=True):
    """The stretch of text ends."""

    type: ClassVar[str] = "text-end"
    fields = (Field("id", "id"),)

    id: str


class ReasoningStart(TextStart, frozen=True, kw_only=True):
    """The model begins to think aloud."""

    type: ClassVar[str] = "reasoning-start"


class ReasoningDelta(TextDelta, frozen=True, kw_only=True):
    """More of the model's reasoning."""

    type: ClassVar[str] = "reasoning-delta"


class ReasoningEnd(TextEnd, frozen=True, kw_only=True):
    """The stretch of reasoning ends."""

    type: ClassVar[str] = "reasoning-end"


FAILED = "The stream has failed."
"""What others are told of a failure: its own text is not written for them."""


class ResponseFailed(Chunk, frozen=True, kw_only=True):
    """The provider said that its response failed; the calls whose arguments were not whole end as cut off.

    What it said may repeat what a transform hides, so only the raw view shows it.
    """

    type: ClassVar[str] = "error"

    error: str

    def to_dict(self, *, view: View = "display") -> dict[str, Any]:
        """What the provider said, or in a view for others only that it did."""
        payload = {"error": self.error if view == "raw" else FAILED}
        return {"type": self.type, "runId": self.run_id, "from": self.sender, "payload": payload}


class Raw(Chunk, frozen=True, kw_only=True):
    """An event of the provider without meaning for tool calls, as it came.

    It may repeat what a transform hides, so only the raw view shows it; the others give its name.
    """

    type: ClassVar[str] = "raw"

    event: dict[str, Any]

    def to_dict(self, *, view: View = "display") -> dict[str, Any]:
        """The event, or in a view for others its name."""
        name = self.event.get("type")
        payload = {"event": self.event} if view == "raw" else {"name": name if isinstance(name, str) else None}
        return {"type": self.type, "runId": self.run_id, "from": self.sender, "payload": sendable(payload)}


class CallChunk(Chunk, frozen=True, kw_only=True):
    """A chunk about one call."""

    fields: ClassVar[tuple[Field, ...]] = (CALL_ID, TOOL_NAME)

    tool_call_id: str
    tool_name: str


class InputStreamingStart(CallChunk, frozen=True, kw_only=True):
    """The model begins a call. `provider_executed`: the provider runs it."""

    type: ClassVar[str] = "tool-call-input-streaming-start"
    fields = (
        CALL_ID,
        TOOL_NAME,
        Field("title", "title", optional=True),
        Field("provider_executed", "providerExecuted", optional=True),
    )

    title: str | None = None
    provider_executed: bool | None = None


class ToolCallDelta(CallChunk, frozen=True, kw_only=True):
    """More of the argument text. `value` is the live value so far, for readers in this process: it is never sent."""

    type: ClassVar[str] = "tool-call-delta"
    fields = (Field("args_text_delta", "argsTextDelta", "input-delta"), CALL_ID, TOOL_NAME)

    args_text_delta: str
    value: Any = None


class InputStreamingEnd(CallChunk, frozen=True, kw_only=True):
    """The argument text is whole."""

    type: ClassVar[str] = "tool-call-input-streaming-end"
    fields = (CALL_ID,)


class ToolInputRejected(CallChunk, frozen=True, kw_only=True):
    """The arguments can no longer become valid, from byte `offset` of their text on."""

    type: ClassVar[str] = "tool-input-rejected"
    fields = (CALL_ID, TOOL_NAME, Field("offset", "offset"), Field("issues", "issues", "error"))

    offset: int
    issues: tuple[Mapping[str, Any], ...]


class ToolCall(CallChunk, frozen=True, kw_only=True):
    """A whole call. `args` is what the model wrote, read as JSON; its text where it is none."""

    type: ClassVar[str] = "tool-call"
    fields = (
        CALL_ID,
        TOOL_NAME,
        ARGS,
        Field("title", "title", optional=True),
        Field("provider_executed", "providerExecuted", optional=True),
    )

    args: Any
    args_text: str
    title: str | None = None
    provider_executed: bool | None = None


class ToolCallApproval(CallChunk, frozen=True, kw_only=True):
    """The call waits for a person's answer. `resume_schema` is the JSON text of the answer's schema."""

    type: ClassVar[str] = "tool-call-approval"
    fields = (CALL_ID, TOOL_NAME, Field("args", "args", "approval"), Field("resume_schema", "resumeSchema"))

    args: Any
    resume_schema: str


class ToolCallSuspended(CallChunk, frozen=True, kw_only=True):
    """The body suspended the call. `error`: the tool's `suspend_schema` refuses the payload."""

    type: ClassVar[str] = "tool-call-suspended"
    fields = (
        CALL_ID,
        TOOL_NAME,
        Field("suspend_payload", "suspendPayload", "suspend"),
        ARGS,
        Field("resume_schema", "resumeSchema", optional=True),
    )

    suspend_payload: Any
    args: Any
    resume_schema: str | None = None
    resume_label: Any = None
    error: Mapping[str, Any] | None = None

    def _metadata(self, shown: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if self.resume_label is not None:
            told["resumeLabel"] = sendable(self.resume_label)
        if self.error is not None:
            told["error"] = sendable(self.error) if shown is None else shown["error"]["transformed"]
        return {"toolhead": told} if told else {}


class ToolOutput(CallChunk, frozen=True, kw_only=True):
    """Partial output, written by the body through `context.writer`; the output's transform is asked about it too."""

    type: ClassVar[str] = "tool-output"
    sender: ClassVar[str] = "USER"
    fields = (Field("output", "output", "output-available"), CALL_ID, TOOL_NAME)

    output: Any


class ToolOutputDenied(CallChunk, frozen=True, kw_only=True):
    """A person declined the call; `reason` is what the model is told."""

    type: ClassVar[str] = "tool-output-denied"
    fields = (CALL_ID, TOOL_NAME, Field("args", "args", "approval"))

    args: Any
    reason: str

    def _finish(self, payload: dict[str, Any], *, hidden: bool) -> None:  # noqa: ARG002
        payload["approval"] = {"id": self.tool_call_id, "approved": False, "reason": self.reason}


class ToolResult(CallChunk, frozen=True, kw_only=True):
    """The call's result; for invalid data the dict form of the `ValidationError`.

    `result` is the typed value. `model_output` is what the model is given instead, where the tool says so.
    """

    type: ClassVar[str] = "tool-result"
    fields = (ARGS, CALL_ID, TOOL_NAME, Field("result", "result", "output-available"))

    args: Any
    result: Any
    is_error: bool = False
    model_output: Mapping[str, Any] | None = None
    repairs: tuple[str, ...] = ()
    task: Mapping[str, Any] | None = None
    """Of a call in the background: `taskId` and `status`."""

    def _finish(self, payload: dict[str, Any], *, hidden: bool) -> None:
        told: dict[str, Any] = {} if self.task is None else {"backgroundTask": dict(self.task)}
        # What the model is given derives from the output, so a view that hides the one hides the other.
        if self.model_output is not None and not hidden:
            told["modelOutput"] = sendable(self.model_output)
        if told:
            payload["providerMetadata"] = {"mastra": told}

    def _metadata(self, shown: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Any]:
        # A repair names its place, and with it keys of the input.
        return {"toolhead": {"repairs": list(self.repairs)}} if self.repairs and shown is None else {}


class ToolResultPlaceholder(ToolResult, frozen=True, kw_only=True):
    """What stands in for the result of a deferred call, which is told when it is there. `result` is our own text."""

    fields = (ARGS, CALL_ID, TOOL_NAME, Field("result", "result"))


class ToolError(CallChunk, frozen=True, kw_only=True):
    """The call went wrong. `error` has `name` and `message`, and where the body raised `id` and `cause`."""

    type: ClassVar[str] = "tool-error"
    fields = (Field("error", "error", "error"), ARGS, CALL_ID, TOOL_NAME)

    error: Mapping[str, Any]
    args: Any
    task: Mapping[str, Any] | None = None
    """As in `ToolResult`."""

    def _finish(self, payload: dict[str, Any], *, hidden: bool) -> None:  # noqa: ARG002
        if self.task is not None:
            payload["providerMetadata"] = {"mastra": {"backgroundTask": dict(self.task)}}


TASK_ID = Field("task_id", "taskId")


class BackgroundTaskStarted(CallChunk, frozen=True, kw_only=True):
    """The call runs as a task in the background, now or when there is a place for it."""

    type: ClassVar[str] = "background-task-started"
    fields: ClassVar[tuple[Field, ...]] = (TASK_ID, TOOL_NAME, CALL_ID)

    task_id: str


class BackgroundTaskResumed(BackgroundTaskStarted, frozen=True, kw_only=True):
    """The suspended task runs again."""

    type: ClassVar[str] = "background-task-resumed"


TASK = (TASK_ID, TOOL_NAME, CALL_ID, Field("agent_id", "agentId"), Field("run_id", "runId"))


class BackgroundTaskRunning(BackgroundTaskStarted, frozen=True, kw_only=True):
    """An attempt at the task begins. Times are ISO 8601."""

    type: ClassVar[str] = "background-task-running"
    fields = (*TASK, Field("started_at", "startedAt"), ARGS)

    agent_id: str
    started_at: str | None
    args: Any


class BackgroundTaskSuspended(BackgroundTaskStarted, frozen=True, kw_only=True):
    """The task waits to be resumed."""

    type: ClassVar[str] = "background-task-suspended"
    fields = (
        *TASK,
        Field("suspended_at", "suspendedAt"),
        Field("suspend_payload", "suspendPayload", "suspend"),
    )

    agent_id: str
    suspended_at: str | None
    suspend_payload: Any


class BackgroundTaskCompleted(BackgroundTaskStarted, frozen=True, kw_only=True):
    """The task has its result."""

    type: ClassVar[str] = "background-task-completed"
    fields = (
        *TASK,
        Field("completed_at", "completedAt"),
        Field("result", "result", "output-available"),
    )

    agent_id: str
    completed_at: str | None
    result: Any


class BackgroundTaskFailed(BackgroundTaskStarted, frozen=True, kw_only=True):
    """The task ended without a result; `status` is `failed`, `timed_out` or `cancelled`."""

    type: ClassVar[str] = "background-task-failed"
    fields = (
        *TASK,
        Field("status", "status"),
        Field("completed_at", "completedAt"),
        Field("error", "error", "error"),
    )

    agent_id: str
    status: str
    completed_at: str | None
    error: Any


class BackgroundTaskCancelled(BackgroundTaskFailed, frozen=True, kw_only=True):
    """Somebody cancelled the task."""

    type: ClassVar[str] = "background-task-cancelled"


class Custom(Chunk, frozen=True, kw_only=True):
    """A chunk that a body sent through `context.writer.custom`, as it is."""

    type: ClassVar[str] = "custom"

    chunk: Any

    def to_dict(self, *, view: View = "display") -> dict[str, Any]:  # noqa: ARG002  it is the body's own
        """The chunk that the body sent."""
        data = sendable(self.chunk)
        return data if isinstance(data, dict) else {"type": "custom", "payload": data}
