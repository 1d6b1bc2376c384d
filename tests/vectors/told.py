"""What an agent is seen to do, in the vectors' own form, and what of it can be compared.

What belongs to Mastra's storage and to its adapters' own conventions (message metadata, provider options that repeat a
projection, step marks of stored messages) has no counterpart here: `comparable` leaves it out of the wanted facts.
"""

import copy
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from toolhead import ui_stream
from toolhead.runs.chunks import Chunk, Custom
from toolhead.transforms import wire_phase
from vectors.direct import TOP, camel
from vectors.ui import error_facts_of

# ------------------------------------------------------------------------------------------------- what is told


def told_chunk(chunk: Chunk) -> dict[str, Any]:
    """A chunk as the vectors write it: raw, the projections beside it, no ids of our own."""
    raw = chunk.to_dict(view="raw")
    if isinstance(chunk, Custom):
        return raw
    payload = raw["payload"]
    told = {"type": raw["type"], "from": raw["from"]}
    if raw["type"] == "step-finish":
        return told | {"reason": payload["stepResult"]["reason"], "is_continued": payload["stepResult"]["isContinued"]}
    if raw["type"] == "finish":
        return told | {"reason": payload["stepResult"]["reason"]}
    if raw["type"] == "text-delta":
        return told | {"text": payload["text"]}
    if raw["type"] in ("start", "step-start", "text-start", "text-end"):
        return told
    if isinstance(payload.get("resumeSchema"), str):
        payload["resumeSchema"] = {"$json_string": json.loads(payload["resumeSchema"])}
    if "error" in payload and "cause" in payload["error"]:
        payload["error"]["cause_message"] = payload["error"].pop("cause")["message"]
    if "result" in payload:
        payload["result"] = _marked(payload["result"])
    told["payload"] = payload
    projections = raw.get("metadata", {}).get("mastra", {}).get("toolPayloadTransform")
    return told | {"transform": projections} if projections else told


def _marked(value: Any) -> Any:
    if isinstance(value, dict) and value.get("error") is True and "validationErrors" in value:
        return {"$validation_error": error_facts_of(value)}
    return value


def marked_answer(result: Any) -> dict[str, Any]:
    answer: dict[str, Any] = result.answer
    if result.status == "invalid":
        return {"type": answer["type"], "value": _marked(result.error.to_dict())}
    return answer


def definition(tool: dict[str, Any]) -> dict[str, Any]:
    """A neutral definition with the vectors' names of its members."""
    told = {"type": "function", "name": tool["name"], "description": tool["description"], "inputSchema": tool["schema"]}
    told["providerOptions"] = tool["provider_options"]
    return told if tool["strict"] is None else told | {"strict": tool["strict"]}


def context_members(context: Any) -> dict[str, Any]:
    agent = context.agent
    return {
        "top": sorted(camel(name) for name in TOP if getattr(context, name) is not None),
        "agent": sorted(camel(name) for name in agent.__struct_fields__ if getattr(agent, name) is not None),
        "agent_id": agent.agent_id,
        "tool_call_id": agent.tool_call_id,
        "n_messages": len(agent.messages),
        "observe": "object",
        "observe_methods": sorted(name for name in ("log", "span") if callable(getattr(context.observe, name))),
        "writer": "object" if callable(context.writer.write) else "absent",
        "abort_signal": "object" if context.abort_signal is not None else "absent",
        "request_context": dict(context.request_context),
    }


def transform_members(event: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"phase": wire_phase(event.phase), "target": event.target}
    told |= {"toolName": event.tool_name, "toolCallId": event.tool_call_id}
    for name in ("input", "input_text_delta", "output", "error", "suspend_payload", "resume_data"):
        if getattr(event, name) is not None:
            told[camel(name)] = _marked(getattr(event, name))
    return msgspec.to_builtins(told, enc_hook=str)  # type: ignore[no-any-return]


async def ui_parts(chunks: list[Chunk]) -> list[dict[str, Any]]:
    """The message that a client has built from the UI stream."""

    async def again() -> AsyncIterator[Chunk]:
        for chunk in chunks:
            yield chunk

    parts: list[dict[str, Any]] = []
    calls: dict[str, dict[str, Any]] = {}
    async for part in ui_stream(again()):
        kind = part["type"]
        if kind == "tool-input-start":
            calls[part["toolCallId"]] = {"type": f"tool-{part['toolName']}", "toolCallId": part["toolCallId"]}
            parts.append(calls[part["toolCallId"]])
        elif kind == "tool-input-available":
            if part["toolCallId"] not in calls:
                calls[part["toolCallId"]] = {"type": f"tool-{part['toolName']}", "toolCallId": part["toolCallId"]}
                parts.append(calls[part["toolCallId"]])
            calls[part["toolCallId"]] |= {"input": part["input"], "state": "input-available"}
        elif kind == "tool-output-available":
            calls[part["toolCallId"]] |= {"output": part["output"], "state": "output-available"}
        elif kind == "tool-output-error":
            text = part["errorText"]
            calls[part["toolCallId"]] |= {
                "errorText": json.loads(text) if text.startswith("{") else text,
                "state": "output-error",
            }
        elif kind.startswith("data-"):
            parts.append({"type": kind, "data": part["data"]})
        elif kind == "text-start":
            parts.append({"type": "text", "text": ""})
        elif kind == "text-delta":
            parts[-1]["text"] += part["delta"]
    return parts


# ----------------------------------------------------------------------------------------- what can be compared


def comparable(vector: dict[str, Any]) -> dict[str, Any]:
    """The wanted facts, or ours, without what belongs to Mastra's storage; without interleaving where it is timing."""
    must = copy.deepcopy(vector["expect"]["must"])
    if "stored_transcript" in must:
        must["stored_transcript"] = [
            [message["role"], _stored(part)]
            for message in must["stored_transcript"]
            for part in message["parts"]
            if part["type"] != "step-start"
        ]
    if "display_ui_parts" in must:
        must["display_ui_parts"] = [
            [_shown(part) for part in parts if part["type"] != "step-start"] for parts in must["display_ui_parts"]
        ]
    if "tool_messages_seen_by_model" in must:
        must["tool_messages_seen_by_model"] = [
            [{key: value for key, value in part.items() if key != "providerOptions"} for part in message["content"]]
            for message in must["tool_messages_seen_by_model"]
        ]
    if "trace" in must:
        # What else the object holds that a predicate is given is Mastra's own.
        must["trace"] = [
            {key: value for key, value in entry.items() if key != "ctx_keys"} if isinstance(entry, dict) else entry
            for entry in must["trace"]
        ]
    for entry in must.get("rounds", ()):
        asked = entry.get("generate", {}).get("suspend_payload")
        if isinstance(asked, dict) and isinstance(asked.get("resumeSchema"), str):
            asked["resumeSchema"] = {"$json_string": _described(json.loads(asked["resumeSchema"]))}
    return _by_call(must) if vector["parity"] == "timing" else must


def _described(schema: Any) -> Any:
    """A schema whose descriptions may be worded otherwise."""
    if not isinstance(schema, dict):
        return schema
    return {
        key: {"$text": "description"} if key == "description" else _described(value) for key, value in schema.items()
    }


def _stored(part: dict[str, Any]) -> dict[str, Any]:
    kept = {key: part[key] for key in ("type", "text", "toolInvocation") if key in part}
    if "result" in kept.get("toolInvocation", {}):
        kept["toolInvocation"] = {**part["toolInvocation"], "result": _marked(part["toolInvocation"]["result"])}
    mapped = part.get("providerMetadata", {}).get("mastra", {}).get("modelOutput")
    return kept if mapped is None else kept | {"modelOutput": mapped}


def _shown(part: dict[str, Any]) -> dict[str, Any]:
    names = ("type", "toolCallId", "input", "output", "errorText", "state", "text")
    kept = {key: part[key] for key in names if key in part}
    if "data" in part:
        # The stream's own part about a suspension has no arguments (area display_stream).
        names = ("toolCallId", "toolName", "args" if part["type"].endswith("approval") else "suspendPayload")
        kept["data"] = {key: part["data"][key] for key in names if key in part["data"]}
    return kept


def _by_call(must: dict[str, Any]) -> dict[str, Any]:
    """`compare` of the vectors: order within each call, results by id; what is about no call keeps its order."""
    chunks: dict[str, list[Any]] = {}
    for entry in must["rounds"]:
        for chunk in entry.get("chunks", ()):
            chunks.setdefault(chunk.get("payload", {}).get("toolCallId", ""), []).append(chunk)
    trace: dict[str, list[Any]] = {}
    for entry in must["trace"]:
        about = entry.get("toolCallId", "") if isinstance(entry, dict) else ""
        trace.setdefault(about, []).append(entry)
    others = sorted(json.dumps(entry, sort_keys=True) for entry in trace.pop("", ()))
    seen = [sorted(parts, key=lambda part: part["toolCallId"]) for parts in must["tool_messages_seen_by_model"]]
    return {**must, "rounds": chunks, "trace": {**trace, "others": others}, "tool_messages_seen_by_model": seen}
