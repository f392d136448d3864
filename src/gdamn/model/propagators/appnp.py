"""APPNP: predict, then propagate by personalised PageRank (Klicpera et al., ICLR 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...kernels import Key
from ..adjacency import Adjacency
from ..inputs import Block
from .common import child
from .mlp import MLP


class APPNP(nn.Module):
    """H = MLP(X), Z⁰ = H, Z^{k+1} = (1 - α) Â Z^k + α H; logits Z^K, all [N, C].

    ``adjacency.rate`` drops entries of Â, drawn anew in every step.

    Args:
        width: columns of X; one input block.
        steps: K.
        teleport: α.
    """

    def __init__(
        self,
        width: int | Sequence[int],
        hidden: int,
        classes: int,
        layers: int,
        rate: float,
        steps: int,
        teleport: float,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        self.body = MLP(width, hidden, classes, layers, rate, batch_norm)
        self.steps, self.teleport = steps, teleport

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        self.body.initialise(how, generator)

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        h: Tensor = self.body(blocks, key)
        z, edges = h, child(key, "edges")
        for step in range(self.steps):
            z = torch.lerp(adjacency.propagate(z, child(edges, step)), h, self.teleport)
        return z
