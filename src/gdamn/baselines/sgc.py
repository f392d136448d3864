"""SGC: a linear model of smoothed features (Wu et al., ICML 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..kernels import Key
from ..model.adjacency import Adjacency, gcn_adjacency
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.propagators import MLP
from ..model.settings import setting
from .common import NORMALIZATIONS, NORMALIZE, Forward, NetworkClassifier, SupervisedSettings


class SGC(nn.Module):
    """Z = S^K X W + b: [N, C], computed as S(…S(X W)): the same map, and X stays sparse and S works on C columns."""

    def __init__(self, width: int, classes: int, steps: int) -> None:
        super().__init__()
        self.body = MLP(width, 1, classes, layers=1, rate=0.0, batch_norm=False)
        self.steps = steps

    def forward(self, adjacency: Adjacency, blocks: Sequence[Block], key: Key | None) -> Tensor:
        """Logits [N, C]."""
        (x,) = blocks
        z: Tensor = x.linear(self.body.first[0], key)
        for _ in range(self.steps):
            z = adjacency.propagate(z, None)
        z = z + self.body.bias[0]
        return z


@dataclass(frozen=True)
class SGCSettings(SupervisedSettings):
    """The settings of the publication, but for steps, features and decay (docs/evidence/baselines.md)."""

    epochs: int = setting(100, "Epochs.", low=1)
    learning_rate: float = setting(0.2, "Adam's learning rate.", low=0)
    weight_decay: float = setting(5e-4, "L2 on the weight matrix.", low=0)
    dropout_input: float = setting(0.0, "Dropout of the features.", low=0, high=0.99)
    normalize: str = setting("unit", NORMALIZE, NORMALIZATIONS)
    steps: int = setting(4, "K, how often the features are smoothed.", low=0)


class SGCClassifier(NetworkClassifier):
    """Logistic regression on S^K X."""

    method = "sgc"
    over_ranks = True
    settings_class = SGCSettings
    settings: SGCSettings

    def network(self, width: int, classes: int) -> SGC:
        """The linear map, not yet started."""
        return SGC(width, classes, self.settings.steps)

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The linear map on the plain graph."""
        network = self.network(problem.x.width, problem.num_classes)
        network.body.initialise("xavier", generator)
        adjacency = gcn_adjacency(problem.structure, problem.device)
        return network, lambda key: network(adjacency, [problem.x], key)
