"""Scores of predictions from a confusion matrix, as scikit-learn defines them: accuracy, balanced accuracy, macro F1.

The choice of an epoch, summaries and reports read the same functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def confusion(labels: NDArray[Any], predicted: NDArray[Any], classes: int) -> Ints:
    """[C, C] how many nodes of the class of the row were predicted as the class of the column."""
    counts: Ints = np.bincount(labels * classes + predicted, minlength=classes * classes)
    return counts.reshape(classes, classes)


def precision_recall(table: NDArray[Any]) -> tuple[Floats, Floats]:
    """[C] precision and recall of each class; nan where nothing was predicted so, or nothing is of the class."""
    right = np.diag(table).astype(float)
    with np.errstate(invalid="ignore"):
        return right / table.sum(axis=0), right / table.sum(axis=1)


def score(table: NDArray[Any], metric: str) -> float:
    """The score of a confusion matrix [C, C] with at least one node.

    Accuracy: the share that is right. Balanced accuracy: the mean recall over the classes that occur among the
    labels. Macro F1: the mean of 2 TP / (2 TP + FP + FN) over the classes that occur among labels or predictions.
    """
    right, true, predicted = np.diag(table).astype(float), table.sum(axis=1), table.sum(axis=0)
    if metric == "accuracy":
        return float(right.sum() / table.sum())
    if metric == "balanced_accuracy":
        return float(np.mean(right[true > 0] / true[true > 0]))
    occurs = true + predicted > 0
    return float(np.mean(2 * right[occurs] / (true + predicted)[occurs]))
