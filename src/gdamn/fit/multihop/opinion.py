"""The opinion of few labels: a weighted mean of logistic regressions on multi-hop features.

With five labels a class, the one candidate of the highest cross-fitted accuracy is often chosen by luck. All candidates
therefore have a say: candidate k, with prior weight π_k, weighs

    w_k ∝ π_k exp(-τ Σ_i CE(y_i, p_k^(-i)(x_i)))

where p_k^(-i) has not seen the label of node i, and is calibrated by a temperature. The exponent is tempered (τ < 1),
since the nodes' losses are not independent. The prior favours personalised PageRank, which is rarely far from the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...model.problem import Problem
from ...model.temperature import fit_temperature
from .cross_fitting import cross_fit, held_out_log_probabilities, splits
from .features import depths
from .logistic import log_probabilities

PENALTIES = (3.0, 1.0, 0.3, 0.1)
"""L2 penalties of the regressions, with their prior weights."""

PENALTY_PRIOR = (0.3, 0.4, 0.2, 0.1)

PRIOR = {"features": 0.06, "hops-1 centred": 0.04, "hops-2 centred": 0.04, "structure": 0.02}
"""Prior weights of the features; personalised PageRanks share the rest."""

TEMPER = 0.3
"""τ, how much of the cross-fitted log-likelihood counts."""


@dataclass(frozen=True, eq=False)
class Opinion:
    """What the candidates say together.

    Attributes:
        probabilities: [N, C] of every node, by models that have seen all labels.
        held_out: [L, C] of the labelled nodes, by models that have not seen the node's label.
        weights: of every candidate, "features, penalty".
    """

    probabilities: Tensor
    held_out: Tensor
    weights: dict[str, float]

    def share(self, name: str) -> float:
        """The weight of all candidates on features of this name."""
        return sum(weight for candidate, weight in self.weights.items() if candidate.startswith(name))


class Mixture:
    """Candidates that are calibrated and weighed by what they say of labels that they haven't seen.

    Args:
        targets: [L, C] the labels, one-hot.
        rows: [L] weights of the labelled nodes.
    """

    def __init__(self, targets: Tensor, rows: Tensor) -> None:
        self.targets, self.rows = targets, rows
        self.scores: list[float] = []
        self.held: list[Tensor] = []
        self.elsewhere: list[Tensor] = []

    def add(self, prior: float, unseen: Tensor, logs: Tensor) -> None:
        """Add a candidate by its log-probabilities: [L, C] held-out ones of labelled nodes, [n, C] of any nodes."""
        t = fit_temperature(unseen.exp().numpy(), self.targets.argmax(1).numpy()).value
        calibrated = F.log_softmax(unseen / t, dim=1)
        self.scores.append(np.log(prior) + TEMPER * float(self.rows @ (self.targets * calibrated).sum(1)))
        self.held.append(calibrated.exp())
        self.elsewhere.append(F.softmax(logs / t, dim=1).cpu())

    @property
    def weights(self) -> Tensor:
        """[K] of the candidates."""
        return torch.softmax(torch.tensor(self.scores, dtype=torch.float64), 0)

    def means(self) -> tuple[Tensor, Tensor]:
        """[n, C] and [L, C] the weighted means of what the candidates say, and of what they say held-out."""
        return mean(self.elsewhere, self.weights), mean(self.held, self.weights)


def multihop_opinion(problem: Problem, row_weights: Tensor | None = None, seed: int = 0) -> Opinion:
    """The opinion about every node; only the labels of training nodes are read.

    Nodes without edges have a mixture of their own: the same regressions, calibrated and weighed by what they say of
    labelled nodes that are treated as if they had no edges either.

    Args:
        row_weights: [L] of the labelled nodes; None: all the same.
    """
    targets = problem.labels[problem.train].double().cpu()
    rows = torch.ones(len(targets), dtype=torch.float64) if row_weights is None else row_weights.double().cpu()
    left_out = torch.from_numpy(np.stack(list(splits(targets.argmax(1).numpy(), seed))))
    isolated = torch.from_numpy(np.flatnonzero(problem.structure.isolated)).to(problem.device)
    compared = problem.train if len(isolated) else isolated
    names, every, alone = [], Mixture(targets, rows), Mixture(targets, rows)
    for depth in depths(problem.structure, problem.x, compared, seed):
        x, own, w = depth.h[problem.train].double().cpu(), depth.alone.double().cpu(), None
        for number, penalty in enumerate(PENALTIES):
            w, unseen = cross_fit(x, targets, rows, penalty, left_out, w)
            names.append(f"{depth.name}, {penalty:g}")
            share = prior(depth.name, number)
            every.add(share, unseen, log_probabilities(depth.h, w[-1]))
            if len(isolated):
                unseen = held_out_log_probabilities(own, w, left_out)
                alone.add(share, unseen, log_probabilities(depth.h[isolated], w[-1]))
    probabilities, held_out = every.means()
    if len(isolated):
        ours = torch.isin(problem.train, isolated).cpu()
        probabilities[isolated.cpu()], of_labelled = alone.means()
        held_out[ours] = of_labelled[ours]
    weights = dict(zip(names, every.weights.tolist(), strict=True))
    return Opinion(probabilities.to(problem.device), held_out, weights)


def prior(name: str, penalty: int) -> float:
    """π of a candidate."""
    others = (1 - sum(PRIOR.values())) / 6
    return PRIOR.get(name, others) * PENALTY_PRIOR[penalty]


def mean(opinions: list[Tensor], weights: Tensor) -> Tensor:
    """Σ_k w_k p_k: [n, C]."""
    total = torch.zeros_like(opinions[0])
    for opinion, weight in zip(opinions, weights.tolist(), strict=True):
        total += weight * opinion
    return total
