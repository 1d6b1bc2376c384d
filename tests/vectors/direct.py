"""Direct calls: a vector becomes a tool with a scripted body, one `execute` becomes the facts its README names."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from toolhead import (
    AgentToolExecutionContext,
    RequestContext,
    SchemaError,
    Tool,
    ToolSuspended,
    ValidationError,
    WorkflowToolExecutionContext,
    create_tool,
)
from vectors.marks import ScriptedError, decode

ROLES = ("input", "output", "suspend", "resume", "request_context")


async def direct_facts(vector: dict[str, Any]) -> dict[str, Any]:
    """The facts of one direct call, as far as the body was reached."""
    facts: dict[str, Any] = {"executed": False, "suspend_calls": []}
    given = vector.get("context") or {}
    source = RequestContext(decode(given["request_context"])) if "request_context" in given else None
    try:
        tool = _tool(vector, facts, source)
    except (SchemaError, TypeError, ValueError):
        return {"result_kind": "refused"}
    try:
        result = await tool.execute(decode(vector["input"]), _context(vector, facts, source))
    except ToolSuspended:
        facts["result_kind"] = "suspended"
    except ScriptedError:
        facts["result_kind"] = "raised"
    except TypeError:
        facts["result_kind"] = "refused"
    else:
        if isinstance(result, ValidationError):
            facts |= error_facts(result)
        else:
            facts |= {"result_kind": "value", "result": result}
    if source is not None and facts["executed"]:
        facts["source_after"] = dict(source)
    return facts


def error_facts(error: ValidationError) -> dict[str, Any]:
    """What a vector states about a validation error: the frame, the places, the shape of the tree; no wording."""
    head, _, block = error.message.partition("\n\n")
    first, *lines = head.split("\n")
    paths = sorted({".".join(map(str, issue.path)) if issue.path else "root" for issue in error.issues})
    return {
        "result_kind": "validation_error",
        "result_keys": list(error.to_dict()),
        "message_first_line": first,
        "message_last_block": block,
        "failed_paths": paths,
        "issue_line_prefixes": [f"- {path}: " for path in paths if _starts_a_line(path, lines)],
        "error_tree_shape": _shape(error.to_dict()["validationErrors"]),
    }


def _starts_a_line(path: str, lines: list[str]) -> bool:
    # An empty key is an empty path, which prints as root.
    return any(line.startswith(f"- {path or 'root'}: ") for line in lines)


def _shape(node: dict[str, Any]) -> dict[str, Any]:
    fields = {key: _shape(child) for key, child in node["fields"].items()}
    return {"has_errors": bool(node["errors"]), "fields": fields}


def _tool(vector: dict[str, Any], facts: dict[str, Any], source: RequestContext | None) -> Tool[Any, Any]:
    async def body(input: Any, context: Any) -> Any:
        facts["executed"] = True
        facts["execute_input"] = input
        returned = vector["execute_returns"]
        if "execute_does" in vector:
            returned = _perform(vector["execute_does"], facts, context, source)
        if returned == {"$echo_input": True}:
            return input
        if isinstance(returned, dict) and "$raises" in returned:
            raise ScriptedError(returned["$raises"])
        return decode(returned)

    schemas = {f"{role}_schema": _schema(vector, role) for role in ROLES if role in vector["schema"]}
    # Where a schema names no dialect, Mastra reads it as draft 7.
    return create_tool(id=vector["tool"]["id"], description="d", execute=body, dialect="draft7", **schemas)


def _schema(vector: dict[str, Any], role: str) -> Any:
    schema = vector["schema"][role]
    transform = TRANSFORMS.get((vector["name"], role))
    return StandardSource(schema, transform) if transform else schema


# What the zod schemas of these vectors do beyond their JSON Schema (`json_schema_lossy`).
TRANSFORMS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("output_validation/transform_applied", "output"): lambda value: {"v": len(value["v"])},
    ("output_validation/date_coerced", "output"): lambda value: {"d": datetime.fromisoformat(value["d"])},
    ("request_context_validation/transform_visible", "request_context"): lambda value: {"n": int(value["n"])},
}


class StandardSource:
    """A schema of another library, in the form of the Standard JSON Schema: a JSON Schema and a function after it."""

    vendor, version = "vectors", 1

    def __init__(self, schema: dict[str, Any], validate: Callable[[Any], Any]) -> None:
        self.schema = schema
        self.validate = validate
        self.__standard_schema__ = self

    def json_schema(self, mode: str = "input") -> dict[str, Any]:
        return self.schema


def _perform(steps: list[dict[str, Any]], facts: dict[str, Any], context: Any, source: RequestContext | None) -> Any:
    returned: Any = 1
    for step in steps:
        if "report" in step:
            REPORTS[step["report"]](facts, context, source)
        elif step.get("call") == "suspend":
            options = {snake(name): value for name, value in step.get("options", {}).items()}
            context.suspend(decode(step["payload"]), **options)
            facts["suspend_returned"] = None
        elif step.get("call") == "request_context.set":
            context.request_context.set(*step["args"])
            facts["same_object"] = context.request_context is source
        elif step.get("call") == "request_context.delete":
            facts["deleted"] = context.request_context.delete(*step["args"])
        else:
            returned = step["return"]
    return returned


def camel(name: str) -> str:
    """A Python name as Mastra writes it."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def snake(name: str) -> str:
    """One of Mastra's names as Python writes it."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


# ------------------------------------------------------------------------------------- contexts


def _context(vector: dict[str, Any], facts: dict[str, Any], source: RequestContext | None) -> dict[str, Any] | None:
    """The context a caller passes: the request context and, by `via`, where suspend and resume data stand."""
    given = vector.get("context") or {}
    raises = any("raises" in step for step in vector.get("execute_does", ()))

    def suspend(payload: Any, **options: Any) -> None:
        facts["suspend_calls"].append(
            {"payload": payload, "options": {camel(key): options[key] for key in options} or None}
        )
        if raises:
            raise ScriptedError("no")

    via = given.get("via", "")
    resume = {name: decode(given[name]) for name in ("resume_data", "suspend_payload") if name in given}
    context: dict[str, Any] = {} if source is None else {"request_context": source}
    if via == "agent+workflow":
        context["agent"] = AgentToolExecutionContext(suspend=suspend, resume_data={"approval": True})
        context["workflow"] = WorkflowToolExecutionContext(suspend=suspend, resume_data={"approval": "bad"})
    elif via == "agent":
        context["agent"] = AgentToolExecutionContext(suspend=suspend, **resume)
    elif via == "workflow":
        context["workflow"] = WorkflowToolExecutionContext(suspend=suspend, **resume)
    elif via == "top":
        context |= {"suspend": suspend, **resume}
    for name in given.get("flat", ()):
        context[snake(name)] = MEMBERS[name]
    for place, kind in (("agent", AgentToolExecutionContext), ("workflow", WorkflowToolExecutionContext)):
        if place in given:
            context[place] = kind(**{snake(name): MEMBERS[name] for name in given[place]})
    return None if via == "no second argument" else context


# What the contexts of the vectors hold, by the name of the member.
MEMBERS: dict[str, Any] = {
    "toolCallId": "call-1",
    "agentId": "agent-1",
    "messages": [],
    "workflowId": "workflow-1",
    "runId": "run-1",
    "state": {},
    "setState": lambda state: None,
    "suspend": lambda payload, **options: None,
    "isBackgroundTask": True,
    "background": {},
}


# ------------------------------------------------------------------------- what bodies report


def _places(context: Any, name: str) -> dict[str, Any]:
    return {
        "agent": getattr(context.agent, name, None),
        "workflow": getattr(context.workflow, name, None),
        "top": getattr(context, name),
    }


def _resume_seen(facts: dict[str, Any], context: Any, source: RequestContext | None) -> None:
    facts["seen_resume"] = _places(context, "resume_data")
    facts["seen_suspend_payload"] = _places(context, "suspend_payload")


def _suspends(facts: dict[str, Any], context: Any, source: RequestContext | None) -> None:
    facts["has_suspend"] = [callable(place) for place in _places(context, "suspend").values()]


def _request_context(facts: dict[str, Any], context: Any, source: RequestContext | None) -> None:
    facts["seen"] = dict(context.request_context)


def _identity(facts: dict[str, Any], context: Any, source: RequestContext | None) -> None:
    facts["same_object"] = context.request_context is source


def _context_keys(facts: dict[str, Any], context: Any, source: RequestContext | None) -> None:
    facts["top_keys"] = sorted(camel(name) for name in TOP if hasattr(context, name))
    facts["defined_top"] = sorted(camel(name) for name in TOP if getattr(context, name, None) is not None)
    facts["request_context_is_instance"] = isinstance(context.request_context, RequestContext)
    for name in ("agent", "workflow"):
        namespace = getattr(context, name)
        if namespace is not None:
            facts[f"{name}_keys"] = sorted(map(camel, namespace.__struct_fields__))
    if context.agent is not None:
        facts["agent_id"] = context.agent.agent_id


def _types(facts: dict[str, Any], context: Any, source: RequestContext | None) -> None:
    names = {"writer": "writer", "abortSignal": "abort_signal", "mastra": "mastra", "suspend": "suspend"}
    facts["types"] = {name: _type(getattr(context, ours, None)) for name, ours in names.items()}


def _observe(facts: dict[str, Any], context: Any, source: RequestContext | None) -> None:
    facts["observe_type"] = _type(context.observe)


def _type(value: Any) -> str:
    return "undefined" if value is None else "function" if callable(value) else "object"


TOP = (
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
)

REPORTS: dict[str, Callable[[dict[str, Any], Any, RequestContext | None], None]] = {
    "resume data and suspend payload seen by execute": _resume_seen,
    "which suspend functions exist": _suspends,
    "request context seen by execute": _request_context,
    "identity of request_context": _identity,
    "context keys": _context_keys,
    "types": _types,
    "typeof observe": _observe,
}
