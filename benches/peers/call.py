"""One awaited, validated call: `bench_tool_call.py` of the shared peers.

Mastra and the AI SDK take part when NODE names a Node binary and NODE_DIR a folder whose `node_modules` holds them.
"""

from typing import Any

from peers import harness
from peers.bars import Bar, as_json, at_least, at_most, print_bars, ratio
from peers.plots import bars_plot

COLUMNS = ("weather_dict", "weather_json", "order_dict", "order_json")
OURS = "PRODUCT (toolhead)"


def measure(runs: int, *, quick: bool, extra: list[str]) -> dict[str, Any]:
    """Minima in nanoseconds by peer and column, the gather rates, and memory and time of a definition."""
    arguments = [*(["--rounds", "3", "--only", "latency,gather"] if quick else []), *extra]
    outcomes = harness.run("bench_tool_call.py", arguments, "--out", runs, {"BENCH_PRODUCT": "toolhead"})
    nanoseconds: dict[str, dict[str, float]] = {}
    rates: dict[str, float] = {}
    for outcome in outcomes:
        node = outcome.get("node", {}).get("rows", {})
        for name, row in [*outcome["latency"]["rows"].items(), *((f"{key} (Node)", row) for key, row in node.items())]:
            best = nanoseconds.setdefault(name, {})
            for column in COLUMNS:
                if column in row:
                    best[column] = min(row[column]["min_ns"], best.get(column, row[column]["min_ns"]))
        for name, row in outcome["gather"]["rows"].items():
            rates[name] = max(outcome["gather"]["count"] / row["min_s"], rates.get(name, 0.0))
    last = outcomes[-1]
    return {
        "versions": last["versions"] | last.get("node", {}).get("versions", {}),
        "runs": runs,
        "nanoseconds": nanoseconds,
        "calls_per_second_under_gather": rates,
        "memory": last.get("memory", {}).get("rows", {}),
        "import": last.get("import", {}).get("rows", {}),
    }


def promises(measured: dict[str, Any]) -> list[Bar]:
    """What a call costs beside Mastra, the hand-written loop and the frameworks."""
    rows, rates, memory = measured["nanoseconds"], measured["calls_per_second_under_gather"], measured["memory"]
    ours = rows.get(OURS, {})

    def against(peer: str, column: str) -> float | None:
        return ratio(rows.get(peer, {}).get(column), ours.get(column))

    def slowest(peer: str, columns: tuple[str, ...] = COLUMNS) -> float | None:
        ratios = [value for column in columns if (value := against(peer, column)) is not None]
        return min(ratios, default=None)

    mastra = rows.get("Mastra createTool().execute (Node)", {})
    agents = "openai-agents on_invoke_tool"
    definition = memory.get(OURS, {})
    return [
        at_most("weather dict, time over Mastra's", ratio(ours.get("weather_dict"), mastra.get("weather_dict")), 0.85),
        at_most("weather json, time over Mastra's", ratio(ours.get("weather_json"), mastra.get("weather_json")), 0.6),
        at_least("order dict against Mastra", against("Mastra createTool().execute (Node)", "order_dict"), 6),
        at_least("order json against Mastra", against("Mastra createTool().execute (Node)", "order_json"), 3),
        at_least("slowest row against the jsonschema-rs loop", slowest("jsonschema-rs loop"), 1.8),
        at_least("slowest row against Pydantic AI's toolset", slowest("pydantic-ai FunctionToolset"), 3),
        at_least("slowest of three rows against OpenAI Agents", slowest(agents, COLUMNS[:3]), 20),
        at_least("order json against OpenAI Agents", against(agents, "order_json"), 6),
        at_least("gather rate over the bare function's", ratio(rates.get(OURS), rates.get("bare async function")), 0.9),
        at_most("memory of a tool", definition.get("bytes_per_tool", {}).get("min"), 4000, "B"),
        at_most("making a tool", definition.get("define_us", {}).get("min"), 25, "us"),
    ]


def report(measured: dict[str, Any], *, record: bool) -> None:
    """Print the table and the promises; store and plot them when asked to."""
    rows = measured["nanoseconds"]
    print(f"\n{'ns a call, minimum':48}" + "".join(f"{column:>15}" for column in COLUMNS))
    for name in sorted(rows, key=lambda name: rows[name].get("weather_dict", float("inf"))):
        print(f"{name:48}" + "".join(f"{rows[name].get(column, float('nan')):>15,.0f}" for column in COLUMNS))
    bars = promises(measured)
    print_bars(bars)
    if record:
        path = harness.record("call", {**measured, "promises": as_json(bars)})
        print(f"recorded: {path.relative_to(harness.REPOSITORY)}")
        panels = []
        for column in COLUMNS:
            times = {name: row[column] for name, row in rows.items() if column in row}
            panels.append((column.replace("_", ", "), times))
        bars_plot(panels, "nanoseconds a call, minimum (log)", harness.PLOTS / "call.svg")
