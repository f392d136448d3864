"""New nodes beside a graph: which of them it knows, and the graph of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import GraphError
from .graph import Graph
from .node_ids import id_array
from .validation import as_features

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Extension:
    """Nodes that somebody asks about, in a graph that may have others beside them.

    Attributes:
        graph: all of the nodes.
        rows: [M] the numbers of those that are asked about.
        known: [N] each node's number in the older graph, -1 for new ones and for those with other features.
    """

    graph: Graph
    rows: Ints
    known: Ints

    def asked(self) -> Graph:
        """The nodes that are asked about, without edges: their ids, features and labels."""
        g, nothing = self.graph, np.empty(0, np.int32)
        return replace(
            g,
            indptr=np.zeros(len(self.rows) + 1, np.int64),
            indices=nothing,
            reverse=nothing,
            weights=None,
            features=g.features[self.rows],
            labels=g.labels[self.rows],
            train_mask=g.train_mask[self.rows],
            val_mask=g.val_mask[self.rows],
            test_mask=g.test_mask[self.rows],
            node_ids=g.node_ids[self.rows],
            confirmed=None,
        )


def like(graph: Graph, older: Graph) -> Any:
    """The graph's features, sparse or dense as those of the older graph are."""
    return as_held(graph.features, older.is_sparse)


def as_held(features: Any, sparse: bool) -> Any:
    """Features, sparse or dense."""
    if bool(sp.issparse(features)) == sparse:
        return features
    return sp.csr_array(features) if sparse else features.toarray()


def known_nodes(graph: Graph, older: Graph) -> Ints:
    """[N] number in the older graph of each node, -1 for new ones: the same node has the same id and features.

    The features are compared too, because row numbers as ids say nothing about who a node is.
    """
    numbers = numbers_of(graph.node_ids, older)
    shared = np.flatnonzero(numbers >= 0)
    if len(shared) == 0 or graph.num_features != older.num_features:
        return np.full(graph.num_nodes, -1, np.int64)
    differs = differing(like(graph, older)[shared], older.features[numbers[shared]])
    numbers[shared[differs]] = -1
    return numbers


def numbers_of(ids: NDArray[Any], older: Graph) -> Ints:
    """[M] the number of the node with each id in a graph, -1 where there is none."""
    number_of = {str(name): at for at, name in enumerate(older.node_ids.tolist())}
    return np.array([number_of.get(str(name), -1) for name in ids.tolist()], np.int64)


def differing(one: Any, other: Any) -> NDArray[np.bool_]:
    """[M] which rows of two matrices differ."""
    gap: Any = abs(one - other)
    furthest = gap.max(axis=1).toarray() if sp.issparse(gap) else gap.max(axis=1)
    differs: NDArray[np.bool_] = furthest.ravel() > 0
    return differs


def joined(
    older: Graph, rows: Ints, ids: NDArray[Any], features: Any, edges: NDArray[Any], weights: Any = None
) -> Extension:
    """The older graph with more nodes and edges; a node that it has gets the features that are given now.

    Args:
        rows: [M] the number of each given node: its own in the older graph, or N, N + 1, … in their order.
        ids: [M]; features: [M, F].
        edges: [2, E] by these numbers; weights: [E], or None where all are 1.
    """
    n, total = older.num_nodes, max(older.num_nodes, int(rows.max(initial=-1)) + 1)
    x = as_held(features, older.is_sparse)
    old = np.flatnonzero(rows < n)
    changed = old[differing(x[old], older.features[rows[old]])] if len(old) else old
    take = np.concatenate([np.arange(n), n + np.flatnonzero(rows >= n)])
    take[rows[changed]] = n + changed
    both: Any = sp.vstack([older.features, x], format="csr") if older.is_sparse else np.vstack([older.features, x])
    known = np.concatenate([np.arange(n), np.full(total - n, -1)])
    known[rows[changed]] = -1
    graph = Graph.build(
        np.concatenate([edges, np.stack([older.indices, older.rows])], axis=1),
        both[take],
        np.concatenate([older.labels, np.full(total - n, -1)]),
        weights=_weights(older, edges.shape[1], weights),
        class_names=older.class_names,
        name=older.name,
        directed=older.directed,
    )
    every = id_array([*older.node_ids.tolist(), *ids[rows >= n].tolist()])
    return Extension(replace(graph, node_ids=every), rows, known)


def _weights(older: Graph, count: int, weights: Any) -> NDArray[np.float32] | None:
    """Weights of the new edges and of the older graph's entries; None where all are 1."""
    if older.weights is None and weights is None:
        return None
    first = np.ones(count, np.float32) if weights is None else np.asarray(weights, np.float32)
    second = np.ones(len(older.indices), np.float32) if older.weights is None else older.weights
    return np.concatenate([first, second])


def with_arrays(older: Graph, features: Any, edges: Any = None) -> Extension:
    """The older graph with nodes N, N + 1, … of these features [M, F] and edges [2, E] of both."""
    x = as_features(features, None, 2.0 if older.is_sparse else 0.0)
    if x.shape[1] != older.num_features:
        raise GraphError(f"The new nodes have {x.shape[1]} features, but those of the fit have {older.num_features}.")
    numbers = older.num_nodes + np.arange(x.shape[0], dtype=np.int64)
    pairs = np.asarray(edges.cpu() if hasattr(edges, "cpu") else edges) if edges is not None else np.empty((2, 0))
    if pairs.size and (pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.dtype.kind not in "iu"):
        raise GraphError(f"Edges must be an integer array of shape [2, edges]; got {pairs.dtype} of {pairs.shape}.")
    return joined(older, numbers, numbers, x, pairs.reshape(2, -1).astype(np.int64))
