"""The hooks of a tool: one frozen, typed event each, and the one way they are run.

Source: spec/api.md section 6; when each fires is section 11 of the behaviour document. A hook watches: what it
raises is logged and changes nothing, and it cannot suspend a call.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from toolhead.abort import AbortSignal
from toolhead.suspend import Suspension

__all__ = [
    "ErrorEvent",
    "Hook",
    "InputAvailableEvent",
    "InputDeltaEvent",
    "InputStartEvent",
    "OutputEvent",
    "SuspendEvent",
    "run_hook",
]

_logger = logging.getLogger("toolhead")
In = TypeVar("In")
Out = TypeVar("Out")
Hook = Callable[[Any], Any]


class InputStartEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The model has begun to write the arguments of a call."""

    tool_call_id: str
    abort_signal: AbortSignal
    messages: Sequence[Any] = ()


class InputDeltaEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of argument text arrived. `value` is what is certain of the arguments so far."""

    tool_call_id: str
    abort_signal: AbortSignal
    input_text_delta: str
    value: Any
    messages: Sequence[Any] = ()


class InputAvailableEvent(msgspec.Struct, Generic[In], frozen=True, kw_only=True):
    """The arguments are complete and valid; `input` is what the body will get."""

    tool_call_id: str
    abort_signal: AbortSignal
    input: In
    messages: Sequence[Any] = ()


class OutputEvent(msgspec.Struct, Generic[Out], frozen=True, kw_only=True):
    """The call ended with a valid output."""

    tool_call_id: str
    abort_signal: AbortSignal
    tool_name: str
    output: Out


class ErrorEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The call failed: a `ValidationError`, or what the body raised."""

    tool_call_id: str
    abort_signal: AbortSignal
    tool_name: str
    error: BaseException
    messages: Sequence[Any] = ()


class SuspendEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The call suspended itself with `payload`."""

    tool_call_id: str
    abort_signal: AbortSignal
    tool_name: str
    payload: Any
    messages: Sequence[Any] = ()


async def run_hook(tool_id: str, name: str, hook: Hook | None, event: Any) -> None:
    """Runs one hook to its end; what it raises is logged with tool and hook. A cancellation passes."""
    if hook is None:
        return
    try:
        result = hook(event)
        if inspect.isawaitable(result):
            await result
    except (Exception, Suspension):
        _logger.exception("the hook %s of the tool '%s' raised", name, tool_id)
