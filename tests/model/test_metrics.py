"""Scores of a confusion matrix against scikit-learn's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

from gdamn.model.confusion import confusion, precision_recall, score
from gdamn.model.metrics import METRICS, NAMES, score_key

SCIKIT = {
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "macro_f1": lambda true, predicted: f1_score(true, predicted, average="macro"),
}


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_every_metric_is_that_of_scikit_learn(pairs):
    """Classes that occur nowhere, or only among the predictions, are among the examples."""
    labels, predicted = np.array(pairs).T
    table = confusion(labels, predicted, 5)
    assert table.sum() == len(pairs)
    for metric in METRICS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn warns of classes that occur only among the predictions
            assert score(table, metric) == pytest.approx(SCIKIT[metric](labels, predicted)), metric


def test_balanced_accuracy_is_the_mean_recall():
    table = np.array([[8, 2, 0], [1, 1, 0], [0, 0, 0]])
    assert precision_recall(table)[1][:2].tolist() == [0.8, 0.5]
    assert score(table, "balanced_accuracy") == pytest.approx(0.65)


def test_every_metric_has_a_key_and_a_name():
    assert [score_key(metric) for metric in METRICS] == ["val_accuracy", "val_balanced_accuracy", "val_macro_f1"]
    assert set(NAMES) == set(METRICS)
