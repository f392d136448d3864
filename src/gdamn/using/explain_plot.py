"""A small drawing of an explanation: the node in the middle, its neighbours around it, the cut edges dashed.

Circles have the colour of their class, as on the pages. The colours (Okabe & Ito) can be told apart by people who don't
see all colours, and line styles repeat them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..colours import AGAINST, FOR, INK, STYLE, ink_on, of_class
from ..system import io
from ..system.extras import need
from ..text import safe

SUFFIXES = (".png", ".svg")
MOST = 24
"""Neighbours that are drawn: with more the names can't be read."""

INSIDE = 3
"""Labels of at most so many letters stand inside the circles."""

CUT = "#8a8a8a"
MOST_CLASSES = 6
"""Classes that the legend names."""


def draw(explanation: Mapping[str, Any], path: Path) -> None:
    """Draw the file that the suffix asks for."""
    need("A picture", "matplotlib")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    neighbours = drawn_neighbours(explanation["neighbours"])
    figure, axes = plt.subplots(figsize=(9, 8), layout="constrained")
    try:
        with matplotlib.rc_context(STYLE):
            draw_around(axes, explanation, neighbours)
            decorate(axes, explanation, len(neighbours))
            kind = path.suffix.lower()[1:]
            no_stamp = {"Software": None} if kind == "png" else {"Date": None}
            with io.replacing(path) as temporary:
                figure.savefig(temporary, dpi=150, format=kind, metadata=no_stamp)
    finally:
        plt.close(figure)


def drawn_neighbours(neighbours: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that are drawn: of many, the ones that counted most, with some of the cut edges; kept ones first."""
    neighbours_left = [each for each in neighbours if not each["cut"]]
    cut = [each for each in neighbours if each["cut"]]
    room = max(MOST - len(neighbours_left), MOST // 3)
    cut = cut[:room]
    return neighbours_left[: MOST - len(cut)] + cut


def draw_around(axes: Any, explanation: Mapping[str, Any], neighbours: list[dict[str, Any]]) -> None:
    """Lines, then circles, then names."""
    largest = max((abs(each["contribution"]) for each in neighbours), default=0.0) or 1.0
    size = 900 if len(neighbours) <= 14 else 560
    inside = all(len(safe(each["predicted"])) <= INSIDE for each in neighbours)
    for at, each in enumerate(neighbours):
        angle = math.pi / 2 - 2 * math.pi * at / max(len(neighbours), 1)
        x, y = math.cos(angle), math.sin(angle)
        colour = CUT if each["cut"] else FOR if each["contribution"] >= 0 else AGAINST
        width = 1.0 + 6.0 * abs(each["contribution"]) / largest
        style = (0, (4, 3)) if each["cut"] else "solid"
        axes.plot([0, x], [0, y], color=colour, lw=1.3 if each["cut"] else width, ls=style, zorder=1, alpha=0.85)
        edge: dict[str, Any] = {"edgecolors": CUT if each["cut"] else INK, "linewidths": 1.2}
        fill = of_class(each["class"])
        axes.scatter([x], [y], s=size, color=fill, zorder=2, **edge)
        if inside:
            _text(axes, x, y, safe(each["predicted"]), 9, color=ink_on(fill))
        _text(axes, 1.1 * x, 1.1 * y, "\n".join(beside(each, inside)), 8, **outwards(x, y))
    fill = of_class(explanation["class"])
    axes.scatter([0], [0], s=1800, color=fill, edgecolors=INK, linewidths=2.4, zorder=3)
    label = safe(explanation["predicted"])  # the title has long ones
    _text(axes, 0, 0, label if len(label) <= 2 * INSIDE else "node", 11, weight="bold", color=ink_on(fill))


def beside(neighbour: Mapping[str, Any], inside: bool) -> list[str]:
    """The lines beside a neighbour: its id; its label where the circle has no room for it, and its share."""
    parts = [] if inside else [_short(neighbour["predicted"], 14)]
    parts += [] if neighbour["cut"] else [_percent(neighbour["share"])]
    return [_short(neighbour["node"], 14), *([", ".join(parts)] if parts else [])]


def outwards(x: float, y: float) -> dict[str, str]:
    """The alignment that lets a text at the rim grow away from its circle."""
    side = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
    height = "center" if abs(y) < 0.5 else "bottom" if y > 0 else "top"
    return {"ha": side, "va": height}


def decorate(axes: Any, explanation: Mapping[str, Any], drawn: int) -> None:
    """Title, legend and what isn't drawn."""
    from matplotlib.lines import Line2D

    total = len(explanation["neighbours"])
    remark = f"; {drawn} of {total} neighbours drawn" if drawn < total else ""
    title = f"Node {_short(explanation['node'], 30)}: {_short(explanation['predicted'], 30)}"
    axes.figure.suptitle(
        f"{title}, confidence {_percent(explanation['confidence'])}\n"
        f"own message {_percent(explanation['own']['share'])} of the evidence{remark}",
        fontsize=11,
        color=INK,
        parse_math=False,
    )
    dot: dict[str, Any] = {"marker": "o", "ls": "", "markeredgecolor": INK, "markersize": 10}
    lines = [
        Line2D([], [], color=FOR, lw=4, label="speaks for the label (wider: more)"),
        Line2D([], [], color=AGAINST, lw=4, label="speaks against it"),
        Line2D([], [], color=CUT, lw=1.3, ls=(0, (4, 3)), label="cut: hard attention below 0.5"),
    ]
    shown = {each["class"]: each["predicted"] for each in (explanation, *drawn_neighbours(explanation["neighbours"]))}
    lines += [
        Line2D([], [], markerfacecolor=of_class(number), label=f"predicted {_short(name, 20)}", **dot)
        for number, name in list(shown.items())[:MOST_CLASSES]
    ]
    axes.figure.legend(handles=lines, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    axes.set_xlim(-1.6, 1.6)
    axes.set_ylim(-1.25, 1.25)
    axes.set_aspect("equal")
    axes.axis("off")


def _text(axes: Any, x: float, y: float, text: str, size: int, **style: Any) -> None:
    """Text, centred unless the style says otherwise; a $ in a name is a $ and no formula."""
    placed = {"ha": "center", "va": "center", "color": INK, **style}
    axes.text(x, y, text, fontsize=size, zorder=4, parse_math=False, **placed)


def _short(name: object, most: int) -> str:
    text = safe(name)
    return text if len(text) <= most else text[: most - 1] + "…"


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    return f"{100 * share:.0f} %" if abs(share) >= 0.005 else "< 1 %"
