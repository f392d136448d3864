"""Confidence that means what it says: temperature scaling (Guo et al., ICML 2017), and how far off it is.

One number T is fitted on validation nodes: p ∝ p^{1/T}. It changes no label. Validation nodes also chose the epoch,
so the error on them after scaling is optimistic; the cross-fitted one fits T on one half of them and measures on the
other, in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 15
"""Bins of equal width for the expected calibration error: what most publications use."""

LOWEST, HIGHEST = 0.05, 20.0
"""Range of the temperature."""

_FLOOR = 1e-30
"""Probabilities below it count as this much, so that their logarithm exists."""


@dataclass(frozen=True)
class Temperature:
    """T, and why it is what it is.

    Attributes:
        value: 1 leaves probabilities as they are; more makes them less sure.
        fitted: whether it was fitted.
        reason: for people.
    """

    value: float
    fitted: bool
    reason: str


def fit_temperature(probabilities: NDArray[Any], labels: NDArray[np.int64]) -> Temperature:
    """The T that minimises the mean negative log-likelihood of these nodes' labels.

    Where all of them (or none) are right, sharper is always better (or blunter), and no T is the best: it stays 1.

    Args:
        probabilities: [V, C].
        labels: [V].
    """
    if len(labels) == 0:
        return Temperature(1.0, False, "no validation nodes to fit a temperature on")
    right = probabilities.argmax(1) == labels
    if right.all() or not right.any():
        every = "every" if right.all() else "no"
        return Temperature(1.0, False, f"{every} validation node is right, so no temperature fits best")
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda log_t: nll(scaled(probabilities, math.exp(log_t)), labels),
        bounds=(math.log(LOWEST), math.log(HIGHEST)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return Temperature(float(math.exp(found.x)), True, f"fitted on {len(labels)} validation nodes")


def scaled(probabilities: NDArray[Any], temperature: float) -> NDArray[np.float64]:
    """[N, C] softmax(log p / T)."""
    logits = np.log(np.maximum(np.asarray(probabilities, np.float64), _FLOOR)) / temperature
    logits -= logits.max(axis=1, keepdims=True)
    weights = np.exp(logits)
    made: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return made


def nll(probabilities: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """Mean negative log-likelihood."""
    chosen = np.take_along_axis(np.asarray(probabilities, np.float64), labels[:, None], axis=1)
    return float(-np.log(np.maximum(chosen, _FLOOR)).mean())


def expected_calibration_error(probabilities: NDArray[Any], labels: NDArray[np.int64], bins: int = BINS) -> float:
    """Σ_b |B_b| / V · |accuracy(B_b) - confidence(B_b)| over bins of the confidence; nan without nodes."""
    if len(labels) == 0:
        return math.nan
    confidence = np.asarray(probabilities, np.float64).max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    which = np.minimum((confidence * bins).astype(int), bins - 1)
    gap = np.bincount(which, right - confidence, minlength=bins)
    return float(np.abs(gap).sum() / len(labels))


def cross_fitted(probabilities: NDArray[Any], labels: NDArray[np.int64], seed: int = 0) -> NDArray[np.float64]:
    """[V, C] each half of the nodes under the temperature of the other half."""
    order = np.random.default_rng([seed, 0xCA1]).permutation(len(labels))
    made = np.empty(probabilities.shape, np.float64)
    for here, there in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        made[here] = scaled(probabilities[here], fit_temperature(probabilities[there], labels[there]).value)
    return made


def report(probabilities: NDArray[Any], labels: NDArray[np.int64], temperature: Temperature) -> dict[str, Any]:
    """Expected calibration errors and likelihoods of validation nodes, before and after; plain data."""
    after = scaled(probabilities, temperature.value)
    return {
        "nodes": len(labels),
        "ece_before": expected_calibration_error(probabilities, labels),
        "ece_after": expected_calibration_error(after, labels),
        "ece_after_cross_fitted": expected_calibration_error(cross_fitted(probabilities, labels), labels),
        "nll_before": nll(probabilities, labels) if len(labels) else math.nan,
        "nll_after": nll(after, labels) if len(labels) else math.nan,
    }
