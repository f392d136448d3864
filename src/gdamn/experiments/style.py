"""The look of the figures: for print, for colour-blind readers, and the same bytes each time they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import colours
from ..system import io

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK, SKY = colours.BLUE, colours.ORANGE, colours.GREEN, colours.PINK, colours.SKY
INK, SOFT, FAINT = colours.INK, colours.SOFT, colours.FAINT
COLUMN, PAGE = 3.5, 7.16
"""Width in inches of a column and of a page of a two-column journal."""

DPI = 300

STYLE: dict[str, Any] = {
    **colours.STYLE,
    "figure.constrained_layout.use": True,
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.linewidth": 0.6,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "svg.fonttype": "path",
}


def panels(columns: int = 1, width: float = COLUMN, height: float = 2.5, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure with its panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    axes = figure.subplots(1, columns, squeeze=False, **options)
    return figure, list(axes[0])


def save(draw: Callable[[], Figure], stem: Path) -> None:
    """Draw in this style and write ``stem.png`` and ``stem.svg``, without a date."""
    from matplotlib import rc_context

    with rc_context(STYLE):  # type: ignore[arg-type]
        figure = draw()
        for path, metadata in (
            (stem.with_suffix(".png"), {"Software": None}),
            (stem.with_suffix(".svg"), {"Date": None}),
        ):
            with io.replacing(path) as temporary:
                figure.savefig(temporary, format=path.suffix[1:], dpi=DPI, metadata=metadata)


def band(
    axes: Axes, x: Sequence[float], spreads: Sequence[Any], colour: str, marker: str, label: str, **line: Any
) -> None:
    """Means in per cent as a line, with the standard deviation over seeds as a band."""
    means = [100 * s["mean"] for s in spreads]
    low, high = ([m + sign * 100 * s["std"] for m, s in zip(means, spreads, strict=True)] for sign in (-1, 1))
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(x, means, color=colour, marker=marker, label=label, **line)
