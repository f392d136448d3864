"""GCNII: deep graph convolutions with initial residual and identity map (Chen et al., ICML 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...kernels import Key, dropout, relu_dropout
from ..adjacency import Adjacency
from ..inputs import Block
from .common import child, initialise, new_biases, new_weights, side_by_side


class GCNII(nn.Module):
    """H⁰ = ReLU(X W + b); H^ℓ = ReLU(M ((1 - β_ℓ) I + β_ℓ W_ℓ)) with M = (1 - α) Â dr(H^{ℓ-1}) + α H⁰.

    β_ℓ = log(θ/ℓ + 1); logits = dr(H^L) W' + b'. H is [N, hidden] throughout.

    Args:
        widths: columns of each input block.
        layers: L, of convolutions.
        rate: dropout of hidden layers.
        alpha: share of H⁰ in every layer.
        theta: how strongly W_ℓ acts.
    """

    def __init__(
        self,
        widths: Sequence[int],
        hidden: int,
        classes: int,
        layers: int,
        rate: float,
        alpha: float = 0.1,
        theta: float = 0.5,
    ) -> None:
        super().__init__()
        self.first = new_weights((w, hidden) for w in widths)
        self.later = new_weights([(hidden, hidden)] * layers)
        self.last = nn.Parameter(torch.empty(hidden, classes))
        self.bias = new_biases([hidden, classes])
        self.rate, self.alpha, self.theta = rate, alpha, theta

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        initialise(list(self.first), how, generator)
        for weight in (*self.later, self.last):
            initialise([weight], how, generator)

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        start = torch.relu(side_by_side(blocks, self.first, key) + self.bias[0])
        h = dropout(start, self.rate, child(key, "start"))
        for layer, weight in enumerate(self.later):
            layer_key = child(key, layer)
            mixed = torch.lerp(adjacency.propagate(h, child(layer_key, "edges")), start, self.alpha)
            h = torch.lerp(mixed, mixed @ weight, math.log(self.theta / (layer + 1) + 1))
            h = relu_dropout(h, self.rate, layer_key)
        logits: Tensor = h @ self.last + self.bias[1]
        return logits
