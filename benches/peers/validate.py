"""Validation, decoding, errors, compiling: `bench_validation.py` of the shared peers."""

import json
import sys
from collections.abc import Iterable
from typing import Any

from peers import harness
from peers.bars import Bar, as_json, at_least, at_most, geometric_mean, print_bars, ratio
from peers.plots import bars_plot
from toolhead import Validator

Rows = dict[str, dict[str, float]]
"""case -> row -> nanoseconds an instance, the minimum over all runs."""

TITLES = {
    "A": "check a Python object",
    "B": "JSON bytes to a validated value",
    "P": "JSON bytes to a value, no schema",
    "C": "refuse an invalid object",
    "D": "compile a schema",
}
SHOWN = {
    "A": "jsonschema-rs is_valid",
    "B": "orjson + jsonschema-rs is_valid",
    "P": "orjson.loads alone",
    "C": "rs first (iter_errors)",
    "D": "jsonschema-rs",
}
"""The row that the ratios of a section are taken against."""


def measure(runs: int, *, quick: bool, extra: list[str]) -> dict[str, Any]:
    """Minima by section, case and row, with the versions of everybody."""
    arguments = [*(["--quick"] if quick else []), *extra]
    outcomes = harness.run("bench_validation.py", arguments, "--json", runs, {})
    sections: dict[str, Rows] = {}
    for outcome in outcomes:
        for name, cases in outcome["sections"].items():
            for case in cases:
                best = sections.setdefault(name, {}).setdefault(case["case"], {})
                for row, times in case["rows"].items():
                    best[row] = min(times["min"], best.get(row, times["min"]))
    return {"versions": outcomes[0]["versions"], "runs": runs, "nanoseconds": sections, "plan_bytes": _plan_bytes()}


def _plan_bytes() -> float | None:
    """Mean size of a compiled tool schema over the tools corpus."""
    corpus = harness.PEERS.parent / "corpora" / "tools" / "tools.jsonl"
    if not corpus.exists():
        return None
    with corpus.open(encoding="utf-8") as lines:
        sizes = [sys.getsizeof(Validator(json.loads(line)["schema"])) for line in lines]
    return sum(sizes) / len(sizes)


def promises(measured: dict[str, Any]) -> list[Bar]:
    """What the project says of itself, with what was measured."""
    sections: dict[str, Rows] = measured["nanoseconds"]
    a, b, c, d = (sections.get(name, {}) for name in "ABCD")

    def of(rows: Rows, case: str, other: str, ours: str) -> float | None:
        return ratio(rows.get(case, {}).get(other), rows.get(case, {}).get(ours))

    def ratios(rows: Rows, other: str, ours: str) -> list[float]:
        return [times[other] / times[ours] for times in rows.values() if other in times and ours in times]

    def least(values: Iterable[float]) -> float | None:
        return min(values, default=None)

    rs, both = "jsonschema-rs is_valid", "orjson + jsonschema-rs is_valid"
    checks, decodes = ratios(a, rs, "product is_valid"), ratios(b, both, "product decode")
    invalid = c.get("tools/all", {}).get("product is_valid")
    valid = a.get("tools/all", {}).get("product is_valid")
    compiled = d.get("tools/all", {}).get("product")
    return [
        at_least("A tools/all, is_valid against jsonschema-rs", of(a, "tools/all", rs, "product is_valid"), 2.2),
        at_least("A geometric mean of all cases", geometric_mean(checks), 2.0),
        at_least("A slowest case", least(checks), 1.0),
        at_most(
            "B tools/typed, time over orjson.loads alone",
            of(b, "tools/typed", "product decode", "orjson.loads alone"),
            0.85,
        ),
        at_least(
            "B tools/typed against msgspec's typed decode",
            of(b, "tools/typed", "msgspec-typeddict decode", "product decode"),
            1.0,
        ),
        at_least("B tools/typed against orjson + jsonschema-rs", of(b, "tools/typed", both, "product decode"), 2.6),
        at_least("B geometric mean of all cases", geometric_mean(decodes), 1.7),
        at_least("B slowest case", least(decodes), 1.0),
        at_least("C first error, tools/all", of(c, "tools/all", "rs first (iter_errors)", "product first"), 9.0),
        at_least(
            "C all errors, tools/all", of(c, "tools/all", "rs all, path+message", "product all, path+message"), 4.5
        ),
        at_most("C invalid over valid arguments, is_valid", ratio(invalid, valid), 1.0),
        at_most("D compile a tool schema", compiled and compiled / 1000, 6.0, "us"),
        at_least("D slowest case against jsonschema-rs", least(ratios(d, "jsonschema-rs", "product")), 1.0),
        at_most("compiled tool schema, mean", measured["plan_bytes"], 2000, "B"),
    ]


def report(measured: dict[str, Any], *, record: bool) -> None:
    """Print ratios and promises; store and plot them when asked to."""
    for section, rows in measured["nanoseconds"].items():
        _print_ratios(section, rows)
    bars = promises(measured)
    print_bars(bars)
    if record:
        path = harness.record("validate", {**measured, "promises": as_json(bars)})
        print(f"recorded: {path.relative_to(harness.REPOSITORY)}")
        _plot(measured)


def _print_ratios(section: str, rows: Rows) -> None:
    reference = SHOWN[section]
    names = sorted({row for times in rows.values() for row in times})
    print(f"\n{section}. {TITLES[section]}: times as fast as [{reference}], minima, geometric mean over its cases")
    for name in names:
        ratios = [times[reference] / times[name] for times in rows.values() if reference in times and name in times]
        mean = geometric_mean(ratios)
        if mean is not None:
            print(f"   {name:36} {mean:8.2f}   slowest {min(ratios):8.2f}   {len(ratios)} cases")


def _plot(measured: dict[str, Any]) -> None:
    sections: dict[str, Rows] = measured["nanoseconds"]
    panels = []
    for section, case in (("A", "tools/all"), ("B", "tools/typed"), ("C", "tools/all"), ("D", "tools/all")):
        times = sections.get(section, {}).get(case, {})
        rows = {row: value for row, value in times.items() if not row.startswith("floor")}
        panels.append((f"{TITLES[section]} ({case})", rows))
    bars_plot(panels, "nanoseconds, minimum (log)", harness.PLOTS / "validate.svg")
