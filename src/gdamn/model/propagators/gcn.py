"""GCN: graph convolutions (Kipf & Welling, ICLR 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn

from ...kernels import Key, matmul, norm_relu_dropout, relu_dropout
from ..adjacency import Adjacency
from ..inputs import Block
from .common import Layers, child, side_by_side


class GCN(Layers):
    """H^ℓ = σ(Â H^{ℓ-1} W^ℓ + b^ℓ), logits without σ: the paper's propagator.

    Several input blocks stand side by side, as in [Ŷ‖X]: the first layer's weight has one part per block, and
    Â [Ŷ‖X] W = Â (Ŷ W_1 + X W_2). Weights come first and propagation second where H is narrower than X.
    """

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        edges, bias = child(child(key, 0), "edges"), self.bias[0]
        if len(blocks) == 1 and blocks[0].dense is not None and blocks[0].width <= len(bias):
            # Â X comes first where X is dense and not wider than H: its gradient needs no product with Âᵀ, and without
            # dropout it is always the same.
            x, dropping = blocks[0], edges is not None or adjacency.values.requires_grad
            noise = child(child(key, "input"), 0)
            mixed = adjacency.propagate(x.dropped(noise), edges) if dropping else adjacency.averaged(x)
            h = matmul(mixed, self.first[0], bias)
        else:
            h = adjacency.propagate(side_by_side(blocks, self.first, key), edges, bias)
        for layer, (weight, bias) in enumerate(zip(self.later, list(self.bias)[1:], strict=True)):
            layer_key = child(key, layer)
            if self.norms:
                norm = cast(nn.BatchNorm1d, self.norms[layer])
                h = norm_relu_dropout(h, norm, self.rate, layer_key)
            else:
                h = relu_dropout(h, self.rate, layer_key)
            edges = child(child(key, layer + 1), "edges")
            h = adjacency.propagate(matmul(h, weight), edges, bias)
        return h
