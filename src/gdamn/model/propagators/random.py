"""Random propagation: whole nodes left out, then carried over many steps (after Feng et al., NeurIPS 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...kernels import Key, dropout
from ..adjacency import Adjacency
from ..inputs import Block
from .common import child, side_by_side
from .mlp import MLP


class RandomPropagation(nn.Module):
    """Z = MLP(X̄) with X̄ = 1/(K+1) Σ_{k≤K} Â^k (m ⊙ X); m [N] leaves out whole nodes, and is 1 - δ in evaluation.

    The first layer is linear and m acts on whole rows, so X̄ W = 1/(K+1) Σ_k Â^k (m ⊙ (X W)): the graph works on the
    hidden units in place of the features. That is exact but for the dropout of the input, which acts on X here and
    on X̄ in the publication.

    Args:
        widths: columns of each input block.
        rate: dropout of hidden layers.
        steps: K.
        drop_node: δ.
    """

    def __init__(
        self,
        widths: Sequence[int],
        hidden: int,
        classes: int,
        layers: int,
        rate: float,
        steps: int,
        drop_node: float,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        self.body = MLP(widths, hidden, classes, layers, rate, batch_norm)
        self.steps, self.drop_node = steps, drop_node

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        self.body.initialise(how, generator)

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C] of one draw; without a key, of the mean over what may be left out."""
        return self.draws(adjacency, blocks, [key])[0]

    def draws(self, adjacency: Adjacency, blocks: Sequence[Block], keys: Sequence[Key | None]) -> list[Tensor]:
        """Logits [N, C] of each draw; side by side, so that one product carries them all."""
        parts = [without_nodes(side_by_side(blocks, self.body.first, key), self.drop_node, key) for key in keys]
        total = power = torch.cat(parts, 1) if len(parts) > 1 else parts[0]
        edges = child(keys[0], "edges")
        for step in range(self.steps):
            power = adjacency.propagate(power, child(edges, step))
            total = total + power
        products = (total / (self.steps + 1)).chunk(len(keys), 1)
        return [self.body.after_first(product, key) for product, key in zip(products, keys, strict=True)]


def without_nodes(product: Tensor, rate: float, key: Key | None) -> Tensor:
    """Rows left out with probability ``rate`` and not scaled up: [N, H]; their mean (1 - rate) without a key."""
    return product * (1 - rate) if key is None else product * kept_nodes(len(product), rate, key, product.device)


def kept_nodes(count: int, rate: float, key: Key, device: torch.device) -> Tensor:
    """1 for the nodes that stay and 0 for those that are left out: [N, 1]."""
    return dropout(torch.ones(count, 1, device=device), rate, key.fold("nodes")) * (1 - rate)
