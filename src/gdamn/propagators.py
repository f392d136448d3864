"""The networks that carry features (q) or labels and features (p) over a weighted graph.

A propagator maps an adjacency and input blocks to class logits: ``forward(adjacency, blocks, key) -> [N, C]``.
With a key it draws its dropout from the key; without one it evaluates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from .adjacency import Adjacency
from .inputs import Block
from .kernels import Key, relu_dropout


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
        self.first = nn.ParameterList([nn.Parameter(torch.empty(w, sizes[1])) for w in widths])
        self.later = nn.ParameterList([nn.Parameter(torch.empty(a, b)) for a, b in pairwise(sizes[1:])])
        self.bias = nn.ParameterList([nn.Parameter(torch.zeros(b)) for b in sizes[1:]])
        self.norms = nn.ModuleList([nn.BatchNorm1d(b) for b in sizes[1:-1]] if batch_norm else [])
        self.rate = rate

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        h: Tensor = self.first_product(blocks, key)
        last = len(self.bias) - 1
        for layer, bias in enumerate(self.bias):
            place = key.fold(layer) if key else None
            h = adjacency.propagate(h, place.fold("edges") if place else None) + bias
            if layer < last:
                h = self.norms[layer](h) if self.norms else h
                h = relu_dropout(h, self.rate, place) @ self.later[layer]
        return h

    def first_product(self, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """[Ŷ‖X] W of the first layer, a part per block: [N, hidden]."""
        parts = [
            block.linear(weight, key.fold("input").fold(i) if key else None)
            for i, (block, weight) in enumerate(zip(blocks, self.first, strict=True))
        ]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0) if len(parts) > 2 else parts[0] + parts[1]


def initialise(weights: Sequence[Tensor], how: str, generator: torch.Generator) -> None:
    """Uniform start of one weight matrix given in parts [fan_in_part, fan_out].

    xavier: ±√(6 / (fan_in + fan_out)); kaiming: ±√(6 / fan_in).
    """
    fan_in, fan_out = sum(w.shape[0] for w in weights), weights[0].shape[1]
    bound = math.sqrt(6 / max(fan_in + (fan_out if how == "xavier" else 0), 1))
    with torch.no_grad():
        for w in weights:
            w.copy_((torch.rand(w.shape, generator=generator) * 2 - 1) * bound)


def initialise_gcn(network: GCN, how: str, generator: torch.Generator) -> None:
    """Start all weights of a GCN; biases stay 0."""
    initialise(list(network.first), how, generator)
    for weight in network.later:
        initialise([weight], how, generator)
