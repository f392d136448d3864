"""Parts of a graph's edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .graph import Graph, reverse_map


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


def entry_of(graph: Graph, source: int, target: int) -> int:
    """The position of the entry by which a target hears a source; -1 where there is none."""
    first, last = graph.indptr[target], graph.indptr[target + 1]
    at = int(first + np.searchsorted(graph.indices[first:last], source))
    return at if at < last and graph.indices[at] == source else -1
