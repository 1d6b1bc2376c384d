"""A secret is planted in every payload of a run; no view with a transform shows any of it, whatever happens."""

import asyncio
import contextlib
import json
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from toolhead import BackgroundManager, MemoryStore, ToolRunner, ValidationError, create_tool, ui_stream
from virtual_time import VirtualTimeLoop

TOKEN = "zqxj"
SECRET = TOKEN * 4
"""Any eight characters of it in a row hold the token: a piece of a delta is found as well as the whole."""

INPUT = {
    "type": "object",
    "properties": {
        "do": {"type": "string"},
        "text": {"type": "string"},
        "list": {"type": "array", "items": {"type": "string"}},
        "maybe": {"type": "string"},
    },
    "required": ["do", "text"],
    "patternProperties": {"^map": {"type": "object", "additionalProperties": {"type": "object"}}},
}
OUTPUT = {"type": "object", "properties": {"out": {"type": "string"}}, "required": ["out"]}
DEEDS = (
    "return",
    "invalid output",
    "raise",
    "raise from",
    "suspend",
    "suspend badly",
    "write",
    "ask",
    "decline",
    "sleep",
    "invalid",
    "unknown key",
    "not json",
    "cut",
    "repair",
    "deferred",
    "deferred raise",
    "deferred suspend",
    "awaited",
    "awaited raise",
    "client",
    "unknown tool",
)


async def body(input: dict[str, Any], context: Any) -> Any:
    deed = input["do"].removeprefix("deferred ").removeprefix("awaited ")
    if deed == "raise":
        raise ValueError(SECRET)
    if deed == "raise from":
        try:
            {}[SECRET]
        except KeyError as error:
            raise RuntimeError(f"could not find {SECRET}") from error
    if deed.startswith("suspend") and context.resume_data is None:
        context.suspend({"why": SECRET} if deed == "suspend" else {SECRET: SECRET})
    if deed == "write":
        await context.writer.write({"part": SECRET})
    if deed == "sleep":
        await asyncio.sleep(100)
    if deed == "invalid output":
        return {"out": [SECRET], SECRET: SECRET}
    return {"out": SECRET, SECRET: SECRET}


def arguments(deed: str) -> str:
    value: dict[str, Any] = {"do": deed, "text": SECRET, "list": [SECRET], SECRET: {"in": SECRET}}
    if deed.startswith(("deferred", "awaited")):
        value["_background"] = {"disposition": deed.partition(" ")[0]}
    if deed == "invalid":
        value |= {"text": [SECRET], "list": SECRET, "map": {SECRET: SECRET}}
    if deed == "unknown key":
        value["_background"] = {SECRET: SECRET, "disposition": SECRET}
    if deed == "repair":
        value |= {"list": json.dumps([SECRET]), "map": {SECRET: json.dumps({"a": SECRET})}, "maybe": None}
    text = json.dumps(value)
    return text.replace('"do"', "do") if deed == "not json" else text[:-5] if deed == "cut" else text


def fails(event: Any) -> Any:
    raise ValueError(SECRET)


CALLBACKS = st.sampled_from([None, lambda event: {"shown": event.phase}, lambda event: None, fails])
PHASES = ("input", "input_delta", "output", "error", "approval", "suspend", "resume")
TARGET = st.fixed_dictionaries({}, optional=dict.fromkeys(PHASES, CALLBACKS))
TRANSFORMS = st.fixed_dictionaries({}, optional={"display": TARGET, "transcript": TARGET})


def tools(transform: Any) -> list[Any]:
    shared = {"description": "Handles secrets", "input_schema": INPUT, "output_schema": OUTPUT, "transform": transform}
    tool = create_tool(
        **shared,
        id="tool",
        suspend_schema={"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]},
        resume_schema={"type": "object", "properties": {"ok": {"type": "string"}}, "required": ["ok"]},
        execute=body,
        require_approval=lambda given, _: given["do"] in ("ask", "decline"),
        to_model_output=lambda output: {"type": "text", "value": output["out"]},
        timeout=5,
        background={"enabled": True, "default_disposition": "foreground"},
    )
    return [tool, create_tool(**shared, id="client")]


NAMES = {"client": "client", "unknown tool": "nobody"}


def response(deeds: list[str], size: int) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for index, deed in enumerate(deeds):
        text, name = arguments(deed), NAMES.get(deed, "tool")
        for at in range(0, len(text), size):
            function = {"arguments": text[at : at + size], **({"name": name} if at == 0 else {})}
            call = {"index": index, "id": f"c{index}", "function": function}
            events.append({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
    events.append({"type": "response.echo", "arguments": SECRET})  # an event of the provider that repeats them
    return [*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


class Seen:
    """All that a view emits."""

    def __init__(self) -> None:
        self.display: list[Any] = []
        self.transcript: list[Any] = []
        self.model: list[Any] = []

    def run(self, run: Any) -> None:
        self.display += [call.to_dict() for call in run.pending]
        self.transcript += run.transcript()

    async def chunks(self, chunks: Any) -> None:
        taken = []

        async def noted() -> Any:
            async for chunk in chunks:
                taken.append(chunk)
                yield chunk

        with contextlib.suppress(ValidationError):  # it is told to who gave the answer that is refused
            async for event in ui_stream(noted(), sse=True):
                self.display.append(event.decode())
        self.display += [chunk.to_dict() for chunk in taken]
        self.transcript += [chunk.to_dict(view="transcript") for chunk in taken]

    def store(self, store: MemoryStore) -> None:
        for records in store._runs.values():
            for record in records.values():
                data = json.loads(record.data)
                self.transcript.append(data.get("shown", data.get("transcript")))


async def scene(runner: ToolRunner, store: MemoryStore, deeds: list[str], size: int) -> Seen:
    seen = Seen()
    run = runner.run()
    await seen.chunks(run.step(response(deeds, size), provider="openai-chat"))
    await seen.chunks(run.until_idle())
    seen.run(run)
    seen.store(store)
    run = await runner.load(run.id)
    seen.run(run)
    for call in run.pending:
        if call.kind == "suspended":
            await seen.chunks(run.resume(call.tool_call_id, {"ok": [SECRET]}))
            await seen.chunks(run.resume(call.tool_call_id, {"ok": SECRET}))
        elif call.kind == "client":
            await seen.chunks(run.provide_result(call.tool_call_id, {"out": SECRET}))
        elif run._state.by_id[call.tool_call_id].record.args["do"] == "decline":
            await seen.chunks(run.decline(call.tool_call_id))
        else:
            await seen.chunks(run.approve(call.tool_call_id))
        seen.run(run)
    await seen.chunks(run.until_idle())
    await seen.chunks(
        run.step([{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}], provider="openai-chat")
    )
    seen.run(run)
    seen.store(store)
    seen.run(await runner.load(run.id))
    seen.model = run.messages(every_step=True)
    return seen


def played(transform: Any, policy: Any, deeds: list[str], size: int, reject_early: bool) -> Seen:
    store = MemoryStore()
    runner = ToolRunner(
        tools(transform), store=store, transform_policy=policy, reject_early=reject_early, engine=BackgroundManager()
    )
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as loop:
        return loop.run(scene(runner, store, deeds, size))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example(transform={"display": {}, "transcript": {}}, policy=None, deeds=list(DEEDS), size=9, reject_early=False)
@example(transform={"display": {}, "transcript": {}}, policy=None, deeds=list(DEEDS), size=9, reject_early=True)
@example(
    transform={"display": dict.fromkeys(PHASES, fails), "transcript": dict.fromkeys(PHASES, fails)},
    policy=None,
    deeds=list(DEEDS),
    size=1000,
    reject_early=False,
)
@example(transform={}, policy=fails, deeds=list(DEEDS), size=20, reject_early=False)
@given(
    transform=TRANSFORMS,
    policy=st.sampled_from([None, None, fails, lambda event: None]),
    deeds=st.lists(st.sampled_from(DEEDS), min_size=1, max_size=6),
    size=st.integers(8, 60),
    reject_early=st.booleans(),
)
def test_no_view_with_a_transform_shows_any_of_a_secret(
    transform: Any, policy: Any, deeds: list[str], size: int, reject_early: bool
):
    if policy is None:  # nobody says what is to be shown of a tool that does not exist
        deeds = [deed for deed in deeds if deed != "unknown tool"] or ["return"]
    seen = played(transform, policy, deeds, size, reject_early)
    if policy is not None or "display" in transform:
        assert _leaks(seen.display) == []
    if policy is not None or "transcript" in transform:
        assert _leaks(seen.transcript) == []
    assert _leaks(seen.model) != [], "the model reads what the calls gave"


def _leaks(emitted: list[Any]) -> list[str]:
    return [text for text in map(json.dumps, emitted) if TOKEN in text.lower()]


def test_a_view_without_a_transform_shows_the_payloads():
    deeds = [deed for deed in DEEDS if deed != "unknown tool"]
    seen = played({"transcript": {}}, None, deeds, 9, reject_early=False)
    assert _leaks(seen.display)
    assert not _leaks(seen.transcript)
    seen = played({"display": {}}, None, deeds, 9, reject_early=False)
    assert _leaks(seen.transcript)
    assert not _leaks(seen.display)
