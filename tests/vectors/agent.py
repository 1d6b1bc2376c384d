"""Agent runs: a vector becomes an agent with scripted tools and a scripted model, its rounds become facts."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from toolhead import (
    AbortController,
    Agent,
    NotSuspendedError,
    RunNotFoundError,
    TransformPolicy,
    create_tool,
)
from toolhead.providers.answers import Answer
from toolhead.providers.events import CallCompleted, CallStarted, Finished
from toolhead.runs.chunks import Chunk
from toolhead.testing import ScriptedCall, ScriptedModel
from toolhead.transforms import wire_phase
from vectors.direct import StandardSource, camel, snake
from vectors.marks import ScriptedError, decode
from vectors.told import (
    comparable,
    context_members,
    definition,
    marked_answer,
    told_chunk,
    transform_members,
    ui_parts,
)

HOOKS = ("onInputStart", "onInputDelta", "onInputAvailable", "onOutput")
# What the zod schemas of these vectors do beyond their JSON Schema.
TRANSFORMS: dict[str, Callable[[Any], Any]] = {"agent_input_parsing/trim": lambda value: {"v": value["v"].strip()}}


async def agent_facts(vector: dict[str, Any]) -> dict[str, Any]:
    """The facts of all rounds of one vector."""
    stage = Stage(vector)
    given = vector["input"]
    await stage.round(None, given.get("mode", "stream"))
    for then in given.get("then", ()):
        await stage.round(then, "generate" if then["action"].endswith("Generate") else "stream")
    return comparable({"expect": {"must": stage.facts()}, "parity": vector["parity"]})


# ------------------------------------------------------------------------------------------------------- the stage


class Stage:
    """One vector's agent, and everything that it is seen to do."""

    def __init__(self, vector: dict[str, Any]) -> None:
        self.vector = vector
        self.trace: list[Any] = []
        self.rounds: list[dict[str, Any]] = []
        self.run_id = ""
        self.parts: list[list[dict[str, Any]]] = []
        self.result: Any = None
        self.args: dict[str, Any] = {}
        given = vector["input"]
        self.sees_chunks = any("chunk" in entry for entry in vector["expect"]["must"].get("trace", ()))
        self.model = Model(_turns(given), self)
        options = {**given.get("options", {}), **given.get("agent_options", {})}
        tools = vector["tool"]
        if "registered_as" in tools:  # the definition alone
            tools = {tools["registered_as"]: {**tools, "schemas": vector["schema"], "execute": {}, "hooks": False}}
        self.agent = Agent(
            self.model,
            {name: self.tool(tool) for name, tool in tools.items()},
            id="a1",
            concurrency=_concurrency(options.get("toolCallConcurrency", 10)),
            require_approval=self.approval(options.get("requireToolApproval")),
            transform_policy=self.policy(options.get("transform")),
        )

    async def round(self, then: dict[str, Any] | None, mode: str) -> None:
        """One stream, or one generation: the first, or an answer."""
        if then is None:
            turn = self.agent.stream(
                "hi", request_context=self.vector["input"].get("request_context"), abort_signal=AbortController().signal
            )
            self.run_id = turn.run_id
            entry: dict[str, Any] = {}
        else:
            self.trace.append({"resume": then["action"]})
            entry = dict(then)
            turn = self.answer(then["action"].removesuffix("Generate"), then.get("args", {}), then.get("data"))
        turn._streams = mode == "stream"
        chunks: list[Chunk] = []
        try:
            async for chunk in turn:
                chunks.append(chunk)
                if self.sees_chunks:
                    self.trace.append({"chunk": chunk.type})
        except (NotSuspendedError, RunNotFoundError) as error:
            name = "NOT_SUSPENDED" if isinstance(error, NotSuspendedError) else "NO_SNAPSHOT_FOUND"
            kind = "TOOL_CALL_" if isinstance(error, NotSuspendedError) else ""
            raised = {"name": "Error", "message": str(error), "id": f"AGENT_RESUME_{kind}{name}"}
            self.rounds.append({**entry, "raises": raised})
            return
        except Exception as error:
            self.rounds.append({**entry, "raises": {"name": type(error).__name__}})
            return
        self.result = turn.result
        self.args |= {chunk.tool_call_id: chunk.args for chunk in chunks if chunk.type == "tool-call"}
        if then is None:
            self.parts = [await ui_parts(chunks)]
        # The verdict before the end of the arguments is new here: the contract's section 6.
        told = [told_chunk(chunk) for chunk in chunks if chunk.type != "tool-input-rejected"]
        if mode == "stream":
            entry["chunks"] = told
            if then is None:
                entry["finish_reason"] = turn.result.finish_reason
        else:
            entry["generate"] = self.generated(told, first=then is None)
        self.rounds.append(entry)

    def answer(self, action: str, args: dict[str, Any], data: Any) -> Any:
        run_id, call = args.get("runId", self.run_id), args.get("toolCallId")
        if action == "approve":
            return self.agent.approve_tool_call(run_id, call)
        if action == "decline":
            return self.agent.decline_tool_call(run_id, call, reason=args.get("reason"))
        return self.agent.resume(run_id, decode(data), call)

    def generated(self, told: list[dict[str, Any]], *, first: bool) -> dict[str, Any]:
        of = {kind: [chunk for chunk in told if chunk["type"] == kind] for kind in ("tool-call", "tool-result")}
        made = {"text": self.result.text, "finish_reason": self.result.finish_reason, "tool_results": of["tool-result"]}
        if first:
            questions = ("tool-call-approval", "tool-call-suspended")
            asked = [{"resumeSchema": None, **chunk["payload"]} for chunk in told if chunk["type"] in questions]
            made |= {"tool_calls": of["tool-call"], "suspend_payload": asked[0] if asked else None}
        return made

    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"rounds": self.rounds, "trace": self.trace, "model_calls": len(self.model.requests)}
        facts["tools_sent"] = [definition(tool) for tool in self.model.tools_sent]
        facts["display_ui_parts"] = self.parts
        if self.result is not None:
            facts["stored_transcript"] = [
                {"role": "user", "parts": [{"type": "text", "text": "hi"}]},
                *self.result.transcript,
            ]
            facts["tool_messages_seen_by_model"] = self.seen()
        return facts

    def seen(self) -> list[dict[str, Any]]:
        """The results in the last question to the model, which are checked to stand in it."""
        last = {m.get("tool_call_id"): m["content"] for m in self.model.requests[-1].messages if m["role"] == "tool"}
        messages = []
        for step in self.result.steps:
            content = []
            for result in step.results:
                answer = Answer(result.tool_call_id, True, result.tool_name, "function", result.answer)
                if result.tool_call_id in last and answer.parts is None:
                    assert last[result.tool_call_id] == answer.text
                args = self.args[result.tool_call_id]
                content.append(
                    {
                        "type": "tool-result",
                        "toolCallId": result.tool_call_id,
                        "toolName": result.tool_name,
                        "output": marked_answer(result),
                        "input": args,
                    }
                )
            if content:
                messages.append({"role": "tool", "content": content})
        return messages

    # --------------------------------------------------------------------------------------------- scripted tools

    def tool(self, given: dict[str, Any]) -> Any:
        hooks = given.get("hooks", True)
        hooks = {} if hooks is True else hooks
        label = f"{hooks['label']}." if hooks and "label" in hooks else ""
        options: dict[str, Any] = {
            name: given[name] for name in ("strict", "provider_options", "title") if name in given
        }
        options |= {
            "strict": given.get("strict"),
            "provider_options": given.get("providerOptions", options.get("provider_options")),
        }
        if isinstance(given.get("mcp"), dict):
            annotations = {snake(name): value for name, value in given["mcp"]["annotations"].items()}
            options["mcp"] = {"annotations": annotations, "_meta": given["mcp"]["_meta"]}
        if hooks is not False:
            for name in hooks.get("only", HOOKS):
                options[snake(name)] = self.hook(label, name, raises=name in hooks.get("raise_in", ()))
        approval = given.get("require_approval", False)
        if isinstance(approval, dict):
            approval = self.predicate(given["id"], approval)
        mapping = given.get("to_model_output")
        schemas = {f"{role}_schema": schema for role, schema in given["schemas"].items()}
        transform = TRANSFORMS.get(self.vector["name"])
        if transform is not None:
            schemas["input_schema"] = StandardSource(schemas["input_schema"], transform)
        return create_tool(
            id=given["id"],
            description=given.get("description", "d"),
            execute=None if given["execute"] is None else self.body(label, given["id"], given["execute"]),
            require_approval=approval,
            transform=self.transform(given.get("transform")),
            to_model_output=self.mapping(given["id"], mapping) if isinstance(mapping, dict) else None,
            dialect="draft7",
            **options,
            **schemas,
        )

    def hook(self, label: str, name: str, *, raises: bool) -> Callable[[Any], None]:
        def hook(event: Any) -> None:
            # The live value of a delta is ours alone.
            keys = sorted(camel(field) for field in event.__struct_fields__ if field != "value")
            entry = {"hook": f"{label}{name}", "toolCallId": event.tool_call_id, "keys": keys}
            for member in ("input_text_delta", "input", "output", "tool_name"):
                if member in event.__struct_fields__:
                    entry[camel(member)] = getattr(event, member)
            self.trace.append(entry)
            if raises:
                raise ScriptedError(name)

        return hook

    def predicate(self, tool_id: str, script: dict[str, Any]) -> Callable[[Any, Any], Any]:
        def predicate(input: Any, context: Any) -> Any:
            seen = dict(context.request_context)
            self.trace.append({"require_approval": tool_id, "input": input, "request_context": seen})
            if "raises" in script:
                raise ScriptedError(script["raises"])
            return script["returns"] if "returns" in script else input.get(script["arg"]) == script["equals"]

        return predicate

    def approval(self, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        script = self.vector["policy_function"]["require_tool_approval_function"]

        def asked(request: Any) -> Any:
            if "raises" in script:
                raise ScriptedError(script["raises"])
            return script["returns"]

        return asked

    def body(self, label: str, tool_id: str, script: dict[str, Any]) -> Any:
        async def execute(input: Any, context: Any) -> Any:
            self.trace.append({"execute": f"{label}{tool_id}", "input": input})
            if "delay_ms" in script:
                delay = script["delay_ms"]
                await asyncio.sleep((delay if isinstance(delay, int) else delay.get(input["k"], 0)) / 1000)
            if script.get("report_context"):
                self.trace.append({"context": context_members(context)})
            if script.get("observe_span"):
                with context.observe.span("work"):
                    self.trace.append({"span_returned": 41})
            for step in script.get("writer", ()):
                await (
                    context.writer.write(step["write"]) if "write" in step else context.writer.custom(step["custom"])
                )
            if "suspend" in script and context.resume_data is None:
                options = {snake(name): value for name, value in script.get("suspend_options", {}).items()}
                context.suspend(decode(script["suspend"]), **options)
            if script.get("report_resume") and context.resume_data is not None:
                self.trace.append({"resume_data": context.resume_data, "suspend_payload": context.suspend_payload})
            if "raises" in script:
                raise ScriptedError(script["raises"])
            self.trace.append({"executed": f"{label}{tool_id}"})
            if "echo_key" in script:
                return {script["echo_key"]: input[script["echo_key"]]}
            return decode(script["returns"]) if "returns" in script else input

        return execute

    def mapping(self, tool_id: str, script: dict[str, Any]) -> Callable[[Any], Any]:
        def mapped(output: Any) -> Any:
            self.trace.append({"to_model_output": tool_id, "output": output})
            if "raises" in script:
                raise ScriptedError(script["raises"])
            return decode(script["returns"]) if "returns" in script else None

        return mapped

    def transform(self, given: dict[str, Any] | None) -> Any:
        if given is None:
            return None
        return {
            target: {snake(name): self.callback(f"{target}.{name}", script) for name, script in callbacks.items()}
            for target, callbacks in given.items()
        }

    def callback(self, name: str, script: dict[str, Any]) -> Callable[[Any], Any]:
        def callback(event: Any) -> Any:
            self.trace.append({"transform": name, "context": transform_members(event)})
            if "raises" in script:
                raise ScriptedError(script["raises"])
            if script.get("upper"):
                return event.input_text_delta.upper()
            if "pick" in script:
                payload = getattr(event, script["from"])
                return {key: payload[key] for key in script["pick"] if key in payload}
            return decode(script["returns"]) if "returns" in script else None

        return callback

    def policy(self, given: dict[str, Any] | None) -> Any:
        if given is None:
            return None
        script = self.vector["policy_function"]

        def policy(event: Any) -> Any:
            if "raises" in script:
                raise ScriptedError(script["raises"])
            phase = wire_phase(event.phase)
            if script.get("only_phase", phase) != phase:
                return None
            marks = {"$phase": phase, "$target": event.target}
            return {key: marks.get(value, value) for key, value in script["returns"].items()}

        return TransformPolicy(policy, tuple(given.get("targets", ("display", "transcript"))))


class Model(ScriptedModel):
    """A scripted model that tells the stage when it is asked, and sends calls in one piece where the vector says so."""

    def __init__(self, turns: list[Any], stage: Stage) -> None:
        super().__init__(*turns)
        self.stage = stage

    async def respond(self, request: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        if self.stage.sees_chunks:
            self.stage.trace.append("model.doStream")
        is_whole = self.stage.vector["input"].get("delivery") == {"deltas": False} and request.stream
        place = len(self.requests)
        async for event in super().respond(request):
            if not is_whole or place:
                yield event
        if is_whole and not place:
            for number, call in enumerate(self.stage.vector["input"]["calls"]):
                yield CallStarted(number, call["id"], call["name"], "function", whole=True)
                yield CallCompleted(number, replacement=json.dumps(call["input"]))
            yield Finished("tool-calls", None)


def _turns(given: dict[str, Any]) -> list[Any]:
    """What the model says: raw parts of an adapter, or calls and then "done"."""
    if given.get("turns"):
        return [_events(parts) for parts in given["turns"]]
    calls = [
        ScriptedCall(call["name"], call["input"], id=call["id"], pieces=call.get("chunks"))
        for call in given.get("calls", ())
    ]
    return [calls, "done"] if calls else ["done"]


def _events(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of an AI SDK adapter as pieces of a chat completion."""
    events: list[dict[str, Any]] = []
    known: dict[str, int] = {}

    def entry(call: str, **function: Any) -> dict[str, Any]:
        return {"tool_calls": [{"index": known[call], "id": call, "function": function}]}

    for part in parts:
        delta, reason = None, None
        if part["type"] == "tool-input-start":
            known[part["id"]] = len(known)
            delta = entry(part["id"], name=part["toolName"], arguments="")
        elif part["type"] == "tool-input-delta":
            delta = entry(part["id"], arguments=part["delta"])
        elif part["type"] == "tool-call" and part["toolCallId"] not in known:
            known[part["toolCallId"]] = len(known)
            delta = entry(part["toolCallId"], name=part["toolName"], arguments=part["input"])
        elif part["type"] == "text-delta":
            delta = {"content": part["delta"]}
        elif part["type"] == "finish":
            delta, reason = {}, part["finishReason"].replace("-", "_")
        if delta is not None:
            events.append({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    return events


def _concurrency(given: Any) -> int:
    return int(given["limit"]) if isinstance(given, dict) else int(given)
