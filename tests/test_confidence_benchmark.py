"""The benchmark of the confidence: what a draw measures, and the table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gdamn import GDAMN, load

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import confidence
import few_labels


def test_a_draw_measures_hidden_nodes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is always sure has a gap and an error as large as the share of hidden nodes that it gets wrong."""
    graph = load("karate")
    train = few_labels.draw(graph.labels, 5, 0)
    says = graph.labels.copy()
    hidden = np.flatnonzero(~train)
    wrong = hidden[: len(hidden) // 2]
    says[wrong] = (says[wrong] + 1) % 4

    def fit(self: GDAMN, shown: object) -> GDAMN:
        assert ((shown.labels >= 0) == train).all()  # type: ignore[attr-defined]
        self.tensors_ = {"probabilities": np.eye(4, dtype=np.float32)[says]}
        self.best_epoch_ = {"temperature": 1.0, "cross_fitted": {"accuracy": 1.0, "nodes": 10}}
        return self

    monkeypatch.setattr(GDAMN, "fit", fit)
    monkeypatch.setattr(few_labels, "graph_of", lambda name, seed: graph)
    measured = confidence.measure("karate", 5, 0)
    off = round(len(wrong) / len(hidden), 4)
    assert measured.pop("accuracy") == pytest.approx(1 - off)
    assert measured == {
        "confidence": 1.0,
        "gap": off,
        "ece": off,
        "raw": off,
        "judged": 10,
        "called_uncalibrated": True,
    }


def test_the_table_has_means_and_the_largest_error() -> None:
    record = {
        "confidence": 0.7,
        "accuracy": 0.6,
        "gap": 0.1,
        "ece": 0.1,
        "raw": 0.2,
        "judged": 70,
        "called_uncalibrated": True,
    }
    other = {**record, "accuracy": 0.8, "gap": -0.1, "ece": 0.12, "called_uncalibrated": False}
    table = confidence.table({"cora, 10 labels, seed 0": record, "cora, 10 labels, seed 1": other})
    assert table.splitlines()[-1] == "| cora | 10 | 2 | 70.0 | 70.0 | 10.0 | 11.0 | 12.0 | 20.0 | 1 |"
