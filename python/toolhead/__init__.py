"""Toolhead: the tool layer for LLM applications.

What defines and calls a tool is imported with the package; everything else when it is first used.
"""

import importlib
import typing

from toolhead._core import (
    MISSING,
    Change,
    InputStream,
    Issue,
    Limits,
    ToolExecutionContext,
    Validator,
    __version__,
)
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

if typing.TYPE_CHECKING:
    from toolhead.agent.agent import Agent
    from toolhead.agent.model import Model, ModelRequest
    from toolhead.agent.models import Anthropic, Gemini, OpenAIChat, OpenAIResponses
    from toolhead.agent.turn import AgentResult, AgentStep, AgentTurn
    from toolhead.background.engine import Engine
    from toolhead.background.local import LocalEngine
    from toolhead.background.manager import BackgroundManager
    from toolhead.background.task import BackgroundTask
    from toolhead.hooks import (
        ErrorEvent,
        InputAvailableEvent,
        InputDeltaEvent,
        InputStartEvent,
        OutputEvent,
        SuspendEvent,
    )
    from toolhead.model_output import ModelOutput
    from toolhead.providers.definitions import ToolDefinitionWarning
    from toolhead.providers.registry import Provider
    from toolhead.runs.calls import ApprovalRequest, CallResult, PendingCall
    from toolhead.runs.run import Run
    from toolhead.runs.runner import ToolRunner
    from toolhead.runs.store import MemoryStore, SQLiteStore, Store
    from toolhead.runs.toolset import ToolSet
    from toolhead.runs.ui_stream import ui_stream
    from toolhead.schema_sources.standard import StandardJSONSchema
    from toolhead.transforms import (
        Projection,
        TargetTransform,
        ToolPayloadTransform,
        TransformEvent,
        TransformPolicy,
        project,
    )

# What `InputStream.push` answers.
StreamState: typing.TypeAlias = typing.Literal["open", "certain", "complete", "rejected"]

# Names that are imported when they are first used, and where they live.
_LAZY = {
    "Agent": "toolhead.agent.agent",
    "AgentResult": "toolhead.agent.turn",
    "AgentStep": "toolhead.agent.turn",
    "AgentTurn": "toolhead.agent.turn",
    "Anthropic": "toolhead.agent.models",
    "ApprovalRequest": "toolhead.runs.calls",
    "BackgroundManager": "toolhead.background.manager",
    "BackgroundTask": "toolhead.background.task",
    "CallResult": "toolhead.runs.calls",
    "Engine": "toolhead.background.engine",
    "ErrorEvent": "toolhead.hooks",
    "Gemini": "toolhead.agent.models",
    "InputAvailableEvent": "toolhead.hooks",
    "InputDeltaEvent": "toolhead.hooks",
    "InputStartEvent": "toolhead.hooks",
    "LocalEngine": "toolhead.background.local",
    "MemoryStore": "toolhead.runs.store",
    "Model": "toolhead.agent.model",
    "ModelOutput": "toolhead.model_output",
    "ModelRequest": "toolhead.agent.model",
    "OpenAIChat": "toolhead.agent.models",
    "OpenAIResponses": "toolhead.agent.models",
    "OutputEvent": "toolhead.hooks",
    "PendingCall": "toolhead.runs.calls",
    "Projection": "toolhead.transforms",
    "Provider": "toolhead.providers.registry",
    "Run": "toolhead.runs.run",
    "SQLiteStore": "toolhead.runs.store",
    "StandardJSONSchema": "toolhead.schema_sources.standard",
    "Store": "toolhead.runs.store",
    "SuspendEvent": "toolhead.hooks",
    "TargetTransform": "toolhead.transforms",
    "ToolDefinitionWarning": "toolhead.providers.definitions",
    "ToolPayloadTransform": "toolhead.transforms",
    "ToolRunner": "toolhead.runs.runner",
    "ToolSet": "toolhead.runs.toolset",
    "TransformEvent": "toolhead.transforms",
    "TransformPolicy": "toolhead.transforms",
    "project": "toolhead.transforms",
    "ui_stream": "toolhead.runs.ui_stream",
}

__all__ = [
    "MISSING",
    "AbortController",
    "AbortSignal",
    "Agent",
    "AgentResult",
    "AgentStep",
    "AgentToolExecutionContext",
    "AgentTurn",
    "AlreadyResolvedError",
    "Anthropic",
    "ApprovalRequest",
    "BackgroundManager",
    "BackgroundTask",
    "CallResult",
    "Change",
    "DecodeError",
    "Engine",
    "ErrorEvent",
    "FunctionTool",
    "Gemini",
    "InputAvailableEvent",
    "InputDeltaEvent",
    "InputStartEvent",
    "InputStream",
    "Issue",
    "Limits",
    "LocalEngine",
    "MCPToolExecutionContext",
    "MCPToolProperties",
    "MemoryStore",
    "Model",
    "ModelOutput",
    "ModelRequest",
    "NotSuspendedError",
    "OpenAIChat",
    "OpenAIResponses",
    "OutputEvent",
    "PendingCall",
    "Projection",
    "Provider",
    "RequestContext",
    "Run",
    "RunNotFoundError",
    "SQLiteStore",
    "SchemaError",
    "StandardJSONSchema",
    "Store",
    "StreamState",
    "SuspendEvent",
    "TargetTransform",
    "Tool",
    "ToolAbortedError",
    "ToolAnnotations",
    "ToolBackgroundConfig",
    "ToolDefinitionWarning",
    "ToolError",
    "ToolExecutionContext",
    "ToolExecutionError",
    "ToolNotExecutableError",
    "ToolNotFoundError",
    "ToolPayloadTransform",
    "ToolRunner",
    "ToolSet",
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
    "ui_stream",
]


def __getattr__(name: str) -> typing.Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'toolhead' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
