"""The models, end to end: recorded streams from a loopback server, through the real SDKs, to results and back again."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from loopback import Body, Loopback, loopback, recorded, sse
from shared_data import read_streams
from toolhead import AbortController, Agent, Anthropic, Gemini, OpenAIChat, OpenAIResponses, create_tool
from toolhead.providers.registry import provider_of

SERVER_KINDS = {"server_tool_use", "mcp_tool_use", "mcp_call"}
ITEM = {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": []}
RESPONSE = {"id": "r1", "object": "response", "status": "completed", "output": []}
DONE: dict[str, bytes] = {
    "openai-chat": sse(
        {"id": "x", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Done."}}]},
        {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        done=True,
    ),
    "openai-responses": sse(
        {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
        {
            "type": "response.output_text.delta",
            "output_index": 0,
            "item_id": "m1",
            "content_index": 0,
            "delta": "Done.",
        },
        {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
        {"type": "response.completed", "response": RESPONSE},
    ),
    "anthropic": sse(
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ),
    "gemini": sse(
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}]}, "finishReason": "STOP"}]}
    ),
}


def openai(server: Loopback) -> Any:
    sdk = pytest.importorskip("openai")
    return sdk.AsyncOpenAI(api_key="k", base_url=f"{server.address}/v1", max_retries=0)


def anthropic(server: Loopback) -> Any:
    sdk = pytest.importorskip("anthropic")
    return sdk.AsyncAnthropic(api_key="k", base_url=server.address, max_retries=0)


def gemini(server: Loopback) -> Any:
    genai = pytest.importorskip("google.genai")
    return genai.Client(api_key="k", http_options={"base_url": server.address})


MODELS: dict[str, tuple[Any, Callable[[Loopback], Any]]] = {
    "openai-chat": (OpenAIChat, openai),
    "openai-responses": (OpenAIResponses, openai),
    "anthropic": (Anthropic, anthropic),
    "gemini": (Gemini, gemini),
}


async def closed(client: Any) -> None:
    aio = getattr(client, "aio", None)
    if aio is not None:
        await aio.aclose()
        client.close()
    else:
        await client.close()


PACKAGED = [
    *read_streams(Path(str(files("toolhead").joinpath("data/streams")))),
    *read_streams(Path(__file__).with_name("streams")),
]
ALWAYS = [pytest.param(stream, id=stream[0].name) for stream in PACKAGED if provider_of(stream[1]["api"]) in MODELS]


def tools_of(sidecar: dict[str, Any]) -> list[Any]:
    names = {call["name"] for call in sidecar["tool_calls"] if call["kind"] not in SERVER_KINDS}
    return [create_tool(id=name, description=name, execute=lambda given: {"got": given}) for name in sorted(names)]


async def check(path: Path, sidecar: dict[str, Any], cut: int | None) -> None:
    provider = provider_of(sidecar["api"])
    model, connect = MODELS[provider]
    body = Body(recorded(path, done=provider == "openai-chat"), cut=cut)
    with loopback(body, Body(DONE[provider])) as server:
        client = connect(server)
        agent = Agent(model(client, "the-model"), tools_of(sidecar), instructions="Be nice.", max_steps=2)
        turn = agent.stream("Go on.")
        chunks = [chunk async for chunk in turn]
        await closed(client)
    own = [call for call in sidecar["tool_calls"] if call["kind"] not in SERVER_KINDS]
    called = [chunk for chunk in chunks if chunk.type == "tool-call" and not chunk.provider_executed]
    assert [chunk.tool_name for chunk in called] == [call["name"] for call in own]
    for chunk, call in zip(called, own, strict=True):
        if call["valid_json"]:
            assert chunk.args == call["arguments"]
    results = {result.tool_call_id: result for result in turn.result.results}
    assert list(results) == [chunk.tool_call_id for chunk in called]
    for chunk, call in zip(called, own, strict=True):
        if call["valid_json"]:
            assert results[chunk.tool_call_id].output == {"got": call["arguments"]}
    if not own:
        assert len(server.requests) == 1
        return
    assert (turn.result.text, turn.result.finish_reason) == ("Done.", "stop")
    second = json.dumps(server.requests[1].json)
    for call in own:
        if call["id"]:
            assert second.count(json.dumps(call["id"])) >= 2, "the call and its result"


@pytest.mark.parametrize("cut", [None, 7])
@pytest.mark.parametrize("packaged", ALWAYS)
async def test_a_packaged_stream_becomes_a_whole_turn(packaged: tuple[Path, dict[str, Any]], cut: int | None) -> None:
    await check(*packaged, cut)


def test_every_api_has_a_packaged_stream() -> None:
    assert {provider_of(sidecar["api"]) for _, sidecar in PACKAGED} >= MODELS.keys()


@pytest.mark.apis("openai-chat", "openai-responses", "anthropic-messages", "google-generatecontent")
async def test_a_recorded_stream_becomes_a_whole_turn(stream: tuple[Path, dict[str, Any]]) -> None:
    await check(*stream, None)


# ----------------------------------------------------------------------------------------------- what is asked


async def asked(
    model: Any, connect: Any, *bodies: Body, tools: Any = (), generate: bool = False, **options: Any
) -> Any:
    """What one turn asks of the server, and what comes of it."""
    with loopback(*bodies) as server:
        client = connect(server)
        agent = Agent(model(client, "the-model", **options), tools, instructions="Be nice.")
        result = await (agent.generate("Hi") if generate else _streamed(agent))
        await closed(client)
    return server.requests, result


async def _streamed(agent: Agent) -> Any:
    turn = agent.stream("Hi")
    async for _ in turn:
        pass
    return turn.result


TOOL = create_tool(
    id="look.up",
    description="Looks up",
    input_schema={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    execute=lambda given: {"found": given["q"]},
)
SCHEMA = TOOL.input_json_schema


async def test_a_chat_request_has_the_apis_form():
    body = Body(DONE["openai-chat"])
    [request], _ = await asked(OpenAIChat, openai, body, tools=[TOOL], temperature=0.5)
    assert request.path == "/v1/chat/completions"
    function = {"name": "look_up", "description": "Looks up", "parameters": SCHEMA}
    assert request.json == {
        "model": "the-model",
        "messages": [{"role": "system", "content": "Be nice."}, {"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": function}],
        "stream": True,
        "temperature": 0.5,
    }


async def test_a_responses_request_has_the_apis_form_with_the_providers_own_tools():
    body = Body(DONE["openai-responses"])
    [request], _ = await asked(_with_web_search, openai, body, tools=[TOOL])
    assert request.path == "/v1/responses"
    own = {"type": "function", "name": "look_up", "description": "Looks up", "parameters": SCHEMA, "strict": False}
    assert request.json == {
        "model": "the-model",
        "instructions": "Be nice.",
        "input": [{"role": "user", "content": "Hi"}],
        "tools": [own, {"type": "web_search"}],
        "stream": True,
    }


def _with_web_search(client: Any, name: str) -> Any:
    return OpenAIResponses(client, name, tools=[{"type": "web_search"}])


async def test_an_anthropic_request_has_the_apis_form():
    body = Body(DONE["anthropic"])
    [request], _ = await asked(Anthropic, anthropic, body, tools=[TOOL], stop_sequences=["x"])
    assert request.path == "/v1/messages"
    assert request.json == {
        "model": "the-model",
        "system": "Be nice.",
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"name": "look_up", "description": "Looks up", "input_schema": SCHEMA}],
        "max_tokens": 8192,
        "stream": True,
        "stop_sequences": ["x"],
    }
    [request], _ = await asked(Anthropic, anthropic, body, max_tokens=10)
    assert request.json["max_tokens"] == 10
    assert "tools" not in request.json


async def test_a_gemini_request_has_the_apis_form_and_signatures_come_back_as_they_were():
    path, _ = next(stream for stream in PACKAGED if stream[1]["api"] == "google-generatecontent")
    tool = create_tool(id="get_user_country", description="Where", execute=lambda _: "France")
    bodies = (Body(path.read_bytes()), Body(DONE["gemini"]))
    [first, second], _ = await asked(Gemini, gemini, *bodies, tools=[tool, TOOL], temperature=0.5)
    assert first.path.endswith("/models/the-model:streamGenerateContent?alt=sse")
    assert first.json["systemInstruction"]["parts"] == [{"text": "Be nice."}]
    assert first.json["generationConfig"] == {"temperature": 0.5}
    [declared] = first.json["tools"]
    assert [tool["name"] for tool in declared["functionDeclarations"]] == ["get_user_country", "look.up"]
    # Protocol buffers in JSON may use either spelling; the SDK uses its own.
    spelled = {key.replace("_", "").lower(): value for key, value in declared["functionDeclarations"][1].items()}
    assert spelled == {"name": "look.up", "description": "Looks up", "parametersjsonschema": SCHEMA}
    call = {"functionCall": {"id": "96c1su3s", "name": "get_user_country", "args": {}}}
    answer = {"functionResponse": {"id": "96c1su3s", "name": "get_user_country", "response": {"output": "France"}}}
    assert second.json["contents"] == [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{**call, "thoughtSignature": "redacted"}]},
        {"role": "user", "parts": [answer]},
    ]


WHOLE: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        {
            "id": "x",
            "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}],
        }
        for reason, message in (
            (
                "tool_calls",
                {
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"q":"x"}'}}
                    ]
                },
            ),
            ("stop", {"content": "Done."}),
        )
    ],
    "openai-responses": [
        {
            **RESPONSE,
            "output": [
                {"id": "f1", "type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"q":"x"}'}
            ],
        },
        {**RESPONSE, "output": [{**ITEM, "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}]},
    ],
    "anthropic": [
        {"id": "m", "type": "message", "role": "assistant", "stop_reason": reason, "content": [block]}
        for reason, block in (
            ("tool_use", {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"q": "x"}}),
            ("end_turn", {"type": "text", "text": "Done."}),
        )
    ],
    "gemini": [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
        for part in ({"functionCall": {"id": "c1", "name": "look.up", "args": {"q": "x"}}}, {"text": "Done."})
    ],
}


@pytest.mark.parametrize("provider", MODELS)
async def test_generate_asks_for_whole_responses(provider: str) -> None:
    model, connect = MODELS[provider]
    bodies = [Body(json.dumps(whole).encode(), "application/json") for whole in WHOLE[provider]]
    requests, result = await asked(model, connect, *bodies, tools=[TOOL], generate=True)
    assert [request.json.get("stream", False) for request in requests] == [False, False]
    assert [(r.tool_call_id, r.output) for r in result.results] == [("c1", {"found": "x"})]
    assert (result.text, result.finish_reason) == ("Done.", "stop")


# -------------------------------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("provider", MODELS)
async def test_an_abort_closes_the_connection(provider: str) -> None:
    model, connect = MODELS[provider]
    head = DONE[provider].partition(b"\n\n")[0] + b"\n\n"
    if provider == "anthropic":
        head = b"\n\n".join(DONE[provider].split(b"\n\n")[:3]) + b"\n\n"
    if provider == "openai-responses":
        head = b"\n\n".join(DONE[provider].split(b"\n\n")[:2]) + b"\n\n"
    controller = AbortController()
    with loopback(Body(head, stalls=True)) as server:
        client = connect(server)
        turn = Agent(model(client, "m")).stream("Hi", abort_signal=controller.signal)
        async for chunk in turn:
            if chunk.type == "text-delta":
                controller.abort()
        assert turn.result.finish_reason == "abort"
        assert await asyncio.to_thread(server.gone.wait, 5), "the server still sends"
        await closed(client)


@pytest.mark.parametrize("provider", MODELS)
async def test_an_error_of_the_api_is_raised_as_the_sdk_raises_it(provider: str) -> None:
    model, connect = MODELS[provider]
    with loopback() as server:
        client = connect(server)
        turn = Agent(model(client, "m")).stream("Hi")
        with pytest.raises(Exception, match="no response is left") as caught:
            async for _ in turn:
                pass
        await closed(client)
    assert type(caught.value).__module__.partition(".")[0] in ("openai", "anthropic", "google")


BROKEN = {
    "openai-chat": {"error": {"message": "overloaded", "type": "server_error"}},
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}},
}


@pytest.mark.parametrize("provider", BROKEN)
async def test_an_error_in_the_middle_of_a_stream_is_raised_and_results_are_kept(provider: str) -> None:
    model, connect = MODELS[provider]
    path, sidecar = next(
        stream for stream in PACKAGED if provider_of(stream[1]["api"]) == provider and "recorded" in stream[1]["kind"]
    )
    whole = recorded(path, done=False).rstrip()
    head, _, _ = whole.rpartition(b"\n\n")  # without the end of the response
    with loopback(Body(head + b"\n\n" + sse(BROKEN[provider]))) as server:
        client = connect(server)
        turn = Agent(model(client, "m"), tools_of(sidecar)).stream("Hi")
        with pytest.raises(Exception, match="overloaded") as caught:
            async for _ in turn:
                pass
        await closed(client)
    assert type(caught.value).__module__.partition(".")[0] in ("openai", "anthropic")
    assert turn.result.finish_reason == "error"
    assert len(turn.result.results) == len([call for call in sidecar["tool_calls"] if call["kind"] not in SERVER_KINDS])
    assert turn.result.messages


@pytest.mark.parametrize("provider", MODELS)
def test_a_client_of_another_kind_is_refused(provider: str) -> None:
    model, _ = MODELS[provider]
    with pytest.raises(TypeError, match=rf"^{model.__name__}: expected .*{model._client}.*, got str"):
        model("client", "m")


def test_a_synchronous_client_is_refused_with_the_reason():
    sdk = pytest.importorskip("openai")
    for model in (OpenAIChat, OpenAIResponses):
        with pytest.raises(
            TypeError, match="expected the asynchronous client openai.AsyncOpenAI, got OpenAI: a request"
        ):
            model(sdk.OpenAI(api_key="k"), "m")
    sdk = pytest.importorskip("anthropic")
    with pytest.raises(TypeError, match="expected the asynchronous client anthropic.AsyncAnthropic, got Anthropic"):
        Anthropic(sdk.Anthropic(api_key="k"), "m")


def test_both_clients_of_google_are_taken():
    genai = pytest.importorskip("google.genai")
    client = genai.Client(api_key="k")
    assert repr(Gemini(client, "m")) == repr(Gemini(client.aio, "m")) == "Gemini('m')"


@pytest.mark.parametrize(
    ("provider", "option"),
    [
        ("openai-chat", "messages"),
        ("openai-chat", "stream"),
        ("openai-responses", "instructions"),
        ("anthropic", "system"),
        ("gemini", "system_instruction"),
    ],
)
def test_what_the_agent_gives_is_no_option(provider: str, option: str) -> None:
    model, connect = MODELS[provider]
    with pytest.raises(TypeError, match=f"'{option}' is given by the agent"):
        model(connect(Loopback("http://127.0.0.1:1")), "m", **{option: 1})


def test_the_models_import_no_sdk():
    code = "import sys, toolhead; toolhead.Agent, toolhead.OpenAIChat, toolhead.Gemini; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"openai", "anthropic", "google", "pydantic"} & set(run.stdout.split())
