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
"""Bins of equal width for the calibration curve and its error: what most publications use."""

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


def expected_calibration_error(probabilities: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """Σ_b |B_b| / V · |accuracy(B_b) - confidence(B_b)| over bins of the confidence; nan without nodes."""
    return Calibration.of(probabilities, labels).error if len(labels) else math.nan


@dataclass(frozen=True)
class Calibration:
    """Confidence against accuracy, bin by bin; sums, so that seeds can be added up.

    Attributes:
        count: [BINS] nodes whose highest probability falls into the bin.
        confidence: [BINS] sum of these probabilities.
        right: [BINS] how many of them were predicted right.
    """

    count: NDArray[np.int64]
    confidence: NDArray[np.float64]
    right: NDArray[np.int64]

    @classmethod
    def of(cls, probabilities: NDArray[Any], labels: NDArray[np.int64]) -> Calibration:
        """The bins of some nodes."""
        top = probabilities.max(axis=1).astype(float)
        at = np.minimum((top * BINS).astype(int), BINS - 1)
        right = probabilities.argmax(axis=1) == labels
        return cls(
            np.bincount(at, minlength=BINS),
            np.bincount(at, top, minlength=BINS).astype(float),
            np.bincount(at[right], minlength=BINS),
        )

    def __add__(self, other: Calibration) -> Calibration:
        return Calibration(self.count + other.count, self.confidence + other.confidence, self.right + other.right)

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance between confidence and accuracy, by number of nodes."""
        return float(np.abs(self.confidence - self.right).sum() / self.count.sum())


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
