"""What a user's client sees of one call: the parts of the UI message stream that are about tools."""

import json
from typing import Any

from toolhead import ToolRunner, create_tool, ui_stream
from vectors.marks import ScriptedError, decode

CALLBACKS = {"inputDelta": "input_delta"}


async def ui_facts(vector: dict[str, Any]) -> dict[str, Any]:
    """The parts of a streamed call, with marks for what is new in every run."""
    run = ToolRunner({"cust": _tool(vector)}).run()
    chunks = run.step(response(vector["input"]["calls"]), provider="openai-chat")
    parts = [_marked(part, run.id) async for part in ui_stream(chunks) if part["type"].startswith(("tool-", "data-"))]
    return {"ui_stream_tool_parts": parts, "types": [part["type"] for part in parts]}


def _tool(vector: dict[str, Any]) -> Any:
    given, schemas = vector["tool"], vector["schema"]
    body = given["execute"]

    async def execute(_: Any, context: Any) -> Any:
        if "raises" in body:
            raise ScriptedError(body["raises"])
        if "suspend" in body:
            context.suspend(decode(body["suspend"]))
        return decode(body["returns"])

    return create_tool(
        id=given["id"],
        description="d",
        execute=execute,
        require_approval=given.get("require_approval", False),
        transform=_transform(given.get("transform")),
        **{f"{role}_schema": schema for role, schema in schemas.items()},
    )


def _transform(given: dict[str, Any] | None) -> Any:
    if given is None:
        return None
    return {
        target: {CALLBACKS.get(name, name): _callback(script) for name, script in callbacks.items()}
        for target, callbacks in given.items()
    }


def _callback(script: dict[str, Any]) -> Any:
    def callback(event: Any) -> Any:
        if "raises" in script:
            raise ScriptedError(script["raises"])
        if script.get("upper"):
            return event.input_text_delta.upper()
        if "pick" in script:
            payload = getattr(event, script["from"])
            return {key: payload[key] for key in script["pick"] if key in payload}
        return decode(script["returns"])

    return callback


def response(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls as a streamed chat completion, each in two halves, as the vectors say."""
    events: list[dict[str, Any]] = []
    for index, call in enumerate(calls):
        text = json.dumps(call["input"], separators=(",", ":"))
        half = -(-len(text) // 2)
        for function in ({"name": call["name"], "arguments": text[:half]}, {"arguments": text[half:]}):
            delta = {"tool_calls": [{"index": index, "id": call["id"], "function": function}]}
            events.append({"choices": [{"index": 0, "delta": delta}]})
    return [*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def _marked(part: dict[str, Any], run_id: str) -> dict[str, Any]:
    marked: dict[str, Any] = json.loads(json.dumps(part).replace(run_id, "<id>"))
    if "data" in marked:
        marked["data"].setdefault("resumeSchema", None)
    output = marked.get("output")
    if isinstance(output, dict) and output.get("error") is True:
        marked["output"] = {"$validation_error": error_facts_of(output)}
    return marked


def error_facts_of(told: dict[str, Any]) -> dict[str, Any]:
    """What a vector states about a validation error that was sent as JSON."""
    head, _, block = told["message"].partition("\n\n")
    tree = told["validationErrors"]
    return {
        "message_first_line": head.partition("\n")[0],
        "message_last_block": block,
        "failed_paths": sorted(_paths(tree, ())),
        "error_tree_shape": _shape(tree),
    }


def _paths(tree: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    own = [".".join(path) or "root"] if tree["errors"] else []
    return own + [found for key, child in tree["fields"].items() for found in _paths(child, (*path, key))]


def _shape(tree: dict[str, Any]) -> dict[str, Any]:
    fields = {key: _shape(child) for key, child in tree["fields"].items()}
    return {"has_errors": bool(tree["errors"]), "fields": fields}
