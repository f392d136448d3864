"""SimP-GCN: the graph, a graph of similar features and the node itself, mixed node by node (Jin et al., WSDM 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ..fit.training import make_generator
from ..graph.pattern import Pattern
from ..kernels import Key, matmul, relu_dropout, softmax_losses, spmm, sums
from ..model.adjacency import Adjacency, gcn_adjacency, scaled
from ..model.inputs import Block
from ..model.objectives import pretrain_target
from ..model.problem import Problem
from ..model.propagators import initialise
from ..model.propagators.common import child, new_biases, new_weights
from ..model.settings import setting
from .common import Forward, Loss, NetworkClassifier, NetworkSettings

ROWS = 512
"""Nodes whose similarities to all others exist at a time."""
ENDS = 5
"""Most and least similar nodes that each node is compared with in the self-supervised loss."""
PAIRS = 10_000
"""Pairs that an epoch compares, at most."""


@dataclass(frozen=True)
class SimPGCNSettings(NetworkSettings):
    """The settings of the released code for Cora under attack."""

    hidden: int = setting(128, "Hidden units.", low=1)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    dropout_input: float = setting(0.0, "Dropout of the features.", low=0, high=0.99)
    neighbours: int = setting(20, "k, most similar nodes that a node is joined to.", low=1)
    own: float = setting(0.01, "γ, weight of the learned loops.", low=0)
    lambda_: float = setting(0.1, "λ, weight of the self-supervised loss.", low=0)


@dataclass(frozen=True, eq=False)
class Similar:
    """What features say of pairs of nodes.

    Attributes:
        pattern, values: D^{-1/2} K D^{-1/2} of the graph K of nearest neighbours, weighed by cosines, as CSR.
        pairs, cosines: [2, M] the nodes most and least similar to each, and [M] how similar they are.
    """

    pattern: Pattern
    values: Tensor
    pairs: Tensor
    cosines: Tensor


def extremes(
    x: Block, most: int, least: int, among: NDArray[np.bool_] | None = None
) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Columns [N, most] and [N, least] of the most and of the least similar nodes, each with its cosines.

    A run of rows at a time, so that no array of N × N entries exists; of equal ones, a random choice.

    Args:
        among: [N] the nodes, more than ``most`` of them, that the most similar ones are chosen from; all without it.
    """
    unit, generator = x.unit(), np.random.default_rng(0)
    nodes = unit.shape[0]
    most, least = min(most, nodes - 1), min(least, nodes - 1)
    parts: list[list[NDArray[Any]]] = []
    for begin in range(0, nodes, ROWS):
        block = unit[begin : begin + ROWS] @ unit.T
        cosines = np.asarray(block.toarray() if sp.issparse(block) else block, np.float32)
        row = np.arange(len(cosines))
        order = cosines + generator.random(cosines.shape, np.float32) * 1e-6
        order[row, begin + row] = -np.inf
        high = order if among is None else np.where(among, order, -np.inf)
        top = np.sort(np.argpartition(-high, most - 1, axis=1)[:, :most], axis=1)
        order[row, begin + row] = np.inf
        low = np.sort(np.argpartition(order, least - 1, axis=1)[:, :least], axis=1)
        parts.append([top, np.take_along_axis(cosines, top, 1), low, np.take_along_axis(cosines, low, 1)])
    joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    return joined[:2], joined[2:]


def similar(x: Block, neighbours: int, device: torch.device) -> Similar:
    """The graph of nearest neighbours, and the pairs that the self-supervised loss compares."""
    (near, cosines), (far, low) = extremes(x, neighbours, ENDS)
    nodes, k = near.shape
    rows = np.repeat(np.arange(nodes), k)
    pattern = Pattern.from_sorted(rows, near.reshape(-1), (nodes, nodes))
    values = torch.as_tensor(cosines.reshape(-1).clip(0)).to(device)
    scale = sums(pattern, values)[0].clamp_min(1e-12).rsqrt()
    top = np.take_along_axis(near, np.argsort(-cosines, axis=1, kind="stable")[:, :ENDS], 1)
    high = -np.sort(-cosines, axis=1)[:, :ENDS]
    others, likeness = np.concatenate([top, far], 1), np.concatenate([high, low], 1)
    pairs = np.stack([np.repeat(np.arange(nodes), others.shape[1]), others.reshape(-1)])
    return Similar(
        pattern,
        scaled(pattern, values, scale, scale),
        torch.as_tensor(pairs).to(device),
        torch.as_tensor(likeness.reshape(-1)).to(device),
    )


class SimPGCN(nn.Module):
    """H^ℓ = σ(P^ℓ H^{ℓ-1} W^ℓ + b^ℓ), logits without σ, with P = diag(s) S + diag(1 - s) K + γ diag(d).

    S = D^{-1/2} (A + I) D^{-1/2}, K the normalised graph of similar features; s = σ(H w_s + b_s) and d = H w_d + b_d
    [N] are learned from each layer's input. w_s and w_d are the last two columns of each weight, for one product.
    """

    def __init__(self, adjacency: Adjacency, like: Similar, width: int, classes: int, s: SimPGCNSettings) -> None:
        super().__init__()
        sizes = [width] + [s.hidden] * (s.layers - 1) + [classes]
        self.first = new_weights([(sizes[0], sizes[1] + 2)])
        self.later = new_weights((a, b + 2) for a, b in pairwise(sizes[1:]))
        self.bias = new_biases(size + 2 for size in sizes[1:])
        self.compare = new_weights([(sizes[1], 1)])
        self.compare_bias = new_biases([1])
        self.adjacency, self.like, self.s = adjacency, like, s

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start the weights, each with its two vectors apart; biases are 0."""
        for weight in (*self.first, *self.later):
            for part in weight.detach().split([weight.shape[1] - 2, 1, 1], 1):
                initialise([part], how, generator)
        initialise(list(self.compare), how, generator)

    def mixed(self, product: Tensor, bias: Tensor) -> Tensor:
        """P H W + b [N, B] from H [W‖w_s‖w_d] [N, B + 2]."""
        h, score, own = product[:, :-2], product[:, -2:-1] + bias[-2], product[:, -1:] + bias[-1]
        s = torch.sigmoid(score)
        near = spmm(self.like.pattern, self.like.values, h)
        return s * self.adjacency.propagate(h, None) + (1 - s) * near + self.s.own * own * h + bias[:-2]

    def passes(self, x: Block, key: Key | None) -> tuple[Tensor, Tensor]:
        """Logits [N, C], and the output of the first layer [N, H]; that of the only one where there is no other."""
        h = self.mixed(x.linear(self.first[0], child(child(key, "input"), 0)), self.bias[0])
        hidden = h
        for layer, (weight, bias) in enumerate(zip(self.later, list(self.bias)[1:], strict=True)):
            h = relu_dropout(h, self.s.dropout_hidden, child(key, layer))
            hidden = h if layer == 0 else hidden
            h = self.mixed(matmul(h, weight), bias)
        return h, hidden

    def forward(self, x: Block, key: Key | None) -> Tensor:
        """Logits [N, C]."""
        return self.passes(x, key)[0]

    def similarity_loss(self, hidden: Tensor, key: Key) -> Tensor:
        """mean (w · |h_i - h_j| + b - cos(x_i, x_j))² over pairs, at most :data:`PAIRS` of them, drawn by the key."""
        pairs, cosines = self.like.pairs, self.like.cosines
        if len(cosines) > PAIRS:
            drawn = torch.randperm(len(cosines), generator=make_generator(key))[:PAIRS].to(cosines.device)
            pairs, cosines = pairs[:, drawn], cosines[drawn]
        apart = (hidden[pairs[0]] - hidden[pairs[1]]).abs()
        return F.mse_loss((apart @ self.compare[0] + self.compare_bias[0])[:, 0], cosines)


class SimPGCNClassifier(NetworkClassifier):
    """The network of :class:`SimPGCN`; an epoch minimises the cross-entropy plus λ times the loss of similarities."""

    method = "simp-gcn"
    settings_class = SimPGCNSettings
    settings: SimPGCNSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The network on the graph and on the graph of similar features."""
        s, x, device = self.settings, problem.x, problem.device
        adjacency = gcn_adjacency(problem.structure, device)
        network = SimPGCN(adjacency, similar(x, s.neighbours, device), x.width, problem.num_classes, s)
        network.initialise("xavier", generator)
        return network, lambda key: network(x, key)

    def objective(self, problem: Problem, network: nn.Module, forward: Forward) -> Loss:
        """Both losses of one pass."""
        target, simp = pretrain_target(problem), cast(SimPGCN, network)

        def loss(step: Key) -> dict[str, Tensor]:
            logits, hidden = simp.passes(problem.x, step)
            likelihood, _ = softmax_losses(logits, target)
            likeness = simp.similarity_loss(hidden, step.fold("pairs"))
            return {
                "loss": likelihood + self.settings.lambda_ * likeness,
                "likelihood": likelihood,
                "likeness": likeness,
            }

        return loss
