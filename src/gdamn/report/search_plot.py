"""The plot of a search: a point per trial, and the best so far."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from .comparison_plot import BEST, INK, OTHER

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_of(scores: Sequence[float], title: str, score: str) -> Figure:
    """Scores in the order of their trials, in per cent.

    Args:
        scores: as fractions.
        title: above the figure.
        score: what they are called.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    values, numbers = [100 * each for each in scores], range(1, len(scores) + 1)
    axes.scatter(numbers, values, s=18, color=OTHER, alpha=0.7, linewidths=0, label="a trial", zorder=2)
    axes.step(numbers, list(accumulate(values, max)), where="post", color=BEST, lw=1.5, label="the best so far")
    axes.set_xlabel("trial", fontsize=9)
    axes.set_ylabel(f"{score}, %", fontsize=9)
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color="#dddddd", lw=0.7)
    axes.legend(frameon=False, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure
