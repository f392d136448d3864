"""GCN: graph convolutions (Kipf & Welling, ICLR 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from ..adjacency import Adjacency
from ..inputs import Block
from ..kernels import Key, relu_dropout
from .common import child, initialise, new_biases, new_weights, side_by_side


class GCN(nn.Module):
    """H^ℓ = σ(Â H^{ℓ-1} W^ℓ + b^ℓ), logits without σ: the paper's propagator.

    Several input blocks stand side by side, as in [Ŷ‖X]: the first layer's weight has one part per block, and
    Â [Ŷ‖X] W = Â (Ŷ W_1 + X W_2). Weights come first and propagation second, because H is narrower than X.

    Args:
        widths: columns of each input block.
        hidden, classes, layers: sizes.
        rate: dropout of hidden layers.
        batch_norm: normalise between the layers.
    """

    def __init__(
        self, widths: Sequence[int], hidden: int, classes: int, layers: int, rate: float, batch_norm: bool = False
    ) -> None:
        super().__init__()
        sizes = [sum(widths)] + [hidden] * (layers - 1) + [classes]
        self.first = new_weights((w, sizes[1]) for w in widths)
        self.later = new_weights(pairwise(sizes[1:]))
        self.bias = new_biases(sizes[1:])
        self.norms = nn.ModuleList([nn.BatchNorm1d(b) for b in sizes[1:-1]] if batch_norm else [])
        self.rate = rate

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        initialise(list(self.first), how, generator)
        for weight in self.later:
            initialise([weight], how, generator)

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        h = side_by_side(blocks, self.first, key)
        last = len(self.bias) - 1
        for layer, bias in enumerate(self.bias):
            place = child(key, layer)
            h = adjacency.propagate(h, child(place, "edges")) + bias
            if layer < last:
                h = self.norms[layer](h) if self.norms else h
                h = relu_dropout(h, self.rate, place) @ self.later[layer]
        return h
