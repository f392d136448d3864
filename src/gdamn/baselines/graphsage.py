"""GraphSAGE with the mean of all neighbours (Hamilton et al., NeurIPS 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ..model.adjacency import neighbours
from ..model.problem import Problem
from ..model.propagators import SAGE
from ..model.settings import setting
from .common import Forward, NetworkClassifier, NetworkSettings


@dataclass(frozen=True)
class SAGESettings(NetworkSettings):
    """The settings of a GCN; the publication has none for these graphs."""

    hidden: int = setting(64, "Hidden units.", low=1)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))


class SAGEClassifier(NetworkClassifier):
    """h_i ← ReLU(W_s h_i + W_n mean_j h_j + b) over all neighbours: no sampling of neighbours, no unit length."""

    method = "graphsage"
    settings_class = SAGESettings
    settings: SAGESettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The propagator on D^{-1} A, without loops."""
        s = self.settings
        network = SAGE([problem.x.width], s.hidden, problem.num_classes, s.layers, s.dropout_hidden, batch_norm=False)
        network.initialise("xavier", generator)
        adjacency = neighbours(problem.structure, "row", problem.device)
        return network, lambda key: network(adjacency, [problem.x], key)
