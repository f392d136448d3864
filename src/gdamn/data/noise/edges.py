"""Noise on edges that asks for no label: random ones are added, some are removed or rewired."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import GraphError
from ..pairs import Codes, draw_distinct, pair_codes
from .changes import NO_CODES, change_edges, draw_places, drawn_weights, edge_codes, edge_weights, with_record

if TYPE_CHECKING:
    from ...graph.graph import Graph

LISTED = 1 << 21
"""With at most so many pairs of nodes they are listed, so that even all of them can be joined quickly."""


def random_edges(graph: Graph, rate: float, seed: int) -> Graph:
    """Add ``round(rate * edges)`` edges between random nodes that aren't joined, of whatever class."""
    rng = np.random.default_rng([seed, 0x4A3D])
    added = free_pairs(graph, round(rate * graph.num_edges), rng)
    noisy = change_edges(graph, added, weights=drawn_weights(graph, len(added), rng))
    return with_record(noisy, planted=len(added))


def remove_edges(graph: Graph, rate: float, seed: int) -> Graph:
    """Remove ``round(rate * edges)`` random edges; nodes stay, even those that have none left."""
    rng = np.random.default_rng([seed, 0x2E30])
    codes = edge_codes(graph)
    removed = rng.choice(codes, round(rate * len(codes)), replace=False)
    noisy = change_edges(graph, NO_CODES, removed, drawn_weights(graph, 0, rng))
    return with_record(noisy, removed=len(removed))


def rewire_edges(graph: Graph, rate: float, seed: int) -> Graph:
    """Give ``round(rate * edges)`` random edges another end; one of their ends, drawn by lot, and their weight stay.

    The new pair wasn't joined before, so that as many edges as said are gone, and as many are new.
    """
    rng = np.random.default_rng([seed, 0x3E31])
    n, codes = graph.num_nodes, edge_codes(graph)
    chosen = rng.choice(len(codes), round(rate * len(codes)), replace=False)
    ends = np.stack([codes[chosen] // n, codes[chosen] % n + n])  # from N on: a node that stays in the second place
    by_lot = (rng.random(len(chosen)) < 0.5).astype(np.int64)
    columns = np.arange(len(chosen))

    def code(kept: NDArray[np.int64], new: NDArray[np.int64]) -> Codes:
        node = kept % n
        pairs = pair_codes(np.where(kept < n, node, new), np.where(kept < n, new, node), n, graph.directed)
        return np.where(node == new, -1, pairs)

    added = draw_places(ends[by_lot, columns], ends[1 - by_lot, columns], n, code, codes, rng)
    noisy = change_edges(graph, added, codes[chosen], edge_weights(graph)[chosen])
    return with_record(noisy, planted=len(added), removed=len(added))


def free_pairs(graph: Graph, count: int, rng: np.random.Generator) -> Codes:
    """Sorted codes of ``count`` random pairs of nodes that aren't joined."""
    n, ordered = graph.num_nodes, graph.directed
    taken = edge_codes(graph)
    pairs = n * (n - 1) // (1 if ordered else 2)
    free = pairs - len(taken)
    if count > free:
        raise GraphError(f"Only {free} pairs of nodes are not joined yet; {count} edges can't be added.")
    if pairs > LISTED:
        return draw_distinct(count, free, lambda size: random_pairs(n, size, ordered, rng), taken, rng)
    a, b = np.divmod(np.arange(n * n), n)
    every = np.flatnonzero(a != b if ordered else a < b)
    chosen: Codes = rng.choice(np.setdiff1d(every, taken, assume_unique=True), count, replace=False, shuffle=False)
    return np.sort(chosen)


def random_pairs(n: int, size: int, ordered: bool, rng: np.random.Generator) -> Codes:
    """Codes of about so many random pairs of different nodes, with repetitions."""
    a, b = rng.integers(0, n, (2, size))
    apart = a != b
    return pair_codes(a[apart], b[apart], n, ordered)
