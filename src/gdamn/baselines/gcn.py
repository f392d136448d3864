"""GCN: graph convolutions on the plain graph (Kipf & Welling, ICLR 2017)."""

from __future__ import annotations

import torch
from torch import nn

from ..model.adjacency import gcn_adjacency
from ..model.problem import Problem
from ..model.propagators import GCN
from .common import Forward, NetworkClassifier, NetworkSettings


class GCNClassifier(NetworkClassifier):
    """Z = S ReLU(S X W₁) W₂ with S = D^{-1/2} (A + I) D^{-1/2}."""

    method = "gcn"
    over_ranks = True
    settings_class = NetworkSettings
    settings: NetworkSettings

    def network(self, width: int, classes: int) -> GCN:
        """The propagator, not yet started."""
        s = self.settings
        return GCN([width], s.hidden, classes, s.layers, s.dropout_hidden, batch_norm=False)

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The paper's propagator on the plain graph."""
        network = self.network(problem.x.width, problem.num_classes)
        network.initialise("xavier", generator)
        adjacency = gcn_adjacency(problem.structure, problem.device)
        return network, lambda key: network(adjacency, [problem.x], key)
