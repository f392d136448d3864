"""The numbers of a report, from labels, probabilities and edge weights; arrays in, plain arrays out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.confusion import Floats, Ints, confusion, precision_recall
from ..using.ranking import both_ways, pairs

if TYPE_CHECKING:
    from ..graph.graph import Graph

__all__ = [
    "EdgeCounts",
    "Floats",
    "Ints",
    "class_strength",
    "confusion",
    "degrees",
    "f1",
    "over_seeds",
    "precision_recall",
]

HARD_BINS = 20
"""Bins of the histogram of hard attention."""

CUT_BELOW = 0.5
"""An edge counts as cut where its hard attention is smaller; as in ``summary.json``."""


def over_seeds(values: Sequence[Floats]) -> tuple[Floats, Floats]:
    """[C] mean and standard deviation (n - 1; 0 for one seed) over the seeds that have a number; nan for none."""
    stacked = np.stack(values)
    known = (~np.isnan(stacked)).sum(axis=0)
    filled = np.nan_to_num(stacked)
    with np.errstate(invalid="ignore"):
        mean = filled.sum(axis=0) / known
    squares = np.where(np.isnan(stacked), 0.0, (stacked - mean) ** 2).sum(axis=0)
    std = np.sqrt(squares / np.maximum(known - 1, 1))
    return mean, np.where(known > 0, std, np.nan)


def f1(table: Ints) -> Floats:
    """[C] 2 TP / (2 TP + FP + FN) of each class from a confusion matrix; nan where it occurs nowhere."""
    with np.errstate(invalid="ignore"):
        score: Floats = 2 * np.diag(table) / (table.sum(axis=0) + table.sum(axis=1))
    return score


def class_strength(graph: Graph, weights: NDArray[Any] | None) -> Floats:
    """[C, C] of the weight that reaches a class (row), the share that comes from each class (column).

    Only edges between known labels count; a row without any is nan.
    """
    a, b = graph.labels[graph.rows], graph.labels[graph.indices]
    known = (a >= 0) & (b >= 0)
    w = np.ones(len(a)) if weights is None else weights.astype(float)
    c = graph.num_classes
    sums = np.bincount(a[known] * c + b[known], w[known], minlength=c * c).reshape(c, c)
    with np.errstate(invalid="ignore"):
        shares: Floats = sums / sums.sum(axis=1, keepdims=True)
    return shares


def degrees(graph: Graph) -> Ints:
    """[N] edges at each node; those that come in and those that go out of a directed graph."""
    incoming: Ints = np.diff(graph.indptr)
    return incoming + np.bincount(graph.indices, minlength=graph.num_nodes) if graph.directed else incoming


@dataclass(frozen=True)
class EdgeCounts:
    """What became of the edges of a seed.

    Attributes:
        edges, cut: all edges, and those that were cut.
        within, within_cut: those that join two known labels of the same class.
        between, between_cut: those that join two known labels of different classes.
        histogram: [2, HARD_BINS] edges within and between classes by their hard attention.
        all_edges: [HARD_BINS] the same of all edges.
    """

    edges: int
    cut: int
    within: int
    within_cut: int
    between: int
    between_cut: int
    histogram: Ints
    all_edges: Ints

    @classmethod
    def of(cls, graph: Graph, hard: NDArray[Any]) -> EdgeCounts:
        """Count the edges of a graph by their hard attention."""
        at = pairs(graph)
        return cls.of_ends(both_ways(graph, hard, at), graph.labels[graph.rows[at]], graph.labels[graph.indices[at]])

    @classmethod
    def of_ends(cls, value: Floats, a: NDArray[Any], b: NDArray[Any]) -> EdgeCounts:
        """Count edges of this hard attention [P] between nodes of these labels [P], -1 for unknown ones."""
        cut = value < CUT_BELOW
        known = (a >= 0) & (b >= 0)
        within, between = known & (a == b), known & (a != b)
        bins = np.minimum((value * HARD_BINS).astype(int), HARD_BINS - 1)
        histogram = np.stack([np.bincount(bins[which], minlength=HARD_BINS) for which in (within, between)])
        return cls(
            edges=len(value),
            cut=int(cut.sum()),
            within=int(within.sum()),
            within_cut=int((cut & within).sum()),
            between=int(between.sum()),
            between_cut=int((cut & between).sum()),
            histogram=histogram,
            all_edges=np.bincount(bins, minlength=HARD_BINS),
        )

    def __add__(self, other: EdgeCounts) -> EdgeCounts:
        return EdgeCounts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))
