"""Calls in the background: a vector becomes a run with a scripted model and body, in virtual time.

The chunks of a vector stand in the order in which they came to Mastra's one stream. What is contractual of it is the
order of the chunks of one call and of one task: ours are told in the vector's order as far as theirs is the same.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from toolhead import BackgroundManager, Run, ToolRunner, create_tool
from vectors.marks import ScriptedError, decode
from vectors.ui import error_facts_of, response
from virtual_time import VirtualTimeLoop

SKIPPED = {"step-start", "text-start", "text-end"}
MODEL_SECONDS = 0.01
"""How long the scripted model thinks: shorter than every wait of a scripted body, longer than a retry takes."""


async def background_facts(vector: dict[str, Any]) -> dict[str, Any]:
    """The facts of one vector."""
    return await asyncio.to_thread(_in_virtual_time, vector)


def _in_virtual_time(vector: dict[str, Any]) -> dict[str, Any]:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as loop:
        return loop.run(_Scene(vector).play())


class _Scene:
    def __init__(self, vector: dict[str, Any]) -> None:
        self.vector = vector
        self.trace: list[Any] = []
        self.chunks: list[dict[str, Any]] = []
        self.turns = 0
        self.seen: list[dict[str, Any]] = []

    async def play(self) -> dict[str, Any]:
        given = self.vector["input"]
        runner = ToolRunner({self.vector["tool"]["registered_as"]: self._tool()}, engine=self._manager())
        run = runner.run(agent_id="a1", thread_id="t1", resource_id="r1")
        await self._turn(run, response(given["calls"]))
        self.seen = _seen(run)
        await self._turn(run, _says("started it"))
        self._note({"type": "finish", "from": "AGENT", "reason": "stop"})
        if given.get("until_idle"):
            async for chunk in run.until_idle():
                self._note(self._marked(chunk, run))
            self.seen = _seen(run)
            await self._turn(run, _says("final"))
            self._note({"type": "finish", "from": "AGENT", "reason": "stop"})
        at_end = [entry if isinstance(entry, str) else next(iter(entry)) for entry in self.trace]
        async for _ in run.until_idle():
            pass
        await asyncio.sleep(1)  # callbacks come after the run was told
        tools = runner.definitions("openai-chat")
        return {
            "chunks": arranged(self.vector["expect"]["must"]["chunks"], self.chunks),
            "trace_at_stream_end": at_end,
            "trace": self.trace,
            "model_calls": self.turns,
            "tools_schema": tools[0]["function"]["parameters"],
            "tool_messages": [self.seen],
            "tasks": [_record(task) for task in run.tasks],
            "system_prompt_mentions_background": bool(runner.instructions),
        }

    async def _turn(self, run: Run, events: list[dict[str, Any]]) -> None:
        self.turns += 1

        async def stream() -> Any:
            await asyncio.sleep(MODEL_SECONDS)
            for event in events:
                yield event

        async for chunk in run.step(stream(), provider="openai-chat"):
            if chunk.type not in SKIPPED:
                self._note(self._marked(chunk, run))

    def _note(self, chunk: dict[str, Any]) -> None:
        self.chunks.append(chunk)

    def _marked(self, chunk: Any, run: Run) -> dict[str, Any]:
        told = chunk.to_dict(view="raw")
        payload = told["payload"]
        if told["type"] == "step-finish":
            result = payload["stepResult"]
            return {
                "type": "step-finish",
                "from": "AGENT",
                "reason": {"tool_calls": "tool-calls"}.get(result["reason"], result["reason"]),
                "is_continued": result["isContinued"],
            }
        if told["type"] == "text-delta":
            return {"type": "text-delta", "from": "AGENT", "text": payload["text"]}
        for name, mark in {"taskId": "<task-id>", "runId": "<run-id>"}.items():
            if name in payload:
                payload[name] = mark
        for name in ("startedAt", "completedAt"):
            if name in payload:
                payload[name] = "<time>"
        if "backgroundTask" in payload.get("providerMetadata", {}).get("mastra", {}):
            payload["providerMetadata"]["mastra"]["backgroundTask"]["taskId"] = "<id>"
        if isinstance(payload.get("result"), dict) and payload["result"].get("error") is True:
            payload["result"] = {"$validation_error": error_facts_of(payload["result"])}
        marked = {"type": told["type"], "from": told["from"], "payload": payload}
        if told["type"] in ("background-task-running", "background-task-completed"):
            del marked["from"]  # the vectors name no sender of these
        if "mastra" in told.get("metadata", {}):
            marked["transform"] = told["metadata"]["mastra"]["toolPayloadTransform"]
        return marked

    # --------------------------------------------------------------------------------------- the scripts

    def _manager(self) -> BackgroundManager:
        given = self.vector["input"]["manager"]
        agent = self.vector["input"]["agent_background"] or {}
        retries = given.get("defaultRetries", {})
        limit = {"global_concurrency": given["globalConcurrency"]} if "globalConcurrency" in given else {}
        return BackgroundManager(
            enabled=given["enabled"] and not agent.get("disabled", False),
            tools=agent.get("tools"),
            backpressure=given.get("backpressure", "queue"),
            max_retries=retries.get("maxRetries", 0),
            retry_delay=MODEL_SECONDS / 4,  # Mastra's retries come at once
            **limit,
        )

    def _tool(self) -> Any:
        given = self.vector["tool"]
        background = None if given["background"] is None else dict(given["background"])
        extra = EXTRA.get(self.vector["name"], {})
        return create_tool(
            id=given["id"],
            description="d",
            input_schema=self.vector["schema"]["input"],
            execute=self._execute,
            background=background and self._config(background),
            on_input_available=lambda event: self.trace.append("onInputAvailable"),
            on_output=lambda event: self.trace.append({"onOutput": event.output}),
            **extra,
        )

    def _config(self, given: dict[str, Any]) -> dict[str, Any]:
        config = {
            "enabled": given["enabled"],
            "default_disposition": given.get("defaultDisposition", "deferred"),
            "timeout": given["timeoutMs"] / 1000 if "timeoutMs" in given else None,
            "max_retries": given.get("maxRetries"),
        }
        for name, option in (("onComplete", "on_complete"), ("onFailed", "on_failed")):
            if given.get(name):
                config[option] = self._recorder(name)
        return config

    def _recorder(self, name: str) -> Callable[[Any], None]:
        def record(task: Any) -> None:
            told = task.to_dict()
            kept = {key: told[key] for key in ("status", "result", "error") if key in told}
            self.trace.append({name: kept})

        return record

    async def _execute(self, input: Any, context: Any) -> Any:
        is_background = context.agent.is_background_task
        self.trace.append({"execute": input, "is_background": is_background})
        entered = sum(isinstance(entry, dict) and "execute" in entry for entry in self.trace)
        for step in self.vector["execute_does"]:
            if "wait_ms" in step:
                await asyncio.sleep(step["wait_ms"] / 1000)
            elif "wait_until" in step:
                await context.abort_signal.wait()
            elif "raise" in step or entered <= step.get("raise_first_n", 0):
                raise ScriptedError(step.get("raise", "first"))
            elif step.get("call") == "suspend":
                context.suspend(decode(step["payload"]))
            elif "return" in step:
                self.trace.append("executed")
                return decode(step["return"])
        return None


EXTRA: dict[str, dict[str, Any]] = {
    "background/with_to_model_output_and_transform": {
        "to_model_output": lambda output: {
            "type": "text",
            "value": f"mapped {json.dumps(output, separators=(',', ':'))}",
        },
        "transform": {"display": {"input": lambda event: {"d": "in"}, "output": lambda event: {"d": "out"}}},
    }
}
"""What a vector's facts show of its tool, and its description leaves out."""


def _says(text: str) -> list[dict[str, Any]]:
    return [
        {"choices": [{"index": 0, "delta": {"content": text}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]


def _seen(run: Run) -> list[dict[str, Any]]:
    """What the model is given of the calls."""
    answers = {result.tool_call_id: result.answer for step in run._state.steps for result in _results(step.calls)}
    return [
        answers.get(message["tool_call_id"], {"type": "text", "value": message["content"]})
        for message in run.messages(every_step=True)
        if message["role"] == "tool"
    ]


def _results(calls: list[Any]) -> list[Any]:
    return [call.result for call in calls if call.result is not None]


RECORD = (
    "status",
    "toolName",
    "toolCallId",
    "args",
    "agentId",
    "threadId",
    "resourceId",
    "retryCount",
    "maxRetries",
    "timeoutMs",
    "suspendPayload",
)


def _record(task: Any) -> dict[str, Any]:
    told = task.to_dict()
    record = {name: told[name] for name in RECORD if name in told}
    if "result" in told:
        record["result"] = told["result"]
    return record | {"error": told.get("error")}


def arranged(want: list[dict[str, Any]], got: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`got`, its calls, tasks and the model's own chunks interleaved as in `want`; each keeps its own order."""
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for chunk in got:
        lines[_line(chunk)].append(chunk)
    made = [lines[_line(chunk)].pop(0) for chunk in want if lines[_line(chunk)]]
    return made + [chunk for line in lines.values() for chunk in line]


def _line(chunk: dict[str, Any]) -> str:
    payload = chunk.get("payload", {})
    if chunk["type"].startswith("background-task-"):
        return f"task of {payload['toolCallId']}"
    return payload.get("toolCallId", "")
