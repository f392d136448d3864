"""DeeperGCN: many layers with pre-activation residuals and softmax aggregation (Li et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..graph.structure import Structure
from ..kernels import Key, relu_dropout, spmm
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.propagators import initialise
from ..model.propagators.common import child, new_biases, new_weights
from ..model.settings import setting
from .common import Forward, NetworkClassifier, SupervisedSettings

SMALLEST = 1e-7
"""Added to every message, so that it is positive."""
TEMPERATURE = 0.1
"""t, how strongly large messages outweigh small ones."""


@dataclass(frozen=True)
class DeeperGCNSettings(SupervisedSettings):
    """The settings of the publication for ogbn-arxiv, its only graph that is here."""

    hidden: int = setting(128, "Hidden units.", low=1)
    layers: int = setting(28, "Layers.", low=1, high=64)
    epochs: int = setting(500, "Epochs.", low=1)
    learning_rate: float = setting(0.001, "Adam's learning rate.", low=0)
    weight_decay: float = setting(0.0, "L2 on the weight matrices.", low=0)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    dropout_input: float = setting(0.0, "Dropout of the features.", low=0, high=0.99)
    dropout_hidden: float = setting(0.5, "Dropout of hidden layers.", low=0, high=0.99)


def aggregate(structure: Structure, h: Tensor, temperature: float) -> Tensor:
    """Σ_j w_ij ⊙ m_j with m = ReLU(h) + ε and w_ij = softmax_j(t m_j), channel by channel: [N, H].

    The score of a message is its own, whoever receives it, so the softmax is a quotient of two sparse products,
    A (e ⊙ m) / A e with e = exp(t m), and no array of edges times channels exists. No gradient flows through w.
    """
    pattern, weights = structure.pattern, structure.tensor("weights", h.device)
    messages = torch.relu(h) + SMALLEST
    with torch.no_grad():
        scores = temperature * messages
        mass = torch.exp(scores - scores.amax(0))
        total = spmm(pattern, weights, mass).clamp_min(1e-30)
    return spmm(pattern, weights, mass * messages) / total


class DeeperGCN(nn.Module):
    """h ← GEN(X W + b), then h ← h + GEN(dr(ReLU(BN(h)))) layer by layer; logits dr(ReLU(BN(h))) W' + b'.

    GEN(h)_i = W (h_i + Σ_j w_ij ⊙ m_j) + b over the neighbours and the node (:func:`aggregate`); h is [N, hidden].
    """

    def __init__(self, structure: Structure, width: int, hidden: int, classes: int, layers: int, rate: float) -> None:
        super().__init__()
        self.first = new_weights([(width, hidden)])
        self.later = new_weights([(hidden, hidden)] * layers + [(hidden, classes)])
        self.bias = new_biases([hidden] * (layers + 1) + [classes])
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(layers))
        self.structure, self.rate = structure, rate

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        for weight in (*self.first, *self.later):
            initialise([weight], how, generator)

    def convolve(self, h: Tensor, layer: int) -> Tensor:
        """GEN: [N, hidden]."""
        mixed: Tensor = (h + aggregate(self.structure, h, TEMPERATURE)) @ self.later[layer] + self.bias[layer + 1]
        return mixed

    def forward(self, x: Block, key: Key | None) -> Tensor:
        """Logits [N, C]."""
        h = self.convolve(x.linear(self.first[0], child(key, "input")) + self.bias[0], 0)
        for layer, norm in enumerate(self.norms, start=1):
            ready = relu_dropout(norm(h), self.rate, child(key, layer))
            if layer < len(self.norms):
                h = h + self.convolve(ready, layer)
        logits: Tensor = ready @ self.later[-1] + self.bias[-1]
        return logits


class DeeperGCNClassifier(NetworkClassifier):
    """The network of :class:`DeeperGCN`, all nodes in one batch."""

    method = "deepergcn"
    settings_class = DeeperGCNSettings
    settings: DeeperGCNSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The network on A + I."""
        s = self.settings
        sizes = problem.x.width, s.hidden, problem.num_classes, s.layers
        network = DeeperGCN(problem.structure, *sizes, s.dropout_hidden)
        network.initialise("xavier", generator)
        return network, lambda key: network(problem.x, key)
