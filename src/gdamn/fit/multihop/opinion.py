"""The opinion of few labels: a weighted mean of logistic regressions on multi-hop features.

With five labels a class, the one candidate of the highest cross-fitted accuracy is often chosen by luck. All candidates
therefore have a say: candidate k, with prior weight π_k, weighs

    w_k ∝ π_k exp(-τ Σ_i CE(y_i, p_k^(-i)(x_i)))

where p_k^(-i) has not seen the label of node i, and is calibrated by a temperature. The exponent is tempered (τ < 1),
since the nodes' losses are not independent. The prior favours personalised PageRank, which is rarely far from the best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...model.problem import Problem
from ...model.temperature import fit_temperature
from .cross_fitting import cross_fit, splits
from .features import multihop_features
from .logistic import log_probabilities

PENALTIES = (3.0, 1.0, 0.3, 0.1)
"""L2 penalties of the regressions, with their prior weights."""

PENALTY_PRIOR = (0.3, 0.4, 0.2, 0.1)

PRIOR = {"features": 0.2, "hops-1 centred": 0.05, "hops-2 centred": 0.05, "structure": 0.02}
"""Prior weights of the features; personalised PageRanks share the rest."""

TEMPER = 0.5
"""τ, how much of the cross-fitted log-likelihood counts."""

NEGLIGIBLE = 1e-3
"""Candidates of less weight aren't asked about the unlabelled nodes."""


@dataclass(frozen=True, eq=False)
class Opinion:
    """What the candidates say together.

    Attributes:
        probabilities: [N, C] of every node, by models that have seen all labels.
        held_out: [L, C] of the labelled nodes, by models that have not seen the node's label.
        judged: [L] whether there are such models; not where a class would be left with no label at all.
        weights: of every candidate, "features, penalty".
    """

    probabilities: Tensor
    held_out: Tensor
    judged: Tensor
    weights: dict[str, float]

    def accuracy(self, labels: Tensor) -> float:
        """The cross-fitted accuracy on the labelled nodes that were judged; [L] are the classes of all."""
        return float((self.held_out.argmax(1) == labels.cpu())[self.judged].double().mean())

    @property
    def graph(self) -> str:
        """The graph that suits q: every node alone where regressions without edges have most of the weight."""
        alone = sum(weight for candidate, weight in self.weights.items() if candidate.startswith("features"))
        return "features" if alone > 0.5 else "graph"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A regression on one kind of features.

    Attributes:
        features: their name.
        penalty: L2.
        coefficients: [d + 1, C] from all labels.
        temperature: that calibrates it.
        held_out: [L, C] calibrated log-probabilities by models that have not seen the node's label.
        score: log of its weight, up to a constant.
    """

    features: str
    penalty: float
    coefficients: Tensor
    temperature: float
    held_out: Tensor
    score: float


def multihop_opinion(problem: Problem, row_weights: Tensor | None = None, seed: int = 0) -> Opinion:
    """The opinion about every node; only the labels of training nodes are read.

    The features are made twice, once to learn and once to predict, since those of all candidates need much memory.

    Args:
        row_weights: [L] of the labelled nodes; None: all the same.
    """

    def features() -> Iterator[tuple[str, Tensor]]:
        return multihop_features(problem.structure, problem.x, problem.device, seed)

    targets = problem.labels[problem.train].double().cpu()
    rows = torch.ones(len(targets), dtype=torch.float64) if row_weights is None else row_weights.double().cpu()
    if problem.class_weights is not None:
        rows = rows * problem.class_weights[problem.train_labels].double().cpu()
    masks = list(splits(targets.argmax(1).numpy(), seed))
    left_out = torch.from_numpy(np.array(masks, dtype=bool).reshape(len(masks), len(targets)))
    candidates = [
        each for name, h in features() for each in regressions(name, h[problem.train], targets, rows, left_out)
    ]
    weights = torch.softmax(torch.tensor([each.score for each in candidates], dtype=torch.float64), 0).tolist()
    total, held = torch.zeros_like(problem.labels), torch.zeros_like(targets)
    for name, h in features():
        for each, weight in zip(candidates, weights, strict=True):
            if each.features == name and weight > NEGLIGIBLE:
                total += weight * F.softmax(log_probabilities(h, each.coefficients) / each.temperature, dim=1)
    for each, weight in zip(candidates, weights, strict=True):
        held += weight * each.held_out.exp()
    named = {f"{each.features}, {each.penalty:g}": weight for each, weight in zip(candidates, weights, strict=True)}
    return Opinion(total / total.sum(1, keepdim=True), held, left_out.any(0), named)


def regressions(name: str, h: Tensor, targets: Tensor, rows: Tensor, left_out: Tensor) -> Iterator[Candidate]:
    """The candidates on features [L, d] of the labelled nodes, one per penalty.

    Args:
        targets: [L, C] labels, one-hot.
        rows: [L] weights.
        left_out: [K, L] the nodes that are left out of each fit.
    """
    x, w = h.double().cpu(), None
    classes, judged = targets.argmax(1).numpy(), left_out.any(0).numpy()
    for number, penalty in enumerate(PENALTIES):
        w, unseen = cross_fit(x, targets, rows, penalty, left_out, w)
        t = fit_temperature(unseen.exp().numpy()[judged], classes[judged]).value  # 1 where none is judged
        calibrated = F.log_softmax(unseen / t, dim=1)
        score = np.log(prior(name, number)) + TEMPER * float(rows @ (targets * calibrated).sum(1))
        yield Candidate(name, penalty, w[-1], t, calibrated, score)


def prior(name: str, penalty: int) -> float:
    """π of a candidate."""
    others = (1 - sum(PRIOR.values())) / 6
    return PRIOR.get(name, others) * PENALTY_PRIOR[penalty]
