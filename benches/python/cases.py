"""The cases that the Python and the Rust benchmarks share: a small tool call and an order of some 5 KB."""

import json
from pathlib import Path
from typing import Any

CASES: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_bytes()) for path in sorted(Path(__file__).parents[1].glob("cases/*.json"))
}


def text(value: Any) -> bytes:
    """Compact JSON, as models send it."""
    return json.dumps(value, separators=(",", ":")).encode()
