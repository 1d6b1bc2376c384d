"""One awaited call: 1,000 calls a round, so that starting the loop does not count."""

import asyncio

import pytest

from cases import CASES, text
from toolhead import create_tool

CALLS = 1000


async def _forecast(input):
    return {"location": input["location"], "temperature": 21.5, "conditions": "sunny"}


async def _accept(input):
    return {"id": input["id"]}


BODIES = {"weather": _forecast, "order": _accept}
TOOLS = {
    name: create_tool(
        id=name,
        description="d",
        input_schema=CASES[name]["schema"],
        output_schema=CASES[name].get("output_schema"),
        execute=body,
    )
    for name, body in BODIES.items()
}


async def _repeat(call, argument):
    for _ in range(CALLS):
        result = await call(argument)
    return result


@pytest.mark.parametrize("name", BODIES)
def test_thousand_calls_from_dict(benchmark, name):
    arguments = CASES[name]["valid"]
    assert isinstance(benchmark(lambda: asyncio.run(_repeat(TOOLS[name].execute, arguments))), dict)


@pytest.mark.parametrize("name", BODIES)
def test_thousand_calls_from_json(benchmark, name):
    arguments = text(CASES[name]["valid"])
    assert isinstance(benchmark(lambda: asyncio.run(_repeat(TOOLS[name].execute_json, arguments))), dict)
