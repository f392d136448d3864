"""ALaGCN: each node decides, layer by layer, how much of its neighbours it still takes (Xie et al., IJCAI 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..kernels import Key, dropout, spmm, sums
from ..model.adjacency import Adjacency, gcn_adjacency
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.propagators import initialise
from ..model.propagators.common import child, new_biases, new_weights
from ..model.settings import setting
from .common import Forward, NetworkClassifier, SupervisedSettings

RAREST = 1e-5
"""Smallest share of a class among the neighbours, so that its logarithm exists."""


@dataclass(frozen=True)
class ALaSettings(SupervisedSettings):
    """What ALaGCN and ALaGAT share; weights decay as in AdamW: after each step, apart from the gradient."""

    layers: int = setting(3, "L, layers; all but the first are gated.", low=1, high=64)
    weight_decay: float = setting(5e-6, "Decoupled decay of all parameters (AdamW).", low=0)
    decay: str = setting("all", "Which parameters decay: all, or only the matrix of the first layer.", ("all", "first"))
    dropout_hidden: float = setting(0.5, "Dropout of hidden layers.", low=0, high=0.99)


@dataclass(frozen=True)
class ALaGCNSettings(ALaSettings):
    """The settings of the publication for Cora."""

    hidden: int = setting(16, "Hidden units.", low=1)
    layers: int = setting(5, "L, layers; all but the first are gated.", low=1, high=64)
    dropout_input: float = setting(0.0, "Dropout of the features.", low=0, high=0.99)


class Gates(nn.Module):
    """z = σ(τ₁ - ŝ) σ(τ₂ - û): closed where the neighbours agree with the node, or disagree among themselves.

    ŝ and û are standardised over all nodes and heads; the thresholds τ are shared by all layers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.threshold = nn.Parameter(torch.full((2,), 0.5))

    def forward(self, shares: Tensor, classes: Tensor) -> Tensor:
        """z [N, K].

        Args:
            shares: [N, K, C] share of each class among the neighbours, as each of K heads sees them.
            classes: [N] class of each node itself.
        """
        agreement = shares.gather(2, classes[:, None, None].expand(-1, shares.shape[1], 1))[:, :, 0]
        safe = shares.clamp_min(RAREST)
        entropy = -(safe * safe.log()).sum(2)
        s, u = (F.layer_norm(value, value.shape) for value in (agreement, entropy))
        return torch.sigmoid(self.threshold[0] - s) * torch.sigmoid(self.threshold[1] - u)


class ALaGCN(nn.Module):
    """h = S X W + b, then L - 1 times h_i ← dr(h)_i + g_i d_i^{-1/2} Σ_j dr(h)_j; logits h W_y + b_y.

    The same W_y gives the classes of all nodes before each gated layer, from which come the share s_i of neighbours
    with the node's class and the entropy u_i of the neighbours' classes; g_i = min(z_i, z_i of the layer before).
    Neighbours include the node. Nothing flows back through s and u.
    """

    def __init__(self, adjacency: Adjacency, width: int, hidden: int, classes: int, layers: int, rate: float) -> None:
        super().__init__()
        self.first = new_weights([(width, hidden)])
        self.later = new_weights([(hidden, classes)])
        self.bias = new_biases([hidden, classes])
        self.gates = Gates()
        self.adjacency, self.layers, self.rate = adjacency, layers, rate
        self.pattern = adjacency.structure.pattern
        self.weights = adjacency.structure.tensor("weights", adjacency.values.device)
        self.degrees = sums(self.pattern, self.weights)[0][:, None]  # [N, 1]

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        for weight in (*self.first, *self.later):
            initialise([weight], how, generator)

    def classify(self, h: Tensor) -> Tensor:
        """Logits [N, C] of hidden units."""
        logits: Tensor = h @ self.later[0] + self.bias[1]
        return logits

    @torch.no_grad()
    def shares(self, classes: Tensor) -> Tensor:
        """Share of each class among the neighbours, [N, 1, C], for the classes [N]."""
        one_hot = F.one_hot(classes, len(self.bias[1])).float()
        return (spmm(self.pattern, self.weights, one_hot) / self.degrees)[:, None]

    def forward(self, x: Block, key: Key | None) -> Tensor:
        """Logits [N, C]."""
        h = self.adjacency.propagate(x.linear(self.first[0], child(key, "input")), None) + self.bias[0]
        before = torch.ones((), device=h.device)
        for layer in range(self.layers - 1):
            classes = self.classify(h.detach()).argmax(1)
            z = self.gates(self.shares(classes), classes)
            h = dropout(h, self.rate, child(key, layer))
            h = h + torch.minimum(before, z) * (spmm(self.pattern, self.weights, h) * self.degrees.rsqrt())
            before = z
        return self.classify(h)


class ALaClassifier(NetworkClassifier):
    """Trained by Adam with decoupled decay."""

    settings: ALaSettings

    def groups(self, network: nn.Module) -> list[dict[str, Any]]:
        """Nothing decays through the gradient."""
        return [{"params": list(network.parameters()), "weight_decay": 0.0}]

    @torch.no_grad()
    def stepped(self, network: nn.Module) -> None:
        """w ← (1 - η λ) w."""
        s = self.settings
        for name, parameter in network.named_parameters():
            if s.decay == "all" or ".first." in f".{name}":
                parameter.mul_(1 - s.learning_rate * s.weight_decay)


class ALaGCNClassifier(ALaClassifier):
    """The network of :class:`ALaGCN` on the plain graph."""

    method = "alagcn"
    settings_class = ALaGCNSettings
    settings: ALaGCNSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The gated network."""
        s = self.settings
        adjacency = gcn_adjacency(problem.structure, problem.device)
        network = ALaGCN(adjacency, problem.x.width, s.hidden, problem.num_classes, s.layers, s.dropout_hidden)
        network.initialise("xavier", generator)
        return network, lambda key: network(problem.x, key)
