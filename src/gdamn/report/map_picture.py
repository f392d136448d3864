"""The map as a picture of its own: before and after side by side, as PNG or SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConfigError
from ..system import io
from ..system.extras import need
from .judged_edges import LOOKS_WRONG
from .text import shortened, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .explorer import Shown
    from .graph_map import GraphMap

SUFFIXES = (".png", ".svg")

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
"""Those of the page's classes (Okabe and Ito); classes beyond the eighth have other shapes."""

SHAPES = ("o", "s", "D", "^", "v")
EDGE, WRONG, INK = "#6b7480", "#b3261e", "#16191d"
LEVELS = 5
"""Strengths that edges are drawn in."""

TOGETHER = 60
"""Edges of one strength that make a path: an SVG stays small, and where many paths cross it is darker."""


def check_suffix(path: Path) -> None:
    """Refuse a picture that is neither PNG nor SVG."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"'{path}' can't be a picture of the map; it must end in {' or '.join(SUFFIXES)}.")


def write_picture(path: Path, shown: Shown, drawn: GraphMap) -> None:
    """Write the picture of a map."""
    need("A picture of the map", "matplotlib")
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "gdamn", "svg.fonttype": "none", "text.parse_math": False, "font.size": 11}):
        figure = draw(shown, drawn)
        metadata: dict[str, Any] = {"Date": None} if path.suffix.lower() == ".svg" else {}
        with io.replacing(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=150, facecolor="white", metadata=metadata)


def draw(shown: Shown, drawn: GraphMap) -> Figure:
    """A panel before and, for a method with attention, one after."""
    from matplotlib.figure import Figure

    graph = shown.fit.graph
    wrong = shown.judged.edges.by_entry(len(graph.indices))[drawn.edges] > LOOKS_WRONG
    panels = [("Before", drawn.before)] + ([] if drawn.after is None else [("After", drawn.after)])
    figure = Figure(figsize=(6.2 * len(panels), 7.4), layout="constrained")
    for axes, (name, strength) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        count = int((strength > 0).sum())
        axes.set_title(f"{name}: {whole(count)} edges, {whole((wrong & (strength > 0)).sum())} look wrong", color=INK)
        draw_edges(axes, shown, drawn, strength, wrong)
        draw_nodes(axes, shown, drawn)
        axes.set_aspect("equal")
        axes.set_axis_off()
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(6, len(labels)), frameon=False)
    if len(drawn.nodes) < graph.num_nodes:
        figure.suptitle(f"{whole(len(drawn.nodes))} of {whole(graph.num_nodes)} nodes", fontsize=11, color=INK)
    return figure


def draw_edges(axes: Axes, shown: Shown, drawn: GraphMap, strength: Any, wrong: Any) -> None:
    """Edges by their strength; those that look wrong in red."""
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path as Outline

    graph = shown.fit.graph
    at = np.full(graph.num_nodes, 0, np.int64)
    at[drawn.nodes] = np.arange(len(drawn.nodes))
    ends = drawn.place[at[graph.rows[drawn.edges]]], drawn.place[at[graph.indices[drawn.edges]]]
    level = np.ceil(strength * LEVELS).astype(int)
    many = max(0.06, min(0.8, 1500 / max(int((strength > 0).sum()), 1)))  # of many edges each is fainter
    for marked, colour in ((False, EDGE), (True, WRONG)):
        for number in range(1, LEVELS + 1):
            chosen = np.flatnonzero((level == number) & (wrong == marked))
            outlines = []
            for some in np.array_split(chosen, -(-len(chosen) // TOGETHER)) if len(chosen) else ():
                points = np.stack([end[some] for end in ends], axis=1).reshape(-1, 2)
                outlines.append(Outline(points, np.tile([Outline.MOVETO, Outline.LINETO], len(some))))
            style: dict[str, Any] = {"edgecolors": colour, "facecolors": "none", "linewidths": 0.6}
            lines = PathCollection(outlines, alpha=many * number / LEVELS, **style)
            axes.add_collection(lines, autolim=False)
    axes.plot([], [], color=EDGE, lw=1, label="edge")
    axes.plot([], [], color=WRONG, lw=1, label="edge that looks wrong")


def draw_nodes(axes: Axes, shown: Shown, drawn: GraphMap) -> None:
    """Nodes by their class: the known one, else the predicted one."""
    graph = shown.fit.graph
    labels = graph.labels[drawn.nodes]
    kinds = np.where(labels >= 0, labels, shown.fit.probabilities[drawn.nodes].argmax(axis=1))
    size = float(np.clip(30_000 / max(len(drawn.nodes), 1), 6, 60))
    for number in np.unique(kinds).tolist():
        here = drawn.place[kinds == number]
        look: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "marker": SHAPES[number // len(COLOURS) % len(SHAPES)],
        }
        label = shortened(graph.class_names[number], 24) if len(np.unique(kinds)) <= 40 else None
        axes.scatter(here[:, 0], here[:, 1], s=size, linewidths=0.3, edgecolors=INK, zorder=3, label=label, **look)
    axes.set_xlim(-1.03, 1.03)
    axes.set_ylim(1.03, -1.03)
