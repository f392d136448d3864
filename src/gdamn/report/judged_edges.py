"""How likely each edge is wrong, which here means: it joins two classes.

The order is that of ``gdamn edges``. Its suspicion isn't a frequency: the two ends were not judged independently. So it
is calibrated by Platt's sigmoid on edges whose ends are known, one of them a validation node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..using.ranking import suspects

if TYPE_CHECKING:
    from .seed_fit import SeedFit

Floats = NDArray[np.float64]

LOOKS_WRONG = 0.5
"""An edge looks wrong where the probability is higher."""

FIRST = 100
"""The edges at the top of the list that a finding speaks of."""

ENOUGH, OF_EACH = 50, 5
"""Edges that a calibration needs, and how many of them right and wrong."""

EDGE_OF_LOGIT = 1e-4
"""Probabilities closer to 0 or 1 count as this close."""


@dataclass(frozen=True, eq=False)
class JudgedEdges:
    """All edges of a graph, the most suspicious first.

    Attributes:
        at: [P] positions of their CSR entries, one per edge.
        suspicion: [P] what they are ordered by.
        probability: [P] that the edge is wrong.
        calibrated_on: the edges that calibrated it; 0 where it is the model's own, 1 - q_i · q_j.
        known: [P] whether both labels are known, whatever the split.
        wrong: [P] whether they are known and differ.
        seen: [P] whether both ends are training nodes, of which the model knows the answer.
    """

    at: NDArray[np.int64]
    suspicion: Floats
    probability: Floats
    calibrated_on: int
    known: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    seen: NDArray[np.bool_]

    @property
    def looks_wrong(self) -> NDArray[np.bool_]:
        """[P] whether the edge is more likely wrong than right."""
        return self.probability > LOOKS_WRONG

    def by_entry(self, entries: int) -> Floats:
        """[E] the probability at the CSR entry that stands for each edge; 0 elsewhere."""
        values = np.zeros(entries)
        values[self.at] = self.probability
        return values


def judge_edges(fit: SeedFit) -> JudgedEdges:
    """Every edge with its probability; test labels are read for ``known`` and ``wrong`` alone."""
    graph = fit.graph
    ranked = suspects(graph, fit.probabilities, fit.state, len(graph.indices))
    a, b = graph.rows[ranked.at], graph.indices[ranked.at]
    labels = graph.labels
    known = (labels[a] >= 0) & (labels[b] >= 0)
    wrong = known & (labels[a] != labels[b])
    seen = graph.train_mask[a] & graph.train_mask[b]
    given, held_out = graph.train_mask | graph.val_mask, graph.val_mask
    calibrating = known & given[a] & given[b] & (held_out[a] | held_out[b])
    logits = logit(ranked.suspicion)
    sigmoid = fit_sigmoid(logits[calibrating], wrong[calibrating])
    if sigmoid is None:
        return JudgedEdges(ranked.at, ranked.suspicion, ranked.differ, 0, known, wrong, seen)
    slope, offset = sigmoid
    probability = 1 / (1 + np.exp(-(slope * logits + offset)))
    return JudgedEdges(ranked.at, ranked.suspicion, probability, int(calibrating.sum()), known, wrong, seen)


def logit(values: NDArray[Any]) -> Floats:
    """log p / (1 - p) of probabilities, bounded."""
    p = np.clip(values.astype(np.float64), EDGE_OF_LOGIT, 1 - EDGE_OF_LOGIT)
    return np.asarray(np.log(p) - np.log1p(-p))


def fit_sigmoid(x: Floats, wrong: NDArray[np.bool_]) -> tuple[float, float] | None:
    """Slope and offset of σ(s x + o) by Newton's method, with Platt's smoothed targets (Platt, 1999).

    Returns:
        None where the edges are too few, or where suspicion tells nothing (a slope of 0 or less).
    """
    bad, good = int(wrong.sum()), int((~wrong).sum())
    if bad + good < ENOUGH or min(bad, good) < OF_EACH:
        return None
    target = np.where(wrong, (bad + 1) / (bad + 2), 1 / (good + 2))
    columns = np.stack([x, np.ones(len(x))], axis=1)
    weights = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-columns @ weights))
        slope = columns.T @ (p - target)
        curvature = (columns.T * np.maximum(p * (1 - p), 1e-9)) @ columns + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, slope)
        weights = weights - step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    return (float(weights[0]), float(weights[1])) if weights[0] > 0 else None
