"""GRAND: random propagation and consistency (Feng et al., NeurIPS 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..adjacency import Adjacency, gcn_adjacency
from ..config import setting
from ..inputs import Block
from ..kernels import Key, dropout, softmax_losses
from ..objectives import pretrain_target
from ..problem import Problem
from ..propagators import MLP
from .common import Forward, Loss, LossSelected, NetworkClassifier


@dataclass(frozen=True)
class GRANDSettings(LossSelected):
    """Those of the publication for Cora, for a fixed number of epochs in place of its patience."""

    hidden: int = setting(32, "Hidden units.", low=1)
    epochs: int = setting(400, "Epochs.", low=1)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    steps: int = setting(8, "K, steps of propagation.", low=0)
    samples: int = setting(4, "M, augmentations in each epoch.", low=1)
    drop_node: float = setting(0.5, "δ, probability that a node's features are left out.", low=0, high=0.99)
    lambda_: float = setting(1.0, "λ, weight of the consistency.", low=0)
    temperature: float = setting(0.5, "T, sharpening of the mean prediction.", low=1e-3)


class GRAND(nn.Module):
    """Z = MLP(X̄) with X̄ = 1/(K+1) Σ_{k≤K} S^k (m ⊙ X); m [N] leaves out whole nodes, and is 1 - δ in evaluation.

    The first layer is linear and m acts on whole rows, so X̄ W = 1/(K+1) Σ_k S^k (m ⊙ (X W)): S works on the hidden
    units in place of the features. That is exact but for the dropout of the MLP's input: the publication drops
    entries of X̄, here entries of X are dropped.
    """

    def __init__(self, body: MLP, adjacency: Adjacency, steps: int, drop_node: float) -> None:
        super().__init__()
        self.body, self.adjacency, self.steps, self.drop_node = body, adjacency, steps, drop_node

    def forward(self, x: Block, key: Key | None, samples: int = 1) -> list[Tensor]:
        """Logits [N, C] of each augmentation; without a key one, without noise."""
        keys = [None] if key is None else [key.fold(i) for i in range(samples)]
        weight = self.body.first[0]
        parts = [self.masked(x.linear(weight, k.fold("input") if k else None), k) for k in keys]
        total = power = torch.cat(parts, 1)  # side by side: one product propagates all augmentations
        for _ in range(self.steps):
            power = self.adjacency.propagate(power, None)
            total = total + power
        products = (total / (self.steps + 1)).chunk(len(keys), 1)
        return [self.body.after_first(product, k) for product, k in zip(products, keys, strict=True)]

    def masked(self, product: Tensor, key: Key | None) -> Tensor:
        """Rows left out with probability δ and not scaled up: [N, H]; their mean (1 - δ) without a key."""
        kept = 1 - self.drop_node
        if key is None:
            return product * kept
        rows = torch.ones(len(product), 1, device=product.device)
        return product * (dropout(rows, self.drop_node, key.fold("nodes")) * kept)


class GRANDClassifier(NetworkClassifier):
    """mean_m CE_L(Z^m) + λ mean_m mean_i ‖P^m_i - P*_i‖², P* being the sharpened mean of the M predictions."""

    method = "grand"
    settings_class = GRANDSettings
    settings: GRANDSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The perceptron behind random propagation."""
        s = self.settings
        body = MLP(problem.x.width, s.hidden, problem.num_classes, s.layers, s.dropout_hidden, s.batch_norm)
        body.initialise(s.init, generator)
        network = GRAND(body, gcn_adjacency(problem.structure, problem.device), s.steps, s.drop_node)
        return network, lambda key: network(problem.x, key)[0]

    def objective(self, problem: Problem, network: nn.Module, forward: Forward) -> Loss:
        """Cross-entropy of every augmentation, and how far they are from what they say together."""
        s, target = self.settings, pretrain_target(problem.labels, problem.train)
        grand = cast(GRAND, network)

        def loss(step: Key) -> dict[str, Tensor]:
            logits = grand(problem.x, step, s.samples)
            likelihood = torch.stack([softmax_losses(z, target)[0] for z in logits]).mean()
            p = F.softmax(torch.stack(logits), dim=2)  # [M, N, C]
            with torch.no_grad():
                sharp = F.softmax(p.mean(0).clamp_min(1e-30).log() / s.temperature, dim=1)
            consistency = (p - sharp).square().sum(2).mean()
            return {"loss": likelihood + s.lambda_ * consistency, "likelihood": likelihood, "consistency": consistency}

        return loss
