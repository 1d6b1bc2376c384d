"""One awaited call, driven without an event loop's own cost in between: 1,000 calls a round."""

import asyncio

import pytest
from cases import FORECAST, ORDER, ORDER_ARGUMENTS, WEATHER, WEATHER_ARGUMENTS, text

from toolhead import create_tool

CALLS = 1000


async def _forecast(input):
    return {"location": input["location"], "temperature": 21.5, "conditions": "sunny"}


async def _accept(input):
    return {"id": input["id"]}


TOOLS = {
    "weather": (
        create_tool(id="weather", description="d", input_schema=WEATHER, output_schema=FORECAST, execute=_forecast),
        WEATHER_ARGUMENTS,
    ),
    "order": (create_tool(id="order", description="d", input_schema=ORDER, execute=_accept), ORDER_ARGUMENTS),
}


async def _repeat(call, argument):
    for _ in range(CALLS):
        result = await call(argument)
    return result


@pytest.mark.parametrize("name", TOOLS)
def test_thousand_calls_from_dict(benchmark, name):
    tool, arguments = TOOLS[name]
    assert isinstance(benchmark(lambda: asyncio.run(_repeat(tool.execute, arguments))), dict)


@pytest.mark.parametrize("name", TOOLS)
def test_thousand_calls_from_json(benchmark, name):
    tool, arguments = TOOLS[name]
    assert isinstance(benchmark(lambda: asyncio.run(_repeat(tool.execute_json, text(arguments)))), dict)
