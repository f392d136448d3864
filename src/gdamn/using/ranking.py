"""One order of suspicious edges for the command line and the pages: the edges that most likely join two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..graph.graph import Graph
    from ..model.fitted_state import FittedState

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Suspects:
    """Edges, the most suspicious first.

    Attributes:
        at: positions of their CSR entries, one per edge.
        suspicion: what they are ordered by: P(the ends' labels differ) by evidence and beliefs (fit/field); where a
            model has none by Ŷ, which p was given; without attention by q, as ``differ``.
        differ: P(the ends' labels differ) by q.
    """

    at: Ints
    suspicion: Floats
    differ: Floats


def suspects(graph: Graph, probabilities: NDArray[Any], state: FittedState, most: int) -> Suspects:
    """At most so many edges, the most suspicious first; of equal ones the earlier. An undirected edge stands once.

    Where a model has judged the edges, the suspicion is σ(-logit e - logit r) of the evidence e and the reliability r,
    which counts the evidence twice: it knows nothing of labels that may be wrong themselves. Elsewhere it is
    1 - ŷ_i · ŷ_j, from the labels that the hard attention judges by. The attention's own probability saturates where it
    reads them sharper (attention_temperature), and then orders edges badly (docs/evidence/after-training.md).

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
        order = np.argsort(-doubt, kind="stable")[:most]  # the probabilities themselves may be 1 in many places
        return Suspects(at[order], 1 / (1 + np.exp(-doubt[order])), differ[order])
    suspicion = differ if labels is None else differing(labels.astype(np.float64), *ends)
    order = np.argsort(-suspicion, kind="stable")[:most]
    return Suspects(at[order], suspicion[order], differ[order])


def distrust(evidence: NDArray[Any], reliability: NDArray[Any]) -> Floats:
    """[P] -logit e - logit r."""
    e, r = (np.clip(values.astype(np.float64), 1e-30, 1 - 1e-7) for values in (evidence, reliability))
    doubt: Floats = np.log1p(-e) - np.log(e) + np.log1p(-r) - np.log(r)
    return doubt


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


def differing(probabilities: Floats, a: NDArray[Any], b: NDArray[Any], block: int = 100_000) -> Floats:
    """[P] 1 - Σ_c P(a is c) P(b is c); in blocks, to spare the memory."""
    result = np.empty(len(a))
    for at in range(0, len(a), block):
        part = slice(at, at + block)
        result[part] = 1 - np.einsum("pc,pc->p", probabilities[a[part]], probabilities[b[part]])
    return np.maximum(result, 0.0)
