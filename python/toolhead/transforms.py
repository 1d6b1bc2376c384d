"""What a display and a stored transcript see of a tool's payloads.

Source: spec/api.md section 6; section 16 of the behaviour document. A configured target hides by default: a phase
without a callback, a callback that returns None and one that raises all show a placeholder. Runtime values are
never changed: callbacks get a copy.
"""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import msgspec

from toolhead.suspend import Suspension

__all__ = [
    "PHASES",
    "TARGETS",
    "Projection",
    "TargetTransform",
    "ToolPayloadTransform",
    "TransformEvent",
    "TransformPhase",
    "TransformPolicy",
    "TransformTarget",
    "project",
    "wire_phase",
]

_logger = logging.getLogger("toolhead")

TransformTarget = Literal["display", "transcript"]
TransformPhase = Literal["input", "input_delta", "output", "error", "approval", "suspend", "resume"]
TARGETS: tuple[TransformTarget, ...] = get_args(TransformTarget)
PHASES: tuple[TransformPhase, ...] = get_args(TransformPhase)
_WIRE = {"input": "input-available", "input_delta": "input-delta", "output": "output-available"}


class TransformEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What a callback gets: where and what for, and the payload's parts that this phase has (else None)."""

    target: TransformTarget
    phase: TransformPhase
    tool_name: str = ""
    tool_call_id: str = ""
    input: Any = None
    input_text_delta: str | None = None
    output: Any = None
    error: Any = None
    suspend_payload: Any = None
    resume_data: Any = None
    provider_metadata: Any = None


Callback = Callable[[TransformEvent], Any]


class TargetTransform(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The callbacks of one target, by phase. Each returns JSON data to show, or None to hide.

    `output` is also asked about each partial output that the body writes.
    """

    input: Callback | None = None
    input_delta: Callback | None = None
    output: Callback | None = None
    error: Callback | None = None
    approval: Callback | None = None
    suspend: Callback | None = None
    resume: Callback | None = None


class ToolPayloadTransform(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The transforms of a tool. A target that is None shows payloads as they are."""

    display: TargetTransform | None = None
    transcript: TargetTransform | None = None


class TransformPolicy(msgspec.Struct, frozen=True):
    """One function for all phases and tools of a run, asked before a tool's own callback."""

    function: Callback
    targets: tuple[TransformTarget, ...] = TARGETS


class Projection(msgspec.Struct, frozen=True):
    """What a target sees instead of a payload.

    Attributes:
        value: what is shown; a placeholder, or None for a hidden delta.
        is_hidden: whether nothing of the payload is shown.
        failed: whether a callback raised.
    """

    value: Any
    is_hidden: bool = False
    failed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The form of chunk metadata: `transformed` or `suppress`, and `failed`."""
        shown: dict[str, Any] = (
            {"suppress": True} if self.is_hidden and self.value is None else {"transformed": self.value}
        )
        return {**shown, "failed": True} if self.failed else shown


def wire_phase(phase: TransformPhase) -> str:
    """The name of a phase in chunk metadata (`input-available`, ...)."""
    return _WIRE.get(phase, phase)


async def project(
    transform: ToolPayloadTransform | None,
    target: TransformTarget,
    phase: TransformPhase,
    payload: Mapping[str, Any],
    *,
    policy: TransformPolicy | None = None,
    tool_name: str = "",
    tool_call_id: str = "",
) -> Projection | None:
    """What `target` sees of `payload` in `phase`; None where nothing is configured for it: the payload as it is.

    Args:
        transform: the tool's transforms.
        target: which view.
        phase: which payload.
        payload: the parts of the payload by their names in `TransformEvent`.
        policy: the run's policy, asked first.
        tool_name: told to the callbacks.
        tool_call_id: told to the callbacks.

    Raises:
        ValueError: an unknown target or phase.
    """
    if target not in TARGETS:
        raise ValueError(f"target: expected one of {', '.join(TARGETS)}, got {target!r}")
    if phase not in PHASES:
        raise ValueError(f"phase: expected one of {', '.join(PHASES)}, got {phase!r}")
    callbacks: list[Callback] = []
    is_configured = False
    if policy is not None and target in policy.targets:
        is_configured = True
        callbacks.append(policy.function)
    own = None if transform is None else getattr(transform, target)
    if own is not None:
        is_configured = True
        callback = getattr(own, phase)
        if callback is not None:
            callbacks.append(callback)
    if not is_configured:
        return None
    for callback in callbacks:
        event = TransformEvent(
            target=target, phase=phase, tool_name=tool_name, tool_call_id=tool_call_id, **_copied(payload)
        )
        try:
            shown = callback(event)
            if inspect.isawaitable(shown):
                shown = await shown
        except (Exception, Suspension):
            _logger.warning("the %s transform of '%s' raised for %s", target, tool_name, phase, exc_info=True)
            return _hidden(phase, failed=True)
        if shown is not None:
            return Projection(shown)
    return _hidden(phase)


def _hidden(phase: TransformPhase, *, failed: bool = False) -> Projection:
    if phase == "input_delta":
        return Projection(None, is_hidden=True, failed=failed)
    return Projection({"message": f"The {wire_phase(phase)} payload is not shown here"}, is_hidden=True, failed=failed)


def _copied(payload: Mapping[str, Any]) -> dict[str, Any]:
    copies = {}
    for name, value in payload.items():
        try:
            copies[name] = copy.deepcopy(value)
        except Exception:  # noqa: BLE001  an object that cannot be copied is handed over as it is
            copies[name] = value
    return copies
