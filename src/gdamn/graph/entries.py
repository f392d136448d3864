"""Fewer or more edges of a graph, and where an edge stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .graph import Graph, reverse_map
from .validation import merge_edges


def keep_entries(graph: Graph, keep: NDArray[np.bool_]) -> Graph:
    """The graph with these entries of its CSR alone; ``keep`` [E] has both directions of an undirected edge."""
    indptr = np.concatenate([[0], np.cumsum(np.bincount(graph.rows[keep], minlength=graph.num_nodes))]).astype(np.int64)
    indices = graph.indices[keep]
    planted = {"planted": graph.meta["planted"][keep]} if "planted" in graph.meta else {}

    def kept(values: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if values is None else values[keep]

    return replace(
        graph,
        indptr=indptr,
        indices=indices,
        reverse=reverse_map(indptr, indices),
        weights=kept(graph.weights),
        confirmed=kept(graph.confirmed),
        meta={**graph.meta, **planted},
    )


def with_edges(graph: Graph, new: NDArray[np.int64]) -> tuple[Graph, NDArray[np.bool_]]:
    """The graph with more edges [2, K] that it lacks, of its median weight, and which entries [E] are new."""
    old = np.stack([graph.indices, graph.rows]).astype(np.int64)
    weights = None
    if graph.weights is not None:
        weights = np.concatenate([graph.weights, np.full(new.shape[1], np.median(graph.weights), np.float32)])
    indptr, indices, weights, _ = merge_edges(np.concatenate([old, new], 1), weights, graph.num_nodes, False)
    larger = replace(
        graph, indptr=indptr, indices=indices, reverse=reverse_map(indptr, indices), weights=weights, confirmed=None
    )
    n = graph.num_nodes
    codes = larger.rows.astype(np.int64) * n + larger.indices
    return larger, ~np.isin(codes, graph.rows.astype(np.int64) * n + graph.indices)


def entry_of(graph: Graph, source: int, target: int) -> int:
    """The position of the entry by which a target hears a source; -1 where there is none."""
    first, last = graph.indptr[target], graph.indptr[target + 1]
    at = int(first + np.searchsorted(graph.indices[first:last], source))
    return at if at < last and graph.indices[at] == source else -1
