"""MLP: features alone, no graph."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from ..inputs import Block
from ..kernels import Key, relu_dropout
from ..problem import Problem
from ..propagators import initialise
from .common import Forward, NetworkClassifier


class MLP(nn.Module):
    """Z = dr(ReLU(dr(X) W₁ + b₁)) W₂ + b₂, and so on for more layers."""

    def __init__(self, width: int, hidden: int, classes: int, layers: int, rate: float, batch_norm: bool) -> None:
        super().__init__()
        sizes = [width] + [hidden] * (layers - 1) + [classes]
        self.first = nn.ParameterList([nn.Parameter(torch.empty(sizes[0], sizes[1]))])
        self.later = nn.ParameterList([nn.Parameter(torch.empty(a, b)) for a, b in pairwise(sizes[1:])])
        self.bias = nn.ParameterList([nn.Parameter(torch.zeros(b)) for b in sizes[1:]])
        self.norms = nn.ModuleList([nn.BatchNorm1d(b) for b in sizes[1:-1]] if batch_norm else [])
        self.rate = rate

    def forward(self, x: Block, key: Key | None) -> Tensor:
        """Logits [N, C]."""
        h: Tensor = x.linear(self.first[0], key.fold("input") if key else None) + self.bias[0]
        for layer, weight in enumerate(self.later):
            if self.norms:
                h = self.norms[layer](h)
            h = relu_dropout(h, self.rate, key.fold(layer) if key else None) @ weight + self.bias[layer + 1]
        return h


class MLPClassifier(NetworkClassifier):
    """A multilayer perceptron on the features."""

    method = "mlp"

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The perceptron; the graph is not read."""
        s = self.settings
        network = MLP(problem.x.width, s.hidden, problem.num_classes, s.layers, s.dropout_hidden, s.batch_norm)
        for weight in (*network.first, *network.later):
            initialise([weight], s.init, generator)

        def forward(key: Key | None) -> Tensor:
            return network(problem.x, key)  # type: ignore[no-any-return]

        return network, forward
