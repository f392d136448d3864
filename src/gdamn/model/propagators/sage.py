"""GraphSAGE with the mean of all neighbours (Hamilton et al., NeurIPS 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from ...kernels import Key, relu_dropout
from ..adjacency import Adjacency
from ..inputs import Block
from .common import child, initialise, new_biases, new_weights, side_by_side


class SAGE(nn.Module):
    """h_i ← σ(W_s h_i + W_n Σ_j α_ij h_j + b), logits without σ; α_ij = 1/d_i off the loops is the mean.

    The two weights stand side by side, [W_n‖W_s], so that each input is read once and with one dropout.

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
        self.first = new_weights((w, 2 * sizes[1]) for w in widths)
        self.later = new_weights((a, 2 * b) for a, b in pairwise(sizes[1:]))
        self.bias = new_biases(sizes[1:])
        self.norms = nn.ModuleList([nn.BatchNorm1d(b) for b in sizes[1:-1]] if batch_norm else [])
        self.rate = rate

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start W_n and W_s of each layer as two matrices; biases stay 0."""
        for parts in (list(self.first), *([w] for w in self.later)):
            half = parts[0].shape[1] // 2
            initialise([w.detach()[:, :half] for w in parts], how, generator)
            initialise([w.detach()[:, half:] for w in parts], how, generator)

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        h = side_by_side(blocks, self.first, key)
        last = len(self.bias) - 1
        for layer, bias in enumerate(self.bias):
            place = child(key, layer)
            near, own = h.chunk(2, 1)
            h = adjacency.propagate(near, child(place, "edges")) + own + bias
            if layer < last:
                h = self.norms[layer](h) if self.norms else h
                h = relu_dropout(h, self.rate, place) @ self.later[layer]
        return h
