"""What the script of a page knows: nodes, edges, the map and the lists of what to check, as columns of plain numbers.

A graph that is small enough is there as a whole. Of a larger one, some nodes can be looked at (those asked for, those
that the lists name, then nodes met by random walks), each with its neighbours; the page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from ..using.ranking import pairs
from . import check_next
from .graph_map import MAP_NODES, make_map
from .judged_edges import LOOKS_WRONG
from .measures import CUT_BELOW, degrees
from .sample import walked
from .text import as_whole, ten_thousandths, thousandths, visible

if TYPE_CHECKING:
    from .check_next import ToCheck
    from .findings import Judged
    from .graph_map import GraphMap
    from .node_names import NodeNames
    from .seed_fit import SeedFit

NODES, EDGES = 20_000, 50_000
"""Most nodes and edges of a graph that is in the page as a whole; they make about 4 MB."""

PART_NODES = 36_000
"""Most nodes of a part of a larger graph; of most of them only the id and the class are told."""

NEIGHBOURS = 60
"""Most neighbours of a node where not all of the graph is shown."""

TOP = 5
"""Probabilities that are kept of a node: the highest ones."""

SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class Budget:
    """The most that a page may hold."""

    nodes: int = NODES
    edges: int = EDGES
    part_nodes: int = PART_NODES

    def half(self) -> Budget:
        """Half of it."""
        return Budget(self.nodes // 2, self.edges // 2, self.part_nodes // 2)


@dataclass(frozen=True, eq=False)
class Selection:
    """The part of the graph that is shown.

    Attributes:
        nodes: node numbers, those that can be looked at first.
        centres: how many of them these are.
        edges: positions of CSR entries, one per edge, in order.
        mapped: node numbers of the map; all of them can be looked at.
    """

    nodes: NDArray[np.int64]
    centres: int
    edges: NDArray[np.int64]
    mapped: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shown:
    """What is to be shown of a seed: its fit, what was judged, the lists, and the names of the nodes."""

    fit: SeedFit
    judged: Judged
    lists: ToCheck
    names: NodeNames


def explorer(shown: Shown, budget: Budget, node_ids: Sequence[str] = ()) -> dict[str, Any]:
    """The data of the script."""
    fit = shown.fit
    graph = fit.graph
    chosen = select(shown, budget, find(fit, node_ids))
    number_of = np.full(graph.num_nodes, -1, np.int64)
    number_of[chosen.nodes] = np.arange(len(chosen.nodes))
    at = chosen.edges
    data: dict[str, Any] = {
        "classes": [visible(name) for name in graph.class_names],
        "nodes": node_columns(fit, chosen) | shown.names.columns(graph, chosen.nodes[: chosen.centres]),
        "centres": chosen.centres,
        "edges": {"a": number_of[graph.rows[at]], "b": number_of[graph.indices[at]]},
        "directed": graph.directed,
        "attention": fit.weights is not None,
        "cutBelow": CUT_BELOW,
        "totalNodes": graph.num_nodes,
        "totalEdges": graph.num_edges,
    }
    if graph.weights is not None:
        data["edges"]["before"] = thousandths(graph.weights[at])
    if fit.weights is not None:
        data["edges"] |= weight_columns(fit, at)
    data["edges"]["wrong"] = in_hundredths(shown.judged.edges.by_entry(len(graph.indices))[at])
    data["map"] = map_columns(make_map(fit, chosen), number_of, at)
    data["check"] = check_next.columns(fit, shown.judged, shown.lists, number_of, at)
    return data


def in_hundredths(probability: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rounded, but on their side of ½: 51 or more for an edge that looks wrong."""
    rounded, half = as_whole(probability, 100), round(100 * LOOKS_WRONG)
    return np.where(probability > LOOKS_WRONG, np.maximum(rounded, half + 1), np.minimum(rounded, half))


def map_columns(drawn: GraphMap, number_of: NDArray[np.int64], at: NDArray[np.int64]) -> dict[str, Any]:
    """Nodes and edges of the map by their numbers in the page, places in thousandths, strengths in hundredths."""
    columns = {
        "node": number_of[drawn.nodes],
        "x": thousandths(drawn.place[:, 0]),
        "y": thousandths(drawn.place[:, 1]),
        "before": as_whole(drawn.before, 100),
    }
    whole = np.array_equal(drawn.edges, at)
    columns |= {} if whole else {"edge": np.searchsorted(at, drawn.edges)}
    return columns | ({} if drawn.after is None else {"after": as_whole(drawn.after, 100)})


def find(fit: SeedFit, node_ids: Sequence[str]) -> list[int]:
    """The numbers of nodes that were asked for by their ids."""
    if not node_ids:
        return []
    by_id = {str(name): number for number, name in enumerate(fit.graph.node_ids.tolist())}
    for name in node_ids:
        if name not in by_id:
            raise ConfigError(f"The graph has no node '{name}'; give an id that stands in predictions.csv.")
    return [by_id[name] for name in node_ids]


def select(shown: Shown, budget: Budget, asked: Sequence[int]) -> Selection:
    """The whole graph where it fits, else as many nodes with their neighbours as do."""
    fit, lists = shown.fit, shown.lists
    graph = fit.graph
    all_pairs = pairs(graph)
    listed = check_next.first_nodes(fit, shown.judged, lists)
    order = np.concatenate([np.asarray(asked, np.int64), listed, walked(graph, budget.part_nodes)])
    order = order[np.sort(np.unique(order, return_index=True)[1])]
    if graph.num_nodes <= budget.nodes and len(all_pairs) <= budget.edges:
        everything = np.arange(graph.num_nodes)
        mapped = everything if graph.num_nodes <= MAP_NODES else np.sort(order[:MAP_NODES])
        return Selection(everything, graph.num_nodes, all_pairs, mapped)
    named = np.union1d(lists.doubtful, lists.odd)
    count = min(len(order), 2 * MAP_NODES)
    while True:
        centres = order[:count]
        entries = entries_of(fit, centres)
        back = graph.reverse[entries]
        first = entries if graph.directed else np.where(graph.rows[entries] < graph.indices[entries], entries, back)
        edges = np.union1d(first, named)
        others = np.setdiff1d(np.concatenate([graph.rows[edges], graph.indices[edges]]), centres)
        if (len(edges) <= budget.edges and len(centres) + len(others) <= budget.part_nodes) or count <= 1:
            return Selection(np.concatenate([centres, others]), len(centres), edges, centres[:MAP_NODES])
        count = int(count * 0.8)


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


def node_columns(fit: SeedFit, chosen: Selection) -> dict[str, Any]:
    """Ids, labels, splits, degrees and the highest probabilities, calibrated; of nodes beyond the centres the class."""
    graph, nodes = fit.graph, chosen.nodes
    centres, others = nodes[: chosen.centres], nodes[chosen.centres :]
    split = np.full(graph.num_nodes, len(SPLITS))
    for number, name in enumerate(SPLITS):
        split[graph.mask(name)] = number
    probabilities = fit.probabilities[centres]
    top = np.argsort(-probabilities, axis=1, kind="stable")[:, :TOP]
    return {
        "id": [visible(name) for name in graph.node_ids[nodes].tolist()],
        "label": graph.labels[nodes],
        "split": split[centres],
        "degree": degrees(graph)[centres],
        "top": top.ravel(),
        "share": thousandths(np.take_along_axis(probabilities, top, axis=1).ravel()),
        "tops": top.shape[1],
        "guess": fit.probabilities[others].argmax(axis=1),
    }


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
