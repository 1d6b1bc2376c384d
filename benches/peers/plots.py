"""The plots that go with docs/performance.md, drawn from recorded figures alone."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
mpl.rcParams["svg.hashsalt"] = "toolhead"  # the same figures give the same file

from matplotlib import pyplot as plt  # noqa: E402 - after the backend is chosen

OURS, PEER = "#c2410c", "#94a3b8"


def _is_ours(row: str) -> bool:
    return row.lower().startswith("product")


def bars_plot(panels: list[tuple[str, dict[str, float]]], label: str, path: Path) -> None:
    """One panel of horizontal bars each, fastest on top, on a log scale."""
    heights = [max(1, len(rows)) for _, rows in panels]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(9, 0.28 * sum(heights) + 0.9 * len(panels)), height_ratios=heights, squeeze=False
    )
    for axis, (title, rows) in zip(axes[:, 0], panels, strict=True):
        names = sorted(rows, key=lambda name: -rows[name])
        axis.barh(names, [rows[name] for name in names], color=[OURS if _is_ours(name) else PEER for name in names])
        axis.set_xscale("log")
        axis.set_title(title, loc="left", fontsize=10)
        axis.tick_params(labelsize=8)
        axis.margins(y=0.01)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[-1, 0].set_xlabel(label, fontsize=9)
    _save(figure, path)


def lines_plot(
    panels: list[tuple[str, dict[str, list[tuple[float, float]]]]], labels: tuple[str, str], path: Path
) -> None:
    """One log-log panel each: a line a contestant."""
    figure, axes = plt.subplots(1, len(panels), figsize=(6 * len(panels), 5), squeeze=False, sharey=True)
    for axis, (title, lines) in zip(axes[0], panels, strict=True):
        for name, points in sorted(lines.items()):
            x, y = zip(*sorted(points), strict=True)
            ours = _is_ours(name)
            axis.plot(
                x, y, marker="o", markersize=3, linewidth=2.5 if ours else 1, color=OURS if ours else None, label=name
            )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(title, loc="left", fontsize=10)
        axis.set_xlabel(labels[0], fontsize=9)
        axis.grid(visible=True, which="major", linewidth=0.3)
    axes[0, 0].set_ylabel(labels[1], fontsize=9)
    axes[0, -1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    _save(figure, path)


def _save(figure: "plt.Figure", path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    print(f"drawn: {path.name}")
