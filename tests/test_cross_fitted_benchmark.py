"""The judge of settings (benchmarks/cross_fitted.py): halves that choose an epoch don't score it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from cross_fitted import RULES, by_shares, candidates, cross_fitted, fit, judged, lead

SHORT = {"pretrain_epochs": 3, "epochs": 2, "em_iterations": 1, "start": "graph", "judge_edges": False, "hidden": 4}


def test_an_epoch_that_is_best_by_luck_is_not_believed() -> None:
    random = np.random.default_rng(0)
    right = random.random((400, 200)) < 0.5  # every epoch guesses
    scores = cross_fitted(right, random.random((400, 200), np.float32), np.zeros(400, np.int64))
    assert right.mean(1).max() > 0.58
    assert all(abs(scores[rule] - 0.5) < 0.03 for rule in RULES.values())


def test_each_fit_is_judged_by_its_own_rule() -> None:
    scores = {"cross_fitted": 0.5, "smoothed": 0.6, "by_loss": 0.7, "last": 0.4}
    assert judged(scores) == 0.5  # as older files have it
    rules = ("accuracy", "smoothed", "loss", "last")
    assert [judged({**scores, "rule": rule}) for rule in rules] == [0.5, 0.6, 0.7, 0.4]
    assert lead({"1": {**scores, "rule": "loss"}}, {"1": scores})[0] == pytest.approx(0.2)


def test_the_weighted_score_is_that_of_a_sample_with_the_shares_of_the_graph() -> None:
    """Half of the validation nodes are of a class that a tenth of the graph has; one epoch knows only that class."""
    labels = np.repeat([0, 1], 50)
    weights = by_shares(labels, np.array([0.1, 0.9]))
    assert weights.mean() == pytest.approx(1)
    right = (labels == 0)[None]
    scores = cross_fitted(right, np.zeros((1, 100), np.float32), np.zeros(1, np.int64), weights)
    assert scores["cross_fitted"] == pytest.approx(0.5, abs=0.02)
    assert scores["weighted_cross_fitted"] == pytest.approx(0.1, abs=0.02)
    known = {"1": {**scores, "rule": "accuracy"}}
    assert lead(known, known, "weighted_")[0] == 0
    assert np.isnan(lead(known, {"1": {"cross_fitted": 0.5}}, "weighted_")[0])


def test_beta_auto_has_the_epochs_of_all_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cross_fitted.BETAS", (0.2, 1.0))
    found = fit("karate", "gdamn", {**SHORT, "beta": "auto"}, 0)
    sides = [candidates("karate", "gdamn", {**SHORT, "beta": beta}, 0)[0] for beta in (0.2, 1.0)]
    assert found["best"] == max(side.mean(1).max() for side in sides)
    assert found["mean"] == pytest.approx(np.concatenate(sides).mean())
    assert found["rule"] == "accuracy"


def test_candidates_of_em_alone_leave_out_pre_training() -> None:
    every = candidates("karate", "gdamn", SHORT, 0)[2]
    of_em = candidates("karate", "gdamn", {**SHORT, "candidates": "em"}, 0)[2]
    assert list(every) == [0, 0, 0, 1, 1]
    assert list(of_em) == [1, 1]
