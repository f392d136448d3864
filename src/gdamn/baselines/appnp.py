"""APPNP: predict, then propagate by personalised PageRank (Klicpera et al., ICLR 2019)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn

from ..model.adjacency import gcn_adjacency
from ..model.problem import Problem
from ..model.propagators import APPNP
from ..model.settings import setting
from .common import NORMALIZATIONS, NORMALIZE, Forward, NetworkClassifier, NetworkSettings


@dataclass(frozen=True)
class APPNPSettings(NetworkSettings):
    """The settings of the publication, but for epochs, features and decay (docs/evidence/baselines.md)."""

    hidden: int = setting(64, "Hidden units.", low=1)
    epochs: int = setting(200, "Epochs.", low=1)
    weight_decay: float = setting(0.02, "L2 on the weight matrices.", low=0)
    normalize: str = setting("unit", NORMALIZE, NORMALIZATIONS)
    steps: int = setting(10, "K, steps of propagation.", low=0)
    teleport: float = setting(0.1, "α, share of the own prediction in every step.", low=0, high=1)
    dropout_edges: float = setting(0.5, "Dropout of edges, drawn anew in every step.", low=0, high=0.99)


class APPNPClassifier(NetworkClassifier):
    """Z^{k+1} = (1 - α) S Z^k + α MLP(X)."""

    method = "appnp"
    over_ranks = True
    settings_class = APPNPSettings
    settings: APPNPSettings

    def network(self, width: int, classes: int) -> APPNP:
        """The propagator, not yet started."""
        s = self.settings
        return APPNP(width, s.hidden, classes, s.layers, s.dropout_hidden, s.steps, s.teleport, batch_norm=False)

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The propagator on the plain graph."""
        network = self.network(problem.x.width, problem.num_classes)
        network.initialise("xavier", generator)
        adjacency = replace(gcn_adjacency(problem.structure, problem.device), rate=self.settings.dropout_edges)
        return network, lambda key: network(adjacency, [problem.x], key)
