"""What to check next: doubtful edges, kept edges that look odd, the least certain nodes, suspicious training labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from ..using.ranking import both_ways
from .findings import Judged
from .judged_edges import judge_edges
from .measures import CUT_BELOW
from .text import ten_thousandths, thousandths, visible, whole

if TYPE_CHECKING:
    from ..using.run_folder import RunFolder
    from .seed_fit import SeedFit

Ints = NDArray[np.int64]

SUSPICIOUS = 200
"""Edges in the list of the most suspicious ones."""

ODD, UNCERTAIN, LABELS = 100, 100, 100
"""Rows of the other lists."""

JUDGED_NODES = 20_000
"""Nodes of a graph up to which its training labels are judged for the page; it takes seconds there."""


@dataclass(frozen=True, eq=False)
class ToCheck:
    """What the lists of a page hold.

    Attributes:
        doubtful: CSR entries of the edges most likely wrong, as ``gdamn edges`` has them.
        odd: those of kept edges that look wrong; empty for a method without attention.
        nodes: the nodes of the lowest confidence that the model wasn't given the label of.
        labels: positions among the judged training labels, those that are contradicted.
    """

    doubtful: Ints
    odd: Ints
    nodes: Ints
    labels: Ints


def judge(run: RunFolder, fit: SeedFit) -> Judged:
    """Every edge, and the training labels where the graph is small enough."""
    from ..estimators.suspicious_labels import judged_labels
    from ..fit.training import reproducible_threads

    edges = judge_edges(fit)
    if fit.graph.num_nodes > JUDGED_NODES:
        why_not = f"Training labels are judged here up to {whole(JUDGED_NODES)} nodes; gdamn labels RUN judges them."
        return Judged(edges, None, why_not)
    settings = run.spec.settings
    try:
        with reproducible_threads(int(settings.get("threads", 0))):
            labels = judged_labels(fit.graph, "train", str(settings.get("normalize", "auto")), fit.seed)
    except GraphError as problem:
        return Judged(edges, None, visible(problem, 300))
    return Judged(edges, labels)


def to_check(fit: SeedFit, judged: Judged) -> ToCheck:
    """The rows of every list."""
    graph, edges = fit.graph, judged.edges
    odd = np.empty(0, np.int64)
    if fit.weights is not None:
        kept = both_ways(graph, fit.weights["hard"], edges.at) >= CUT_BELOW
        which = np.flatnonzero(kept & edges.looks_wrong)
        odd = edges.at[which[np.argsort(-edges.probability[which], kind="stable")][:ODD]]
    confidence = np.where(graph.train_mask, np.inf, fit.probabilities.max(axis=1))
    nodes = np.argsort(confidence, kind="stable")[: min(UNCERTAIN, int((~graph.train_mask).sum()))]
    labels = np.empty(0, np.int64) if judged.labels is None else judged.labels.contradicted()[:LABELS]
    return ToCheck(edges.at[:SUSPICIOUS], odd, nodes, labels)


def first_nodes(fit: SeedFit, judged: Judged, lists: ToCheck) -> Ints:
    """The nodes that the lists name, in the order of the lists; some twice."""
    entries = np.concatenate([lists.doubtful, lists.odd])
    ends = np.stack([fit.graph.rows[entries], fit.graph.indices[entries]], axis=1).ravel()
    labels = lists.labels if judged.labels is None else judged.labels.nodes[lists.labels]
    return np.concatenate([ends, lists.nodes, labels]).astype(np.int64)


def columns(fit: SeedFit, judged: Judged, lists: ToCheck, number_of: Ints, edges: Ints) -> dict[str, Any]:
    """The lists for the page's script.

    Args:
        number_of: [N] number of a node in the page.
        edges: CSR entries of the page's edges, in order.
    """
    planted = fit.graph.meta.get("planted")
    first = len(lists.doubtful)
    found: dict[str, Any] = {
        "edges": {
            "edge": np.searchsorted(edges, lists.doubtful),
            "suspicion": ten_thousandths(judged.edges.suspicion[:first]),
            **({} if planted is None else {"planted": planted[lists.doubtful].astype(int)}),
        },
        "odd": {"edge": np.searchsorted(edges, lists.odd)},
        "nodes": {"node": number_of[lists.nodes]},
    }
    if judged.labels is not None:
        at, labels = lists.labels, judged.labels
        suggested = labels.probabilities[at].argmax(axis=1)
        found["labels"] = {
            "node": number_of[labels.nodes[at]],
            "probability": thousandths(labels.self_confidence[at]),
            "suggested": suggested,
            "share": thousandths(labels.probabilities[at, suggested]),
        }
    return found


def words(judged: Judged, lists: ToCheck) -> dict[str, Any]:
    """How long the lists are, and what stands above them."""
    return {
        "edges": len(lists.doubtful),
        "odd": len(lists.odd),
        "nodes": len(lists.nodes),
        "labels": judged.why_not if judged.labels is None else judged.labels.summary(),
        "contradicted": len(lists.labels),
    }
