"""The figure of the noise suite: a panel per kind, a line per method with the deviation over seeds as a band."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from ..colours import YELLOW
from .noise_curves import axis_text, short
from .style import BLUE, GREEN, INK, ORANGE, PAGE, PINK, SKY, SOFT, band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS = {"gdamn": (BLUE, "o"), "gdamn-plus": (ORANGE, "s")}
"""Methods that are easy to find: solid, thicker lines in colours of their own."""

COLOURS = zip((INK, GREEN, PINK, SKY, YELLOW, SOFT), "^Dv<>P", strict=True)
OTHERS = [(*look, line) for line, look in product(("-", "--", ":"), COLOURS)]
"""Colours, markers and lines of the others, in their order."""

COLUMNS = 3


def looks(methods: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """Colour, marker and line of each method."""
    others = [method for method in methods if method not in OURS]
    found = {method: OTHERS[at % len(OTHERS)] for at, method in enumerate(others)}
    return {method: (*OURS[method], "-") if method in OURS else found[method] for method in methods}


def draw(content: Mapping[str, Any]) -> Figure:
    """All panels with one scale of accuracies, and one legend."""
    from matplotlib.figure import Figure

    panels = [(data, name, kind) for data, kinds in content["numbers"].items() for name, kind in kinds.items()]
    several = len(content["numbers"]) > 1
    methods = looks(list(content["mean_ranks"]))
    columns = min(COLUMNS, max(1, len(panels)))
    rows = math.ceil(len(panels) / columns) or 1
    figure = Figure(figsize=(PAGE, 0.5 + 2.0 * rows))
    every: list[Axes] = list(figure.subplots(rows, columns, squeeze=False, sharey=True).ravel())
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    for at, (axes, (data, name, kind)) in enumerate(zip(every, panels, strict=False)):
        curves(axes, kind, methods)
        axes.set_title(f"{short(data)}, {name}" if several else name)
        axes.set_xlabel(axis_text(name))
        if at % columns == 0:
            axes.set_ylabel("test accuracy, %")
    if panels:
        handles, names = every[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(6, len(names)))
    return figure


def curves(axes: Axes, kind: Mapping[str, Any], methods: Mapping[str, tuple[str, str, str]]) -> None:
    """The lines of one kind; rates that have no accuracy are left out."""
    for method, (colour, marker, line) in methods.items():
        measured = zip(kind["rates"], kind["methods"][method]["test_accuracy"], strict=True)
        points = [(rate, spread) for rate, spread in measured if spread["mean"] is not None]
        x, spreads = [rate for rate, _ in points], [spread for _, spread in points]
        thick = {"linewidth": 2.0, "zorder": 3} if method in OURS else {"linewidth": 1.1}
        band(axes, x, spreads, colour, marker, method, linestyle=line, **thick)
