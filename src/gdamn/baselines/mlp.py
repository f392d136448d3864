"""MLP: features alone, no graph."""

from __future__ import annotations

import torch
from torch import nn

from ..model.problem import Problem
from ..model.propagators import MLP
from .common import Forward, NetworkClassifier, NetworkSettings


class MLPClassifier(NetworkClassifier):
    """A multilayer perceptron on the features."""

    method = "mlp"
    settings_class = NetworkSettings
    settings: NetworkSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The perceptron; the graph is not read."""
        s = self.settings
        network = MLP(problem.x.width, s.hidden, problem.num_classes, s.layers, s.dropout_hidden, batch_norm=False)
        network.initialise("xavier", generator)
        return network, lambda key: network(problem.x, key)
