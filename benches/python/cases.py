"""The cases that the Python and the Rust benchmarks share, and tools for them: a small call, an order of some 5 KB."""

import json
from pathlib import Path
from typing import Any

from toolhead import create_tool

CALLS = 1000

CASES: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_bytes()) for path in sorted(Path(__file__).parents[1].glob("cases/*.json"))
}


def text(value: Any) -> bytes:
    """Compact JSON, as models send it."""
    return json.dumps(value, separators=(",", ":")).encode()


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


async def repeat(call, argument):
    for _ in range(CALLS):
        result = await call(argument)
    return result
