"""GNNGuard: each layer prunes and weighs edges by how alike their ends are by then (Zhang & Zitnik, NeurIPS 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..graph.structure import Structure
from ..kernels import Key, gram, matmul, relu_dropout, spmm, sums
from ..model.adjacency import scaled
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.propagators import MLP
from ..model.propagators.common import child, side_by_side
from ..model.settings import setting
from .common import Forward, NetworkClassifier, NetworkSettings


@dataclass(frozen=True)
class GuardSettings(NetworkSettings):
    """The settings of the released code."""

    weight_decay: float = setting(0.0, "L2 on the weight matrices.", low=0)
    dropout_input: float = setting(0.0, "Dropout of the features.", low=0, high=0.99)
    threshold: float = setting(0.1, "Edges whose ends have a smaller cosine than this are pruned.", low=0, high=1)


class Guard(nn.Module):
    """H^ℓ = σ(ω^ℓ H^{ℓ-1} W^ℓ + b^ℓ), logits without σ, on weights ω^ℓ [E] with a memory of the layer before.

    s_ij = a_ij cos(h_i, h_j), 0 below the threshold and where a layer before has pruned; with n_i neighbours left,
    α_ij = s_ij / Σ_k s_ik · n_i / (n_i + 1) and α_ii = 1 / (n_i + 1). ω¹ = α¹, then ω^ℓ = β ω^{ℓ-1} + (1 - β) α^ℓ with
    a learned β = σ(b). No gradient passes through α.
    """

    def __init__(self, body: MLP, structure: Structure, device: torch.device, threshold: float) -> None:
        super().__init__()
        self.body, self.structure, self.threshold = body, structure, threshold
        self.memory = nn.Parameter(torch.zeros(1))
        self.free = structure.tensor("free", device)
        self.weights = structure.tensor("weights", device) * self.free
        self.first: tuple[Block, Tensor] | None = None

    @torch.no_grad()
    def guarded(self, cosines: Tensor, alive: Tensor) -> Tensor:
        """α [E] from the cosines [E] of the ends of the edges that are left."""
        pattern = self.structure.pattern
        s = torch.where((cosines >= self.threshold) & (cosines > 0) & alive, self.weights * cosines, 0.0)
        totals, left = sums(pattern, s)[0], sums(pattern, (s > 0).float())[0]
        edges = left / ((left + 1) * totals.clamp_min(1e-12))
        loops = 1 / (left + 1)
        one = torch.ones_like(left)
        return scaled(pattern, s, edges, one) + scaled(pattern, 1 - self.free.float(), loops, one)

    def of_features(self, x: Block) -> Tensor:
        """α¹ [E], made once."""
        if self.first is None or self.first[0] is not x:
            self.first = (x, self.guarded(x.cosines(self.structure.pattern), self.free))
        return self.first[1]

    def forward(self, x: Block, key: Key | None) -> Tensor:
        """Logits [N, C]."""
        body, pattern, beta = self.body, self.structure.pattern, torch.sigmoid(self.memory)
        omega = alpha = self.of_features(x)
        h = spmm(pattern, omega, side_by_side([x], body.first, key), body.bias[0])
        for layer, (weight, bias) in enumerate(zip(body.later, list(body.bias)[1:], strict=True)):
            rows = F.normalize(torch.relu(h.detach()), dim=1, eps=1e-12)
            alpha = self.guarded(gram(pattern, rows), alpha > 0)
            omega = beta * omega + (1 - beta) * alpha
            h = spmm(pattern, omega, matmul(relu_dropout(h, body.rate, child(key, layer)), weight), bias)
        return h


class GNNGuardClassifier(NetworkClassifier):
    """The network of :class:`Guard`: GNNGuard around a GCN."""

    method = "gnnguard"
    settings_class = GuardSettings
    settings: GuardSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The guarded GCN; its weights are those of an MLP."""
        s = self.settings
        body = MLP(problem.x.width, s.hidden, problem.num_classes, s.layers, s.dropout_hidden)
        body.initialise("xavier", generator)
        network = Guard(body, problem.structure, problem.device, s.threshold)
        return network, lambda key: network(problem.x, key)
