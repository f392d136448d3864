"""An attack on the edges: projected randomised block coordinate descent (PRBCD, Geisler et al., NeurIPS 2021).

The attacker may change Δ pairs: join two nodes, or cut an edge. All pairs would be too many to hold, so a random block
of them is; each has a weight p in [0, 1], with which it is changed. In each step p rises with the gradient of a
surrogate's margin loss and is projected to Σp ≤ Δ, and pairs that stay at 0 make room for others. At the end Δ pairs
are drawn by their weights several times, and the draw that hurts the surrogate most is taken. Methods are then trained
on the changed graph, which the publication's victims aren't; so the surrogate, too, is trained again now and then, on
the graph as it is by then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import GraphError
from ..pairs import Codes, contains, draw_distinct
from .changes import NO_CODES, change_edges, drawn_weights, edge_codes, edge_weights, with_record
from .edges import random_pairs
from .surrogate import Array, Surrogate, margin_loss

if TYPE_CHECKING:
    from ...graph.graph import Graph

BLOCK, BLOCK_PER_EDGE, BLOCK_PER_CHANGE = 50_000, 10, 4
"""Pairs that are held at once: at least so many, and so many per edge and per change."""

STEPS, RESAMPLED, RETRAINED = 100, 80, 5
"""Steps of gradient ascent, how many of them exchange pairs, and after how many the surrogate is trained again."""

STEP = 0.5
"""The mean weight that the Δ pairs of the steepest ascent gain in a step."""

DRAWS = 20
"""Draws of the final pairs."""

LEAST = 1e-7
"""A smaller weight is none."""


@dataclass(frozen=True)
class Block:
    """Some pairs of nodes and how far each is changed.

    Attributes:
        codes: [K] the pairs, sorted.
        change: [K] what a full change does to the weight of the pair: +w for a new edge, -w for an edge of weight w.
        p: [K] how far it is changed, 0 to 1.
    """

    codes: Codes
    change: Array
    p: Array

    def ends(self, n: int) -> NDArray[np.int64]:
        """[2, K] nodes of the pairs."""
        return np.stack(np.divmod(self.codes, n))

    def matrix(self, n: int) -> sp.csr_array:
        """Δ [N, N]: the change of the adjacency."""
        (used,) = np.nonzero(self.p)
        a, b = np.divmod(self.codes[used], n)
        values = (self.change * self.p)[used]
        both = (np.concatenate([a, b]), np.concatenate([b, a]))
        return sp.coo_array((np.concatenate([values, values]), both), shape=(n, n)).tocsr()


def attack_edges(graph: Graph, rate: float, seed: int) -> Graph:
    """Change ``round(rate * edges)`` pairs so that a surrogate GCN errs on nodes that aren't training nodes.

    Training labels teach the surrogate; what it then says of the other nodes stands for their labels, which aren't
    read. One thread computes it: sums in another order would change bits.
    """
    from threadpoolctl import threadpool_limits

    budget = round(rate * graph.num_edges)
    check(graph, budget)
    rng = np.random.default_rng([seed, 0xA77A])
    with threadpool_limits(1):
        chosen = Attack(graph, budget, rng).run()
    codes = edge_codes(graph)
    cut = contains(codes, chosen)
    added, removed = chosen[~cut], chosen[cut]
    noisy = change_edges(graph, added, removed, drawn_weights(graph, len(added), rng))
    return with_record(noisy, planted=len(added), removed=len(removed))


def check(graph: Graph, budget: int) -> None:
    """Refuse graphs that can't be attacked so."""
    if graph.directed:
        raise GraphError("The attack is made for undirected graphs; leave --directed out, or choose another noise.")
    if len(np.unique(graph.labels[graph.train_mask & (graph.labels >= 0)])) < 2:
        raise GraphError("The attack needs training nodes of at least two classes; this graph has fewer.")
    if graph.train_mask.all():
        raise GraphError("The attack is on nodes outside of the training set; this graph has none.")
    pairs = graph.num_nodes * (graph.num_nodes - 1) // 2
    if budget > pairs:
        raise GraphError(f"There are {pairs} pairs of nodes; {budget} can't be changed.")


class Attack:
    """One attack under way."""

    def __init__(self, graph: Graph, budget: int, rng: np.random.Generator) -> None:
        self.n, self.budget, self.rng = graph.num_nodes, budget, rng
        self.edges, self.weights = edge_codes(graph), edge_weights(graph).astype(np.float64)
        self.new_weight = float(self.weights.mean()) if len(self.weights) else 1.0
        self.surrogate = Surrogate(graph, rng)
        self.targets = np.flatnonzero(~graph.train_mask)
        self.labels = self.surrogate.logits()[self.targets].argmax(axis=1)
        self.pairs = self.n * (self.n - 1) // 2
        self.size = min(self.pairs, max(BLOCK, BLOCK_PER_EDGE * len(self.edges), BLOCK_PER_CHANGE * budget))

    def run(self) -> Codes:
        """Sorted codes of the pairs to change."""
        block = self.filled(NO_CODES, np.empty(0))
        for step in range(STEPS if self.budget else 0):
            if 0 < step < RESAMPLED:
                block = self.resampled(block)
            if step and step % RETRAINED == 0:
                self.surrogate.train(block.matrix(self.n))
            gradient = self.gradient(block)
            steepest = np.partition(gradient, -self.budget)[-self.budget :]
            length = STEP / np.sqrt(1 + max(0, step - RESAMPLED)) / max(float(np.abs(steepest).mean()), 1e-300)
            block = replace(block, p=projected(block.p + length * gradient, self.budget))
        return self.drawn(block)

    def gradient(self, block: Block) -> Array:
        """[K] derivative of the attacker's loss to the weights."""
        _, gradient = self.surrogate.edge_gradient(block.matrix(self.n), block.ends(self.n), self.targets, self.labels)
        return block.change * gradient

    def filled(self, codes: Codes, p: Array) -> Block:
        """A block with these pairs, and random others of weight 0."""
        missing = self.size - len(codes)
        drawn = draw_distinct(
            missing, self.pairs - len(codes), lambda size: random_pairs(self.n, size, False, self.rng), codes, self.rng
        )
        every = np.concatenate([codes, drawn])
        order = np.argsort(every, kind="stable")
        every, p = every[order], np.concatenate([p, np.zeros(missing)])[order]
        change = np.full(len(every), self.new_weight)
        at = np.searchsorted(self.edges, every)
        joined = contains(self.edges, every)
        change[joined] = -self.weights[at[joined]]
        return Block(every, change, p)

    def resampled(self, block: Block) -> Block:
        """The pairs that weigh something, at most half of the block, and new ones for the others."""
        kept = np.flatnonzero(block.p > LEAST)
        if len(kept) > self.size // 2:
            kept = np.sort(kept[np.argsort(-block.p[kept], kind="stable")[: self.size // 2]])
        return self.filled(block.codes[kept], block.p[kept])

    def drawn(self, block: Block) -> Codes:
        """The budget's pairs: those of the highest weights, or the best of several draws by weight."""
        score = np.log(np.maximum(block.p, 1e-12))
        best, highest = NO_CODES, -np.inf
        for draw in range(1 + DRAWS):
            luck = self.rng.gumbel(size=len(score)) if draw else np.zeros(len(score))
            chosen = np.sort(np.argsort(-(score + luck), kind="stable")[: self.budget])
            p = np.zeros(len(score))
            p[chosen] = 1
            logits = self.surrogate.logits(replace(block, p=p).matrix(self.n))
            loss, _ = margin_loss(logits, self.targets, self.labels)
            if loss > highest:
                best, highest = block.codes[chosen], loss
        return best


def projected(p: Array, budget: int) -> Array:
    """The nearest weights in [0, 1] that sum to at most the budget."""
    inside = np.clip(p, 0, 1)
    if inside.sum() <= budget:
        return inside
    low, high = float(p.min()) - 1, float(p.max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(p - middle, 0, 1).sum() > budget else (low, middle)
    return np.clip(p - high, 0, 1)
