"""GRAND: random propagation and consistency (Feng et al., NeurIPS 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from ..kernels import Key, dropout, matmul, norm_dropout_linear, propagated, softmax_losses
from ..kernels.features import Columns
from ..model.adjacency import Adjacency, gcn_adjacency
from ..model.inputs import Block
from ..model.objectives import consistency, pretrain_target
from ..model.problem import Problem
from ..model.propagators import MLP, without_nodes
from ..model.propagators.common import child
from ..model.propagators.random import kept_nodes
from ..model.settings import setting
from .common import NORMALIZATIONS, NORMALIZE, Forward, Loss, LossSelected, NetworkClassifier


@dataclass(frozen=True)
class GRANDSettings(LossSelected):
    """The settings of the publication for Cora, but for epochs, features and λ (docs/evidence/baselines.md)."""

    hidden: int = setting(32, "Hidden units.", low=1)
    epochs: int = setting(200, "Epochs.", low=1)
    normalize: str = setting("unit", NORMALIZE, NORMALIZATIONS)
    decay: str = setting("all", "What decays: all parameters, or only the matrix of the first layer.", ("all", "first"))
    init: str = setting(
        "xavier",
        "Start of the weights; shifted: normal with mean -1/√out and spread 1/√out, as in the publication's code.",
        ("xavier", "kaiming", "shifted"),
    )
    batch_norm: bool = setting(
        False, "Batch normalisation of the propagated features, which makes them dense, and of hidden layers."
    )
    steps: int = setting(8, "K, steps of propagation.", low=0)
    samples: int = setting(4, "M, augmentations in each epoch.", low=1)
    drop_node: float = setting(0.5, "δ, probability that a node's features are left out.", low=0, high=0.99)
    lambda_: float = setting(0.3, "λ, weight of the consistency.", low=0)
    temperature: float = setting(0.5, "T, sharpening of the mean prediction.", low=1e-3)


class GRAND(nn.Module):
    """Z = MLP(X̄) with X̄ = 1/(K+1) Σ_{k≤K} S^k (m ⊙ X); m [N] leaves out whole nodes, and is 1 - δ in evaluation.

    Without batch normalisation S works on the hidden units in place of the features: the first layer is linear and
    m acts on whole rows, so X̄ W = 1/(K+1) Σ_k S^k (m ⊙ (X W)). That is exact but for the dropout of the MLP's
    input: the publication drops entries of X̄, here entries of X are dropped. With it X̄ itself is made, [N, F] dense,
    and the MLP is Z = dr(BN(ReLU(dr(BN(X̄)) W₁ + b₁))) W₂ + b₂.
    """

    def __init__(self, body: MLP, adjacency: Adjacency, steps: int, drop_node: float, batch_norm: bool = False) -> None:
        super().__init__()
        self.body, self.adjacency, self.steps, self.drop_node = body, adjacency, steps, drop_node
        self.input_norm = nn.BatchNorm1d(len(body.first[0])) if batch_norm else None
        self.dense: Tensor | None = None  # X, made when it is first needed
        self.evaluated: Columns | None = None  # X̄ of evaluation, always the same

    def initialise(self, how: str, generator: torch.Generator) -> None:
        """Start all weights; the biases, too, where the start is shifted, else they stay 0."""
        if how != "shifted":
            self.body.initialise(how, generator)
            return
        weights = [*self.body.first, *self.body.later]
        for weight, bias in zip(weights, self.body.bias, strict=True):
            for parameter in (weight, bias):
                spread = parameter.shape[-1] ** -0.5
                parameter.data.copy_((torch.randn(parameter.shape, generator=generator) - 1) * spread)

    def forward(self, x: Block, key: Key | None, samples: int = 1) -> list[Tensor]:
        """Logits [N, C] of each augmentation; without a key one, without noise."""
        keys = [None] if key is None else [key.fold(i) for i in range(samples)]
        if self.input_norm is not None:
            return [self.from_features(x, k) for k in keys]
        weight = self.body.first[0]
        parts = [without_nodes(x.linear(weight, child(k, "input")), self.drop_node, k) for k in keys]
        products = self.propagated(torch.cat(parts, 1)).chunk(len(keys), 1)  # one product propagates all augmentations
        return [self.body.after_first(product, k) for product, k in zip(products, keys, strict=True)]

    def from_features(self, x: Block, key: Key | None) -> Tensor:
        """Logits [N, C] by way of the propagated features."""
        assert self.input_norm is not None
        weight, bias = self.body.first[0], self.body.bias[0]
        h = norm_dropout_linear(self.features(x, key), self.input_norm, weight, bias, x.rate, child(key, "input"))
        layers = zip(self.body.norms, self.body.later, self.body.bias[1:], strict=True)
        for layer, (norm, weight, bias) in enumerate(layers):
            h = matmul(dropout(norm(torch.relu(h)), self.body.rate, child(key, layer)), weight, bias)
        return h

    @torch.no_grad()
    def features(self, x: Block, key: Key | None) -> Columns:
        """X̄ [N, F]."""
        if self.dense is None:
            self.dense = whole(x)
        if key is None and self.evaluated is not None:
            return self.evaluated
        nodes, share, device = len(self.dense), 1 - self.drop_node, self.dense.device
        kept = (
            torch.full((nodes, 1), share, device=device)
            if key is None
            else kept_nodes(nodes, self.drop_node, key, device)
        )
        factors = kept[:, 0] / (self.steps + 1)
        columns = propagated(self.adjacency.structure.pattern, self.adjacency.values, self.dense, factors, self.steps)
        if key is None:
            self.evaluated = columns
        return columns

    def propagated(self, h: Tensor) -> Tensor:
        """1/(K+1) Σ_{k≤K} S^k h, as h + S (h + S (h + …))."""
        total = h = h / (self.steps + 1)
        for _ in range(self.steps):
            total = self.adjacency.propagate(total, None).add_(h)
        return total


def whole(x: Block) -> Tensor:
    """The features as a dense array [N, F], without dropout."""
    if x.dense is not None:
        return x.dense
    assert x.pattern is not None
    assert x.values is not None
    matrix = torch.zeros(x.pattern.shape, device=x.values.device)
    matrix[x.pattern.tensor("rows", matrix.device), x.pattern.tensor("indices", matrix.device)] = x.values
    return matrix


class GRANDClassifier(NetworkClassifier):
    """mean_m CE_L(Z^m) + λ mean_m mean_i ‖P^m_i - P*_i‖², P* being the sharpened mean of the M predictions."""

    method = "grand"
    settings_class = GRANDSettings
    settings: GRANDSettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The perceptron behind random propagation."""
        s = self.settings
        body = MLP(problem.x.width, s.hidden, problem.num_classes, s.layers, s.dropout_hidden, s.batch_norm)
        network = GRAND(body, gcn_adjacency(problem.structure, problem.device), s.steps, s.drop_node, s.batch_norm)
        network.initialise(s.init, generator)
        return network, lambda key: network(problem.x, key)[0]

    def groups(self, network: nn.Module) -> list[dict[str, Any]]:
        """Biases and the parameters of batch normalisation decay, too, unless only the first matrix does."""
        s = self.settings
        if s.decay == "first":
            return super().groups(network)
        return [{"params": list(network.parameters()), "weight_decay": s.weight_decay}]

    def objective(self, problem: Problem, network: nn.Module, forward: Forward) -> Loss:
        """Cross-entropy of every augmentation, and their distance from the sharpened mean prediction."""
        s, target = self.settings, pretrain_target(problem)
        grand = cast(GRAND, network)

        def loss(step: Key) -> dict[str, Tensor]:
            logits = grand(problem.x, step, s.samples)
            likelihood = torch.stack([softmax_losses(z, target)[0] for z in logits]).mean()
            apart = consistency(logits, s.temperature, 0.0, problem.counts.nodes)
            return {"loss": likelihood + s.lambda_ * apart, "likelihood": likelihood, "consistency": apart}

        return loss
