"""GCN: graph convolutions (Kipf & Welling, ICLR 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn

from ...kernels import Key, matmul, norm_relu_dropout, relu_dropout
from ..adjacency import Adjacency
from ..inputs import Block
from .common import child, initialise_layers, new_biases, new_weights, side_by_side


class GCN(nn.Module):
    """H^ℓ = σ(Â H^{ℓ-1} W^ℓ + b^ℓ), logits without σ: the paper's propagator.

    Several input blocks stand side by side, as in [Ŷ‖X]: the first layer's weight has one part per block, and
    Â [Ŷ‖X] W = Â (Ŷ W_1 + X W_2). Weights come first and propagation second where H is narrower than X.

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
        initialise_layers(self.first, self.later, how, generator)

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        h = self.first_layer(adjacency, blocks, key)
        for layer, (weight, bias) in enumerate(zip(self.later, list(self.bias)[1:], strict=True)):
            place = child(key, layer)
            if self.norms:
                norm = cast(nn.BatchNorm1d, self.norms[layer])
                h = norm_relu_dropout(h, norm, self.rate, place)
            else:
                h = relu_dropout(h, self.rate, place)
            edges = child(child(key, layer + 1), "edges")
            h = adjacency.propagate(matmul(h, weight), edges, bias)
        return h

    def first_layer(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Â [B_1‖B_2‖…] W + b: [N, H].

        For one block that is dense and not wider than H, Â X comes first: its gradient needs no product with Âᵀ,
        and without dropout it needn't be computed again.
        """
        edges, bias = child(child(key, 0), "edges"), self.bias[0]
        if len(blocks) == 1 and blocks[0].dense is not None and blocks[0].width <= len(bias):
            place = child(child(key, "input"), 0)
            return matmul(adjacency.propagate_input(blocks[0], place, edges), self.first[0], bias)
        return adjacency.propagate(side_by_side(blocks, self.first, key), edges, bias)
