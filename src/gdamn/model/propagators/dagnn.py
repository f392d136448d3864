"""DAGNN: predict, propagate, and let each node weigh the depths (Liu et al., KDD 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...kernels import Key
from ..adjacency import Adjacency
from ..inputs import Block
from .common import child, initialise
from .mlp import MLP


class DAGNN(nn.Module):
    """H_0 = MLP(X), H_k = Â H_{k-1}; logits_i = Σ_{k=0..K} σ(H_k,i · w + b) H_k,i: [N, C].

    One w [C, 1] serves all depths.

    Args:
        width: columns of X; one input block.
        steps: K.
    """

    def __init__(
        self,
        width: int | Sequence[int],
        hidden: int,
        classes: int,
        layers: int,
        rate: float,
        steps: int,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        self.body = MLP(width, hidden, classes, layers, rate, batch_norm)
        self.gate = nn.Parameter(torch.empty(classes, 1))
        self.gate_bias = nn.Parameter(torch.zeros(1))
        self.steps = steps

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        self.body.initialise(how, generator)
        initialise([self.gate], how, generator)

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        depth: Tensor = self.body(blocks, key)
        z, edges = self.gated(depth), child(key, "edges")
        for step in range(self.steps):
            depth = adjacency.propagate(depth, child(edges, step))
            z = z + self.gated(depth)
        return z

    def gated(self, depth: Tensor) -> Tensor:
        """σ(H_k w + b) ⊙ H_k: [N, C]."""
        return torch.sigmoid(depth @ self.gate + self.gate_bias) * depth
