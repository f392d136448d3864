"""Predictions for people and files: labels by their own names, with a confidence that is calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..graph.graph import SPLITS, Graph
from ..graph.packed import split_codes
from ..model.temperature import Temperature
from . import calibration

if TYPE_CHECKING:
    from .base import NodeClassifier


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a run says of a graph.

    Attributes:
        graph: the graph of the nodes.
        probabilities: [N, C], calibrated unless the temperature is 1.
        split: [N] the part that a node had in the fit: train, val, test, none, or new.
        temperature: what calibrated them.
        report: plain data for the terminal and for JSON.
    """

    graph: Graph
    probabilities: NDArray[np.float64]
    split: NDArray[np.str_]
    temperature: Temperature
    report: dict[str, Any]

    @property
    def predicted(self) -> NDArray[np.int64]:
        """[N] the likeliest class."""
        return likeliest(self.probabilities)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """[N] its probability."""
        highest: NDArray[np.float64] = self.probabilities.max(axis=1)
        return highest

    def short_columns(self) -> dict[str, NDArray[Any]]:
        """A table: node, predicted, confidence, split."""
        return {
            "node": self.graph.node_ids,
            "predicted": np.array(self.graph.class_names, dtype=object)[self.predicted],
            "confidence": self.confidence,
            "split": self.split,
        }

    def columns(self) -> dict[str, NDArray[Any]]:
        """The same, and one probability per class."""
        return {**self.short_columns(), **probability_columns(self.probabilities, self.graph.class_names)}


def probability_columns(probabilities: NDArray[Any], names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """A column per class, from probabilities [N, C]; numbered where two classes have one name."""
    titles = [f"probability_{name}" for name in names]
    if len(set(titles)) < len(titles):
        titles = [f"probability_{at}_{name}" for at, name in enumerate(names)]
    return {title: probabilities[:, at] for at, title in enumerate(titles)}


def likeliest(probabilities: NDArray[Any]) -> NDArray[np.int64]:
    """[N] the number of the likeliest class, from probabilities [N, C]."""
    numbers: NDArray[np.int64] = probabilities.argmax(axis=1).astype(np.int64)
    return numbers


def mean(probabilities: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """[N, C] the mean of several models' opinions."""
    total: NDArray[np.float64] = np.mean([np.asarray(each, np.float64) for each in probabilities], axis=0)
    return total


def of_fit(model: NodeClassifier, graph: Graph) -> Predictions:
    """The calibrated predictions of one model for the graph of its fit; no test label is read."""
    probabilities, temperature = calibration.calibrated(model.predict_proba(), graph, best=model.best_epoch_)
    return Predictions(graph, probabilities, split_names(graph), temperature, {})


def split_names(graph: Graph) -> NDArray[np.str_]:
    """[N] train, val, test or none."""
    return code_names(split_codes(graph))


def code_names(codes: NDArray[np.uint8]) -> NDArray[np.str_]:
    """[N] the same from the numbers that a model file has."""
    return np.array(["none", *SPLITS])[codes]
