"""The namespaces of a `ToolExecutionContext`, and how a caller's context becomes the one a body sees.

Source: spec/api.md section 4 and section 9 of the behaviour document. The class itself is native: one is made for
every call. Members that stand at the top and in a namespace are the same objects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from toolhead._core import ToolExecutionContext
from toolhead.abort import AbortSignal
from toolhead.request_context import CURRENT_REQUEST_CONTEXT, RequestContext
from toolhead.suspend import suspend

__all__ = [
    "NO_WRITER",
    "AgentToolExecutionContext",
    "MCPToolExecutionContext",
    "ToolExecutionContext",
    "ToolWriter",
    "WorkflowToolExecutionContext",
    "prepared_context",
]

# Awaitable for the checkers' sake: `return await context.agent.suspend(payload)` never gets to the await.
Suspend = Callable[..., Awaitable[NoReturn]]


async def _nothing(*_: object, **__: object) -> None:
    """What a namespace does where nothing listens."""


async def _nobody_to_ask(*_: object, **__: object) -> Any:
    raise RuntimeError("this call has no MCP client that could be asked")


class AgentToolExecutionContext(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that made the call.

    `messages` are the run's input messages; `suspend` and the resume members are those of the context.
    """

    agent_id: str = ""
    tool_call_id: str = ""
    messages: Sequence[Any] = ()
    thread_id: str | None = None
    resource_id: str | None = None
    suspend: Suspend = suspend
    resume_data: Any = None
    suspend_payload: Any = None
    is_background_task: bool = False

    if TYPE_CHECKING:
        # A caller's own `suspend` may be any callable; a body sees one that ends it.
        def __init__(
            self,
            *,
            agent_id: str = "",
            tool_call_id: str = "",
            messages: Sequence[Any] = (),
            thread_id: str | None = None,
            resource_id: str | None = None,
            suspend: Callable[..., Any] = suspend,
            resume_data: Any = None,
            suspend_payload: Any = None,
            is_background_task: bool = False,
        ) -> None:
            """Made from its members."""


class WorkflowToolExecutionContext(msgspec.Struct, frozen=True, kw_only=True):
    """The workflow step that made the call. `set_state` merges shallowly; the new state is seen by later steps."""

    workflow_id: str = ""
    run_id: str = ""
    state: Any = None
    set_state: Callable[[Any], Awaitable[None]] = _nothing
    suspend: Suspend = suspend
    resume_data: Any = None
    suspend_payload: Any = None

    if TYPE_CHECKING:
        # As above.
        def __init__(
            self,
            *,
            workflow_id: str = "",
            run_id: str = "",
            state: Any = None,
            set_state: Callable[[Any], Awaitable[None]] = _nothing,
            suspend: Callable[..., Any] = suspend,
            resume_data: Any = None,
            suspend_payload: Any = None,
        ) -> None:
            """Made from its members."""


class MCPToolExecutionContext(msgspec.Struct, frozen=True, kw_only=True):
    """The MCP request that made the call. Without a client `progress` and `log` do nothing and `elicit` raises."""

    elicit: Callable[..., Awaitable[Any]] = _nobody_to_ask
    progress: Callable[..., Awaitable[None]] = _nothing
    log: Callable[..., Awaitable[None]] = _nothing
    request_id: Any = None
    auth_info: Any = None
    meta: Any = None
    session: Any = None


class ToolWriter:
    """Sends partial output to who reads the run. This one, of a direct call, sends nothing."""

    async def write(self, output: object) -> None:
        """Sends `output` as a `tool-output` chunk of this call."""

    async def custom(self, chunk: object) -> None:
        """Sends `chunk` as it is."""


NO_WRITER = ToolWriter()

_NAMESPACES: dict[str, type] = {
    "agent": AgentToolExecutionContext,
    "workflow": WorkflowToolExecutionContext,
    "mcp": MCPToolExecutionContext,
}
_MEMBERS = frozenset(
    [
        "request_context",
        "abort_signal",
        "agent",
        "workflow",
        "mcp",
        "observe",
        "writer",
        "tool_call_id",
        "repairs",
        "suspend",
        "resume_data",
        "suspend_payload",
        "idempotency_key",
    ]
)
_SHARED = ("suspend", "resume_data", "suspend_payload")
# What a caller's flat context may hold without a place of its own at the top: members of a namespace, and what the host
# of a background task keeps there.
_FLAT = frozenset(
    {
        "background",
        *AgentToolExecutionContext.__struct_fields__,
        *WorkflowToolExecutionContext.__struct_fields__,
    }
    - _MEMBERS
)


def prepared_context(context: object) -> ToolExecutionContext:
    """The context of one call from what the caller gave: a context, a namespace, a mapping of members, or None.

    Raises:
        TypeError: something else, an unknown member or a member of the wrong type, named.
    """
    if context is None:
        return ToolExecutionContext()
    members = _members(context)
    request_context = members.get("request_context")
    if request_context is None:
        current = CURRENT_REQUEST_CONTEXT.get(None)
        members["request_context"] = RequestContext() if current is None else current
    elif not isinstance(request_context, RequestContext):
        if not isinstance(request_context, Mapping):
            raise _wrong("request_context", "a RequestContext or a mapping", request_context)
        members["request_context"] = RequestContext(request_context)
    signal = members.get("abort_signal")
    if signal is not None and not isinstance(signal, AbortSignal):
        raise _wrong("abort_signal", "an AbortSignal", signal)
    if "repairs" in members:
        members["repairs"] = tuple(members["repairs"])
    _share(members)
    return ToolExecutionContext(**members)


def _members(context: object) -> dict[str, Any]:
    """The members that were given, with ready namespaces."""
    if isinstance(context, ToolExecutionContext):
        return context._members()
    for name, namespace in _NAMESPACES.items():
        if isinstance(context, namespace):
            return {name: context}
    if not isinstance(context, Mapping):
        raise TypeError(
            "context: expected a ToolExecutionContext, one of its namespaces or a mapping of its members, got "
            + type(context).__name__
        )
    members = _grouped({key: value for key, value in context.items() if value is not None})
    unknown = [str(key) for key in members if key not in _MEMBERS]
    if unknown:
        raise TypeError(f"context: unknown member {unknown[0]!r}; expected one of {', '.join(sorted(_MEMBERS))}")
    for name, namespace in _NAMESPACES.items():
        given = members.get(name)
        if given is not None and not isinstance(given, namespace):
            if not isinstance(given, Mapping):
                raise _wrong(name, f"a {namespace.__name__} or a mapping", given)
            members[name] = _namespace(name, given)
    return members


def _grouped(members: dict[str, Any]) -> dict[str, Any]:
    """Flat members of an agent's or a workflow's call, put into their namespace.

    It is an agent's call with a call id and messages, else a workflow's with a workflow id. A flat member of a
    namespace that is not made (an agent id without messages, an agent's workflow id) has no place in a context.
    """
    rest = {key: value for key, value in members.items() if key not in _FLAT}
    if "tool_call_id" in members and "messages" in members:
        name = "agent"
    elif "workflow_id" in members:
        name = "workflow"
    else:
        return rest
    fields = _NAMESPACES[name].__struct_fields__  # type: ignore[attr-defined]
    grouped = {key: value for key, value in members.items() if key in fields}
    rest = {key: value for key, value in rest.items() if key not in fields or key == "tool_call_id"}
    return {**rest, name: grouped}


def _namespace(name: str, given: Mapping[str, Any]) -> Any:
    fields = _NAMESPACES[name].__struct_fields__  # type: ignore[attr-defined]
    unknown = [str(key) for key in given if key not in fields]
    if unknown:
        raise TypeError(f"context.{name}: unknown member {unknown[0]!r}; expected one of {', '.join(fields)}")
    return _NAMESPACES[name](**given)


def _share(members: dict[str, Any]) -> None:
    """Makes the members that stand at the top and in a namespace the same objects; the top wins."""
    namespaces = [name for name in ("agent", "workflow") if members.get(name) is not None]
    if not namespaces:
        if members.get("suspend") is suspend:
            del members["suspend"]
        return
    for shared in _SHARED:
        given = [members.get(shared), *(getattr(members[name], shared) for name in namespaces)]
        chosen = next((value for value in given if value is not None and value is not suspend), None)
        if chosen is not None:
            members[shared] = chosen
    agent = members.get("agent")
    if agent is not None and members.get("tool_call_id") is None and agent.tool_call_id:
        members["tool_call_id"] = agent.tool_call_id
    for name in namespaces:
        changes: dict[str, Any] = {shared: members.get(shared) for shared in _SHARED}
        # The body's suspend only ends it; the caller's own is called by the call path.
        changes["suspend"] = suspend
        if name == "agent" and members.get("tool_call_id") is not None:
            changes["tool_call_id"] = members["tool_call_id"]
        if any(getattr(members[name], key) is not value for key, value in changes.items()):
            members[name] = msgspec.structs.replace(members[name], **changes)


def _wrong(member: str, expected: str, got: object) -> TypeError:
    return TypeError(f"context.{member}: expected {expected}, got {type(got).__name__}")
