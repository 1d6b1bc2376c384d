"""Toolhead: the tool layer for LLM applications."""

from toolhead._core import ToolExecutionContext, Validator, __version__
from toolhead.abort import AbortController, AbortSignal
from toolhead.context import (
    AgentToolExecutionContext,
    MCPToolExecutionContext,
    WorkflowToolExecutionContext,
)
from toolhead.errors import ValidationError
from toolhead.request_context import RequestContext
from toolhead.tool import Tool, create_tool

__all__ = ["__version__"]
