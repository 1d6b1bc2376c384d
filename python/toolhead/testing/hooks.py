"""Keeps the events of a tool's hooks, in their order.

Rules: spec/api.md sections 6 and 9.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from toolhead.runs.toolset import AnyTool

HOOKS = ("on_input_start", "on_input_delta", "on_input_available", "on_output", "on_error", "on_suspend")


class HookEvent(NamedTuple):
    """A hook that fired, and the event that it was given."""

    hook: str
    event: Any


class HookRecorder:
    """`events` are the hooks that fired, `names` only their names.

    `create_tool(..., **recorder.options)` makes a tool that is watched; `recorder.watch(tool)` a watched copy of one,
    whose own hooks run as before.
    """

    def __init__(self) -> None:
        self.events: list[HookEvent] = []

    def __repr__(self) -> str:
        return f"HookRecorder({', '.join(self.names)})"

    @property
    def names(self) -> list[str]:
        """The names of the hooks that fired, in order."""
        return [hook for hook, _ in self.events]

    def of(self, hook: str) -> list[Any]:
        """The events of one hook. Raises `ValueError` for a name that is none."""
        if hook not in HOOKS:
            raise ValueError(f"hook: expected one of {', '.join(HOOKS)}, got {hook!r}")
        return [event for name, event in self.events if name == hook]

    @property
    def options(self) -> dict[str, Callable[[Any], Awaitable[None]]]:
        """The six hooks as options of `create_tool`."""
        return {hook: self._hook(hook, None) for hook in HOOKS}

    def watch(self, tool: AnyTool) -> AnyTool:
        """A copy of `tool` whose hooks are recorded."""
        return tool.replace(**{hook: self._hook(hook, getattr(tool, hook)) for hook in HOOKS})

    def _hook(self, name: str, own: Callable[[Any], Any] | None) -> Callable[[Any], Awaitable[None]]:
        async def hook(event: Any) -> None:
            self.events.append(HookEvent(name, event))
            if own is not None:
                result = own(event)
                if inspect.isawaitable(result):
                    await result

        return hook


def record_hooks() -> HookRecorder:
    """A recorder of hooks that has recorded nothing yet."""
    return HookRecorder()
