"""Temperature scaling (Guo et al., ICML 2017): one number T that makes confidence mean what it says, p ∝ p^{1/T}.

It changes no label. Where the nodes that it is fitted on are few, all of them may be right by luck; what T can learn
from n nodes is therefore bounded by the rule of succession, as Platt (1999) bounds his sigmoid by smoothed targets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LOWEST, HIGHEST = 0.05, 200.0
"""Range of the temperature: from far too modest to probabilities of 1e-30 that one node speaks against."""

STEPS = 24
"""Temperatures that are tried before the best of them is refined."""

ENOUGH = 50
"""Nodes that a calibration error or curve needs; with fewer the confidence is called uncalibrated. One node then moves
the accuracy by more than 2 points, its standard error may be 7 points, and the error mostly tells of luck."""

PROMISED, QUANTILE = 0.08, 1.2816
"""Confidence that cross-fitting calibrates is called uncalibrated where its labels don't tell the accuracy to within so
much, with 80 % certainty: it can't be closer to the truth than they are."""

BLOCK = 200_000
"""Rows that are scaled at a time, to spare the memory."""

_FLOOR = 1e-30
"""Probabilities below it count as this much, so that their logarithm exists."""


@dataclass(frozen=True)
class Temperature:
    """T, and why it is what it is.

    Attributes:
        value: 1 leaves probabilities as they are; more makes them less sure.
        fitted: whether it was fitted.
        reason: for people.
        nodes: how many nodes it rests on: validation nodes, or labelled ones that were cross-fitted.
        kind: what those nodes are called.
        accuracy: the share of them that was predicted right, where they were cross-fitted.
    """

    value: float
    fitted: bool
    reason: str
    nodes: int = 0
    kind: str = "validation"
    accuracy: float | None = None

    @property
    def warning(self) -> str | None:
        """What people should know before they trust the confidence, in a sentence."""
        return warning(self.nodes, self.kind, self.accuracy) if self.fitted or not self.nodes else None


def warning(nodes: int, kind: str = "validation", accuracy: float | None = None) -> str | None:
    """The warning of a confidence that so many nodes of a kind calibrate; None where they are enough.

    Args:
        accuracy: the share of these nodes that was predicted right, where they were cross-fitted.
    """
    if nodes == 0:
        return "There are no validation nodes, so the confidence isn't calibrated."
    if nodes >= ENOUGH:
        width = 0.0 if accuracy is None else QUANTILE * math.sqrt(accuracy * (1 - accuracy) / nodes)
        if width <= PROMISED:
            return None
        return (
            f"The confidence is uncalibrated: the {nodes} {kind} nodes that it rests on tell the accuracy only to "
            f"within {100 * width:.0f} points (80 % interval)."
        )
    return (
        f"The confidence is uncalibrated: it rests on only {nodes} {kind} node{'s' if nodes > 1 else ''}, and fewer "
        f"than {ENOUGH} can't tell how far off it is, so no calibration error is given."
    )


def fit_temperature(probabilities: NDArray[Any], labels: NDArray[np.int64]) -> Temperature:
    """The T that minimises the negative log-likelihood of these nodes' labels, with smoothed targets.

    With n nodes, p the probabilities under T, y_i the label of node i and c_i the probability of its predicted class:

        L(T) = -1 / (n (n + 2)) Σ_i [ n log p_i(y_i) + log c_i + log(1 - c_i) ].

    Each node counts n times with its label, once as if it were right and once as if it were wrong: Laplace's rule of
    succession, and Platt's targets. Where all nodes are alike and k of them are right, the confidence becomes
    (k + 1) / (n + 2), so that 8 of 8 give 0.9 and never 0.999. Where they differ and all are right, the mean of c_i,
    weighted by how far the predicted class leads, is (n + 1) / (n + 2). For many nodes the two imaginary ones vanish,
    and L is the plain mean negative log-likelihood.

    Args:
        probabilities: [V, C].
        labels: [V].
    """
    count = len(labels)
    if count == 0:
        return Temperature(1.0, False, "there are no validation nodes, so the confidence isn't calibrated")
    if probabilities.shape[1] < 2:
        return Temperature(1.0, False, "there is only one class", count)
    from scipy.optimize import minimize_scalar

    logs = _log(probabilities)

    def loss(log_t: float) -> float:
        return smoothed_nll(logs / math.exp(log_t), labels)

    tried = np.linspace(math.log(LOWEST), math.log(HIGHEST), STEPS)  # L may have several valleys
    best = int(np.argmin([loss(float(log_t)) for log_t in tried]))
    around = float(tried[max(best - 1, 0)]), float(tried[min(best + 1, STEPS - 1)])
    minimum = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-6})
    reason = f"fitted on {count:,} validation node{'s' if count > 1 else ''}"
    return Temperature(float(math.exp(minimum.x)), True, reason, count)


def matching_temperature(probabilities: NDArray[Any], confidence: float) -> float:
    """The T that makes the mean confidence of these nodes [V, C] this much, within the range that T may have."""
    if len(probabilities) == 0 or probabilities.shape[1] < 2:
        return 1.0
    low, high = math.log(LOWEST), math.log(HIGHEST)
    for _ in range(40):  # a higher T means less confidence
        middle = (low + high) / 2
        above = float(scaled(probabilities, math.exp(middle)).max(axis=1).mean()) > confidence
        low, high = (middle, high) if above else (low, middle)
    return math.exp(high)


def smoothed_nll(logits: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """L(T) of :func:`fit_temperature` for the logits log p / T, which are overwritten."""
    logits -= logits.max(axis=1, keepdims=True)  # the predicted class has 0
    weights = np.exp(logits)
    np.put_along_axis(weights, logits.argmax(axis=1)[:, None], 0.0, axis=1)
    others = weights.sum(axis=1)
    total = np.log1p(others)
    right = np.take_along_axis(logits, labels[:, None], axis=1)[:, 0] - total
    wrong = np.log(np.maximum(others, np.finfo(float).tiny)) - total
    count = len(labels)
    return float(-(count * right - total + wrong).mean() / (count + 2))


def _log(probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """[V, C] log p."""
    logs: NDArray[np.float64] = np.log(np.maximum(np.asarray(probabilities, np.float64), _FLOOR))
    return logs


def scaled(probabilities: NDArray[Any], temperature: float) -> NDArray[np.float64]:
    """[N, C] softmax(log p / T)."""
    result = np.empty(probabilities.shape, np.float64)
    for at in range(0, len(result), BLOCK):
        logits = _log(probabilities[at : at + BLOCK]) / temperature
        logits -= logits.max(axis=1, keepdims=True)
        weights = np.exp(logits)
        result[at : at + BLOCK] = weights / weights.sum(axis=1, keepdims=True)
    return result


def nll(probabilities: NDArray[Any], labels: NDArray[np.int64]) -> float:
    """Mean negative log-likelihood."""
    chosen = np.take_along_axis(np.asarray(probabilities, np.float64), labels[:, None], axis=1)
    return float(-np.log(np.maximum(chosen, _FLOOR)).mean())
