"""GCN-LPA: edge weights that also carry labels well (Wang & Leskovec, 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from ..graph.structure import Structure
from ..kernels import Key, edge_softmax, softmax_losses
from ..model.adjacency import Adjacency
from ..model.objectives import pretrain_target
from ..model.problem import Problem
from ..model.propagators import GCN
from ..model.settings import setting
from .common import Forward, Loss, NetworkClassifier, NetworkSettings


@dataclass(frozen=True)
class GCNLPASettings(NetworkSettings):
    """K is the publication's for Cora; the rest suits 20 known labels per class, by validation accuracy on Cora.

    The publication trains on 60 % of the nodes, with 5 layers and λ = 10: with few labels that gives 76 % on Cora.
    """

    hidden: int = setting(32, "Hidden units.", low=1)
    learning_rate: float = setting(0.05, "Adam's learning rate.", low=0)
    weight_decay: float = setting(5e-4, "L2 on the weight matrices and on the weights of edges.", low=0)
    decay: str = setting("all", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first"))
    steps: int = setting(5, "Steps of label propagation.", low=1)
    lambda_: float = setting(1.0, "λ, weight of label propagation in the loss.", low=0)


class WeighedGCN(nn.Module):
    """Z = GCN over M and G^K = M^K Y_L, with M = softmax of θ over each node's entries; θ is free.

    θ is [E, 1]: a column, so that it decays like the matrices.
    """

    def __init__(self, gcn: GCN, structure: Structure, weights: Tensor) -> None:
        super().__init__()
        self.gcn, self.structure, self.weights = gcn, structure, weights
        self.theta = nn.Parameter(torch.empty(structure.pattern.num_entries, 1))

    def adjacency(self) -> Adjacency:
        """M, the adjacency with learned weights."""
        return Adjacency(self.structure, edge_softmax(self.structure.pattern, self.theta[:, 0], self.weights))

    def propagate_labels(self, adjacency: Adjacency, labels: Tensor, steps: int) -> Tensor:
        """M^K Y: [N, C]; the known labels are not set again."""
        for _ in range(steps):
            labels = adjacency.propagate(labels, None)
        return labels


class GCNLPAClassifier(NetworkClassifier):
    """CE_L(GCN over M) + λ CE_L(M^K Y as logits): the second term makes M join nodes of one class."""

    method = "gcn-lpa"
    settings_class = GCNLPASettings
    settings: GCNLPASettings

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The GCN over M, and M's weights, which start near 0."""
        s = self.settings
        gcn = GCN([problem.x.width], s.hidden, problem.num_classes, s.layers, s.dropout_hidden, batch_norm=False)
        gcn.initialise("xavier", generator)
        network = WeighedGCN(gcn, problem.structure, problem.structure.tensor("weights", problem.device))
        bound = (6 / len(network.theta)) ** 0.5
        with torch.no_grad():
            network.theta.copy_((torch.rand(network.theta.shape, generator=generator) * 2 - 1) * bound)

        def forward(key: Key | None) -> Tensor:
            return gcn(network.adjacency(), [problem.x], key)  # type: ignore[no-any-return]

        return network, forward

    def objective(self, problem: Problem, network: nn.Module, forward: Forward) -> Loss:
        """Both cross-entropies over one M."""
        s, target = self.settings, pretrain_target(problem)
        weighed = cast(WeighedGCN, network)

        def loss(step: Key) -> dict[str, Tensor]:
            adjacency = weighed.adjacency()
            likelihood, _ = softmax_losses(weighed.gcn(adjacency, [problem.x], step), target)
            lpa, _ = softmax_losses(weighed.propagate_labels(adjacency, problem.labels, s.steps), target)
            return {"loss": likelihood + s.lambda_ * lpa, "likelihood": likelihood, "lpa": lpa}

        return loss
