"""DAGNN: predict, propagate, and let each node weigh the depths (Liu et al., KDD 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ..model.adjacency import gcn_adjacency
from ..model.problem import Problem
from ..model.propagators import DAGNN
from ..model.settings import setting
from .common import Forward, LossSelected, NetworkClassifier


@dataclass(frozen=True)
class DAGNNSettings(LossSelected):
    """The settings of the publication, for a fixed number of epochs in place of its stopping rule."""

    hidden: int = setting(64, "Hidden units.", low=1)
    epochs: int = setting(500, "Epochs.", low=1)
    weight_decay: float = setting(5e-3, "L2 on the weight matrices.", low=0)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    dropout_input: float = setting(0.8, "Dropout of the features.", low=0, high=0.99)
    dropout_hidden: float = setting(0.8, "Dropout of hidden layers.", low=0, high=0.99)
    steps: int = setting(10, "K, steps of propagation.", low=0)


class DAGNNClassifier(NetworkClassifier):
    """Z_i = Σ_k σ(H_k,i · w + b) H_k,i with H_k = S^k MLP(X)."""

    method = "dagnn"
    settings_class = DAGNNSettings
    settings: DAGNNSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The propagator on the plain graph."""
        s = self.settings
        sizes = problem.x.width, s.hidden, problem.num_classes, s.layers
        network = DAGNN(*sizes, s.dropout_hidden, s.steps, batch_norm=False)
        network.initialise("xavier", generator)
        adjacency = gcn_adjacency(problem.structure, problem.device)
        return network, lambda key: network(adjacency, [problem.x], key)
