"""Toolhead: the tool layer for LLM applications.

What defines and calls a tool is imported with the package; everything else when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolhead._core import MISSING, Change, InputStream, Issue, Limits, ToolExecutionContext, Validator, __version__
from toolhead.abort import AbortController, AbortSignal
from toolhead.context import AgentToolExecutionContext, MCPToolExecutionContext, WorkflowToolExecutionContext
from toolhead.errors import (
    AlreadyResolvedError,
    DecodeError,
    NotSuspendedError,
    RunNotFoundError,
    SchemaError,
    ToolAbortedError,
    ToolError,
    ToolExecutionError,
    ToolheadError,
    ToolNotExecutableError,
    ToolNotFoundError,
    ToolSuspended,
    ToolTimeoutError,
    ValidationError,
)

# After the module `toolhead.tool` was imported, which would otherwise take the name of the decorator.
from toolhead.function_tool import FunctionTool, tool
from toolhead.request_context import RequestContext
from toolhead.tool import Tool, create_tool
from toolhead.tool_options import MCPToolProperties, ToolAnnotations, ToolBackgroundConfig

if TYPE_CHECKING:
    from toolhead.hooks import (
        ErrorEvent,
        InputAvailableEvent,
        InputDeltaEvent,
        InputStartEvent,
        OutputEvent,
        SuspendEvent,
    )
    from toolhead.model_output import ModelOutput
    from toolhead.schema_sources.standard import StandardJSONSchema
    from toolhead.transforms import (
        Projection,
        TargetTransform,
        ToolPayloadTransform,
        TransformEvent,
        TransformPolicy,
        project,
    )

# Names that are imported when they are first used, and where they live.
_LAZY = {
    "ErrorEvent": "toolhead.hooks",
    "InputAvailableEvent": "toolhead.hooks",
    "InputDeltaEvent": "toolhead.hooks",
    "InputStartEvent": "toolhead.hooks",
    "ModelOutput": "toolhead.model_output",
    "OutputEvent": "toolhead.hooks",
    "Projection": "toolhead.transforms",
    "StandardJSONSchema": "toolhead.schema_sources.standard",
    "SuspendEvent": "toolhead.hooks",
    "TargetTransform": "toolhead.transforms",
    "ToolPayloadTransform": "toolhead.transforms",
    "TransformEvent": "toolhead.transforms",
    "TransformPolicy": "toolhead.transforms",
    "project": "toolhead.transforms",
}

__all__ = [
    "MISSING",
    "AbortController",
    "AbortSignal",
    "AgentToolExecutionContext",
    "AlreadyResolvedError",
    "Change",
    "DecodeError",
    "ErrorEvent",
    "FunctionTool",
    "InputAvailableEvent",
    "InputDeltaEvent",
    "InputStartEvent",
    "InputStream",
    "Issue",
    "Limits",
    "MCPToolExecutionContext",
    "MCPToolProperties",
    "ModelOutput",
    "NotSuspendedError",
    "OutputEvent",
    "Projection",
    "RequestContext",
    "RunNotFoundError",
    "SchemaError",
    "StandardJSONSchema",
    "SuspendEvent",
    "TargetTransform",
    "Tool",
    "ToolAbortedError",
    "ToolAnnotations",
    "ToolBackgroundConfig",
    "ToolError",
    "ToolExecutionContext",
    "ToolExecutionError",
    "ToolNotExecutableError",
    "ToolNotFoundError",
    "ToolPayloadTransform",
    "ToolSuspended",
    "ToolTimeoutError",
    "ToolheadError",
    "TransformEvent",
    "TransformPolicy",
    "ValidationError",
    "Validator",
    "WorkflowToolExecutionContext",
    "__version__",
    "create_tool",
    "project",
    "tool",
]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'toolhead' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
