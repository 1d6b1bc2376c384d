"""A current partial value after every delta: `bench_streaming.py` of the shared peers, in four forms of the product."""

import os
from typing import Any

from peers import harness
from peers.bars import Bar, as_json, at_least, at_most, print_bars, ratio
from peers.plots import lines_plot

FORMS = ("live", "changes", "live_schema", "changes_schema")
PUSH_COST = 0.1e-6
"""Seconds a push that the bound allows beside one parse of the whole text."""

Key = str
"""`peer/shape/delta/size`."""


def measure(runs: int, *, quick: bool, extra: list[str]) -> dict[str, Any]:
    """Best seconds by peer, shape, delta and size; `product` stands once for each form."""
    sizes = ["--sizes", "1k,10k"] if quick else []
    seconds: dict[Key, float] = {}
    slopes: dict[str, float] = {}
    anchors: dict[str, float] = {}
    # All peers stand once beside the first form: they take minutes, and do not change with ours. Then ours alone, in
    # more rounds: most cells take less than a millisecond, of which the first round shows how cold the machine was.
    alone = ["--peers", "append_only", "--repeat", "15"]
    for form, peers in [(FORMS[0], extra), *((form, alone) for form in FORMS)]:
        arguments = ["--product", f"stream_adapter:{form}", *sizes, *peers]
        # Beside the adapters what the caller put there: a build that is not installed.
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        environment = {"PYTHONPATH": os.pathsep.join([*paths, str(harness.PEERS)])}
        for outcome in harness.run(
            "bench_streaming.py", arguments, "--json", 1 if peers is extra else runs, environment
        ):
            for row in outcome["results"]:
                name = f"product {form}" if row["peer"] == "product" else row["peer"]
                key = f"{name}/{row['shape']}/{row['delta']}/{row['size']}"
                seconds[key] = min(row["best"], seconds.get(key, row["best"]))
            for key, value in outcome["anchors_seconds"].items():
                anchors[key] = min(value, anchors.get(key, value))
            for key, slope in outcome["slopes"].items():
                if key.startswith("product/") and slope["from_10k"] is not None:
                    name = key.replace("product", f"product {form}", 1)
                    slopes[name] = min(slope["from_10k"], slopes.get(name, slope["from_10k"]))
            versions = outcome["versions"]
    return {"versions": versions, "runs": runs, "seconds": seconds, "slopes": slopes, "anchors": anchors}


def _bound(measured: dict[str, Any], shape: str, delta: int, size: int) -> float | None:
    parse = measured["anchors"].get(f"once:jiter/{shape}/{size}")
    return None if parse is None else parse + PUSH_COST * size / delta


def cells(measured: dict[str, Any]) -> dict[str, dict[str, float]]:
    """By shape, delta and size: each form over the bound, and each with a schema over the same without."""
    seconds = measured["seconds"]
    found: dict[str, dict[str, float]] = {}
    for key, time in sorted(seconds.items()):
        name, shape, delta, size = key.rsplit("/", 3)
        bound = _bound(measured, shape, int(delta), int(size))
        if not name.startswith("product ") or bound is None:
            continue
        form = name.removeprefix("product ")
        plain = seconds.get(f"{name.removesuffix('_schema')}/{shape}/{delta}/{size}")
        over = time / plain if form.endswith("_schema") and plain else time / bound
        found.setdefault(f"{shape}/{delta}/{size}", {})[form] = round(over, 2)
    return found


def _worst(ratios: dict[str, dict[str, float]], *, small: bool) -> list[Bar]:
    """The worst cell of each form, from 10 KB on, or of 1 KB: there most of it is the first use of cold code."""
    size = "1 KB" if small else "10 KB and more"
    bars = []
    for form, allowed in (("live", 2.2), ("changes", 2.5), ("live_schema", 2.0), ("changes_schema", 2.0)):
        met = [over[form] for key, over in ratios.items() if form in over and key.endswith("/1000") == small]
        over = "with a schema over without" if form.endswith("_schema") else "over the bound"
        bars.append(at_most(f"worst cell of {size}, {form} {over}", max(met, default=None), allowed))
    return bars


def promises(measured: dict[str, Any]) -> list[Bar]:
    """Linear, against jiter, against the bound, and what a schema at work costs."""
    seconds = measured["seconds"]

    def time(name: str, shape: str, delta: int = 16, size: int = 100_000) -> float | None:
        return seconds.get(f"{name}/{shape}/{delta}/{size}")

    slopes = measured["slopes"]
    bars = [at_most(f"slope, {key}", slopes[key], 1.1, "") for key in sorted(slopes) if "schema" not in key]
    for shape, times in (("file", 100), ("records", 1000)):
        what = f"{shape}, 100 KB in 16s, against jiter"
        bars.append(at_least(what, ratio(time("jiter", shape), time("product live", shape)), times))
        bound = _bound(measured, shape, 16, 100_000)
        for form, allowed in (("live", 2.2), ("changes", 2.5)):
            bars.append(
                at_most(f"{shape}, {form} over the bound", ratio(time(f"product {form}", shape), bound), allowed)
            )
            schema = ratio(time(f"product {form}_schema", shape), time(f"product {form}", shape))
            bars.append(at_most(f"{shape}, {form} with a schema over without", schema, 2.0))
    ratios = cells(measured)
    return [*bars, *_worst(ratios, small=False), *_worst(ratios, small=True)]


def report(measured: dict[str, Any], *, record: bool) -> None:
    """Print the 100 KB table and the promises; store and plot them when asked to."""
    for shape in ("file", "records"):
        print(f"\n{shape}, 100 KB in 16-character deltas, seconds")
        rows = {k.rsplit("/", 3)[0]: v for k, v in measured["seconds"].items() if k.endswith(f"/{shape}/16/100000")}
        for name in sorted(rows, key=lambda name: rows[name]):
            print(f"   {name:36} {rows[name]:12.6f}")
        bound = _bound(measured, shape, 16, 100_000)
        if bound is not None:
            print(f"   {'bound (one jiter parse + 0.1 us a push)':36} {bound:12.6f}")
    ratios = cells(measured)
    print("\nshape/delta/size: over the bound; with a schema, over the same without")
    for key, over in ratios.items():
        print(f"   {key:20}" + "".join(f"   {form} {value:5.2f}" for form, value in over.items()))
    bars = promises(measured)
    print_bars(bars)
    if record:
        path = harness.record("stream", {**measured, "ratios": ratios, "promises": as_json(bars)})
        print(f"recorded: {path.relative_to(harness.REPOSITORY)}")
        _plot(measured)


def _plot(measured: dict[str, Any]) -> None:
    panels: list[tuple[str, dict[str, list[tuple[float, float]]]]] = []
    for shape in ("file", "records"):
        lines: dict[str, list[tuple[float, float]]] = {}
        for key, value in measured["seconds"].items():
            name, kind, delta, size = key.rsplit("/", 3)
            if kind == shape and delta == "16":
                lines.setdefault(name, []).append((float(size), value))
        panels.append((f"{shape}, 16-character deltas", lines))
    lines_plot(panels, ("size of the arguments, characters", "seconds for all deltas"), harness.PLOTS / "stream.svg")
