"""Golden vectors of Mastra (`--vectors DIR`): every one with parity `match` or `timing` holds, fact by fact.

An area is a row of `AREAS`: the function that turns a vector into facts. Where the product differs on purpose,
`divergences.json` names the vector, the row of the API contract's section 10 that it falls under, why, and what holds
instead (`must`: our facts in place of Mastra's, `without`: facts that have no meaning here, `patch`: where a long fact
differs, as a JSON Patch). A listed vector that would
pass as it stands fails the run, so the list cannot outlive its reasons.
"""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from shared_data import BINDING, read_vectors, shared_path
from vectors.agent import agent_facts
from vectors.auto_resume import auto_resume_facts
from vectors.background import background_facts
from vectors.direct import direct_facts
from vectors.marks import ABSENT, same
from vectors.patch import patched
from vectors.results import result_facts
from vectors.told import comparable
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
    "hook_order": agent_facts,
    "hook_errors": agent_facts,
    "parallel_calls": agent_facts,
    "transform": agent_facts,
    "to_model_output": agent_facts,
    "approval": agent_facts,
    "agent_suspend": agent_facts,
    "context_in_agent": agent_facts,
    "model_tool_definition": agent_facts,
    "delivery_quirks": agent_facts,
    "agent_input_parsing": agent_facts,
    "auto_resume": auto_resume_facts,
    "result_serialisation": result_facts,
    "background": background_facts,
}
ROWS = {
    "defects": "listed defects D1 to D37, also where a vector is not tagged",
    "unknown keys": "zod strips unknown keys",
    "closed definitions": "advertised schema closes every object",
    "defaults and formats": "defaults of a plain JSON Schema not filled; formats ignored",
    "repairs": "`prompt` alias; JSON text not parsed for unions",
    "context fields": "context fields absent or undefined in direct calls, `dir` of keys",
    "suspension": "suspension of a direct call returns",
    "redaction": "redaction by substring, only in request-context errors",
    "refused when made": "empty id, no description accepted; broken schema found at the first call",
    "JavaScript values": "JavaScript values",
    "definition forms": "AI-SDK specification v2 / v3 / v4 forms of a definition",
}
"""The rows of section 10, in its order, by the name that `divergences.json` gives them: how their kind begins."""

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
    if vector["parity"] not in BINDING:
        pytest.skip(f"parity {vector['parity']}: information")
    divergence = DIVERGENCES.get(vector["name"])
    record_property("vector", f"{vector['area']} {'diverging' if divergence else 'matching'}")
    adapter = AREAS[vector["area"]]
    facts = await adapter(vector)
    must = comparable(vector) if adapter is agent_facts else vector["expect"]["must"]
    if divergence is None:
        assert _wrong(must, facts) == {}
        return
    assert _wrong(must, facts) != {}, "holds as it stands: take it out of divergences.json"
    ours = patched(must, divergence.get("patch", []))
    ours = {name: want for name, want in ours.items() if name not in divergence.get("without", ())}
    assert _wrong(ours | divergence.get("must", {}), facts) == {}


def test_divergences_name_their_reason() -> None:
    known = {vector["name"] for vector in read_vectors(shared_path("vectors", "mastra"), "mastra-vectors/1")}
    assert DIVERGENCES.keys() <= known
    for name, entry in DIVERGENCES.items():
        assert entry["row"] in ROWS, name
        assert entry["why"], name
        assert entry.get("must") or entry.get("without") or entry.get("patch"), name


def test_rows_are_those_of_the_contract() -> None:
    contract = shared_path("spec", "api.md").read_text(encoding="utf-8")
    section = contract.partition("\n## 10. ")[2].partition("\n## ")[0]
    kinds = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")][2:]
    assert len(kinds) == len(ROWS)
    assert all(kind.startswith(row) for kind, row in zip(kinds, ROWS.values(), strict=True))
