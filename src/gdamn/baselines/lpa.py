"""LPA: known labels spread over the edges; no features, nothing trained (Zhu, Ghahramani & Lafferty, ICML 2003)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ..estimators.base import NodeClassifier
from ..fit.training import Progress, Watch, evaluate, reproducible_threads
from ..graph.graph import Graph
from ..model.adjacency import Adjacency, neighbours
from ..model.fitted_state import FittedState
from ..model.problem import Problem, choose_device, make_problem
from ..model.settings import BaseSettings, setting


@dataclass(frozen=True)
class LPASettings(BaseSettings):
    """How labels spread; the seed changes nothing."""

    epochs: int = setting(50, "Steps of propagation.", low=1)
    alpha: float = setting(0.9, "Share of the neighbours in a step; the rest is the start, F⁰.", low=0, high=1)
    norm: str = setting(
        "sym", "Adjacency: D^{-1}A (row), A D^{-1} (col), D^{-1/2} A D^{-1/2} (sym).", ("row", "col", "sym")
    )


def spread(adjacency: Adjacency, start: Tensor, f: Tensor, alpha: float, low: float, high: float) -> Tensor:
    """One step: α M F + (1 - α) F⁰, kept between two bounds: [N, C]."""
    return torch.lerp(start, adjacency.propagate(f, None), alpha).clamp(low, high)


class LPAClassifier(NodeClassifier):
    """F⁰ = Y on L, 0 elsewhere; F ← α M F + (1 - α) F⁰, then F_L ← Y_L.

    The step is chosen like an epoch. A node that no label has reached gets the class shares of the training nodes;
    ``coverage`` in the records is the share of nodes that some label has reached.
    """

    method = "lpa"
    settings_class = LPASettings
    settings: LPASettings

    def _fit(self, graph: Graph, progress: Progress | None) -> None:
        s = self.settings
        watch = Watch(progress, metric=s.metric)
        with reproducible_threads(s.threads):
            problem = make_problem(graph, "none", 0.0, choose_device(s.device))
            adjacency = neighbours(problem.structure, s.norm, problem.device)
            f = problem.labels
            watch.begin("propagate", s.epochs)
            for step in range(s.epochs):
                started = time.perf_counter()
                before, f = f, spread(adjacency, problem.labels, f, s.alpha, 0, 1)
                f[problem.train] = problem.labels[problem.train]
                probabilities = shares(problem, f)
                record = {
                    "phase": "propagate",
                    "epoch": step,
                    "loss": (f - before).abs().mean().item(),  # how much the step changed
                    "coverage": (f.sum(1) > 0).float().mean().item(),
                    **evaluate(problem, probabilities.clamp_min(1e-12).log(), s.metric),
                }
                if watch.record(record, s.epochs, started, partial(dict, probabilities=probabilities)):
                    break
        assert watch.best is not None
        assert watch.best_state is not None
        self.history_, self.best_epoch_, self.timings_ = watch.history, watch.best, watch.timings
        self.tensors_ = FittedState(probabilities=watch.best_state["probabilities"].cpu().numpy()).named()


def shares(problem: Problem, f: Tensor) -> Tensor:
    """F with rows that sum to 1: [N, C]; rows of 0 become the class shares of the training nodes."""
    total = f.sum(1, keepdim=True)
    prior = problem.labels[problem.train].mean(0)
    return torch.where(total > 0, f / total.clamp_min(1e-30), prior)
