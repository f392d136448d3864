"""MLP: the features alone; also the first half of the networks that predict first and propagate then."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ...kernels import Key, relu_dropout
from ..inputs import Block
from .common import Layers, child, side_by_side


class MLP(Layers):
    """Z = dr(ReLU(dr(X) W₁ + b₁)) W₂ + b₂, and so on for more layers; X [N, F], Z [N, C]."""

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
