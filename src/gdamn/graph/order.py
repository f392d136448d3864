"""Nodes of a large graph renumbered for the time of a fit, so that neighbours lie near each other in memory.

A sparse product reads one row of the dense side per entry. Beyond the cache a row far away costs a wait; after reverse
Cuthill–McKee most neighbours are close by (docs/evidence/performance.md has the times). What a fit leaves behind is put
back into the caller's order (model/fitted_state.py), so that nobody sees the renumbering.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from .graph import Graph, reverse_map

NODES = 65_536
"""Smaller graphs stay as they are: their rows fit into the cache."""
ENTRIES = 1 << 25
"""Larger ones too: the copy would cost more memory than the order is worth."""
GAIN = 0.5
"""The order is taken where it brings neighbours at least this much nearer, in the mean."""


def local_order(graph: Graph) -> NDArray[np.int64] | None:
    """[N] the nodes in reverse Cuthill–McKee order; None where it wouldn't pay."""
    if graph.num_nodes < NODES or not 0 < len(graph.indices) <= ENTRIES:
        return None
    order = cuthill_mckee(graph)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    nearer = np.abs(place[graph.rows] - place[graph.indices]).mean()
    return order if nearer <= GAIN * np.abs(graph.rows - graph.indices).mean() else None


def cuthill_mckee(graph: Graph) -> NDArray[np.int64]:
    """[N] the nodes in reverse Cuthill–McKee order."""
    ones = np.ones(len(graph.indices), np.int8)
    indptr = graph.indptr.astype(np.int32)
    matrix = sp.csr_matrix((ones, graph.indices, indptr), shape=(graph.num_nodes, graph.num_nodes))
    order: NDArray[np.int64] = reverse_cuthill_mckee(matrix, symmetric_mode=not graph.directed).astype(np.int64)
    return order


def renumbered(graph: Graph, order: NDArray[np.int64]) -> tuple[Graph, NDArray[np.int64]]:
    """The graph with its nodes in this order, and where each of its entries [E] was before."""
    count = np.arange(len(graph.indices), dtype=np.int64)
    matrix = sp.csr_array((count, graph.indices, graph.indptr), shape=(graph.num_nodes, graph.num_nodes))
    matrix = matrix[order][:, order]
    matrix.sort_indices()
    entries: NDArray[np.int64] = matrix.data
    indptr, indices = matrix.indptr.astype(graph.indptr.dtype), matrix.indices.astype(np.int32)
    moved = replace(
        graph,
        indptr=indptr,
        indices=indices,
        reverse=reverse_map(indptr, indices),
        weights=None if graph.weights is None else graph.weights[entries],
        features=graph.features[order],
        labels=graph.labels[order],
        train_mask=graph.train_mask[order],
        val_mask=graph.val_mask[order],
        test_mask=graph.test_mask[order],
        node_ids=graph.node_ids[order],
        label_weights=None if graph.label_weights is None else graph.label_weights[order],
        confirmed=None if graph.confirmed is None else graph.confirmed[entries],
    )
    return moved, entries
