"""What a person should look at first, in three queues: edges, training labels, and nodes without a label.

Each queue is the order that a command of its own has (``gdamn edges``, ``labels``, ``suggest``). Edges are ordered by
how much is at stake, too: an edge that carries nothing into an uncertain node is not worth a look, however wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from ..estimators.suggestions import suggest
from .ranking import pairs, suspects

if TYPE_CHECKING:
    from ..estimators.base import NodeClassifier
    from ..estimators.predictions import Predictions
    from ..graph.graph import Graph

Floats = NDArray[np.float64]

QUEUES = ("edges", "labels", "nodes")

MOST = 200
"""Items of a queue: more than anybody answers before training again."""


RULE = "coverage"
"""How nodes to label are chosen (estimators/suggestions.py)."""

LEAST = 1e-3
"""No edge weighs less than this share of what it does."""


@dataclass(frozen=True)
class Queue:
    """Items to decide about, the most useful first.

    Attributes:
        items: plain data: ``kind``, ``node``, ``other`` (of an edge), the numbers of the nodes (``ends``), and why.
        note: why there are none, in a sentence.
    """

    items: list[dict[str, Any]] = field(default_factory=list)
    note: str = ""


def make_queues(model: NodeClassifier, predictions: Predictions, most: int = MOST) -> dict[str, Queue]:
    """All queues of a fitted model, by the names of :data:`QUEUES`."""
    return {
        "edges": edge_queue(model, predictions, most),
        "labels": label_queue(model, predictions.graph, most),
        "nodes": node_queue(model, predictions, most),
    }


def edge_queue(model: NodeClassifier, predictions: Predictions, most: int = MOST) -> Queue:
    """Edges most likely wrong among those that matter: suspicion times influence, the highest first."""
    graph = predictions.graph
    count = len(pairs(graph))
    if not count:
        return Queue(note="The graph has no edges.")
    ranked = suspects(graph, predictions.probabilities, model.state_, count)
    at, suspicion = ranked.at, ranked.suspicion
    if graph.confirmed is not None:
        open_edges = ~graph.confirmed[at]
        at, suspicion = at[open_edges], suspicion[open_edges]
    doubt = np.where(graph.train_mask, 0.0, 1 - predictions.confidence)  # what is known needs no neighbour
    stake = influence(graph, doubt)[at]
    order = np.argsort(-suspicion * stake, kind="stable")[:most]
    ends = graph.rows[at[order]], graph.indices[at[order]]
    source, target = ends[::-1] if graph.directed else ends  # an undirected edge begins at the earlier node
    return Queue(
        [
            {
                "kind": "edge",
                "node": str(graph.node_ids[a]),
                "other": str(graph.node_ids[b]),
                "ends": [int(a), int(b)],
                "suspicion": float(suspicion[number]),
                "influence": float(stake[number]),
            }
            for number, a, b in zip(order, source, target, strict=True)
        ]
    )


def influence(graph: Graph, doubt: Floats) -> Floats:
    """[E] what hangs on an edge: Σ over its directions of the weight that it carries times the doubt [N] about the end.

    The weight of j at i is a_ij / Σ_k a_ik over i and its neighbours, with a the plain graph's weights: what the edge
    carries where nobody doubts it, so that an edge that the attention has cut can still be called right.
    """
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights.astype(np.float64)
    total = 1 + np.bincount(graph.rows, weights, minlength=graph.num_nodes)
    carried = weights / total[graph.rows] * doubt[graph.rows]
    back = graph.reverse
    stake: Floats = carried + np.where(back >= 0, carried[back], 0.0)
    return stake


def label_queue(model: NodeClassifier, graph: Graph, most: int = MOST) -> Queue:
    """Training labels that models contradict which have not seen them, the least credible first."""
    try:
        judged = model.judged_labels("train", graph)
    except GraphError as problem:
        return Queue(note=str(problem))
    at, table = judged.contradicted()[:most], judged.table(most)
    rows = [{name: plain(values[number]) for name, values in table.items()} for number in range(len(at))]
    items = [
        {**row, "kind": "label", "node": str(row["node"]), "ends": [int(judged.nodes[position])]}
        for row, position in zip(rows, at, strict=True)
    ]
    return Queue(items, "" if items else "No training label is contradicted.")


def node_queue(model: NodeClassifier, predictions: Predictions, most: int = MOST) -> Queue:
    """Nodes whose label would help most, the most useful first: those that stand for many others.

    Nodes are alike where their neighbourhoods are. Where the model has judged its edges (fit/field), each edge counts
    as far as it is trusted: on noisy graphs that, and the rule ``coverage``, gained most (docs/evidence/review.md).
    """
    try:
        table = suggest(replace(predictions, graph=trusted(predictions.graph, model)), most, RULE)
    except GraphError as problem:
        return Queue(note=str(problem))
    number_of = {name: at for at, name in enumerate(predictions.graph.node_ids.tolist())}
    rows = [{name: plain(values[number]) for name, values in table.items()} for number in range(len(table["node"]))]
    return Queue([{**row, "kind": "node", "node": str(row["node"]), "ends": [number_of[row["node"]]]} for row in rows])


def trusted(graph: Graph, model: NodeClassifier) -> Graph:
    """The graph whose edges weigh as much as the model trusts them; as it is where the model has not judged them."""
    judged = model.state_.judged
    if judged is None:
        return graph
    reliability = np.maximum(judged[1], LEAST).astype(np.float32)
    return replace(graph, weights=reliability if graph.weights is None else graph.weights * reliability)


def plain(value: Any) -> Any:
    """A cell of a table as plain data."""
    return value.item() if hasattr(value, "item") else value
