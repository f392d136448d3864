"""The charts of a run's page; each takes numbers and returns an inline SVG.

All are about as wide as a phone, so that their text stays readable there; a wide screen shows two side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ..estimators.accuracy import interval
from ..estimators.calibration import BINS, Calibration
from ..estimators.chosen_epoch import chosen_epoch
from ..system.extras import need
from .measures import CUT_BELOW, HARD_BINS
from .svg import INKS, STYLE, themed
from .text import shortened, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 5.0
"""Inches; 72 units of the SVG each."""

POINTS = 400
"""Most points of a curve."""

LEAST_SHARE = 0.005
"""Shares below this one leave a cell of a matrix empty; they would be shown as 0 per cent."""

CELLS_WITH_NUMBERS = 12
"""Classes up to which a matrix has its numbers in the cells."""


@contextmanager
def chart(height: float) -> Iterator[tuple[Axes, Callable[[str, str], Markup]]]:
    """Axes in the report's style, and what turns them into an SVG."""
    need("A chart", "matplotlib")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots()
        yield axes, lambda name, label: themed(figure, name, label)


def seeds_chart(seeds: Sequence[int], test: Mapping[str, Any], second: str, validation: Mapping[str, Any]) -> Markup:
    """A point per seed, with mean and standard deviation, for test and for what else is known, called ``second``."""
    rows = [("test", test, "first"), (second, validation, "second")]
    rows = [row for row in rows if row[1]["mean"] is not None]
    with chart(0.95 + 0.6 * len(rows)) as (axes, svg):
        for at, (_, accuracy, role) in enumerate(rows):
            colour = INKS[role]
            points = [100 * value for value in accuracy["per_seed"] if value is not None]
            heights = [at + 0.18 + 0.07 * (number % 3 - 1) for number in range(len(points))]
            axes.scatter(points, heights, s=26, color=colour, alpha=0.5, linewidths=0)
            axes.errorbar(
                100 * accuracy["mean"], at - 0.16, xerr=100 * accuracy["std"], fmt="D", ms=6, color=colour, capsize=4
            )
        axes.set_yticks(range(len(rows)), [row[0] for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("accuracy, %  (points: seeds; diamond: mean ± std)")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.margins(x=0.08)
        return svg("seeds", f"Accuracy of {len(seeds)} seeds: {' and '.join(row[0] for row in rows)}")


def matrix_chart(
    shares: NDArray[np.float64], names: Sequence[str], name: str, label: str, rows: str, columns: str
) -> Markup:
    """A heat map of shares by row, in per cent; missing rows stay empty."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    count = len(names)
    short = [shortened(n, 15) for n in names]
    filled = np.argwhere(np.nan_to_num(shares) >= LEAST_SHARE)
    with chart(WIDTH * 0.86) as (axes, svg):
        corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
        places = [corners + np.array([j, i]) for i, j in filled]
        colours = [to_rgba(INKS["heat"], 0.03 + 0.65 * shares[i, j]) for i, j in filled]
        axes.add_collection(PolyCollection(places, facecolors=colours, linewidths=0))
        for i, j in filled if count <= CELLS_WITH_NUMBERS else ():
            size = 10 if count < 9 else 9
            text = axes.text(j, i, f"{100 * shares[i, j]:.0f}", ha="center", va="center_baseline", fontsize=size)
            text.set_in_layout(False)  # inside the axes anyhow, and the layout is much quicker without
        axes.set_xlim(-0.5, count - 0.5)
        axes.set_ylim(count - 0.5, -0.5)
        axes.set_box_aspect(1)
        step = 1 if count <= 25 else 5
        long = max(map(len, short), default=0) > 3
        axes.set_xticks(
            range(0, count, step), short[::step], rotation=45 if long else 0, ha="right" if long else "center"
        )
        axes.set_yticks(range(0, count, step), short[::step])
        axes.set_xlabel(columns)
        axes.set_ylabel(rows)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(True)
        return svg(name, label)


def calibration_chart(bins: Calibration) -> Markup:
    """Accuracy over confidence, the diagonal of perfect calibration, and how many nodes each bin has."""
    filled = bins.count > 0
    confidence = bins.confidence[filled] / bins.count[filled]
    accuracy = bins.right[filled] / bins.count[filled]
    share = bins.count / bins.count.sum()
    with chart(WIDTH * 0.86) as (axes, svg):
        axes.bar(
            (np.arange(BINS) + 0.5) / BINS, share, width=0.9 / BINS, color=INKS["band"], label="share of the nodes"
        )
        axes.plot([0, 1], [0, 1], ls=(0, (4, 3)), lw=1.2, color=INKS["soft"], label="perfectly calibrated")
        ends = np.array([interval(*pair) for pair in zip(accuracy.tolist(), bins.count[filled].tolist(), strict=True)])
        bars = np.abs(ends.T - accuracy)
        look: dict[str, Any] = {"fmt": "o", "ms": 6, "color": INKS["first"], "elinewidth": 1.4}
        axes.errorbar(confidence, accuracy, yerr=bars, capsize=3, label="this model, 95 % interval", **look)
        axes.set_xlim(0, 1.02)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("confidence (highest probability)")
        axes.set_ylabel("share predicted right")
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        axes.figure.legend(loc="outside lower left", ncols=2, columnspacing=1.2)
        return svg("calibration", f"Calibration curve; expected calibration error {100 * bins.error:.1f} per cent")


def learning_chart(
    history: Sequence[Mapping[str, Any]],
    others: Sequence[Sequence[Mapping[str, Any]]],
    best: Mapping[str, Any],
    what: Mapping[str, tuple[str, str]],
    name: str,
    axis: str,
    log: bool = False,
) -> Markup | None:
    """Curves over all epochs with the phases behind them; other seeds faint, the chosen epoch marked.

    Args:
        what: key of a record, the curve's name and the role of its colour.

    Returns:
        None where no epoch has any of the values.
    """
    keys = [key for key in what if any(isinstance(record.get(key), float) for record in history)]
    if not keys:
        return None
    with chart(3.3) as (axes, svg):
        draw_phases(axes, history)
        for key in keys:
            text, role = what[key]
            for other in others:
                axes.plot(*curve(other, key), color=INKS[role], lw=0.8, alpha=0.25)
            axes.plot(*curve(history, key), color=INKS[role], lw=1.8, label=text)
        if others:
            axes.plot([], [], color=INKS[what[keys[-1]][1]], lw=0.8, alpha=0.6, label="other seeds")
        at = chosen_epoch(history, best)
        if at is not None:
            axes.axvline(at, color=INKS["ink"], lw=1.2, ls=(0, (2, 2)))
            axes.plot([], [], color=INKS["ink"], lw=1.2, ls=(0, (2, 2)), label="chosen epoch")
        if log:
            set_log_scale(axes)
        axes.set_xlim(0, max(1, len(history) - 1))
        axes.set_xlabel("epoch")
        axes.set_ylabel(axis)
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        axes.figure.legend(loc="outside lower left", ncols=3)
        return svg(name, f"{axis} over {len(history)} epochs; chosen epoch: {best.get('phase', '')} {at}")


def set_log_scale(axes: Axes) -> None:
    """Powers of ten with plain numbers; 2 and 5 between them where there would be too few."""
    from matplotlib.ticker import LogLocator

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 100 else (1,)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()


PRE_TRAININGS = {
    "pre-train": ("graph", "on the graph as it is"),
    "pre-train (similar)": ("sim.", "on edges that weigh as the features of their ends agree"),
    "pre-train (features)": ("feat.", "without edges"),
    "pre-train (evidence)": ("evid.", "on edges that weigh as much as belief propagation trusts them"),
    "pre-train (multihop)": ("hops", "with the opinion of regressions on multi-hop features"),
}
"""The pre-trainings: their names above the bands, unless the graph as it is was the only start, and what they are."""


def draw_phases(axes: Axes, history: Sequence[Mapping[str, Any]]) -> None:
    """A band behind every second phase, and the names above where there is room."""
    on_graph_alone = {record.get("phase") for record in history} & PRE_TRAININGS.keys() == {"pre-train"}
    names = {} if on_graph_alone else {phase: name for phase, (name, _) in PRE_TRAININGS.items()}
    start = 0
    for number, (phase, records) in enumerate(groupby(history, key=lambda record: str(record.get("phase", "")))):
        length = len(list(records))
        if number % 2:
            axes.axvspan(start, start + length, color=INKS["band"], alpha=0.6, lw=0)
        if length > 0.06 * len(history) and phase:
            text = visible(names.get(phase, phase), 12).replace("-step ", "")
            at = (start + length / 2, 1.02)
            axes.annotate(text, at, xycoords=("data", "axes fraction"), ha="center", fontsize=9.5, color=INKS["soft"])
        start += length


def curve(history: Sequence[Mapping[str, Any]], key: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Epochs and values, nan where a phase doesn't measure it; thinned where there are very many."""
    step = max(1, len(history) // POINTS)
    values = [record.get(key) for record in history]
    y = np.array([value if isinstance(value, float) else np.nan for value in values], dtype=float)
    return np.arange(len(y))[::step], y[::step]


def hard_chart(histogram: NDArray[np.int64]) -> Markup:
    """Share of the edges within and between classes by their hard attention."""
    shares = histogram / np.maximum(histogram.sum(axis=1, keepdims=True), 1)
    middle = (np.arange(HARD_BINS) + 0.5) / HARD_BINS
    width = 0.42 / HARD_BINS
    with chart(3.5) as (axes, svg):
        axes.bar(middle - width / 2, 100 * shares[0], width=width, color=INKS["first"], label="within a class")
        axes.bar(middle + width / 2, 100 * shares[1], width=width, color=INKS["second"], label="between classes")
        axes.axvline(CUT_BELOW, color=INKS["ink"], lw=1.2, ls=(0, (2, 2)), label="cut below")
        axes.set_xlim(0, 1)
        axes.set_xlabel("hard attention")
        axes.set_ylabel("share of the edges, %")
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        axes.figure.legend(loc="outside lower left", ncols=3)
        return svg("hard", "Histogram of the hard attention of edges within a class and between classes")


def histogram_chart(counts: NDArray[np.int64], name: str, what: str, things: str, cut: float | None = None) -> Markup:
    """The share of some things in each of equally wide bins from 0 to 1; a line where they are cut."""
    shares, bins = counts / max(counts.sum(), 1), len(counts)
    with chart(3.3) as (axes, svg):
        axes.bar((np.arange(bins) + 0.5) / bins, 100 * shares, width=0.85 / bins, color=INKS["first"])
        if cut is not None:
            axes.axvline(cut, color=INKS["ink"], lw=1.2, ls=(0, (2, 2)), label="cut below")
            axes.figure.legend(loc="outside lower left")
        axes.set_xlim(0, 1)
        axes.set_xlabel(what)
        axes.set_ylabel(f"share of the {things}, %")
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        return svg(name, f"Histogram of the {what} of {int(counts.sum()):,} {things}")


def reference_chart(rows: Sequence[tuple[str, float, tuple[float, float], bool]]) -> Markup:
    """A row per method: accuracy and interval; a line at the best simple one.

    Args:
        rows: name, accuracy, ends of the interval, whether it is this run's model or its start.
    """
    best = max((value for _, value, _, own in rows if not own), default=None)
    with chart(0.9 + 0.36 * len(rows)) as (axes, svg):
        for at, (_, value, (low, high), own) in enumerate(rows):
            bars = [[100 * (value - low)], [100 * (high - value)]]
            colour = INKS["second" if own else "first"]
            axes.errorbar(100 * value, at, xerr=bars, fmt="D" if own else "o", ms=6, color=colour, capsize=3)
        if best is not None:
            axes.axvline(100 * best, color=INKS["soft"], lw=1.2, ls=(0, (4, 3)))
        axes.set_yticks(range(len(rows)), [shortened(row[0], 34) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("accuracy, %")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        axes.margins(x=0.08)
        return svg("reference", "Accuracy of simple methods and of this run, with 95 per cent intervals")


def methods_chart(results: Sequence[Mapping[str, Any]], best: str | None) -> Markup:
    """A row per method: a point per seed, the mean and its standard deviation; the best in a colour of its own."""
    from .comparison_plot import lowest_shown

    measured = [r for r in results if r["test_accuracy"]["mean"] is not None]
    left = lowest_shown([100 * r["test_accuracy"]["mean"] for r in measured])
    with chart(0.9 + 0.42 * max(2, len(measured))) as (axes, svg):
        for row, r in enumerate(measured):
            colour = INKS["second" if r["method"] == best else "first"]
            accuracy = r["test_accuracy"]
            mean, std = 100 * accuracy["mean"], 100 * accuracy["std"]
            if mean < left:
                edge: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center"}
                axes.annotate(f"◀ {mean:.1f}, below the axis", (0.01, row), color=colour, **edge)
                continue
            points = [100 * value for value in accuracy["per_seed"] if value is not None]
            heights = [row + 0.14 + 0.09 * (at % 3 - 1) for at in range(len(points))]
            axes.scatter(points, heights, s=18, color=colour, alpha=0.5, linewidths=0)
            axes.errorbar(mean, row - 0.2, xerr=std, fmt="D", ms=5, color=colour, capsize=3)
        axes.set_yticks(range(len(measured)), [shortened(r["method"], 20) for r in measured])
        axes.set_ylim(max(len(measured), 1) - 0.5, -0.5)
        if axes.get_xlim()[0] < left:
            axes.set_xlim(left=left)
        axes.set_xlabel("test accuracy, %")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.margins(x=0.05)
        return svg("methods", "Test accuracy of every method: seeds, mean and standard deviation")
