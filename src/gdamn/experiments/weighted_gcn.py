"""A vanilla GCN over given aggregation weights, which remembers what it would have predicted after every epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..baselines.common import Forward
from ..baselines.gcn import GCNClassifier
from ..fit.checkpoint import Part
from ..graph.graph import Graph
from ..graph.read_only import as_tensor
from ..kernels import Key
from ..model.adjacency import Adjacency
from ..model.problem import Problem


class WeightedGCN(GCNClassifier):
    """Z = W ReLU(W X W₁) W₂, W given on the entries of A + I; without it the GCN's own D^{-1/2} (A + I) D^{-1/2}.

    Attributes (after fit):
        epoch_predictions_: [epochs, N] class numbers after each epoch; no label is read for them.
    """

    weights: NDArray[np.float32] | None

    def __init__(self, weights: NDArray[np.float32] | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.weights = weights

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The GCN of the baseline, the same start for the same seed, on the given weights."""
        network, forward = super().build(problem, generator)
        if self.weights is not None:
            adjacency = Adjacency(problem.structure, as_tensor(self.weights).to(problem.device))
            forward = lambda key: network(adjacency, [problem.x], key)  # noqa: E731
        predictions: list[NDArray[np.int16]] = []

        def remembering(key: Key | None) -> Tensor:
            logits = forward(key)
            if key is None:  # an evaluation, one after each epoch
                predictions.append(logits.argmax(1).cpu().numpy().astype(np.int16))
            return logits

        self.epoch_predictions_ = predictions
        return network, remembering

    def memory(self) -> Part:
        """The predictions so far, so that a resumed fit has those of earlier epochs."""
        predictions = self.epoch_predictions_

        def save() -> list[Tensor]:
            return [torch.from_numpy(predicted) for predicted in predictions]

        def load(state: list[Tensor]) -> None:
            predictions[:] = [predicted.numpy() for predicted in state]

        return Part(save, load)

    def accuracies(self, graph: Graph, mask: str) -> list[float]:
        """Accuracy after every epoch on a node set; called when training is over."""
        chosen = graph.mask(mask) & (graph.labels >= 0)
        return [float((predicted[chosen] == graph.labels[chosen]).mean()) for predicted in self.epoch_predictions_]
