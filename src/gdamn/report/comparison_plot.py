"""The plot of a comparison: a row per method with a point per seed, the mean and its standard deviation."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..runs.compare.fits import data_name
from ..system.extras import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEST, OTHER, INK = "#d1495b", "#30638e", "#333333"


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw ``compare.png``; the best method is on top and in a colour of its own."""
    figure_of(result).savefig(path, dpi=150, format="png", metadata={"Software": None})


def figure_of(result: Mapping[str, Any]) -> Figure:
    """The figure of a comparison; it belongs to no window, and no backend is chosen."""
    need("A chart", "matplotlib")
    from matplotlib.figure import Figure

    results = [r for r in result["results"] if r["test_accuracy"]["mean"] is not None]
    figure = Figure(figsize=(8, 1.3 + 0.42 * max(2, len(results))), layout="constrained")
    axes = figure.subplots()
    left = lowest_shown([100 * r["test_accuracy"]["mean"] for r in results])
    for row, r in enumerate(results):
        draw_row(axes, row, r, BEST if r["method"] == result["best"] else OTHER, left)
    decorate(axes, [r["method"] for r in results], data_name(dict(result)), seeds_text(results))
    if axes.get_xlim()[0] < left:
        axes.set_xlim(left=left)
    return figure


def lowest_shown(means: list[float]) -> float:
    """Where the axis may begin: a method far behind must not press the others into a corner."""
    if not means:
        return 0.0
    return max(means) - max(10.0, 3 * (max(means) - statistics.median(means)))


def draw_row(axes: Any, row: int, r: Mapping[str, Any], colour: str, left: float) -> None:
    """Points of the seeds, the mean with its standard deviation above them, and the number at the right.

    A method whose mean is left of the axis has an arrow at the edge instead.
    """
    accuracy = r["test_accuracy"]
    points = [100 * value for value in accuracy["per_seed"] if value is not None]
    mean, std = 100 * accuracy["mean"], 100 * accuracy["std"]
    edge = {"xycoords": ("axes fraction", "data"), "va": "center", "color": colour, "annotation_clip": False}
    axes.annotate(f"{mean:.1f} ± {std:.1f}", (1.01, row), fontsize=9, **edge)
    if mean < left:
        axes.annotate("◀ below the axis", (0.005, row), fontsize=8, **edge)
        return
    heights = [row + 0.13 + 0.1 * (at % 3 - 1) for at in range(len(points))]  # apart, so that equal points show
    axes.scatter(points, heights, s=14, color=colour, alpha=0.45, linewidths=0, zorder=2)
    axes.errorbar(mean, row - 0.18, xerr=std, fmt="D", ms=5, color=colour, capsize=3, lw=1.5, zorder=3)


def decorate(axes: Any, names: list[str], data: str, seeds: str) -> None:
    """Names, axis and title; no frame."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.set_xlabel("test accuracy, % (points: seeds; diamond and bar: mean ± standard deviation)", fontsize=9)
    axes.set_title(f"{data}: test accuracy over {seeds}", loc="left", fontsize=11, color=INK)
    axes.grid(axis="x", color="#dddddd", lw=0.7)
    axes.set_axisbelow(True)
    for row in range(1, len(names)):
        axes.axhline(row - 0.5, color="#eeeeee", lw=0.7, zorder=0)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.margins(x=0.04)


def seeds_text(results: list[Mapping[str, Any]]) -> str:
    """How many seeds the rows have."""
    counts = sorted({len(r["protocol"]["seeds"]) for r in results})
    if len(counts) > 1:
        return f"{counts[0]} to {counts[-1]} seeds"
    return f"{counts[0]} seed{'s' if counts[0] != 1 else ''}" if counts else "no seeds"
