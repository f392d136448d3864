"""Graphs with other edges between classes, and fixed weights on edges: what the oracle experiments train on.

Everything here that reads labels reads all of them, test labels too: an oracle shows what a perfect cut would bring,
it is not a method.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.noise import plant
from ..graph import entries
from ..graph.graph import Graph
from ..model.inputs import feature_block


def between_classes(graph: Graph) -> NDArray[np.bool_]:
    """[E] True where an entry joins two different known labels."""
    a, b = graph.labels[graph.rows], graph.labels[graph.indices]
    different: NDArray[np.bool_] = (a >= 0) & (b >= 0) & (a != b)
    return different


def keep_entries(graph: Graph, keep: NDArray[np.bool_]) -> Graph:
    """The graph with these entries of its CSR alone."""
    kept = entries.keep_entries(graph, keep)
    return replace(kept, meta={key: value for key, value in kept.meta.items() if key != "planted"})


def oracle(graph: Graph) -> Graph:
    """The graph without its edges between classes."""
    return keep_entries(graph, ~between_classes(graph))


def with_inter_class_share(graph: Graph, share: float, seed: int) -> Graph:
    """The graph with this share of its edges between classes, the edges within classes as they are.

    Below the graph's own share a random part of its edges between classes is kept; above it all are kept, and random
    ones between classes are added.
    """
    between = between_classes(graph)
    within = graph.num_edges - int(between.sum()) // (1 if graph.directed else 2)
    target = round(share / (1 - share) * within)
    first = (
        np.arange(len(graph.indices)) if graph.directed else np.minimum(np.arange(len(graph.indices)), graph.reverse)
    )
    pairs = np.unique(first[between])  # an undirected edge is known by the smaller place of its two entries
    if target > len(pairs):
        return plant(graph, (target - len(pairs)) / graph.num_edges, seed)
    chosen = np.random.default_rng([seed, 0xF1A]).choice(pairs, target, replace=False)
    return keep_entries(graph, ~between | np.isin(first, chosen))


def cosines(graph: Graph) -> NDArray[np.float32]:
    """[E + N] cos(x_i, x_j) on every entry of A + I; 0 where a node has no features."""
    x = feature_block(graph.features, "none", 0.0, torch.device("cpu"))
    return x.cosines(graph.structure.pattern).numpy()


def relativity(graph: Graph, sign: int, with_self: bool = True) -> NDArray[np.float32]:
    """[E + N] attention over the neighbours and the node itself, proportional to exp(± cos(x_i, x_j)).

    PR has the sign +1, NR the sign -1, and 0 weighs all alike; each row sums to 1. A node's cosine with itself is 1,
    the highest there is; without ``with_self`` its own message counts as it does at sign 0, so that the sign acts on
    the neighbours alone.
    """
    scores = sign * cosines(graph)
    if not with_self:
        scores = np.where(graph.structure.loop, 0, scores)
    weights = np.exp(scores) * graph.structure.weights
    indptr = graph.structure.pattern.indptr
    sums = np.add.reduceat(weights, indptr[:-1])  # no row is empty: each has its loop
    normalised: NDArray[np.float32] = (weights / np.repeat(sums, np.diff(indptr))).astype(np.float32)
    return normalised
