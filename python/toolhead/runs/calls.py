"""The state of one call: an explicit machine, and the record that a store keeps of it.

Rules: spec/api.md section 6, DESIGN.md decision 5:
`streaming -> available -> [approval] -> running -> [deferred] -> [suspended] -> done`, keyed by call id, every call
with one result.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

import msgspec

from toolhead.errors import ToolError, ToolExecutionError

Phase: TypeAlias = Literal["streaming", "available", "approval", "running", "deferred", "suspended", "client", "done"]
"""`client`: the tool has no body here; somebody else gives the result. `deferred`: the call runs in the background, and
the model was told a placeholder."""

WAITING: frozenset[str] = frozenset({"approval", "suspended", "client"})

NEXT: dict[str, frozenset[str]] = {
    "streaming": frozenset({"available", "suspended", "done"}),
    "available": frozenset({"approval", "running", "suspended", "client", "done"}),
    "approval": frozenset({"running", "done"}),
    "running": frozenset({"deferred", "suspended", "done"}),
    "deferred": frozenset({"suspended", "done"}),
    "suspended": frozenset({"available", "running", "suspended", "done"}),
    "client": frozenset({"done"}),
    "done": frozenset(),
}

Status: TypeAlias = Literal["ok", "invalid", "error", "denied"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The one result of a call, as JSON: what the model is told, and what a store keeps."""

    status: Status
    result: Any = None
    """The output (`ok`), the `ValidationError` as a dict (`invalid`), the error (`error`), the reason (`denied`)."""
    message: str = ""
    """The text for the model where the status is not `ok`."""
    model_output: dict[str, Any] | None = None

    def answer(self) -> dict[str, Any]:
        """What the model is given."""
        if self.status == "ok":
            if self.model_output is not None:
                return self.model_output
            return {"type": "text" if isinstance(self.result, str) else "json", "value": self.result}
        return {"type": "text" if self.status == "denied" else "error-text", "value": self.message}


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody's hold on a call that waited for an answer, as long as the answer is worked on."""

    phase: Phase
    """What the call waited for."""
    until: float
    """When it runs out unless it is renewed, in seconds since 1970."""


class CallRecord(msgspec.Struct, kw_only=True):
    """Everything about a call that outlives its process. Plain JSON; `version` says how to read it."""

    version: int = 1
    tool_call_id: str
    provider_id: str | None
    """The provider's own id, where it sent one."""
    called: str
    """The name that the model used."""
    tool_name: str
    tool_id: str | None
    """None for an unknown tool and for a call that the provider runs."""
    kind: str
    server: bool
    phase: Phase = "streaming"
    args_text: str = ""
    cut_off: bool = False
    digest: str = ""
    asked: Any = None
    """The validated input that a person is asked to approve."""
    approved: bool = False
    reached: Literal["available", "running"] | None = None
    """How far the call has got: a suspension before its body ran is answered by going through the checks again."""
    task_id: str | None = None
    """The task in the background that the call became."""
    deferred: bool = False
    """Whether the model was told a placeholder: nothing waits for the call any more."""
    claimed: Claim | None = None
    """Of a call that somebody answers."""
    suspend_payload: Any = None
    resume_label: Any = None
    outcome: Outcome | None = None
    shown: dict[str, Any] = {}
    """What the transcript shows of the call."""

    def advance(self, phase: Phase) -> None:
        """Goes to `phase`. Raises `RuntimeError` for a step that the machine does not have."""
        if phase not in NEXT[self.phase]:
            raise RuntimeError(f"A call cannot go from {self.phase} to {phase}")
        self.phase = phase

    @property
    def is_waiting(self) -> bool:
        """Whether somebody has to answer."""
        return self.phase in WAITING

    def release(self, now: float) -> None:
        """Lets go of a claim that has run out: whoever made it is gone, and the call waits as before."""
        if self.claimed is not None and self.phase == "running" and self.claimed.until <= now:
            self.phase, self.claimed = self.claimed.phase, None

    @property
    def is_open(self) -> bool:
        """Whether its result is still to come: somebody has to answer, or works on it."""
        return self.is_waiting or self.phase in ("running", "deferred")

    @property
    def args(self) -> Any:
        """What the model wrote, read as JSON; its text where it is none."""
        return read_args(self.args_text)


def read_args(text: str) -> Any:
    """Argument text as JSON data for display: `{}` for none, the text itself where it is not JSON."""
    if not text.strip():
        return {}
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        pass
    try:
        return json.loads(text, parse_constant=_refused)  # reads lone surrogates and large numbers too
    except (ValueError, RecursionError):
        return text


def _refused(name: str) -> Any:
    raise ValueError(name)


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one call, for the application.

    `output` is the validated output, in the declared type; `error` the `ValidationError` or what went wrong, else None;
    `answer` what the model is given: `{"type": "text" | "json" | "content" | "error-text", "value": ...}`.
    """

    tool_call_id: str
    tool_name: str
    status: Status
    output: Any = None
    error: BaseException | None = None
    answer: dict[str, Any] = {}
    repairs: tuple[str, ...] = ()


class PendingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for an answer, in its display form.

    `kind`: `approval` (answer with `approve` or `decline`), `suspended` (`resume`), `client` (`provide_result`).
    """

    tool_call_id: str
    tool_name: str
    kind: Literal["approval", "suspended", "client"]
    args: Any
    payload: Any = None
    resume_schema: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "toolCallId": self.tool_call_id,
            "toolName": self.tool_name,
            "kind": self.kind,
            "args": self.args,
            "payload": self.payload,
            "resumeSchema": self.resume_schema,
        }


class ApprovalRequest:
    """What a runner's `require_approval` is asked: which call, with which validated input, in which context."""

    __slots__ = ("context", "input", "tool_call_id", "tool_name")

    def __init__(self, tool_name: str, tool_call_id: str) -> None:
        self.tool_name = tool_name
        self.tool_call_id = tool_call_id
        self.input: Any = None
        self.context: Any = None

    def of(self, input: Any, context: Any) -> ApprovalRequest:
        """The request with its input and context."""
        self.input, self.context = input, context
        return self


def error_form(error: ToolError) -> dict[str, Any]:
    """The error in the form of a chunk. What a body raised keeps its text and its cause."""
    if not isinstance(error, ToolExecutionError):
        return {"name": type(error).__name__, "message": str(error)}
    cause = error.__cause__
    told: dict[str, Any] = {"name": "Error", "message": str(error), "id": "TOOL_EXECUTION_FAILED"}
    if cause is not None:
        told["cause"] = {"name": type(cause).__name__, "message": str(cause)}
    return told
