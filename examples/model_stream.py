"""A model's stream, raw bytes as they come from the network, becomes tool calls, results and the next messages.

The recorded response is one of the package's; `response.aiter_bytes()` of httpx or an SDK's stream goes in alike.
"""

import asyncio
from collections.abc import AsyncIterator
from importlib.resources import files

from toolhead import ToolRunner, create_tool


async def weather(input: dict) -> dict:
    """The tool's body."""
    return {"city": input["city"], "degrees": 19.5}


runner = ToolRunner(
    [
        create_tool(
            id="get_weather",
            description="The weather in a city",
            input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            execute=weather,
        ),
        create_tool(id="get_product_name", description="The product's name", execute=lambda _: "Toolhead"),
    ]
)


async def network() -> AsyncIterator[bytes]:
    """The response, cut anywhere."""
    data = files("toolhead").joinpath("data/streams/openai--openai-chat--015.sse").read_bytes()
    for at in range(0, len(data), 100):
        yield data[at : at + 100]


async def main() -> None:
    """One step of a conversation."""
    run = runner.run()
    async for chunk in run.step(network(), provider="openai-chat"):
        if chunk.type == "tool-call-delta":
            print("arguments so far:", chunk.value)
        elif chunk.type == "tool-result":
            print(chunk.tool_name, "->", chunk.result)
    for message in run.messages():
        print(message)


asyncio.run(main())
