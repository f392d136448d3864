"""The reference as plain data: a row per method, and two sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...estimators.accuracy import measured
from . import judging
from .judging import Judged
from .verdict import TITLES, edges_verdict, gdamn_verdict

if TYPE_CHECKING:
    from ...graph.graph import Graph

MOST_LABELS = 2_000
"""Training labels that are used; of more, so many are drawn."""

MOST_NODES = 200_000
"""Larger graphs get no reference."""

MOST_NODES_GCN = 20_000
"""Larger graphs get no GCN: its folds would take longer than all others together."""

GCN_FOLDS = 3
"""Folds that a GCN is trained for."""

FEWEST = 8
"""Judged labels below which nothing is said."""


def reference(graph: Graph, *, start: bool | str, seed: int) -> dict[str, Any]:
    """Simple methods on the training labels of a graph, cross-fitted.

    Args:
        start: whether the regressions that gdamn starts from are judged as well; a fit that has done so gives its
            marks (fit/multihop/cross_fitting.py), and they aren't fitted again.
        seed: of the folds: the run's first, so that they are those of gdamn's start.
    """
    if graph.num_nodes > MOST_NODES:
        return {"notes": [f"There is no reference: the graph has more than {MOST_NODES:,} nodes."]}
    labels = int(graph.train_mask.sum())
    graph = judging.drawn_labels(graph, MOST_LABELS, seed)
    folds = judging.folds(graph, seed)
    nodes = int(judging.asked(folds).sum())
    if nodes < FEWEST:
        return {"notes": [f"There is no reference: it takes {FEWEST} labels that can be held out in turn."]}
    with_gcn = graph.num_nodes <= MOST_NODES_GCN
    rows = {
        "majority": judging.majority(graph, folds),
        **judging.regressions(graph, folds),
        "lpa": judging.estimator("lpa", graph, folds, seed),
        **({"gcn": judging.estimator("gcn", graph, folds[:GCN_FOLDS], seed)} if with_gcn else {}),
        **({"start": judging.start(graph, folds, seed, start)} if start else {}),
    }
    notes = []
    if labels > MOST_LABELS:
        notes.append(f"The reference uses {MOST_LABELS:,} of {labels:,} training labels.")
    if not with_gcn:
        notes.append(f"GCN is left out: the graph has more than {MOST_NODES_GCN:,} nodes.")
    return {"nodes": nodes, "seed": seed, "methods": table(rows), **verdicts(graph, rows), "notes": notes}


def table(rows: Mapping[str, Judged]) -> list[dict[str, Any]]:
    """Accuracy, nodes and 95 % interval of each method."""
    listed = []
    for name in (name for name in TITLES if name in rows):
        nodes = int(rows[name].judged.sum())
        right = float(rows[name].right[rows[name].judged].mean())
        listed.append({"name": name, "title": TITLES[name], **measured(right, nodes)})
    return listed


def verdicts(graph: Graph, rows: Mapping[str, Judged]) -> dict[str, Any]:
    """What the folds say of the edges, and of gdamn."""
    structural = graph.meta.get("encoder", {}).get("kind") == "structural"
    return {"edges": edges_verdict(rows, structural), "gdamn": gdamn_verdict(rows)}
