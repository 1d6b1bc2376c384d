"""Areas without a call: operations on a request context, making a tool, its attributes, one projection."""

from collections.abc import Callable
from typing import Any

from toolhead import (
    RequestContext,
    SchemaError,
    ToolPayloadTransform,
    TransformEvent,
    TransformPolicy,
    create_tool,
    project,
)
from vectors.direct import StandardSource, snake
from vectors.marks import ScriptedError, decode

# ---------------------------------------------------------------------------- request_context_api

OPERATIONS: dict[str, Callable[..., Any]] = {
    "set": RequestContext.set,
    "get": RequestContext.get,
    "has": RequestContext.has,
    "delete": RequestContext.delete,
    "clear": RequestContext.clear,
    "size": len,
    "keys": list,
    "values": lambda context: list(context.values()),
    "entries": lambda context: list(context.items()),
    "all": lambda context: context.all,
}


async def request_context_facts(vector: dict[str, Any]) -> dict[str, Any]:
    must = vector["expect"]["must"]
    if "reserved" in must:
        return {"reserved": {name: getattr(RequestContext, name[7:-4]) for name in must["reserved"]}}
    if "json" in must:
        one = RequestContext({"v": 1})
        one.set("other", RequestContext({"one": one}))
        return {"json": one.to_json()}
    context, done = RequestContext(), []
    for step in must["ops"]:
        arguments = [decode(argument) for argument in step["args"]]
        if step["op"] == "new":
            context, returned = RequestContext(*arguments), "created"
        else:
            returned = OPERATIONS[step["op"]](context, *arguments)
        done.append({**step, "args": arguments, "returns": returned})
    return {"ops": done}


# --------------------------------------------------------------------- create_tool and direct_call


async def create_facts(vector: dict[str, Any]) -> dict[str, Any]:
    given = dict(vector["tool"])
    argument = given.pop("input", None)
    if argument is not None:
        # The one vector with an input: its schema checks asynchronously.
        given["input_schema"] = StandardSource({"type": "object"}, _checked_later)
    try:
        tool = create_tool(**{name: value for name, value in given.items() if value != "absent"}, execute=_echo)
    except (SchemaError, TypeError, ValueError):
        return {"created": False}
    if argument is None:
        return {"created": True}
    try:
        await tool.execute(argument)
    except TypeError:
        return {"created": True, "call_raises": True}
    return {"created": True, "call_raises": False}


async def _checked_later(value: Any) -> Any:
    return value


async def _echo(input: Any) -> Any:
    return input


async def attribute_facts(vector: dict[str, Any]) -> dict[str, Any]:
    must = vector["expect"]["must"]
    asked = {"require_approval": must["require_approval"]} if "require_approval" in must else {}
    tool = create_tool(id=vector["tool"]["id"], description="d", **asked)
    return {
        "own_keys": [name for name in must.get("own_keys", ()) if hasattr(tool, snake(name))],
        "require_approval": tool.require_approval,
        "require_approval_default": tool.require_approval,
        "execute_present": tool.can_execute,
    }


# ---------------------------------------------------------------------------------- transform_unit

PHASES = {"input-available": "input", "input-delta": "input_delta", "output-available": "output"}
PARTS = {
    "input": "input",
    "inputTextDelta": "input_text_delta",
    "output": "output",
    "error": "error",
    "suspendPayload": "suspend_payload",
    "resumeData": "resume_data",
}


async def projection_facts(vector: dict[str, Any]) -> dict[str, Any]:
    """What both targets see of one payload, and which callbacks were asked for it."""
    given, calls = vector["tool"], []

    def scripted(who: str, script: dict[str, Any]) -> Callable[[TransformEvent], Any]:
        def callback(event: TransformEvent) -> Any:
            parts = [name for name, ours in PARTS.items() if getattr(event, ours) is not None]
            keys = sorted(["phase", "target", "toolCallId", "toolName", *parts])
            calls.append({"who": who, "keys": keys, "phase": wire, "target": event.target})
            if "raises" in script:
                raise ScriptedError(script["raises"])
            return script.get("returns")

        return callback

    wire = vector["input"]["phase"]
    transform = {
        target: {snake(name): scripted(f"tool.{target}.{name}", script) for name, script in callbacks.items()}
        for target, callbacks in (given["transform"] or {}).items()
    }
    policy = None
    if given["agent_policy"] is not None:
        targets = given["agent_policy"].get("targets", ("display", "transcript"))
        policy = TransformPolicy(scripted("policy", given["agent_policy"]["fn"]), tuple(targets))
    tool = create_tool(id="t", description="d", transform=transform) if transform else None
    own: ToolPayloadTransform | None = tool.transform if tool else None
    payload = {PARTS[name]: value for name, value in vector["input"]["payload"].items()}
    metadata = {}
    for target in ("display", "transcript"):
        seen = await project(
            own, target, PHASES.get(wire, wire), payload, policy=policy, tool_name="t", tool_call_id="call-1"
        )
        if seen is not None:
            metadata[target] = {wire: seen.to_dict()}
    return {"metadata": metadata, "callback_calls": calls}
