"""Links: whether an edge looks like an edge of its graph, or like two nodes drawn by lot.

A logistic regression tells the edges from pairs drawn by lot, by what both ends have in common. From it comes

    L(z) = p(z | edge) / p(z | by lot) = (1 - ε) p(z | genuine) / p(z | by lot) + ε

where a share ε of the edges was drawn by lot. L falls to ε where no genuine edge is, which tells ε, and then

    P(by lot | z, edge) = ε / L(z)

No label is read, and nothing need be known of the edges. The columns, for a pair {i, j} with features u (projected,
rows of length 1) and edges as far as they are trusted, W, without the edge {i, j} itself:

=====================  ===========================================================================================
features               cos(u_i, u_j)
shared neighbours      log(1 + Σ_k w_ik w_jk / log(2 + d_k))  (Adamic and Adar 2003)
degrees                log(1 + d) of the smaller and of the larger
neighbourhoods         cos(u_i + Σ_k w_ik s_k, u_j + Σ_k w_jk s_k), with s = u, and with s_k ∝ u_k + Σ_l w_kl u_l
=====================  ===========================================================================================

and their squares. A lot may fall on every node alike (random edges) or on nodes as often as they have edges (rewired
ones). Both are tried; the one that explains more edges counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .evidence import BLOCK, Floats, unit
from .pairs import Pairs
from .reliability import fit_reliability

LOTS = ("nodes", "degrees")
"""How nodes are drawn: all alike, or as often as they have edges."""

PER_EDGE = 2
"""Pairs that are drawn for every edge."""

MOST_DRAWN = 100_000
"""Pairs that are drawn at most, and edges that the regression learns from at most."""

ROUNDS = 2
"""Regressions; the second trusts the edges as the first says."""

QUANTILES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Of the drawn pairs, where ε is looked for."""

ERRORS = 1.0
"""Standard errors that ε is estimated lower by: an edge is innocent until it is shown not to be."""

LEAST_TRUST = 0.02
"""What an edge counts at least as a neighbour in the second round."""

FEWEST_EDGES = 500
"""Edges from which a graph says enough of how they look."""

FEWEST = 0.01
"""Share of edges drawn by lot below which none is cut."""

CUT = 0.2
"""P(by lot) from which an edge is cut: a wrong edge costs more than a right one is worth."""


@dataclass(frozen=True, eq=False)
class Links:
    """What was found.

    Attributes:
        lot: [M] ε / L of every pair, the probability that it was drawn by lot; above 1 where L is below ε.
        share: ε.
        drawn: how the lot falls, one of :data:`LOTS`.
    """

    lot: Floats
    share: float
    drawn: str

    @property
    def factors(self) -> Floats | None:
        """[M] what each pair weighs: 0 where it is cut, else P(genuine); None where there is nothing to cut."""
        if self.share < FEWEST:
            return None
        return np.where(self.lot < CUT, 1 - self.lot, 0).astype(np.float32)

    @property
    def facts(self) -> dict[str, float]:
        """For the record of a fit: ε, and how many edges are cut."""
        cut = 0 if self.factors is None else int((self.factors == 0).sum())
        return {"edges_by_lot": round(self.share, 4), "edges_cut": cut}


def judge_links(pairs: Pairs, u: Floats, seed: int) -> Links:
    """How likely each pair was drawn by lot.

    Args:
        u: [N, d] what the nodes look like, rows of length 1, or 0.
        seed: of the lot.
    """
    if len(pairs) < FEWEST_EDGES:
        return Links(np.zeros(len(pairs), np.float32), 0.0, LOTS[0])
    found = [_judged(pairs, u, lot, np.random.default_rng([seed, number])) for number, lot in enumerate(LOTS)]
    return max(found, key=lambda links: links.share)  # of equal ones the first


def _judged(pairs: Pairs, u: Floats, drawn: str, generator: np.random.Generator) -> Links:
    """The same for one way to draw."""
    count, lots = len(pairs), draw_pairs(pairs, drawn, generator)
    trust = np.ones(count, np.float32)
    learned = np.arange(count) if count <= MOST_DRAWN else generator.choice(count, MOST_DRAWN, replace=False)
    share, lot = 0.0, np.zeros(count)
    for _ in range(ROUNDS if len(lots[0]) >= FEWEST_EDGES else 0):
        at_edges, at_lots = columns(pairs, u, trust, (pairs.left, pairs.right), trust), columns(pairs, u, trust, lots)
        of_edges, of_lots = log_ratios(at_edges, at_lots, learned)
        share = share_by_lot(of_edges, of_lots)
        lot = share * np.exp(-np.clip(of_edges, -60, 60))
        trust = np.maximum(1 - lot, LEAST_TRUST).astype(np.float32)
    return Links(lot.astype(np.float32), share, drawn)


def draw_pairs(pairs: Pairs, drawn: str, generator: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[K], [K] two nodes each, drawn by lot, that no edge joins."""
    size = 2, min(PER_EDGE * len(pairs), MOST_DRAWN)
    if drawn == "nodes":
        i, j = generator.integers(0, pairs.nodes, size)
    else:
        i, j = generator.choice(np.concatenate([pairs.left, pairs.right]), size)
    joined = np.asarray(pairs.weighed(np.ones(len(pairs), np.float32))[i, j]).reshape(-1) > 0
    free = (i != j) & ~joined
    return i[free], j[free]


def columns(
    pairs: Pairs, u: Floats, trust: Floats, ends: tuple[NDArray[np.int64], NDArray[np.int64]], own: Floats | None = None
) -> NDArray[np.float64]:
    """[K, 12] what speaks for an edge between the ends.

    Args:
        trust: [M] what each pair of the graph counts.
        ends: [K] nodes each.
        own: [K] what the edge between the ends counts among the pairs, which is left out; None where there is none.
    """
    w = pairs.weighed(trust)
    degrees = np.asarray(w.sum(1)).reshape(-1)
    rare = w @ sp.diags_array(1 / np.log(degrees + 2))
    once = w @ u
    smooth = unit(once + u)
    twice = w @ smooth
    z = np.empty((len(ends[0]), 6))
    for at in range(0, len(z), BLOCK):
        part = slice(at, at + BLOCK)
        i, j = ends[0][part], ends[1][part]
        edge = np.zeros(len(i), np.float32) if own is None else own[part]
        e, d_i, d_j = edge[:, None], np.maximum(degrees[i] - edge, 0), np.maximum(degrees[j] - edge, 0)
        z[part, 0] = (u[i] * u[j]).sum(1)
        z[part, 1] = np.log1p(np.asarray(rare[i].multiply(w[j]).sum(1)).reshape(-1))
        z[part, 2], z[part, 3] = np.log1p(np.minimum(d_i, d_j)), np.log1p(np.maximum(d_i, d_j))
        for column, (sums, s) in enumerate(((once, u), (twice, smooth)), 4):
            z[part, column] = (unit(u[i] + sums[i] - e * s[j]) * unit(u[j] + sums[j] - e * s[i])).sum(1)
    return np.hstack([z, z * z])


def log_ratios(
    at_edges: NDArray[np.float64], at_lots: NDArray[np.float64], learned: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """log L of the edges [M] and of the drawn pairs [K], by a regression on some of the edges and all drawn pairs."""
    sample = np.concatenate([at_edges[learned], at_lots])
    mean, deviation = sample.mean(0), sample.std(0)
    scale = np.where(deviation > 1e-9, deviation, np.inf)
    target = np.concatenate([np.ones(len(learned), np.float32), np.zeros(len(at_lots), np.float32)])
    w = fit_reliability((sample - mean) / scale, target)
    odds = np.log(len(learned) / len(at_lots))
    edges, lots = (np.einsum("mk,k->m", (z - mean) / scale, w[:-1]) + w[-1] - odds for z in (at_edges, at_lots))
    return edges, lots


def share_by_lot(of_edges: NDArray[np.float64], of_lots: NDArray[np.float64]) -> float:
    """ε: the least ratio of edges to drawn pairs below a threshold, less its error."""
    shares = []
    for threshold in np.quantile(of_lots, QUANTILES):
        below = int((of_edges < threshold).sum())
        fewest = max(below - ERRORS * np.sqrt(below), 0.0)
        shares.append(fewest / len(of_edges) / max(float((of_lots < threshold).mean()), 1e-9))
    return float(min(*shares, 1.0))
