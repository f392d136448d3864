"""MLP: the features alone; also the first half of the networks that predict first and propagate then."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from ..inputs import Block
from ..kernels import Key, relu_dropout
from .common import child, initialise, new_biases, new_weights


class MLP(nn.Module):
    """Z = dr(ReLU(dr(X) W₁ + b₁)) W₂ + b₂, and so on for more layers; X [N, F], Z [N, C]."""

    def __init__(self, width: int, hidden: int, classes: int, layers: int, rate: float, batch_norm: bool) -> None:
        super().__init__()
        sizes = [width] + [hidden] * (layers - 1) + [classes]
        self.first = new_weights([(sizes[0], sizes[1])])
        self.later = new_weights(pairwise(sizes[1:]))
        self.bias = new_biases(sizes[1:])
        self.norms = nn.ModuleList([nn.BatchNorm1d(b) for b in sizes[1:-1]] if batch_norm else [])
        self.rate = rate

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        for weight in (*self.first, *self.later):
            initialise([weight], how, generator)

    def forward(self, x: Block, key: Key | None) -> Tensor:
        """Logits [N, C]."""
        return self.after_first(x.linear(self.first[0], child(key, "input")), key)

    def after_first(self, product: Tensor, key: Key | None) -> Tensor:
        """The logits [N, C] from X W₁ [N, H]: for networks that do something with the product first."""
        h: Tensor = product + self.bias[0]
        for layer, weight in enumerate(self.later):
            if self.norms:
                h = self.norms[layer](h)
            h = relu_dropout(h, self.rate, child(key, layer)) @ weight + self.bias[layer + 1]
        return h
