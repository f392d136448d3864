"""Candidates: pairs of nodes that no edge joins, but that look like the edges of their graph (links.py).

Candidates are nearest neighbours in the features, smoothed over the edges that are trusted: s_i ∝ u_i + Σ_k w_ik s'_k
with s'_k ∝ u_k + Σ_l w_kl u_l. They are judged by log L(z), as edges are, and each node proposes the best few.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .evidence import Floats, unit
from .links import FEWEST_EDGES, MOST_DRAWN, columns, draw_pairs, judge_links, log_ratio
from .pairs import Pairs

PER_PROPOSAL = 4
"""Nearest neighbours that are judged for every edge that a node proposes."""

Ints = NDArray[np.int64]


def likely_pairs(pairs: Pairs, u: Floats, count: int, seed: int) -> tuple[Ints, Ints]:
    """[K], [K] the pairs that at least one of their ends has among its ``count`` best, left < right.

    Args:
        u: [N, d] what the nodes look like, rows of length 1, or 0.
        seed: of the pairs that are drawn to compare with.
    """
    if len(pairs) < FEWEST_EDGES:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    links = judge_links(pairs, u, seed)
    trust = np.ones(len(pairs), np.float32) if links.factors is None else links.factors
    generator = np.random.default_rng([seed, 2])
    learned = generator.permutation(len(pairs))[:MOST_DRAWN]
    at_edges = columns(pairs, u, trust, (pairs.left[learned], pairs.right[learned]), trust[learned])
    ratio = log_ratio(at_edges, columns(pairs, u, trust, draw_pairs(pairs, links.drawn, generator)))
    i, j = unjoined(pairs, nearest(smoothed(pairs, u, trust), PER_PROPOSAL * count))
    best = among_best(i, j, ratio(columns(pairs, u, trust, (i, j))), count)
    return i[best], j[best]


def smoothed(pairs: Pairs, u: Floats, trust: Floats) -> Floats:
    """[N, d] s."""
    w = pairs.weighed(trust)
    return unit(u + w @ unit(u + w @ u))


def nearest(rows: Floats, count: int) -> Ints:
    """[N, k] the nodes whose rows are most alike by cosine, without the node itself; in blocks, no N × N array."""
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=min(count, len(rows) - 1), metric="cosine", algorithm="brute").fit(rows)
    return np.asarray(found.kneighbors(return_distance=False))  # without rows of its own it leaves out the node itself


def unjoined(pairs: Pairs, neighbours: Ints) -> tuple[Ints, Ints]:
    """[K], [K] each pair of a node and one of its neighbours once, left < right, that no edge joins."""
    nodes = np.repeat(np.arange(len(neighbours)), neighbours.shape[1])
    other = neighbours.reshape(-1)
    codes = np.unique(np.minimum(nodes, other) * pairs.nodes + np.maximum(nodes, other))
    codes = np.setdiff1d(codes, pairs.left * pairs.nodes + pairs.right, assume_unique=True)
    return codes // pairs.nodes, codes % pairs.nodes


def among_best(i: Ints, j: Ints, scores: NDArray[np.float64], count: int) -> NDArray[np.bool_]:
    """[K] the pairs that are among the ``count`` of the highest score of one of their ends."""
    ends, both = np.concatenate([i, j]), np.concatenate([scores, scores])
    order = np.lexsort((-both, ends))
    starts = np.searchsorted(ends[order], ends[order])  # where each end's run begins
    good = np.zeros(len(ends), bool)
    good[order] = np.arange(len(order)) - starts < count
    return good[: len(i)] | good[len(i) :]
