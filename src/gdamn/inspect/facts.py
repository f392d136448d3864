"""What a graph is before anything is trained on it: plain numbers for a table, a plot and JSON.

Labels of a test set stay unread: classes and edges between them are counted from the other labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..graph.graph import Graph
from ..graph.normalisation import automatic

Z = 1.96
"""A 95 % interval."""


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts as plain data, and the arrays that the plot draws.

    Attributes:
        data: what ``--json`` prints.
        degrees: [N] neighbours of each node.
        components: sizes, largest first.
        mixing: [C, C] edges between known labels, both directions.
    """

    data: dict[str, Any]
    degrees: NDArray[np.int64]
    components: NDArray[np.int64]
    mixing: NDArray[np.int64]


def collect(graph: Graph, from_files: Mapping[str, Any] | None = None) -> Facts:
    """The facts of a graph.

    Args:
        from_files: what only its files tell: ``dangling``, ``duplicates``, ``reversed`` and notes.
    """
    labels = np.where(graph.test_mask, -1, graph.labels)
    degrees = _degrees(graph)
    number, component = _components(graph)
    sizes = np.sort(np.bincount(component, minlength=number))[::-1]
    mixing = mixing_matrix(graph, labels)
    data = {
        "name": graph.name,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "directed": graph.directed,
        "weights": _weights(graph),
        "self_loops": int(graph.meta.get("dropped_self_loops", 0)),
        **{"duplicate_edges": None, "reversed_edges": None, "dangling_edges": 0, **(from_files or {})},
        "components": {
            "number": int(number),
            "largest": int(sizes[0]),
            "without_label": _without_label(component, labels),
        },
        "isolated_nodes": int((degrees == 0).sum()),
        "degree": _degree_facts(degrees),
        "features": _feature_facts(graph),
        "labels": _label_facts(graph, labels),
        "splits": {name: int(graph.mask(name).sum()) for name in ("train", "val", "test")},
        "between_classes": between(mixing, graph.directed),
        "spurious": _spurious(graph),
    }
    return Facts(data, degrees, sizes, mixing)


def _spurious(graph: Graph) -> dict[str, Any] | None:
    """The share of edges that look as if they were drawn by lot, and how many a fit would cut; None where unknown."""
    from ..estimators.spurious import MOST_EDGES, spurious_edges

    if graph.num_features == 0 or not 0 < graph.num_edges <= MOST_EDGES:
        return None
    found = spurious_edges(graph)
    cut = int(found.cut().sum())
    return {"share": round(found.share, 4), "cut": cut if graph.directed else cut // 2}


def edge_counts(edges: NDArray[np.int64], n: int) -> dict[str, int]:
    """Edges that stand more than once, and those that stand in both directions; loops aside."""
    a, b = edges[:, edges[0] != edges[1]]
    codes = np.unique(a * n + b)
    back = np.isin((codes % n) * n + codes // n, codes, assume_unique=True)
    return {"duplicate_edges": len(a) - len(codes), "reversed_edges": int(back.sum()) // 2}


def _degrees(graph: Graph) -> NDArray[np.int64]:
    """[N] neighbours in either direction."""
    degrees: NDArray[np.int64]
    if not graph.directed:
        degrees = np.diff(graph.indptr)
        return degrees
    shape = (graph.num_nodes, graph.num_nodes)
    matrix = sp.csr_array((np.ones(len(graph.indices), np.int8), graph.indices, graph.indptr), shape=shape)
    degrees = np.diff((matrix + matrix.T).tocsr().indptr).astype(np.int64)
    return degrees


def _components(graph: Graph) -> tuple[int, NDArray[np.int32]]:
    from scipy.sparse.csgraph import connected_components

    shape = (graph.num_nodes, graph.num_nodes)
    matrix = sp.csr_array((np.ones(len(graph.indices), np.int8), graph.indices, graph.indptr), shape=shape)
    number, component = connected_components(matrix, directed=graph.directed, connection="weak")
    return int(number), component


def _without_label(component: NDArray[np.int32], labels: NDArray[np.int64]) -> int:
    """Nodes in components in which no label is known."""
    labelled = np.zeros(int(component.max()) + 1, bool)
    labelled[component[labels >= 0]] = True
    return int((~labelled[component]).sum())


def _weights(graph: Graph) -> dict[str, float] | None:
    if graph.weights is None:
        return None
    return {"least": float(graph.weights.min()), "largest": float(graph.weights.max())}


def _degree_facts(degrees: NDArray[np.int64]) -> dict[str, Any]:
    """Five numbers, and how many nodes have 0, 1, 2-3, 4-7, … neighbours."""
    least, lower, median, upper, most = (float(q) for q in np.quantile(degrees, (0, 0.25, 0.5, 0.75, 1)))
    return {
        **{"least": least, "lower_quartile": lower, "median": median, "upper_quartile": upper, "largest": most},
        "mean": float(degrees.mean()),
        "nodes_by_degree": by_doubling(degrees),
    }


def by_doubling(sizes: NDArray[np.int64]) -> dict[str, int]:
    """How many sizes are 0, 1, 2-3, 4-7, …; it begins where the sizes do."""
    bits = np.frexp(sizes.astype(np.float64))[1]  # 0 has 0 bits, 1 has 1, 2 and 3 have 2
    counts = np.bincount(bits)
    bins = {}
    for at in range(int(bits.min()), len(counts)):
        low, high = (0, 0) if at == 0 else (2 ** (at - 1), 2**at - 1)
        bins[str(low) if low == high else f"{low}-{high}"] = int(counts[at])
    return bins


def _feature_facts(graph: Graph) -> dict[str, Any]:
    """Count, share of non-zeros, constant columns, empty rows and the largest value."""
    x: Any = graph.features
    rows, columns = x.shape
    if columns == 0:
        return {
            "number": 0,
            "non_zero_share": None,
            "constant": 0,
            "empty_rows": 0,
            "largest": None,
            "normalize": "none",
        }
    if graph.is_sparse:
        csc = x.tocsc()
        low, high = (np.asarray(part.todense()).reshape(-1) for part in (csc.min(axis=0), csc.max(axis=0)))
        filled, values = np.diff(x.indptr), x.data
    else:
        low, high = x.min(axis=0), x.max(axis=0)
        filled, values = np.count_nonzero(x, axis=1), x
    return {
        "number": int(columns),
        "non_zero_share": float(filled.sum() / (rows * columns)),
        "constant": int((low == high).sum()),
        "empty_rows": int((filled == 0).sum()),
        "largest": float(np.abs(values).max(initial=0)),
        "normalize": automatic([x]),
    }


def _label_facts(graph: Graph, labels: NDArray[np.int64]) -> dict[str, Any]:
    counts = np.bincount(labels[labels >= 0], minlength=graph.num_classes)
    present = counts[counts > 0]
    return {
        "known": int(counts.sum()),
        "rate": float(counts.sum() / graph.num_nodes),
        "hidden_test": int((graph.test_mask & (graph.labels >= 0)).sum()),
        "classes": {name: int(count) for name, count in zip(graph.class_names, counts, strict=True)},
        "balance": float(present.max() / present.min()) if len(present) else None,
    }


def mixing_matrix(graph: Graph, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """[C, C] entries of the graph between each two classes, known labels only."""
    c = max(graph.num_classes, 1)
    a, b = labels[graph.rows], labels[graph.indices]
    known = (a >= 0) & (b >= 0)
    return np.bincount(a[known] * c + b[known], minlength=c * c).reshape(c, c)


def between(mixing: NDArray[np.int64], directed: bool = False) -> dict[str, Any]:
    """The share of edges between classes among those whose ends are known, and what it says of all edges.

    Known edges are a sample of all; Wilson's interval tells how much they say. ``by_chance`` is the share that edges
    drawn at random between the same ends would have.
    """
    total = int(mixing.sum())
    if total == 0:
        return {"known_edges": 0, "homophily": None, "share": None, "low": None, "high": None, "by_chance": None}
    pairs = total if directed else total / 2
    share = float(1 - np.trace(mixing) / total)
    middle = (share + Z * Z / (2 * pairs)) / (1 + Z * Z / pairs)
    half = Z * math.sqrt(share * (1 - share) / pairs + Z * Z / (4 * pairs * pairs)) / (1 + Z * Z / pairs)
    ends = mixing.sum(axis=1) / total
    return {
        "known_edges": round(pairs),
        "homophily": 1 - share,
        "share": share,
        "low": max(0.0, middle - half),
        "high": min(1.0, middle + half),
        "by_chance": float(1 - (ends * mixing.sum(axis=0) / total).sum()),
    }
