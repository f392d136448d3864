"""Surrogate: a GCN in NumPy for the attack, with the gradient of its loss to single edges.

Z = P(σ(P(X W₁) + b₁) W₂) + b₂ with P(H) = S M S H, where M = A + I + Δ and S = diag(M 1)^{-1/2}. Δ is the attack. It is
apart from the methods that are compared: data sets know no methods, and the attacker's network isn't its victim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ...graph.graph import Graph

HIDDEN, EPOCHS, RATE, DECAY, DROPOUT = 16, 100, 0.01, 5e-4, 0.5
"""Kipf & Welling's settings for citation graphs, with half of their epochs: it is trained often."""

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8
"""Adam's constants."""

PAIRS = 4096
"""Pairs whose products are made at once."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Adjacency:
    """S M S for a symmetric M with loops, given as the sum of two matrices: the graph with loops, and the attack."""

    graph: sp.csr_array
    attack: sp.csr_array | None = None

    @property
    def degrees(self) -> Array:
        """[N] sums of the rows of M."""
        sums = np.asarray(self.graph.sum(axis=1)).reshape(-1)
        return sums if self.attack is None else sums + np.asarray(self.attack.sum(axis=1)).reshape(-1)

    def plain(self, h: Array) -> Array:
        """M H."""
        product: Array = self.graph @ h
        return product if self.attack is None else product + self.attack @ h

    def __call__(self, h: Array, scale: Array) -> Array:
        """S M S H, with the diagonal of S, [N]."""
        return scale[:, None] * self.plain(scale[:, None] * h)


class Surrogate:
    """A GCN that is trained on the training labels of a graph, the others being unknown to it."""

    def __init__(self, graph: Graph, rng: np.random.Generator) -> None:
        from ...graph.normalisation import normalized

        n = graph.num_nodes
        weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights.astype(np.float64)
        self.rng = rng
        self.x: Any = normalized(graph.features, "auto").astype(np.float64)
        self.graph = sp.csr_array((weights, graph.indices, graph.indptr), shape=(n, n)) + sp.eye_array(n, format="csr")
        self.nodes = np.flatnonzero(graph.train_mask & (graph.labels >= 0))
        self.labels, self.classes = graph.labels[self.nodes], graph.num_classes
        self.train()

    def train(self, attack: sp.csr_array | None = None) -> None:
        """New weights by Adam on the cross-entropy of the training labels, on the graph or on the attacked one."""
        adjacency = Adjacency(self.graph, attack)
        width, rows = self.x.shape[1], np.arange(len(self.nodes))
        first, second = glorot(width, HIDDEN, self.rng), glorot(HIDDEN, self.classes, self.rng)
        self.weights = (first, np.zeros(HIDDEN), second, np.zeros(self.classes))
        moments = [(np.zeros_like(w), np.zeros_like(w)) for w in self.weights]
        for step in range(1, EPOCHS + 1):
            dropped = (self.rng.random((self.x.shape[0], HIDDEN)) >= DROPOUT) / (1 - DROPOUT)
            scale, _, h, _, z = self._forward(adjacency, dropped)
            g2 = np.zeros_like(z)
            g2[self.nodes] = softmax(z[self.nodes]) / len(rows)
            g2[self.nodes, self.labels] -= 1 / len(rows)
            back = adjacency(g2, scale)
            g1 = (back @ second.T) * dropped * (h > 0)
            of_first = self.x.T @ adjacency(g1, scale) + DECAY * first
            gradients = (of_first, g1.sum(axis=0), h.T @ back, g2.sum(axis=0))
            for w, g, (mean, square) in zip(self.weights, gradients, moments, strict=True):
                mean += (1 - FIRST) * (g - mean)
                square += (1 - SECOND) * (g * g - square)
                w -= RATE * mean / (1 - FIRST**step) / (np.sqrt(square / (1 - SECOND**step)) + TINY)

    def logits(self, attack: sp.csr_array | None = None) -> Array:
        """Z [N, C] on the graph, or on the attacked one."""
        return self._forward(Adjacency(self.graph, attack))[-1]

    def _forward(self, adjacency: Adjacency, dropped: Array | None = None) -> tuple[Array, Array, Array, Array, Array]:
        """S, X W₁, the hidden layer (with dropout), its product with W₂, and Z."""
        first, first_bias, second, second_bias = self.weights
        scale = adjacency.degrees**-0.5
        u1 = self.x @ first
        h = np.maximum(adjacency(u1, scale) + first_bias, 0)
        h = h if dropped is None else h * dropped
        u2 = h @ second
        return scale, u1, h, u2, adjacency(u2, scale) + second_bias

    def edge_gradient(
        self, attack: sp.csr_array, ends: NDArray[np.int64], targets: NDArray[np.int64], labels: NDArray[np.int64]
    ) -> tuple[float, Array]:
        """The attacker's loss (:func:`margin_loss`), and its derivative to the weight of each pair: [K].

        ∂L/∂M_ij comes through both layers directly and through the degrees of i and j; a pair stands in M twice.

        Args:
            attack: Δ, symmetric.
            ends: [2, K] the pairs.
            targets, labels: nodes, and the classes that they should not get any more.
        """
        adjacency = Adjacency(self.graph, attack)
        scale, u1, h, u2, z = self._forward(adjacency)
        loss, g2 = margin_loss(z, targets, labels)
        g1 = (adjacency(g2, scale) @ self.weights[2].T) * (h > 0)
        gradients, inputs = scale[:, None] * np.hstack([g2, g1]), scale[:, None] * np.hstack([u2, u1])
        through_scale = (gradients * adjacency.plain(inputs) + inputs * adjacency.plain(gradients)).sum(axis=1) / scale
        through_degree = -0.5 * scale**3 * through_scale
        left, right = np.hstack([gradients, inputs]), np.hstack([inputs, gradients])
        direct = pair_products(left, right, ends)
        return loss, direct + through_degree[ends[0]] + through_degree[ends[1]]


def margin_loss(z: Array, targets: NDArray[np.int64], labels: NDArray[np.int64]) -> tuple[float, Array]:
    """The mean of tanh(max_{c ≠ y} z_c - z_y) over the targets, which the attacker raises, and its gradient [N, C].

    A node far on either side of the boundary counts little: the budget goes to those that can be tipped.
    """
    rows = np.arange(len(targets))
    of_targets = z[targets].copy()
    true = of_targets[rows, labels]
    of_targets[rows, labels] = -np.inf
    rival = of_targets.argmax(axis=1)
    value = np.tanh(of_targets[rows, rival] - true)
    slope = (1 - value**2) / len(targets)
    gradient = np.zeros_like(z)
    gradient[targets, rival] = slope
    gradient[targets, labels] -= slope
    return float(value.mean()), gradient


def pair_products(left: Array, right: Array, ends: NDArray[np.int64]) -> Array:
    """[K] left_i · right_j of each pair (i, j), a few at a time so that their rows stay in the cache."""
    parts = (slice(at, at + PAIRS) for at in range(0, ends.shape[1], PAIRS))
    products = [np.einsum("kh,kh->k", left[ends[0, part]], right[ends[1, part]]) for part in parts]
    return np.concatenate([*products, np.empty(0)])


def softmax(z: Array) -> Array:
    """Rows of probabilities."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    shares: Array = e / e.sum(axis=1, keepdims=True)
    return shares


def glorot(rows: int, columns: int, rng: np.random.Generator) -> Array:
    """Uniform in ±√(6 / (rows + columns))."""
    limit = np.sqrt(6 / max(1, rows + columns))
    return rng.uniform(-limit, limit, (rows, columns))
