"""ALaGAT: the gates of ALaGCN on attention, one gate per node and head (Xie et al., IJCAI 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..graph.structure import Structure
from ..kernels import Key, add_heads, attend_heads, dropout, head_scores, matmul, sums
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.propagators import initialise
from ..model.propagators.common import child, new_biases, new_weights
from ..model.settings import setting
from .alagcn import ALaClassifier, ALaSettings, Gates
from .common import Forward


@dataclass(frozen=True)
class ALaGATSettings(ALaSettings):
    """The settings of the publication for Cora."""

    hidden: int = setting(8, "Hidden units of each head.", low=1)
    heads: int = setting(8, "Heads.", low=1)
    epochs: int = setting(300, "Epochs.", low=1)
    learning_rate: float = setting(0.005, "Adam's learning rate.", low=0)
    weight_decay: float = setting(5e-4, "Decoupled decay of all parameters (AdamW).", low=0)
    dropout_input: float = setting(0.6, "Dropout of the features.", low=0, high=0.99)
    dropout_hidden: float = setting(0.6, "Dropout of hidden layers.", low=0, high=0.99)
    dropout_attention: float = setting(0.6, "Dropout of attention weights.", low=0, high=0.99)


class ALaGAT(nn.Module):
    """h_k = α_k X W_k; L - 1 times h_ik ← dr(h)_ik + g_ik d_i^{-1/2} Σ_j α_ijk dr(h)_jk; logits [h_1‖…‖h_K] W_y + b_y.

    α_ijk = dr(softmax_j LeakyReLU(a_k·h_ik + b_k·h_jk)) over the neighbours and the node; the first layer has its own
    a and b, all gated layers share one pair. The gates see the neighbours' classes weighted by α_k / d_i.
    h is [N, K · hidden], the heads side by side.
    """

    def __init__(
        self, structure: Structure, device: torch.device, width: int, classes: int, settings: ALaGATSettings
    ) -> None:
        super().__init__()
        hidden, heads = settings.hidden, settings.heads
        self.first = new_weights([(width, heads * hidden)])
        self.later = new_weights([(heads * hidden, classes)])
        self.target = new_weights([(heads, hidden)] * 2)  # a of the first layer, and of the gated ones
        self.source = new_weights([(heads, hidden)] * 2)  # b
        self.bias = new_biases([classes])
        self.gates = Gates()
        self.layers, self.heads = settings.layers, heads
        self.rate, self.attention_rate = settings.dropout_hidden, settings.dropout_attention
        self.pattern = structure.pattern
        self.weights = structure.tensor("weights", device)
        self.degrees = sums(self.pattern, self.weights)[0][:, None]  # [N, 1]

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        for weight in (*self.first, *self.later):
            initialise([weight], how, generator)
        for vectors in (*self.target, *self.source):
            for vector in vectors.detach():
                initialise([vector[:, None]], how, generator)

    def collect(
        self, h: Tensor, pair: int, key: Key | None, classes: tuple[Tensor, int] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Σ_j α_ijk h_jk [N, K · hidden], and Σ_j α_ijk over the nodes j of each class [N, K, C]."""
        halves = head_scores(h, self.target[pair], self.source[pair])
        return attend_heads(self.pattern, halves, h, self.weights, self.attention_rate, key, classes)

    def classify(self, h: Tensor) -> Tensor:
        """Logits [N, C] of all heads side by side."""
        return matmul(h, self.later[0], self.bias[0])

    def forward(self, x: Block, key: Key | None) -> Tensor:
        """Logits [N, C]."""
        h = self.collect(x.linear(self.first[0], child(key, "input")), 0, child(key, "edges"))[0]
        before = torch.ones((), device=h.device)
        for layer in range(self.layers - 1):
            layer_key = child(key, layer)
            classes = self.classify(h.detach()).detach().argmax(1)
            h = dropout(h, self.rate, layer_key)
            aggregate, shares = self.collect(h, 1, child(layer_key, "edges"), (classes, len(self.bias[0])))
            z = self.gates(shares / self.degrees[:, :, None], classes)
            gate = torch.minimum(before, z) * self.degrees.rsqrt()
            h = add_heads(h, gate, aggregate)
            before = z
        return self.classify(h)


class ALaGATClassifier(ALaClassifier):
    """The network of :class:`ALaGAT`; edge weights, where there are any, weigh the softmax."""

    method = "alagat"
    settings_class = ALaGATSettings
    settings: ALaGATSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The gated network."""
        network = ALaGAT(problem.structure, problem.device, problem.x.width, problem.num_classes, self.settings)
        network.initialise("xavier", generator)
        return network, lambda key: network(problem.x, key)
