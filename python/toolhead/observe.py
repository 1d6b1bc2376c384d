"""Spans and logs of a tool call, through OpenTelemetry where an application has configured it.

Source: spec/api.md section 4; names from OpenTelemetry's semantic conventions for generative AI (`execute_tool`).
OpenTelemetry is never imported here: it counts as configured when the application has imported it and set a tracer
provider, which a tool asks once, at its first call.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["OBSERVE", "LogLevel", "Observe", "Span", "is_configured", "tool_span"]

LogLevel = Literal["debug", "info", "warn", "error", "fatal"]
_SEVERITIES = {"debug": 5, "info": 9, "warn": 13, "error": 17, "fatal": 21}


def is_configured() -> bool:
    """Whether the application has set a tracer provider that records."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return False
    return not isinstance(trace.get_tracer_provider(), (trace.ProxyTracerProvider, trace.NoOpTracerProvider))


class Span:
    """A span, as a context manager in `with` and in `async with`. Does nothing without OpenTelemetry.

    An exception inside is recorded and passes on.
    """

    __slots__ = ("_attributes", "_manager", "_name", "_span")

    def __init__(self, name: str, attributes: dict[str, Any]) -> None:
        self._name = name
        self._attributes = attributes
        self._manager: Any = None
        self._span: Any = None

    def set_attributes(self, **attributes: Any) -> None:
        """Adds attributes to the running span."""
        if self._span is not None:
            self._span.set_attributes(_recordable(attributes))

    def __enter__(self) -> Self:
        if is_configured():
            tracer = sys.modules["opentelemetry.trace"].get_tracer("toolhead")
            self._manager = tracer.start_as_current_span(self._name, attributes=_recordable(self._attributes))
            self._span = self._manager.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._manager is not None:
            self._manager.__exit__(kind, error, traceback)
            self._manager = self._span = None

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)


class Observe:
    """`context.observe`: spans and logs of a body."""

    __slots__ = ()

    def span(self, name: str, **attributes: Any) -> Span:
        """A span around a part of the body, for `with` or `async with`."""
        return Span(name, attributes)

    def log(self, level: LogLevel, message: str, **data: Any) -> None:
        """Records `message` on the current span, with its level and data.

        Raises:
            ValueError: an unknown level.
        """
        if level not in _SEVERITIES:
            raise ValueError(f"level: expected one of {', '.join(_SEVERITIES)}, got {level!r}")
        if is_configured():
            span = sys.modules["opentelemetry.trace"].get_current_span()
            attributes = {"log.severity": level, "log.severity_number": _SEVERITIES[level], **_recordable(data)}
            span.add_event(message, attributes=attributes)


OBSERVE = Observe()


def tool_span(tool_id: str, description: str, tool_call_id: str | None) -> Span:
    """The `execute_tool` span of a call. Arguments and results are not among its attributes."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool_id,
        "gen_ai.tool.description": description,
        "gen_ai.tool.type": "function",
    }
    if tool_call_id is not None:
        attributes["gen_ai.tool.call.id"] = tool_call_id
    return Span(f"execute_tool {tool_id}", attributes)


def _recordable(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes as OpenTelemetry takes them: simple values as they are, everything else by its type."""
    simple = (str, bool, int, float)
    return {
        name: value if isinstance(value, simple) else f"<{type(value).__name__}>"
        for name, value in attributes.items()
        if value is not None
    }
