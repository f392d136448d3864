"""Changing the edges of a graph, and drawing places for what is moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError
from ..pairs import Codes, contains

if TYPE_CHECKING:
    from ...graph.graph import Graph

NO_CODES: Codes = np.empty(0, np.int64)

ROUNDS = 32
"""Rounds of random draws before what is left is chosen among all free places."""


def edge_codes(graph: Graph) -> Codes:
    """Sorted codes of the edges, each undirected one once, smaller node first."""
    once = slice(None) if graph.directed else graph.rows < graph.indices
    codes: Codes = graph.rows[once].astype(np.int64) * graph.num_nodes + graph.indices[once]
    return codes


def edge_weights(graph: Graph) -> NDArray[np.float32]:
    """[edges] weights in the order of :func:`edge_codes`."""
    if graph.weights is None:
        return np.ones(graph.num_edges, np.float32)
    return graph.weights if graph.directed else graph.weights[graph.rows < graph.indices]


def drawn_weights(graph: Graph, count: int, rng: np.random.Generator) -> NDArray[np.float32] | None:
    """Weights for new edges, drawn from the graph's own, so that they don't betray them; None where all are 1."""
    return None if graph.weights is None else rng.choice(graph.weights, count)


def change_edges(
    graph: Graph, added: Codes, removed: Codes = NO_CODES, weights: NDArray[np.float32] | None = None
) -> Graph:
    """The graph with some edges removed and others added; ``meta["planted"]`` marks all that were ever added.

    Args:
        added: codes of pairs that aren't joined, each once.
        removed: codes of edges.
        weights: [added] of the new edges, where the graph has weights.
    """
    from ...graph.graph import reverse_map
    from ...graph.validation import merge_edges

    n = graph.num_nodes
    codes = edge_codes(graph)
    kept = ~contains(np.sort(removed), codes)
    codes, all_weights = np.concatenate([codes[kept], added]), None
    if graph.weights is not None:
        assert weights is not None
        all_weights = np.concatenate([edge_weights(graph)[kept], weights])
    ends = np.stack([codes % n, codes // n]).astype(np.int32)
    indptr, indices, all_weights, _ = merge_edges(ends, all_weights, n, graph.directed)
    before = graph.meta.get("planted")
    marked = added
    if before is not None:
        old = graph.rows[before].astype(np.int64) * n + graph.indices[before]
        old = old if graph.directed else old[old // n < old % n]
        marked = np.union1d(added, old[~contains(np.sort(removed), old)])
    both = marked if graph.directed else np.concatenate([marked, marked % n * n + marked // n])
    places = np.repeat(np.arange(n, dtype=np.int64) * n, np.diff(indptr)) + indices
    planted = np.zeros(len(indices), dtype=bool)
    planted[np.searchsorted(places, both)] = True
    return replace(
        graph,
        indptr=indptr,
        indices=indices,
        reverse=reverse_map(indptr, indices),
        weights=all_weights,
        confirmed=None,
        meta={**graph.meta, "planted": planted},
    )


def with_record(graph: Graph, **counts: float) -> Graph:
    """The graph that remembers how much was changed."""
    return replace(graph, meta={**graph.meta, "noise": counts})


def draw_places(
    rows: NDArray[np.int64],
    other_rows: NDArray[np.int64],
    width: int,
    code: Callable[[NDArray[np.int64], NDArray[np.int64]], Codes],
    taken: Codes,
    rng: np.random.Generator,
) -> Codes:
    """[K] codes of a random place for each row, no two alike and none taken.

    Args:
        rows: [K] the rows in which a place is wanted; a row may come several times.
        other_rows: [K] the rows that may stand in for them, where a draw hits a taken place.
        width: places are drawn from the columns 0 to width - 1.
        code: the codes of rows and columns; negative where a place can't be.
        taken: sorted codes that must not come up.
    """
    codes = np.full(len(rows), -1, np.int64)
    pending = np.arange(len(rows))
    for turn in range(ROUNDS):
        of_turn = other_rows if turn % 2 else rows
        drawn = code(of_turn[pending], rng.integers(0, width, len(pending)))
        first = np.zeros(len(pending), bool)
        first[np.unique(drawn, return_index=True)[1]] = True
        good = first & (drawn >= 0) & ~contains(taken, drawn)
        codes[pending[good]] = drawn[good]
        taken = np.sort(np.concatenate([taken, drawn[good]]))
        pending = pending[~good]
        if not len(pending):
            return codes
    for at in pending:
        every = np.concatenate([code(np.full(width, row), np.arange(width)) for row in (rows[at], other_rows[at])])
        free = every[(every >= 0) & ~contains(taken, every)]
        if not len(free):
            raise GraphError("There is no free place left for all that is moved; ask for a lower noise rate.")
        codes[at] = rng.choice(free)
        taken = np.sort(np.append(taken, codes[at]))
    return codes
