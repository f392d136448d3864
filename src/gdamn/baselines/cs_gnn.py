"""CS-GNN: attention by how much a neighbour has to tell, and a cut of the least of it (Hou et al., ICLR 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..graph.structure import Structure
from ..kernels import Key, dropout, edge_softmax, elu_dropout, matmul, sddmm, spmm
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.propagators import initialise
from ..model.propagators.common import child, new_biases, new_weights
from ..model.settings import setting
from .common import Forward, Loss, NetworkClassifier, SupervisedSettings

SLOWER = 0.1
"""The attention matrices learn at this share of the learning rate: they are 0.1 times what Adam sees."""
START = 0.01
"""All entries of the attention matrices start here, as in the publication's code."""


@dataclass(frozen=True)
class CSGNNSettings(SupervisedSettings):
    """The settings of the publication's code, for a fixed number of epochs in place of its patience."""

    hidden: int = setting(32, "Hidden units.", low=1)
    layers: int = setting(3, "Attention layers.", low=1, high=64)
    weight_decay: float = setting(0.0, "L2 on the weight matrices.", low=0)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    dropout_input: float = setting(0.3, "Dropout of the features.", low=0, high=0.99)
    dropout_hidden: float = setting(0.3, "Dropout of hidden layers.", low=0, high=0.99)
    dropout_attention: float = setting(0.3, "Dropout of attention weights.", low=0, high=0.99)
    cut: float = setting(
        0.713, "ρ, share of the edges that each layer cuts: those of the least attention.", low=0, high=1
    )


def cut_smallest(alpha: Tensor, free: Tensor, share: float) -> Tensor:
    """α [E] with the smallest share of its edges set to 0 and the rest scaled up, so that the total stays.

    Args:
        free: [E] which entries are edges; the others, the loops, must be 0 already.
    """
    edges = int(free.sum())
    gone = len(alpha) - edges + int(share * edges)
    mask = ~smallest(alpha.detach(), gone)
    with torch.no_grad():
        left = (alpha * mask).sum()
        scale = torch.where(left > 0, alpha.sum() / left, torch.ones_like(left))
    return alpha * (mask * scale)


def smallest(values: Tensor, count: int) -> Tensor:
    """Which of the values [E] are the ``count`` smallest, of equal ones the first: [E]; no sort, but one selection."""
    if count == 0:
        return torch.zeros_like(values, dtype=torch.bool)
    last = values.kthvalue(count).values
    below, equal = values < last, values == last
    return below | (equal & (equal.cumsum(0) <= count - below.sum()))


class CSGNN(nn.Module):
    """Per layer c_i = W_c h_i, q_j = W_q h_j, v_j = W_v h_j and α_ij = softmax_j ELU(⟨q_j - c_i, c_i⟩), then
    h_i ← ELU([Σ_j α_ij v_j + R h_i ‖ v_i]), with α cut (:func:`cut_smallest`); logits W h_i + b.

    Neighbours don't include the node; R exists from the second layer on. h is [N, 2 hidden] after
    each layer. A score is c_i · q_j - |c_i|², one sddmm; one product makes all that a layer needs of h.
    """

    def __init__(self, structure: Structure, device: torch.device, width: int, classes: int, s: CSGNNSettings) -> None:
        super().__init__()
        hidden, inner = s.hidden, [(2 * s.hidden, s.hidden)] * (s.layers - 1)
        self.first = new_weights([(width, 2 * hidden), (width, hidden)])  # [W_c‖W_q], W_v
        self.attention = new_weights((a, 2 * b) for a, b in inner)
        self.value = new_weights(inner)
        self.residual = new_weights(inner)
        self.last = new_weights([(2 * hidden, classes)])
        self.bias = new_biases([classes])
        self.structure, self.s = structure, s
        self.free = structure.tensor("free", device)
        self.weights = structure.tensor("weights", device) * self.free

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start the weights; those of the attention are constant and the biases 0."""
        for weight in (self.first[1], *self.value, *self.residual):
            initialise([weight], how, generator)
        initialise(list(self.last), how, generator)
        for weight in (self.first[0], *self.attention):
            nn.init.constant_(weight, START / SLOWER)

    def attend(self, scored: Tensor, key: Key | None) -> Tensor:
        """α [E] from [W_c h‖W_q h] [N, 2 hidden]."""
        pattern = self.structure.pattern
        c, q = (scored * SLOWER).chunk(2, 1)
        own = c.square().sum(1).index_select(0, pattern.tensor("rows", c.device))
        alpha = edge_softmax(pattern, elu_dropout(sddmm(pattern, c, q) - own, 0.0, None), self.weights)
        return cut_smallest(dropout(alpha, self.s.dropout_attention, child(key, "edges")), self.free, self.s.cut)

    def forward(self, x: Block, key: Key | None) -> Tensor:
        """Scores [N, C], one yes or no per class."""
        hidden, pattern = self.s.hidden, self.structure.pattern
        first = x.linear(torch.cat(list(self.first), 1), child(key, "input"))
        scored, value = torch.split(first, [2 * hidden, hidden], 1)
        h = elu_dropout(torch.cat([spmm(pattern, self.attend(scored, child(key, 0)), value), value], 1), 0.0, None)
        for layer, weights in enumerate(zip(self.attention, self.value, self.residual, strict=True), start=1):
            noise = child(key, layer)
            h = dropout(h, self.s.dropout_hidden, noise)
            scored, value, kept = torch.split(matmul(h, torch.cat(weights, 1)), [2 * hidden, hidden, hidden], 1)
            kept = kept + spmm(pattern, self.attend(scored, noise), value)
            h = elu_dropout(torch.cat([kept, value], 1), 0.0, None)
        return matmul(h, self.last[0], self.bias[0])


class CSGNNClassifier(NetworkClassifier):
    """The network of :class:`CSGNN`, all nodes in one batch, trained by one binary cross-entropy per class.

    A node's probabilities are the classes' own, σ(score), divided by their sum.
    """

    method = "cs-gnn"
    settings_class = CSGNNSettings
    settings: CSGNNSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The network on A + I."""
        s, structure = self.settings, problem.structure
        network = CSGNN(structure, problem.device, problem.x.width, problem.num_classes, s)
        network.initialise("xavier", generator)
        return network, lambda key: F.logsigmoid(network(problem.x, key))

    def objective(self, problem: Problem, network: nn.Module, forward: Forward) -> Loss:
        """Binary cross-entropy of every class, over the known nodes."""
        target, weights = problem.labels[problem.train], problem.known_weights()
        of_node = None if weights is None else weights[:, None]
        scores = cast(CSGNN, network)

        def loss(step: Key) -> dict[str, Tensor]:
            logits = scores(problem.x, step)[problem.train]
            return {"loss": F.binary_cross_entropy_with_logits(logits, target, of_node)}

        return loss
