"""GCN-C&S: a GCN whose answers are corrected and smoothed (Huang et al., ICLR 2021)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import Tensor

from ..fit.training import Watch, evaluate
from ..model.adjacency import Adjacency, neighbours
from ..model.problem import Problem
from ..model.settings import setting
from .common import NetworkSettings
from .gcn import GCNClassifier
from .lpa import shares, spread

CORRECT_NORM, SMOOTH_NORM = "col", "sym"
"""The adjacency that errors spread over is A D^{-1}, that of answers D^{-1/2} A D^{-1/2}."""
LARGEST = 1000.0
"""A node's error is not scaled up by more than this."""


@dataclass(frozen=True)
class GCNCSSettings(NetworkSettings):
    """Those of the GCN, and of the two propagations; the publication has none for these graphs.

    The correct step is left out unless asked for: a GCN is smooth already and fits L nearly perfectly, so that there
    is no error to spread (on Cora it lowers validation accuracy). α₂ is the publication's for a smooth base.
    """

    correct_alpha: float = setting(
        0.0, "α₁, share of the neighbours when errors spread; 0 leaves the step out.", low=0, high=1
    )
    smooth_alpha: float = setting(
        0.8, "α₂, share of the neighbours when answers spread; 0 leaves the step out.", low=0, high=1
    )
    steps: int = setting(50, "Steps of each propagation.", low=1)


def correct(adjacency: Adjacency, answer: Tensor, labels: Tensor, train: Tensor, alpha: float, steps: int) -> Tensor:
    """B + s ⊙ E: E is the error Y - B on L, spread over the graph and scaled to the mean error on L (autoscale).

    Args:
        answer: B [N, C], probabilities; labels: Y [N, C] one-hot, read on ``train`` alone.
    """
    start = torch.zeros_like(answer)
    start[train] = labels[train] - answer[train]
    error = start
    for _ in range(steps):
        error = spread(adjacency, start, error, alpha, -1, 1)
    scale = start.abs().sum() / max(len(train), 1) / error.abs().sum(1, keepdim=True)
    scale = torch.where(torch.isfinite(scale) & (scale <= LARGEST), scale, torch.ones_like(scale))
    return answer + scale * error


def smooth(adjacency: Adjacency, answer: Tensor, labels: Tensor, train: Tensor, alpha: float, steps: int) -> Tensor:
    """The answer [N, C] with the known labels put in, spread over the graph."""
    start = answer.clone()
    start[train] = labels[train]
    smoothed = start
    for _ in range(steps):
        smoothed = spread(adjacency, start, smoothed, alpha, 0, 1)
    return smoothed


class GCNCSClassifier(GCNClassifier):
    """The GCN of the epoch that validation chooses, then E ← α₁ M₁ E + (1 - α₁) E⁰ and G ← α₂ M₂ G + (1 - α₂) G⁰.

    Only training labels are spread. The last record of the history is the answer after both steps.
    """

    method = "gcn-cs"
    settings_class = GCNCSSettings
    settings: GCNCSSettings

    def finish(self, problem: Problem, watch: Watch) -> None:
        """Correct and smooth the chosen epoch's answer."""
        s, started = self.settings, time.perf_counter()
        assert watch.best_state is not None
        answer = watch.best_state["base_probabilities"] = watch.best_state["probabilities"]
        known = problem.labels, problem.train
        if s.correct_alpha > 0:
            adjacency = neighbours(problem.structure, CORRECT_NORM, problem.device)
            answer = correct(adjacency, answer, *known, s.correct_alpha, s.steps)
        if s.smooth_alpha > 0:
            adjacency = neighbours(problem.structure, SMOOTH_NORM, problem.device)
            answer = smooth(adjacency, answer, *known, s.smooth_alpha, s.steps)
        answer = shares(problem, answer.clamp_min(0))
        scores = evaluate(problem, answer.clamp_min(1e-12).log(), s.metric)
        del scores["train_accuracy"]  # the base is chosen on validation nodes; this record tells only of them
        watch.best = {"phase": "correct and smooth", "epoch": 0, **scores}
        watch.history.append(watch.best)
        watch.timings.append(time.perf_counter() - started)
        watch.best_state["probabilities"] = answer
        if watch.progress is not None:
            watch.progress("correct and smooth", 0, 1, watch.best)
