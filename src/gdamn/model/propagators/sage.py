"""GraphSAGE with the mean of all neighbours (Hamilton et al., NeurIPS 2017)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ...kernels import Key, relu_dropout
from ..adjacency import Adjacency
from ..inputs import Block
from .common import Layers, child, side_by_side


class SAGE(Layers):
    """h_i ← σ(W_s h_i + W_n Σ_j α_ij h_j + b), logits without σ; α_ij = 1/d_i off the loops is the mean.

    The two weights stand side by side, [W_n‖W_s], so that each input is read once and with one dropout.
    """

    side = 2

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        h = side_by_side(blocks, self.first, key)
        last = len(self.bias) - 1
        for layer, bias in enumerate(self.bias):
            layer_key = child(key, layer)
            near, own = h.chunk(2, 1)
            h = adjacency.propagate(near, child(layer_key, "edges")) + own + bias
            if layer < last:
                h = self.norms[layer](h) if self.norms else h
                h = relu_dropout(h, self.rate, layer_key) @ self.later[layer]
        return h
