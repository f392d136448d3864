"""MLP: the features alone; also the first half of the networks that predict first and propagate then."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from ...kernels import Key, relu_dropout
from ..inputs import Block
from .common import child, initialise_layers, new_biases, new_weights, side_by_side


class MLP(nn.Module):
    """Z = dr(ReLU(dr(X) W₁ + b₁)) W₂ + b₂, and so on for more layers; X [N, F], Z [N, C]."""

    def __init__(
        self, width: int | Sequence[int], hidden: int, classes: int, layers: int, rate: float, batch_norm: bool
    ) -> None:
        super().__init__()
        widths = [width] if isinstance(width, int) else list(width)
        sizes = [sum(widths)] + [hidden] * (layers - 1) + [classes]
        self.first = new_weights((w, sizes[1]) for w in widths)
        self.later = new_weights(pairwise(sizes[1:]))
        self.bias = new_biases(sizes[1:])
        self.norms = nn.ModuleList([nn.BatchNorm1d(b) for b in sizes[1:-1]] if batch_norm else [])
        self.rate = rate

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        initialise_layers(self.first, self.later, how, generator)

    def forward(self, x: Block | Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C] of one input block, or of several side by side."""
        blocks = [x] if isinstance(x, Block) else x
        return self.after_first(side_by_side(blocks, self.first, key), key)

    def after_first(self, product: Tensor, key: Key | None) -> Tensor:
        """The logits [N, C] from X W₁ [N, H]: for networks that do something with the product first."""
        h: Tensor = product + self.bias[0]
        for layer, weight in enumerate(self.later):
            if self.norms:
                h = self.norms[layer](h)
            h = relu_dropout(h, self.rate, child(key, layer)) @ weight + self.bias[layer + 1]
        return h
