"""Areas without a call: operations on a request context, making a tool, a tool's attributes, one projection."""

from collections.abc import Callable
from typing import Any

from toolhead import RequestContext, SchemaError, create_tool
from vectors.direct import snake
from vectors.marks import decode

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
        done.append({**step, "returns": returned})
    return {"ops": done}


# --------------------------------------------------------------------- create_tool and direct_call


async def create_facts(vector: dict[str, Any]) -> dict[str, Any]:
    given = vector["tool"]
    options = {name: given[name] for name in ("id", "description", "input_schema") if given.get(name) != "absent"}
    try:
        create_tool(**options)
    except (SchemaError, TypeError, ValueError):
        return {"created": False}
    return {"created": True}


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
