"""One awaited call: 1,000 calls a round, so that starting the loop does not count."""

import asyncio

import pytest

from cases import CASES, TOOLS, repeat, text


@pytest.mark.parametrize("name", TOOLS)
def test_thousand_calls_from_dict(benchmark, name):
    arguments = CASES[name]["valid"]
    assert isinstance(benchmark(lambda: asyncio.run(repeat(TOOLS[name].execute, arguments))), dict)


@pytest.mark.parametrize("name", TOOLS)
def test_thousand_calls_from_json(benchmark, name):
    arguments = text(CASES[name]["valid"])
    assert isinstance(benchmark(lambda: asyncio.run(repeat(TOOLS[name].execute_json, arguments))), dict)
