"""Confidence that means what it says: scaled by a temperature (model/temperature.py), and how far off it is.

Validation nodes fit the temperature, and they also chose the epoch, so the error on them after scaling is optimistic;
the cross-fitted one fits T on one half of them and measures on the other, in turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.temperature import ENOUGH, Temperature, fit_temperature, nll, scaled

if TYPE_CHECKING:
    from ..graph.graph import Graph

BINS = 15
"""Bins of equal width for the calibration curve and its error: what most publications use."""


def calibrated(
    probabilities: NDArray[Any], graph: Graph, wanted: bool = True, best: Mapping[str, Any] | None = None
) -> tuple[NDArray[np.float64], Temperature]:
    """[N, C] the calibrated probabilities of a fitted model for the graph of its fit, and the temperature.

    The one way from a model's raw probabilities to what people and files are shown as ``confidence``. Labels of
    validation nodes are read, and no others.

    Args:
        probabilities: [N, C] as ``predict_proba`` gives them.
        wanted: False leaves them as they are.
        best: the record of the chosen epoch (``best_epoch_``), whose cross-fitted temperature counts where there are no
            validation nodes.
    """
    temperature = temperature_of(probabilities, graph, wanted, best)
    return scaled(probabilities, temperature.value), temperature


def temperature_of(
    probabilities: NDArray[Any], graph: Graph, wanted: bool = True, best: Mapping[str, Any] | None = None
) -> Temperature:
    """T from the validation nodes, from the cross-fitting of a fit without them, or 1 where nobody wants it."""
    val = graph.val_mask
    if not wanted:
        return Temperature(1.0, False, "not asked for", int(val.sum()))
    if not val.any() and best is not None and "temperature" in best:
        nodes = int(best["cross_fitted"]["nodes"])
        reason = f"cross-fitted on {nodes:,} labelled node{'s' if nodes > 1 else ''}"
        accuracy = float(best["cross_fitted"]["accuracy"])
        return Temperature(float(best["temperature"]), True, reason, nodes, "labelled", accuracy)
    return fit_temperature(probabilities[val], graph.labels[val])


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
    result = np.empty(probabilities.shape, np.float64)
    for half, other in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        result[half] = scaled(probabilities[half], fit_temperature(probabilities[other], labels[other]).value)
    return result


def report(probabilities: NDArray[Any], labels: NDArray[np.int64], temperature: Temperature) -> dict[str, Any]:
    """Calibration errors and likelihoods of validation nodes, before and after; plain data.

    The errors are None where there are fewer than :data:`ENOUGH` nodes.
    """
    after = scaled(probabilities, temperature.value)
    enough = len(labels) >= ENOUGH
    halves = cross_fitted(probabilities, labels) if enough else None
    return {
        "nodes": len(labels),
        "ece_before": expected_calibration_error(probabilities, labels) if enough else None,
        "ece_after": expected_calibration_error(after, labels) if enough else None,
        "ece_after_cross_fitted": None if halves is None else expected_calibration_error(halves, labels),
        "nll_before": nll(probabilities, labels) if len(labels) else math.nan,
        "nll_after": nll(after, labels) if len(labels) else math.nan,
    }
