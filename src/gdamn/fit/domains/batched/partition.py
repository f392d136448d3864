"""Parts of a graph whose nodes have most of their neighbours within: by METIS where it fits, else in a stream."""
# mypy: disable-error-code="misc"

from __future__ import annotations

import importlib.util

import numba
import numpy as np
from numpy.typing import NDArray

from ....errors import ConfigError
from ....graph.graph import Graph

METIS_ENTRIES = 1 << 25
"""METIS holds several copies of the graph with 64-bit numbers: beyond this many entries the stream is used."""
PASSES = 3
SLACK = 1.05
"""A part holds at most this many times the mean."""


def partition(graph: Graph, count: int, how: str = "auto", seed: int = 0) -> NDArray[np.int32]:
    """[N] the part of each node, 0 to ``count`` - 1.

    Args:
        how: metis; stream (linear deterministic greedy, Stanton & Kliot 2012, several times over the nodes); order
            (runs of the node numbers); auto: metis where pymetis is installed and the graph is not too large.
    """
    n = graph.num_nodes
    if count <= 1 or how == "order":
        return (np.arange(n, dtype=np.int64) * max(count, 1) // max(n, 1)).astype(np.int32)
    there = importlib.util.find_spec("pymetis") is not None
    if how == "metis" and not there:
        raise ConfigError("partitioner='metis' needs pymetis; pip install 'gdamn[scale]', or choose stream.")
    if how == "metis" or (how == "auto" and there and len(graph.indices) <= METIS_ENTRIES and not graph.directed):
        return _metis(graph, count, seed)
    parts: NDArray[np.int32] = _stream(graph.indptr, graph.indices, count, SLACK * n / count, PASSES)
    return parts


def _metis(graph: Graph, count: int, seed: int) -> NDArray[np.int32]:
    import pymetis

    options = pymetis.Options(seed=seed)
    adjacency = pymetis.CSRAdjacency(adj_starts=graph.indptr, adjacent=graph.indices)
    _, parts = pymetis.part_graph(count, adjacency=adjacency, options=options)
    return np.asarray(parts, np.int32)


@numba.njit(cache=True)
def _stream(indptr, indices, count, most, passes):  # type: ignore[no-untyped-def]
    """Each node in turn goes where most of its neighbours are, less so the fuller the part is; then again."""
    parts = np.full(len(indptr) - 1, -1, np.int32)
    sizes, near = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(passes):
        for i in range(len(parts)):
            if parts[i] >= 0:
                sizes[parts[i]] -= 1
            for e in range(indptr[i], indptr[i + 1]):
                if parts[indices[e]] >= 0:
                    near[parts[indices[e]]] += 1
            best, best_score = -1, -1.0
            for k in range(count):
                score = (near[k] + 1e-3) * (1 - sizes[k] / most)
                if sizes[k] < most and score > best_score:
                    best, best_score = k, score
            for e in range(indptr[i], indptr[i + 1]):
                if parts[indices[e]] >= 0:
                    near[parts[indices[e]]] = 0
            parts[i] = best
            sizes[best] += 1
    return parts
