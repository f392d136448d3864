"""Logistic regression: features alone, one linear layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ..model.problem import Problem
from ..model.propagators import MLP
from ..model.settings import setting
from .common import NORMALIZATIONS, NORMALIZE, Forward, NetworkClassifier, SupervisedSettings


@dataclass(frozen=True)
class LogRegSettings(SupervisedSettings):
    """The settings of Shchur et al. (2018), but for features and decay (docs/evidence/baselines.md)."""

    learning_rate: float = setting(0.1, "Adam's learning rate.", low=0)
    weight_decay: float = setting(0.05, "L2 on the weight matrix.", low=0)
    normalize: str = setting("unit", NORMALIZE, NORMALIZATIONS)
    dropout_input: float = setting(0.0, "Dropout of the features.", low=0, high=0.99)


class LogRegClassifier(NetworkClassifier):
    """Z = X W + b; L2 on W alone."""

    method = "logreg"
    settings_class = LogRegSettings
    settings: LogRegSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """A perceptron of one layer; the graph is not read."""
        network = MLP(problem.x.width, 1, problem.num_classes, layers=1, rate=0.0, batch_norm=False)
        network.initialise("xavier", generator)
        return network, lambda key: network(problem.x, key)
