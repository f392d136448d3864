"""Wrong training labels: how many there are, and which, from cross-fitted probabilities.

A label is the class of its node with probability 1 - ε, and any of the other classes otherwise. With p_i the
cross-fitted probabilities of node i (multihop/), under a temperature T of their own, its label y_i has the probability

    (1 - ε) p_i(y_i) + ε (1 - p_i(y_i)) / (C - 1).

ε and T maximise the likelihood of all labels. Wrong labels are claimed only where that gains more than one unit of
log-likelihood over ε = 0, the price of one parameter (Akaike 1974): hard nodes are contradicted, too, but few of them
as surely as a wrong label is. The class of a node is then, by Bayes' rule,

    t_i(c) ∝ p_i(c) · (1 - ε where c = y_i, else ε / (C - 1)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..model.problem import Problem
from ..model.temperature import HIGHEST, LOWEST, STEPS, scaled
from .multihop import multihop_opinion

PRICE = 1.0
"""Log-likelihood that the noise rate must gain before wrong labels are claimed."""

MOST = 0.5
"""The highest noise rate: labels are more often right than wrong."""

ENOUGH = 20
"""Labels per class, in the mean, from which wrong labels are claimed. With 5 or 10 on Cora, right labels of hard
classes were taken for wrong in one of four draws each (docs/evidence/wrong-labels.md)."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """What the cross-fitted probabilities say of the labels.

    Attributes:
        rate: ε, the estimated share of wrong labels.
        gain: log-likelihood that it gains over ε = 0.
        classes: [L, C] t, the probability of every class, given the label.
        weights: [L] the probability that the label is right.
    """

    rate: float
    gain: float
    classes: Floats
    weights: Floats

    @property
    def claimed(self) -> bool:
        """Whether there is evidence of wrong labels."""
        return enough(*self.classes.shape) and self.gain > PRICE


def enough(labels: int, classes: int) -> bool:
    """Whether so many labels can tell wrong ones from hard ones."""
    return labels >= ENOUGH * classes


def fit_label_noise(held_out: NDArray[np.float64], labels: NDArray[np.int64]) -> LabelNoise:
    """ε and T by maximum likelihood.

    Args:
        held_out: [L, C] probabilities by models that have not seen the node's label.
        labels: [L].
    """
    from scipy.optimize import minimize_scalar

    others = held_out.shape[1] - 1

    def label_probabilities(log_t: float) -> Floats:
        p = scaled(held_out, math.exp(log_t))
        return np.take_along_axis(p, labels[:, None], axis=1)[:, 0]

    def best_rate(log_t: float) -> tuple[float, float]:
        """The noise rate for a temperature, and its negative log-likelihood, which is convex in the rate."""
        p = label_probabilities(log_t)
        solution = minimize_scalar(lambda rate: _nll(p, rate, others), bounds=(0.0, MOST), method="bounded")
        clean = _nll(p, 0.0, others)
        return (0.0, clean) if clean <= solution.fun else (float(solution.x), float(solution.fun))

    tried = np.linspace(math.log(LOWEST), math.log(HIGHEST), STEPS)

    def minimum(loss: Callable[[float], float]) -> tuple[float, float]:
        """The log-temperature of the lowest loss, and that loss."""
        best = int(np.argmin([loss(float(log_t)) for log_t in tried]))
        around = float(tried[max(best - 1, 0)]), float(tried[min(best + 1, STEPS - 1)])
        solution = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-4})
        return float(solution.x), float(solution.fun)

    _, clean = minimum(lambda log_t: _nll(label_probabilities(log_t), 0.0, others))
    log_t, noisy = minimum(lambda log_t: best_rate(log_t)[1])
    rate = best_rate(log_t)[0]
    classes = true_classes(scaled(held_out, math.exp(log_t)), labels, rate)
    weights = np.take_along_axis(classes, labels[:, None], axis=1)[:, 0]
    return LabelNoise(rate, max(clean - noisy, 0.0), classes, weights)


def corrected(problem: Problem, seed: int) -> tuple[Problem, dict[str, Any]]:
    """The setting label_noise=auto: known labels become t where wrong ones are claimed.

    t leaves a credible label what it is, weighs a contradicted one down (never to 0), and gives the rest to the
    classes that the cross-fitted probabilities prefer. q's targets, Ŷ and the opinion of few labels all read it.

    Returns:
        The problem, the very same where no wrong labels are claimed, and what was done, as plain data.
    """
    train, labels = problem.train, problem.train_labels.cpu().numpy().astype(np.int64)
    if not enough(len(labels), problem.num_classes):
        return problem, {"rate": None, "gain": None, "corrected": False}
    noise = fit_label_noise(multihop_opinion(problem, seed=seed, labels=False).held_out.double().cpu().numpy(), labels)
    done = {"rate": noise.rate, "gain": noise.gain, "corrected": noise.claimed}
    if not noise.claimed:
        return problem, done
    known = problem.labels.clone()
    known[train] = torch.from_numpy(noise.classes).to(known)
    return replace(problem, labels=known), done


def _nll(p: Floats, rate: float, others: int) -> float:
    """Negative log-likelihood of labels whose cross-fitted probabilities are p [L]."""
    return float(-np.log(np.maximum((1 - rate) * p + rate * (1 - p) / others, 1e-30)).sum())


def true_classes(p: Floats, labels: NDArray[np.int64], rate: float) -> Floats:
    """[L, C] t, the probability of every class, given the label."""
    likelihood = np.full(p.shape, rate / (p.shape[1] - 1))
    np.put_along_axis(likelihood, labels[:, None], 1 - rate, axis=1)
    joint: Floats = p * likelihood
    joint /= joint.sum(axis=1, keepdims=True)
    return joint
