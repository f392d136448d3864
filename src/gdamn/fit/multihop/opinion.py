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
from .cross_fitting import cross_fit, splits
from .features import multihop_features
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

    def accuracy(self, labels: Tensor) -> float:
        """The cross-fitted accuracy on the labelled nodes, whose classes [L] these are."""
        return float((self.held_out.argmax(1) == labels.cpu()).double().mean())

    @property
    def graph(self) -> str:
        """The graph that suits q: every node alone where regressions without edges have most of the weight."""
        alone = sum(weight for candidate, weight in self.weights.items() if candidate.startswith("features"))
        return "features" if alone > 0.5 else "graph"


def multihop_opinion(problem: Problem, row_weights: Tensor | None = None, seed: int = 0) -> Opinion:
    """The opinion about every node; only the labels of training nodes are read.

    Args:
        row_weights: [L] of the labelled nodes; None: all the same.
    """
    train = problem.train.cpu()
    targets = problem.labels[problem.train].double().cpu()
    classes = targets.argmax(1).numpy()
    rows = torch.ones(len(train), dtype=torch.float64) if row_weights is None else row_weights.double().cpu()
    left_out = torch.from_numpy(np.stack(list(splits(classes, seed))))
    names, scores, held, everywhere = [], [], [], []
    for name, h in multihop_features(problem.structure, problem.x, problem.device, seed):
        x, w = h[problem.train].double().cpu(), None
        for number, penalty in enumerate(PENALTIES):
            w, unseen = cross_fit(x, targets, rows, penalty, left_out, w)
            t = fit_temperature(unseen.exp().numpy(), classes).value
            calibrated = F.log_softmax(unseen / t, dim=1)
            names.append(f"{name}, {penalty:g}")
            scores.append(np.log(prior(name, number)) + TEMPER * float(rows @ (targets * calibrated).sum(1)))
            held.append(calibrated.exp())
            everywhere.append(F.softmax(log_probabilities(h, w[-1]) / t, dim=1).cpu())
    weights = torch.softmax(torch.tensor(scores, dtype=torch.float64), 0)
    return Opinion(
        mean(everywhere, weights).to(problem.device),
        mean(held, weights),
        dict(zip(names, weights.tolist(), strict=True)),
    )


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
