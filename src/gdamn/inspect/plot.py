"""The facts of a graph as one picture: degrees, components, classes, and the edges between them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..colours import BLUE, FAINT, INK, STYLE, of_class
from ..system.extras import need
from ..system.io import replacing
from .facts import Facts, by_doubling

MOST_CLASSES = 12


def draw(facts: Facts, path: Path) -> None:
    """Write the picture; the file appears whole or not at all."""
    need("A picture", "matplotlib")
    import matplotlib

    with matplotlib.rc_context(STYLE), replacing(path) as temporary:
        figure_of(facts).savefig(temporary, dpi=110, format="png", metadata={"Software": None})


def figure_of(facts: Facts) -> Any:
    """The four panels."""
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(11, 8), layout="constrained")
    axes = figure.subplots(2, 2)
    data = facts.data
    figure.suptitle(f"{data['name']}: {data['nodes']:,} nodes, {data['edges']:,} edges", fontsize=13, color=INK)
    _degrees(axes[0, 0], facts)
    _components(axes[0, 1], facts)
    _classes(axes[1, 0], facts)
    _mixing(figure, axes[1, 1], facts)
    return figure


def _plain(axes: Any, title: str) -> None:
    axes.set_title(title, fontsize=11, loc="left", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9, colors=INK)


def _bins(axes: Any, bins: Mapping[str, int], x: str, y: str) -> None:
    """Bars with their counts above; the axis bends where counts differ by far, so that the small ones show."""
    bars = axes.bar(range(len(bins)), list(bins.values()), color=BLUE, width=0.85)
    axes.bar_label(bars, fmt="{:,.0f}", fontsize=8, padding=2)
    turned = len(bins) > 7
    axes.set_xticks(range(len(bins)), list(bins), rotation=45 if turned else 0, ha="right" if turned else "center")
    if max(bins.values()) > 1000:
        axes.set_yscale("symlog", linthresh=10)
    else:
        axes.yaxis.get_major_locator().set_params(integer=True)
    axes.margins(y=0.12)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)


def _degrees(axes: Any, facts: Facts) -> None:
    degree = facts.data["degree"]
    _bins(axes, degree["nodes_by_degree"], "neighbours", "nodes")
    _plain(axes, f"Degrees: median {degree['median']:g}, largest {degree['largest']:,.0f}")


def _components(axes: Any, facts: Facts) -> None:
    sizes = facts.components
    _bins(axes, by_doubling(sizes), "nodes in a component", "components")
    share = sizes[0] / facts.data["nodes"]
    many = "1 component" if len(sizes) == 1 else f"{len(sizes):,} components, the largest with {share:.0%} of the nodes"
    _plain(axes, f"Parts: {many}")


def _classes(axes: Any, facts: Facts) -> None:
    labels = facts.data["labels"]
    ordered = sorted(labels["classes"].items(), key=lambda each: -each[1])
    number = {name: at for at, name in enumerate(labels["classes"])}
    classes = ordered[:MOST_CLASSES]
    colours = [of_class(number[name]) for name, _ in classes]
    if len(ordered) > MOST_CLASSES:
        colours.append(FAINT)
        classes.append((f"{len(ordered) - MOST_CLASSES} more", sum(count for _, count in ordered[MOST_CLASSES:])))
    if not classes:
        axes.text(0.5, 0.5, "no label is known", ha="center", va="center", transform=axes.transAxes, color=INK)
    bars = axes.barh([_cut(name) for name, _ in classes], [count for _, count in classes], color=colours)
    axes.bar_label(bars, fmt="{:,.0f}", fontsize=8, padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("labelled nodes", fontsize=9)
    _plain(axes, f"Classes: {labels['rate']:.1%} of the nodes have a known label")


def _mixing(figure: Any, axes: Any, facts: Facts) -> None:
    between = facts.data["between_classes"]
    names = list(facts.data["labels"]["classes"])
    if between["share"] is None:
        axes.text(0.5, 0.5, "no edge has both labels known", ha="center", va="center", transform=axes.transAxes)
        axes.set_axis_off()
        return
    order = np.argsort(-facts.mixing.sum(axis=1), kind="stable")[:MOST_CLASSES]
    shares = facts.mixing / np.maximum(facts.mixing.sum(axis=1, keepdims=True), 1)
    part = shares[np.ix_(order, order)]
    image = axes.imshow(part, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ticks = [_cut(names[at], 10) for at in order]
    turned = max(map(len, ticks)) * len(ticks) > 40
    axes.set_xticks(range(len(order)), ticks, rotation=45 if turned else 0, ha="right" if turned else "center")
    axes.set_yticks(range(len(order)), ticks)
    if len(order) <= 8:
        for (row, column), share in np.ndenumerate(part):
            colour = "white" if share > 0.5 else INK
            axes.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=8, color=colour)
    figure.colorbar(image, ax=axes, shrink=0.8, label="share of the row's edges")
    _plain(axes, f"Edges between classes: {between['share']:.1%} of {between['known_edges']:,} known")


def _cut(name: str, most: int = 22) -> str:
    """A name that fits, and that the drawing doesn't take for a formula."""
    text = name if len(name) <= most else name[: most - 1] + "…"
    return text.replace("$", r"\$")
