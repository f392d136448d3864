"""One order of suspicious edges for the command line and the pages: the edges that most likely join two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.weighted_edges import differing

if TYPE_CHECKING:
    from ..graph.graph import Graph
    from ..model.fitted_state import FittedState

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LAMBDA = 0.15
"""λ, what evidence and beliefs count beside the links (docs/after-training.md)."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """Edges, the most suspicious first.

    Attributes:
        at: positions of their CSR entries, one per edge.
        suspicion: what they are ordered by: P(the edge is wrong) by links, evidence and beliefs (fit/field); where a
            model has none P(the ends' labels differ) by Ŷ, which p was given; without attention by q, as ``differ``.
        differ: P(the ends' labels differ) by q.
    """

    at: Ints
    suspicion: Floats
    differ: Floats


def suspects(graph: Graph, probabilities: NDArray[Any], state: FittedState, most: int) -> Suspects:
    """At most so many edges, the most suspicious first; of equal ones the earlier. An undirected edge stands once.

    Where a model has judged the edges, they are ordered by doubt: log P(by lot) - λ (logit e + logit r) of the
    evidence e and the reliability r, which count little because natural edges join different classes, too. Elsewhere
    the suspicion is 1 - ŷ_i · ŷ_j, from the labels that the hard attention judges by. The attention's own probability
    saturates where it reads them sharper, and then orders edges badly (docs/evidence/after-training.md).

    Args:
        probabilities: [N, C] calibrated. Training nodes have their label; no other label is read.
        state: of the fitted model.
    """
    at = pairs(graph)
    ends = graph.rows[at], graph.indices[at]
    differ = differing(known_or_predicted(graph, probabilities), *ends)
    judged, labels = state.judged, state.pseudo_labels
    if judged is not None:
        doubt = distrust(*(values[at] for values in judged))
        if state.lot is not None:
            doubt = doubt_of(state.lot[at], doubt, judged[1][at])
        order = np.argsort(-doubt, kind="stable")[:most]  # the probabilities themselves may be 1 in many places
        return Suspects(at[order], sigmoid(doubt[order]), differ[order])
    suspicion = differ if labels is None else differing(labels, *ends)
    order = np.argsort(-suspicion, kind="stable")[:most]
    return Suspects(at[order], suspicion[order], differ[order])


def distrust(evidence: NDArray[Any], reliability: NDArray[Any]) -> Floats:
    """[P] -logit e - logit r."""
    e, r = (np.clip(values.astype(np.float64), 1e-30, 1 - 1e-7) for values in (evidence, reliability))
    doubt: Floats = np.log1p(-e) - np.log(e) + np.log1p(-r) - np.log(r)
    return doubt


def doubt_of(lot: NDArray[Any], distrusted: Floats, reliability: NDArray[Any]) -> Floats:
    """[P] log-odds that an edge is wrong: log P(by lot) + λ (-logit e - logit r), moved so that σ of it adds up.

    The sum over all edges is that of 1 - (1 - P(by lot)) r: an edge is wrong if it was drawn by lot or joins two
    classes.
    """
    raw = np.log(np.clip(lot.astype(np.float64), 1e-30, None)) + LAMBDA * distrusted
    wrong = float((1 - (1 - np.clip(lot, 0, 1)) * reliability).sum())
    low, high = -raw.max(initial=0.0) - 50.0, 50.0 - raw.min(initial=0.0)
    for _ in range(60):  # σ grows, so that halving finds the shift
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(raw + middle).sum() < wrong else (low, middle)
    shifted: Floats = raw + low
    return shifted


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + e^-x)."""
    return np.exp(-np.logaddexp(0, -values))


def pairs(graph: Graph) -> Ints:
    """Positions of the CSR entries that stand for an edge each: one per undirected edge, all of a directed graph."""
    if graph.directed:
        return np.arange(len(graph.indices))
    return np.flatnonzero(graph.rows < graph.indices)


def both_ways(graph: Graph, values: NDArray[Any], at: Ints) -> Floats:
    """A value per edge: the mean of its two directions, or the one that there is."""
    back = graph.reverse[at]
    forward = values[at].astype(float)
    return np.where(back >= 0, (forward + values[back]) / 2, forward)


def known_or_predicted(graph: Graph, probabilities: NDArray[Any]) -> Floats:
    """[N, C] probabilities; training nodes have their label."""
    known = np.array(probabilities, dtype=np.float64)
    known[graph.train_mask] = np.eye(graph.num_classes)[graph.labels[graph.train_mask]]
    return known
