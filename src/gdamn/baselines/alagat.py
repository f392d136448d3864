"""ALaGAT: the gates of ALaGCN on attention, one gate per node and head (Xie et al., IJCAI 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ..graph.structure import Structure
from ..kernels import Key, Pattern, dropout, edge_softmax, sddmm, spmm, sums
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.propagators import initialise
from ..model.propagators.common import child, new_biases, new_weights
from ..model.propagators.gat import SLOPE
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


def for_heads(structure: Structure, heads: int) -> tuple[Pattern, NDArray[np.int64]]:
    """One pattern for all heads, and which entry of A + I each of its entries is: shape [NK, NK], EK entries.

    Row iK + k is node i as head k sees it, and has the entries jK + k; so one kernel serves all heads.
    """
    plain = structure.pattern
    rows = np.repeat(np.arange(plain.shape[0]), heads)
    by_row, entries = plain.select_rows(rows)
    head = np.tile(np.arange(heads), plain.shape[0])
    columns = by_row.indices.astype(np.int64) * heads + np.repeat(head, np.diff(by_row.indptr))
    size = plain.shape[0] * heads
    return Pattern.from_csr(by_row.indptr, columns, (size, size)), entries


class ALaGAT(nn.Module):
    """h_k = α_k X W_k; L - 1 times h_ik ← dr(h)_ik + g_ik d_i^{-1/2} Σ_j α_ijk dr(h)_jk; logits [h_1‖…‖h_K] W_y + b_y.

    α_ijk = dr(softmax_j LeakyReLU(a_k·h_ik + b_k·h_jk)) over the neighbours and the node; the first layer has its own
    a and b, all gated layers share one pair. The gates see the neighbours' classes weighted by α_k / d_i.
    h is [N, K, hidden]; on the edges it is [NK, hidden] (:func:`for_heads`).
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
        self.pattern, entries = for_heads(structure, heads)
        weights = structure.tensor("weights", device)
        self.weights = weights[torch.as_tensor(entries).to(device)]
        self.degrees = sums(structure.pattern, weights)[0][:, None, None]  # [N, 1, 1]

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; biases stay 0."""
        for weight in (*self.first, *self.later):
            initialise([weight], how, generator)
        for vectors in (*self.target, *self.source):
            for vector in vectors.detach():
                initialise([vector[:, None]], how, generator)

    def attend(self, h: Tensor, pair: int, key: Key | None) -> Tensor:
        """α [EK] of all heads, for h [N, K, hidden]."""
        target, source = (h * self.target[pair]).sum(2).view(-1), (h * self.source[pair]).sum(2).view(-1)
        ones = torch.ones_like(target)
        scores = sddmm(self.pattern, torch.stack([target, ones], 1), torch.stack([ones, source], 1))
        alpha = edge_softmax(self.pattern, F.leaky_relu(scores, SLOPE), self.weights)
        return dropout(alpha, self.attention_rate, key)

    def collect(self, alpha: Tensor, h: Tensor) -> Tensor:
        """Σ_j α_ijk h_jk: [N, K, hidden]."""
        return spmm(self.pattern, alpha, h.reshape(-1, h.shape[2])).view(h.shape)

    def classify(self, h: Tensor) -> Tensor:
        """Logits [N, C] of all heads side by side."""
        logits: Tensor = h.flatten(1) @ self.later[0] + self.bias[0]
        return logits

    @torch.no_grad()
    def shares(self, alpha: Tensor, classes: Tensor) -> Tensor:
        """Share of each class among the neighbours as each head weighs them, [N, K, C], for the classes [N]."""
        one_hot = F.one_hot(classes, len(self.bias[0])).float()
        return self.collect(alpha, one_hot[:, None].expand(-1, self.heads, -1)) / self.degrees

    def forward(self, x: Block, key: Key | None) -> Tensor:
        """Logits [N, C]."""
        g = x.linear(self.first[0], child(key, "input")).view(len(self.degrees), self.heads, -1)
        h = self.collect(self.attend(g, 0, child(key, "edges")), g)
        before = torch.ones((), device=h.device)
        for layer in range(self.layers - 1):
            layer_key = child(key, layer)
            classes = self.classify(h.detach()).argmax(1)
            h = dropout(h, self.rate, layer_key)
            alpha = self.attend(h, 1, child(layer_key, "edges"))
            z = self.gates(self.shares(alpha, classes), classes)
            h = h + (torch.minimum(before, z)[:, :, None] * self.degrees.rsqrt()) * self.collect(alpha, h)
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
