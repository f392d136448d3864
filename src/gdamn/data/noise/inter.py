"""Planted noise: random edges between classes, remembered so that a model's finds can be checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError, GraphError
from ..pairs import Codes, draw_distinct, pair_codes
from .changes import change_edges, drawn_weights, with_record

if TYPE_CHECKING:
    from ...graph.graph import Graph

LISTED = 1 << 21
"""With at most so many inter-class pairs they are listed, so that even all of them can be planted quickly."""


def plant(graph: Graph, ratio: float, seed: int) -> Graph:
    """Add ``ratio * graph.num_edges`` random edges between nodes of different known labels.

    The labels of all splits are used: this is the experimenter's noise, not something a model may see. On a
    weighted graph the new edges take weights drawn from the graph's own, so that their weight doesn't betray them.

    Args:
        graph: stays as it is; planting twice adds up.
        ratio: new edges per edge of the graph.
        seed: the same seed plants the same edges.

    Returns:
        The noisy graph. ``meta["planted"]`` is a [E] mask over its CSR entries, True in both directions of a
        planted edge; ``meta["noise"]`` holds the last ratio and seed and the number of all planted edges.
    """
    if not (np.isfinite(ratio) and ratio >= 0):
        raise ConfigError(f"The noise ratio is {ratio}; it must be 0 (no noise) or greater.")
    count = round(ratio * graph.num_edges)
    rng = np.random.default_rng([seed, 0x0153])
    codes = _draw(graph, count, rng)
    noisy = change_edges(graph, codes, weights=drawn_weights(graph, len(codes), rng))
    planted = int(noisy.meta["planted"].sum()) // (1 if graph.directed else 2)
    return replace(noisy, meta={**noisy.meta, "noise": {"ratio": float(ratio), "seed": int(seed), "planted": planted}})


def inter_class_edges(graph: Graph, rate: float, seed: int) -> Graph:
    """:func:`plant` as a kind of noise."""
    noisy = plant(graph, rate, seed)
    return with_record(noisy, planted=noisy.meta["noise"]["planted"])


def _draw(graph: Graph, count: int, rng: np.random.Generator) -> Codes:
    """Sorted codes of ``count`` pairs of nodes of different labels that aren't joined."""
    known = np.flatnonzero(graph.labels >= 0)
    labels = graph.labels[known]
    sizes = np.bincount(labels) if len(labels) else np.zeros(0, np.int64)
    if np.count_nonzero(sizes) < 2:
        raise GraphError("Noise between classes needs nodes of at least two classes; this graph has fewer.")
    n, ordered = graph.num_nodes, graph.directed
    pairs = (len(known) ** 2 - int((sizes**2).sum())) // (1 if ordered else 2)
    taken = _joined(graph)
    free = pairs - len(taken)
    if count > free:
        raise GraphError(f"Only {free} pairs of different classes are not joined yet; {count} edges can't be planted.")

    def some(size: int) -> Codes:
        a, b = rng.integers(0, len(known), (2, size))
        cross = labels[a] != labels[b]
        return pair_codes(known[a[cross]], known[b[cross]], n, ordered)

    if pairs > LISTED:
        return draw_distinct(count, free, some, taken, rng)
    every: Codes = np.setdiff1d(_every_pair(known, labels, n, ordered), taken, assume_unique=True)
    chosen: Codes = rng.choice(every, count, replace=False, shuffle=False)
    return np.sort(chosen)


def _joined(graph: Graph) -> Codes:
    """Sorted codes of the edges between different known labels, each undirected one once."""
    a, b = graph.rows, graph.indices
    keep = (graph.labels[a] >= 0) & (graph.labels[b] >= 0) & (graph.labels[a] != graph.labels[b])
    if not graph.directed:
        keep &= a < b
    codes: Codes = a[keep].astype(np.int64) * graph.num_nodes + b[keep]
    return codes


def _every_pair(known: NDArray[np.int64], labels: NDArray[np.int64], n: int, ordered: bool) -> Codes:
    """Sorted codes of all pairs of different labels, class by class against the classes after it."""
    parts = []
    for c in range(int(labels.max())):
        this_class, later_classes = known[labels == c], known[labels > c]
        a, b = np.repeat(this_class, len(later_classes)), np.tile(later_classes, len(this_class))
        parts += [pair_codes(a, b, n, ordered)] + ([pair_codes(b, a, n, ordered)] if ordered else [])
    return np.sort(np.concatenate(parts))
