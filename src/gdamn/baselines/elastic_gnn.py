"""Elastic GNN: predict, then smooth by ℓ2 everywhere and by ℓ1 with room for jumps (Liu et al., ICML 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..graph.pattern import Pattern
from ..graph.structure import Structure
from ..kernels import Key, spmm, sums
from ..model.adjacency import Adjacency, gcn_adjacency
from ..model.inputs import Block
from ..model.problem import Problem
from ..model.propagators import MLP
from ..model.settings import setting
from .common import Forward, NetworkClassifier, NetworkSettings


@dataclass(frozen=True)
class ElasticSettings(NetworkSettings):
    """The settings of the released code."""

    hidden: int = setting(64, "Hidden units.", low=1)
    epochs: int = setting(500, "Epochs.", low=1)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    steps: int = setting(10, "K, steps of message passing.", low=0)
    lambda1: float = setting(3.0, "λ₁, weight of the ℓ1 part: how much less a jump along an edge counts.", low=0)
    lambda2: float = setting(3.0, "λ₂, weight of the ℓ2 part.", low=0)


class Incidence:
    """Δ [M, N]: for edge {i, j} of weight w, √w d_i^{-1/2} in column i and -√w d_j^{-1/2} in column j.

    d are the sums of the rows of A + I, so that I - ΔᵀΔ = D^{-1/2} (A + I) D^{-1/2} for an undirected graph.
    """

    def __init__(self, structure: Structure, device: torch.device) -> None:
        pattern = structure.pattern
        _, first = np.unique(structure.pair, return_index=True)
        entries = first[~structure.loop[first]]  # one of the two entries of each edge
        ends = np.sort(np.stack([pattern.rows[entries], pattern.indices[entries]], 1), axis=1)
        self.pattern = Pattern.from_csr(np.arange(len(ends) + 1) * 2, ends.reshape(-1), (len(ends), pattern.shape[0]))
        degrees, _ = sums(pattern, structure.tensor("weights", device))
        weights = torch.as_tensor(np.sqrt(structure.weights[entries]), device=device)[:, None]
        signs = torch.tensor([1.0, -1.0]).to(device)
        scale = degrees.clamp_min(1e-12).rsqrt()[torch.as_tensor(ends, dtype=torch.int64, device=device)]
        self.values = (weights * signs * scale).reshape(-1)
        self.t_values = self.values[self.pattern.tensor("t_perm", device)]

    def jumps(self, h: Tensor) -> Tensor:
        """Δ H: [M, C]."""
        return spmm(self.pattern, self.values, h)

    def collected(self, z: Tensor) -> Tensor:
        """Δᵀ Z: [N, C]."""
        return spmm(self.pattern.transposed, self.t_values, z)


def projected(z: Tensor, radius: float) -> Tensor:
    """Z [M, C] with rows no longer than the radius: the projection that belongs to the ℓ21 norm of the jumps."""
    length: Tensor = torch.linalg.vector_norm(z, dim=1, keepdim=True)
    return z * (radius / length.clamp_min(max(radius, 1e-12)))


class ElasticGNN(nn.Module):
    """The minimum of λ₁ ‖Δ F‖₂₁ + λ₂/2 tr(Fᵀ (I - S) F) + ½ ‖F - MLP(X)‖², approached in K steps:

    Y = γ MLP(X) + (1 - γ) S F;  Z ← P(Z + β Δ (Y - γ Δᵀ Z));  F ← Y - γ Δᵀ Z, with F = MLP(X) and Z = 0 at first,
    γ = 1 / (1 + λ₂), β = 1 / (2 γ), P the projection of rows on the ball of radius λ₁, S = D^{-1/2} (A + I) D^{-1/2}.
    """

    def __init__(self, body: MLP, adjacency: Adjacency, s: ElasticSettings) -> None:
        super().__init__()
        self.body, self.adjacency, self.s = body, adjacency, s
        self.incidence = Incidence(adjacency.structure, adjacency.values.device)

    def forward(self, x: Block, key: Key | None) -> Tensor:
        """Logits [N, C]."""
        s = self.s
        start: Tensor = self.body(x, key)
        gamma = 1 / (1 + s.lambda2)
        f, z = start, start.new_zeros(self.incidence.pattern.shape[0], start.shape[1])
        for _ in range(s.steps):
            y = gamma * start + (1 - gamma) * (self.adjacency.propagate(f, None) if s.lambda2 > 0 else f)
            if s.lambda1 > 0:
                jumps = self.incidence.jumps(y - gamma * self.incidence.collected(z))
                z = projected(z + jumps / (2 * gamma), s.lambda1)
                y = y - gamma * self.incidence.collected(z)
            f = y
        return f


class ElasticGNNClassifier(NetworkClassifier):
    """The network of :class:`ElasticGNN` after an MLP."""

    method = "elastic-gnn"
    settings_class = ElasticSettings
    settings: ElasticSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """An MLP, and message passing on the plain graph."""
        s = self.settings
        body = MLP(problem.x.width, s.hidden, problem.num_classes, s.layers, s.dropout_hidden)
        body.initialise("xavier", generator)
        network = ElasticGNN(body, gcn_adjacency(problem.structure, problem.device), s)
        return network, lambda key: network(problem.x, key)
