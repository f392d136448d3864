"""GRAND+: random propagation by sparse rows of a PageRank matrix (Feng et al., WWW 2022)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..errors import ConfigError
from ..fit.domains.ranks.group import Group
from ..fit.mini_batches import Consistency, RowsLoss, Shuffled, in_batches
from ..fit.training import Progress, Steps, decayed
from ..graph.graph import Graph
from ..kernels import Key
from ..model.adjacency import gcn_adjacency
from ..model.objectives import pretrain_target
from ..model.problem import Problem
from ..model.propagators import Pagerank, Walk
from ..model.settings import SELECTIONS, setting
from .common import Forward, NetworkClassifier, NetworkSettings


@dataclass(frozen=True)
class GRANDPlusSettings(NetworkSettings):
    """The settings of the released code for Cora, but for the pool (docs/evidence/baselines.md)."""

    hidden: int = setting(64, "Hidden units.", low=1)
    dropout_hidden: float = setting(0.7, "Dropout of hidden layers.", low=0, high=0.99)
    weight_decay: float = setting(1e-3, "L2 on every parameter, or on the matrices that decay names.", low=0)
    decay: str = setting(
        "every",
        "What decays: every parameter, all matrices, or only that of the first layer.",
        ("every", "all", "first"),
    )
    batch_norm: bool = setting(False, "Batch normalisation of the propagated features, and of hidden layers.")
    steps: int = setting(10, "Order of the truncated PageRank.", low=0)
    teleport: float = setting(0.2, "α of the PageRank.", low=0, high=1)
    top_k: int = setting(32, "Entries that each row of the PageRank matrix keeps.", low=1)
    push_threshold: float = setting(1e-5, "Threshold of the push that finds them.", low=0)
    drop_node: float = setting(0.5, "Probability that an entry of a row is left out.", low=0, high=0.99)
    batches: int = setting(10, "Mini-batches in an epoch; validation comes after each epoch.", low=1)
    labelled_batch: int = setting(50, "Labelled nodes of a batch.", low=1)
    unlabelled_batch: int = setting(100, "Other nodes of a batch.", low=1)
    pool: str = setting(
        "unlabelled",
        "Nodes that the consistency is about: all without a known label, or test nodes alone (the released code).",
        ("unlabelled", "test"),
    )
    samples: int = setting(2, "Draws of the propagation in each batch.", low=1)
    lambda_: float = setting(1.5, "Weight of the consistency.", low=0)
    temperature: float = setting(0.1, "Sharpening of the mean prediction.", low=1e-3)
    confidence: float = setting(
        -1.0, "Nodes whose mean prediction is less sure stay out of the consistency; -1: 2 / C.", low=-1, high=1
    )
    warmup: int = setting(1000, "Batches over which the consistency's weight rises.", low=0)
    clip: float = setting(0.0, "Length that gradients are cut to; 0: as they are.", low=0)
    selection: str = setting(
        "accuracy",
        "The epoch of the highest validation accuracy, of the lowest loss, where the mean "
        "accuracy of the last 20 epochs is highest (smoothed), or the last one (last).",
        SELECTIONS,
    )


class GRANDPlusClassifier(NetworkClassifier):
    """mean_m CE_l(Z^m) + λ mean_m mean_u 1[max P̄_u ≥ γ] ‖P^m_u - P*_u‖² on batches of labelled l and others u."""

    method = "grand-plus"
    settings_class = GRANDPlusSettings
    settings: GRANDPlusSettings
    _test: NDArray[np.int64] = np.empty(0, np.int64)

    def _fit(self, graph: Graph, progress: Progress | None, group: Group | None = None) -> None:
        self._test = np.flatnonzero(graph.test_mask)
        if self.settings.pool == "test" and len(self._test) == 0:
            raise ConfigError("pool='test' needs test nodes, and the graph has none; set pool to unlabelled.")
        super()._fit(graph, progress, group)

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The perceptron on propagated features; it predicts with the whole matrix."""
        s = self.settings
        walk = Walk(s.steps, s.teleport, s.top_k, s.push_threshold, s.drop_node)
        size = problem.x.width, s.hidden, problem.num_classes, s.layers
        network = Pagerank(*size, s.dropout_hidden, walk, s.batch_norm)
        network.initialise("xavier", generator)
        adjacency = gcn_adjacency(problem.structure, problem.device, "row")
        return network, lambda key: network(adjacency, [problem.x], key)

    def groups(self, network: nn.Module) -> list[dict[str, Any]]:
        """Every parameter decays, unless the setting says otherwise."""
        return decayed(network, self.settings.weight_decay, self.settings.decay)

    def adam_steps(self, problem: Problem, network: nn.Module, whole: Steps, key: Key) -> Steps:
        """An epoch is some mini-batches of labelled nodes and of the pool."""
        s, pagerank = self.settings, cast(Pagerank, network)
        pool = self._test if s.pool == "test" else problem.rest.cpu().numpy()
        known = Shuffled(problem.train.cpu().numpy(), s.labelled_batch, key.fold("known"))
        others = Shuffled(pool, s.unlabelled_batch, key.fold("others"))
        confidence = 2 / problem.num_classes if s.confidence < 0 else s.confidence
        agreement = Consistency(s.samples, s.lambda_, s.temperature, confidence, s.warmup)
        matrix = pagerank.walk.matrix(gcn_adjacency(problem.structure, problem.device, "row"))
        loss = RowsLoss(pagerank, matrix, problem.x, pretrain_target(problem), known, others, agreement)
        return replace(in_batches(whole.count, whole.after, whole.part, s.batches, loss), clip=s.clip)
