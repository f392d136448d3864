"""PageRank propagation: features mixed by the largest entries of a PageRank matrix (after Feng et al., WWW 2022).

It learns in mini-batches of rows, for which nothing of the graph's size is needed (fit/mini_batches.py), and predicts
with the whole matrix, which is never made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...kernels import Key, MixedRows, Pattern, diffusion_matrix, dropout
from ..adjacency import Adjacency, normalized
from ..inputs import Block
from .common import child
from .mlp import MLP


@dataclass(frozen=True)
class Walk:
    """Π = Σ_{n≤K} α (1 - α)^n P^n with P the walk along an adjacency's weights, each row of which sums to 1.

    Attributes:
        steps: K.
        teleport: α.
        top: entries that a row keeps for training.
        threshold: of the push that finds them (:func:`gdamn.kernels.diffusion_matrix`).
        drop: share of a row's entries that a draw leaves out.
    """

    steps: int
    teleport: float
    top: int
    threshold: float
    drop: float

    @property
    def coefficients(self) -> list[float]:
        """α (1 - α)^n."""
        return [self.teleport * (1 - self.teleport) ** n for n in range(self.steps + 1)]

    def matrix(self, adjacency: Adjacency) -> tuple[Pattern, Tensor]:
        """The largest entries of each row of Π."""
        structure = adjacency.structure
        walk = normalized(structure, adjacency.values.detach(), "row")
        return diffusion_matrix(structure.pattern, walk, self.coefficients, self.threshold, self.top)

    def apply(self, adjacency: Adjacency, h: Tensor) -> Tensor:
        """Π h with all entries, its rows divided by their sum: [N, H]."""
        walk = Adjacency(adjacency.structure, normalized(adjacency.structure, adjacency.values.detach(), "row"))
        total, power = h * self.coefficients[0], h
        for coefficient in self.coefficients[1:]:
            power = walk.propagate(power, None)
            total = total + coefficient * power
        return total / sum(self.coefficients)


class Pagerank(nn.Module):
    """Z = MLP(dr(norm(Π X))): the rows of Π lose entries in training, and are divided by their sum.

    In evaluation the norm is a linear map, so it is folded into the first layer, and Π works on the hidden units in
    place of the features: Π (X W') + b'.

    Args:
        width: columns of X; one input block.
        rate: dropout of hidden layers; the input's acts on norm(Π X).
        batch_norm: normalise Π X, and between the layers.
    """

    def __init__(
        self, width: int, hidden: int, classes: int, layers: int, rate: float, walk: Walk, batch_norm: bool
    ) -> None:
        super().__init__()
        self.body = MLP(width, hidden, classes, layers, rate, batch_norm)
        self.input_norm = nn.BatchNorm1d(width) if batch_norm else None
        self.walk = walk

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        self.body.initialise(how, generator)

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]: exact without a key, of one draw of every row with one."""
        (x,) = blocks
        if key is not None:
            return self.rows(self.walk.matrix(adjacency), x, np.arange(adjacency.structure.pattern.shape[0]), key)
        weight, bias = self.first_layer()
        return self.body.after_first(self.walk.apply(adjacency, x.linear(weight, None)) + bias, None)

    def first_layer(self) -> tuple[Tensor, Tensor | float]:
        """W' [F, H] and b' [H] of norm(X̄) W = X̄ W' + b' with the norm's running moments."""
        weight, norm = self.body.first[0], self.input_norm
        if norm is None:
            return weight, 0.0
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        return scale[:, None] * weight, (norm.bias - norm.running_mean * scale) @ weight

    def rows(self, matrix: tuple[Pattern, Tensor], x: Block, rows: NDArray[np.int64], key: Key) -> Tensor:
        """Logits [B, C] of one draw of some rows of Π (:meth:`Walk.matrix`)."""
        features = x.dense if x.pattern is None or x.values is None else (x.pattern, x.values)
        assert features is not None
        noise, weight = child(key, "input"), self.body.first[0]
        mixed = MixedRows(matrix, features, rows, self.walk.drop, key.fold("entries"))
        if self.input_norm is not None:
            return self.body.after_first(dropout(self.input_norm(mixed.made()), x.rate, noise) @ weight, key)
        return self.body.after_first(replace(mixed, input_rate=x.rate, input_key=noise).linear(weight), key)
