"""What the explorer of a page knows: nodes, edges and the most suspicious edges, as columns of plain numbers.

A graph that is small enough is there as a whole. Of a larger one, some nodes can be looked at (those asked for, the
ends of the most suspicious edges, then nodes drawn by lot), each with its neighbours; the page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from ..using.ranking import pairs, suspects
from .measures import CUT_BELOW
from .text import visible

if TYPE_CHECKING:
    from ..graph.graph import Graph
    from .seed_fit import SeedFit

NODES, EDGES = 20_000, 50_000
"""Most nodes and edges in a page; with five probabilities a node they make about 3 MB."""

NEIGHBOURS = 60
"""Most neighbours of a node where not all of the graph is shown."""

SUSPICIOUS = 200
"""Edges in the list of the most suspicious ones."""

TOP = 5
"""Probabilities that are kept of a node: the highest ones."""

SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class Budget:
    """The most that a page may hold."""

    nodes: int = NODES
    edges: int = EDGES

    def half(self) -> Budget:
        """Half of it."""
        return Budget(self.nodes // 2, self.edges // 2)


@dataclass(frozen=True)
class Selection:
    """The part of the graph that is shown.

    Attributes:
        nodes: node numbers, those that can be looked at first.
        centres: how many of them these are.
        edges: positions of CSR entries, one per edge.
    """

    nodes: NDArray[np.int64]
    centres: int
    edges: NDArray[np.int64]


def explorer(fit: SeedFit, budget: Budget, node_ids: Sequence[str] = ()) -> dict[str, Any]:
    """The explorer's data."""
    graph, weights = fit.graph, fit.weights
    all_pairs = pairs(graph)
    ranked = suspects(graph, fit.probabilities, fit.state, SUSPICIOUS)
    chosen = select(fit, all_pairs, ranked.at, budget, find(fit, node_ids))
    number_of = np.full(graph.num_nodes, -1, np.int64)
    number_of[chosen.nodes] = np.arange(len(chosen.nodes))
    at = chosen.edges
    data: dict[str, Any] = {
        "classes": [visible(name) for name in graph.class_names],
        "nodes": node_columns(fit, chosen.nodes),
        "centres": chosen.centres,
        "edges": {"a": number_of[graph.rows[at]], "b": number_of[graph.indices[at]]},
        "directed": graph.directed,
        "attention": weights is not None,
        "cutBelow": CUT_BELOW,
        "totalNodes": graph.num_nodes,
        "totalEdges": graph.num_edges,
    }
    if graph.weights is not None:
        data["edges"]["before"] = thousandths(graph.weights[at])
    if weights is not None:
        data["edges"] |= weight_columns(fit, at)
    planted = graph.meta.get("planted")
    data["suspicious"] = {
        "edge": np.searchsorted(at, ranked.at) if len(at) else [],
        "suspicion": ten_thousandths(ranked.suspicion),
        "differ": thousandths(ranked.differ),
        **({} if planted is None else {"planted": planted[ranked.at].astype(int)}),
    }
    return data


def find(fit: SeedFit, node_ids: Sequence[str]) -> list[int]:
    """The numbers of nodes that were asked for by their ids."""
    if not node_ids:
        return []
    by_id = {str(name): number for number, name in enumerate(fit.graph.node_ids.tolist())}
    for name in node_ids:
        if name not in by_id:
            raise ConfigError(f"The graph has no node '{name}'; give an id that stands in predictions.csv.")
    return [by_id[name] for name in node_ids]


def select(
    fit: SeedFit, all_pairs: NDArray[np.int64], suspects: NDArray[np.int64], budget: Budget, first_nodes: Sequence[int]
) -> Selection:
    """The whole graph where it fits, else as many nodes with their neighbours as do."""
    graph = fit.graph
    if graph.num_nodes <= budget.nodes and len(all_pairs) <= budget.edges:
        return Selection(np.arange(graph.num_nodes), graph.num_nodes, all_pairs)
    ends = np.stack([graph.rows[suspects], graph.indices[suspects]], axis=1).ravel()
    lot = np.random.default_rng(0).permutation(graph.num_nodes)
    order = np.concatenate([np.asarray(first_nodes, np.int64), ends, lot])
    order = order[np.sort(np.unique(order, return_index=True)[1])]
    count = len(order)
    while True:
        centres = order[:count]
        entries = entries_of(fit, centres)
        back = graph.reverse[entries]
        first = entries if graph.directed else np.where(graph.rows[entries] < graph.indices[entries], entries, back)
        edges = np.union1d(first, suspects)
        others = np.setdiff1d(np.concatenate([graph.rows[edges], graph.indices[edges]]), centres)
        if (len(edges) <= budget.edges and len(centres) + len(others) <= budget.nodes) or count <= 1:
            return Selection(np.concatenate([centres, others]), len(centres), edges)
        count = int(count * 0.8) if count < 5000 else count // 2


def entries_of(fit: SeedFit, centres: NDArray[np.int64]) -> NDArray[np.int64]:
    """The CSR entries of some rows, at most :data:`NEIGHBOURS` each: half the weakest, half the strongest."""
    graph = fit.graph
    entries = []
    for node in centres.tolist():
        row = np.arange(graph.indptr[node], graph.indptr[node + 1])
        if len(row) > NEIGHBOURS:
            if fit.weights is not None:
                row = row[np.argsort(fit.weights["hard"][row], kind="stable")]
            row = np.concatenate([row[: NEIGHBOURS // 2], row[-(NEIGHBOURS // 2) :]])
        entries.append(row)
    return np.concatenate(entries) if entries else np.empty(0, np.int64)


def node_columns(fit: SeedFit, nodes: NDArray[np.int64]) -> dict[str, Any]:
    """Ids, labels, predictions, splits, degrees and the highest probabilities, calibrated."""
    graph = fit.graph
    split = np.full(graph.num_nodes, len(SPLITS))
    for number, name in enumerate(SPLITS):
        split[graph.mask(name)] = number
    probabilities = fit.probabilities[nodes]
    top = np.argsort(-probabilities, axis=1, kind="stable")[:, :TOP]
    return {
        "id": [visible(name) for name in graph.node_ids[nodes].tolist()],
        "label": graph.labels[nodes],
        "split": split[nodes],
        "degree": degrees(graph)[nodes],
        "top": top.ravel(),
        "share": thousandths(np.take_along_axis(probabilities, top, axis=1).ravel()),
        "tops": top.shape[1],
    }


def degrees(graph: Graph) -> NDArray[np.int64]:
    """[N] edges at each node; those that come in and those that go out of a directed graph."""
    incoming = np.diff(graph.indptr)
    return incoming + np.bincount(graph.indices, minlength=graph.num_nodes) if graph.directed else incoming


def weight_columns(fit: SeedFit, at: NDArray[np.int64]) -> dict[str, Any]:
    """Hard, soft and stable weight of every edge: what its first end takes from the second, and the way back.

    Where both ways are equal, the way back is left out.
    """
    assert fit.weights is not None
    columns: dict[str, Any] = {}
    back = fit.graph.reverse[at]
    for name, values in fit.weights.items():
        forward = ten_thousandths(values[at])
        backward = np.where(back >= 0, ten_thousandths(values[back]), -1)
        columns[name] = forward
        if not np.array_equal(forward, backward):
            columns[f"{name}Back"] = backward
    return columns


def thousandths(values: NDArray[Any]) -> NDArray[np.int64]:
    """Rounded, as whole numbers, which are short in JSON."""
    whole: NDArray[np.int64] = np.rint(values * 1000.0).astype(np.int64)
    return whole


def ten_thousandths(values: NDArray[Any]) -> NDArray[np.int64]:
    """The same with a digit more: soft weights of well-connected nodes are small."""
    whole: NDArray[np.int64] = np.rint(values * 10_000.0).astype(np.int64)
    return whole
