"""Golden vectors of Mastra (`--vectors DIR`): every one with parity `match` or `timing` holds, fact by fact.

An area is a row of `AREAS`: the function that turns a vector into facts. Where the product differs on purpose,
`divergences.json` names the vector, the row of the API contract's section 10 that it falls under, why, and what holds
instead (`must`: our facts in place of Mastra's, `without`: facts that have no meaning here). A listed vector that would
pass as it stands fails the run, so the list cannot outlive its reasons.
"""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from vectors.background import background_facts
from vectors.direct import direct_facts
from vectors.marks import ABSENT, same
from vectors.ui import ui_facts
from vectors.unit import attribute_facts, create_facts, projection_facts, request_context_facts

AREAS: dict[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]] = {
    "input_validation": direct_facts,
    "normalisation": direct_facts,
    "json_schema_validation": direct_facts,
    "output_validation": direct_facts,
    "suspend_resume": direct_facts,
    "request_context_validation": direct_facts,
    "context_namespaces": direct_facts,
    "request_context_api": request_context_facts,
    "create_tool": create_facts,
    "direct_call": attribute_facts,
    "transform_unit": projection_facts,
    "display_stream": ui_facts,
    "background": background_facts,
}
REQUIRED = {"match", "timing"}
ROWS = (
    "defects",
    "unknown keys",
    "closed definitions",
    "defaults and formats",
    "repairs",
    "context fields",
    "suspension",
    "redaction",
    "refused when made",
    "JavaScript values",
    "definition forms",
)
"""The rows of section 10, in its order."""

DIVERGENCES = {
    entry["vector"]: entry for entry in json.loads(Path(__file__).with_name("divergences.json").read_bytes())
}


def _wrong(must: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {"want": want, "got": facts.get(name, "absent")}
        for name, want in must.items()
        if not same(want, facts.get(name, ABSENT))
    }


@pytest.mark.areas(*AREAS)
async def test_vector(vector: dict[str, Any], record_property: Callable[[str, object], None]) -> None:
    if vector["parity"] not in REQUIRED:
        pytest.skip(f"parity {vector['parity']}: information")
    divergence = DIVERGENCES.get(vector["name"])
    record_property("vector", f"{vector['area']} {'diverging' if divergence else 'matching'}")
    facts = await AREAS[vector["area"]](vector)
    must = vector["expect"]["must"]
    if divergence is None:
        assert _wrong(must, facts) == {}
        return
    assert _wrong(must, facts) != {}, "holds as it stands: take it out of divergences.json"
    ours = {name: want for name, want in must.items() if name not in divergence.get("without", ())}
    assert _wrong(ours | divergence.get("must", {}), facts) == {}


def test_divergences_name_their_reason() -> None:
    for name, entry in DIVERGENCES.items():
        assert entry["row"] in ROWS, name
        assert entry["why"], name
        assert entry.get("must") or entry.get("without"), name
