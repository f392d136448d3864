"""GCNII: deep graph convolutions with initial residual and identity map (Chen et al., ICML 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from ..model.adjacency import gcn_adjacency
from ..model.problem import Problem
from ..model.propagators import GCNII
from ..model.settings import setting
from .common import Forward, LossSelected, NetworkClassifier


@dataclass(frozen=True)
class GCNIISettings(LossSelected):
    """The settings of the publication with fewer layers, for a fixed number of epochs in place of its patience."""

    hidden: int = setting(64, "Hidden units.", low=1)
    layers: int = setting(16, "Convolutions.", low=1, high=64)
    epochs: int = setting(400, "Epochs.", low=1)
    weight_decay: float = setting(5e-4, "L2 on the first and the last weight matrix.", low=0)
    decay_hidden: float = setting(0.01, "L2 on the weight matrices of the convolutions.", low=0)
    decay: str = setting("all", "Which matrices decay: all, or all but the last.", ("all", "first"))
    dropout_input: float = setting(0.6, "Dropout of the features.", low=0, high=0.99)
    dropout_hidden: float = setting(0.6, "Dropout of hidden layers.", low=0, high=0.99)
    alpha: float = setting(0.1, "Share of the first hidden layer in every other one.", low=0, high=1)
    theta: float = setting(0.5, "How strongly the matrices of the convolutions act.", low=0)


class GCNIIClassifier(NetworkClassifier):
    """H^ℓ = ReLU(M ((1 - β_ℓ) I + β_ℓ W_ℓ)) with M = (1 - α) S H^{ℓ-1} + α H⁰ and β_ℓ = log(θ/ℓ + 1)."""

    method = "gcnii"
    settings_class = GCNIISettings
    settings: GCNIISettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The propagator on the plain graph."""
        s = self.settings
        sizes = [problem.x.width], s.hidden, problem.num_classes, s.layers
        network = GCNII(*sizes, s.dropout_hidden, s.alpha, s.theta)
        network.initialise("xavier", generator)
        adjacency = gcn_adjacency(problem.structure, problem.device)
        return network, lambda key: network(adjacency, [problem.x], key)

    def groups(self, network: nn.Module) -> list[dict[str, Any]]:
        """The matrices of the convolutions decay more than the first and the last; biases don't."""
        s, net = self.settings, cast(GCNII, network)
        outer = [*net.first, *([net.last] if s.decay == "all" else [])]
        free = [*net.bias, *([] if s.decay == "all" else [net.last])]
        return [
            {"params": list(net.later), "weight_decay": s.decay_hidden},
            {"params": outer, "weight_decay": s.weight_decay},
            {"params": free, "weight_decay": 0.0},
        ]
