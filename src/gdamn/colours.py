"""One look for all figures: the colours of classes and edges, and the fonts; pages have it too (report/style.css)."""

from __future__ import annotations

from typing import Any

CLASSES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Colours of the classes by number, Okabe and Ito's, which the colour-blind tell apart; the ninth is the first."""

BLUE, YELLOW, GREEN, PINK, SKY, ORANGE = CLASSES[:6]
FOR, AGAINST = BLUE, ORANGE
"""What speaks for a label, and against it."""

EDGE, CUT = "#7a8594", "#c4262e"
"""Edges that are right or kept, and those that are wrong or cut."""

INK, SOFT, FAINT = "#222222", "#6b6b6b", "#e3e3e3"

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with Matplotlib, so that every machine draws the same
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "text.color": INK,
    "svg.hashsalt": "gdamn",
}
"""Matplotlib's settings for every figure; sizes are each figure's own."""


def of_class(number: int) -> str:
    """The colour of a class."""
    return CLASSES[number % len(CLASSES)]


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return INK if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.18 else "#ffffff"
