"""label_noise=auto: wrong training labels count less, right ones stay as they are to the bit, no others are read."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gdamn import GDAMN, GDAMNPlus, Graph, load
from gdamn.errors import ConfigError
from gdamn.fit.label_noise import corrected, fit_label_noise, true_classes
from gdamn.fit.multihop import multihop_opinion
from gdamn.model.problem import choose_device, make_problem
from gdamn.runs.run import run as train
from gdamn.runs.spec import RunSpec

SHORT = {"pretrain_epochs": 20, "epochs": 10, "em_iterations": 1, "hidden": 8, "projection": 8, "threads": 1}


@pytest.fixture(scope="module")
def clean() -> Graph:
    return load("sbm", num_nodes=300, num_classes=3, feature_signal=2.0, seed=1)


@pytest.fixture(scope="module")
def wrong(clean: Graph) -> np.ndarray:
    return np.random.default_rng(0).choice(np.flatnonzero(clean.train_mask), 9, replace=False)


@pytest.fixture(scope="module")
def planted(clean: Graph, wrong: np.ndarray) -> Graph:
    labels = clean.labels.copy()
    labels[wrong] = (labels[wrong] + 1) % 3
    return clean.with_labels(labels)


@pytest.fixture(scope="module")
def judged(planted: Graph) -> GDAMN:
    return GDAMN(**SHORT, label_noise="auto", seed=0).fit(planted)


def test_where_no_label_is_wrong_the_fit_stays_as_it_is_to_the_bit(clean):
    none, auto = (GDAMN(**SHORT, label_noise=how, seed=0).fit(clean) for how in ("none", "auto"))
    assert auto.best_epoch_.pop("label_noise")["corrected"] is False
    assert "label_noise" not in none.best_epoch_
    assert auto.best_epoch_ == none.best_epoch_
    assert auto.history_ == none.history_
    assert all(np.array_equal(value, auto.tensors_[name]) for name, value in none.tensors_.items())


def test_wrong_labels_are_learned_less(clean, planted, wrong, judged, tmp_path):
    none = GDAMN(**SHORT, seed=0).fit(planted)
    learned = [model.probabilities_[wrong, planted.labels[wrong]].mean() for model in (none, judged)]
    assert learned[1] < 0.9 * learned[0]
    right = [model.probabilities_[wrong, clean.labels[wrong]].mean() for model in (none, judged)]
    assert right[1] > right[0]
    noise = judged.best_epoch_["label_noise"]
    assert noise["corrected"] is True
    assert 0.05 < noise["rate"] < 0.3
    assert GDAMN.load(judged.save(tmp_path / "model")).best_epoch_ == judged.best_epoch_


def test_known_labels_become_probabilities(clean, planted, wrong):
    problem = make_problem(planted, "auto", 0.0, choose_device("cpu"))
    better, _ = corrected(problem, 0)
    known = better.labels[better.train].numpy()
    assert np.allclose(known.sum(1), 1, atol=1e-6)
    assert (better.labels[better.rest] == 0).all()
    at = np.isin(np.flatnonzero(planted.train_mask), wrong)
    given = known[np.arange(len(known)), planted.labels[planted.train_mask]]
    assert given.min() > 0
    assert given[at].mean() < 0.5 < 0.9 < given[~at].mean()
    right = known[np.arange(len(known)), clean.labels[clean.train_mask]]
    assert right[at].mean() > 0.5
    held_out = multihop_opinion(problem, labels=False).held_out.numpy()
    assert np.allclose(known, fit_label_noise(held_out, planted.labels[planted.train_mask]).classes, atol=1e-6)


def test_labels_outside_training_are_not_read(planted, judged):
    """Validation labels choose the start and the epoch, as ever; test labels do nothing."""
    others = ~(planted.train_mask | planted.val_mask)
    blind = planted.with_labels(np.where(others, (planted.labels + 1) % 3, planted.labels))
    again = GDAMN(**SHORT, label_noise="auto", seed=0).fit(blind)
    assert again.history_ == judged.history_
    assert again.best_epoch_ == judged.best_epoch_
    assert np.array_equal(again.probabilities_, judged.probabilities_)
    neither = planted.with_labels(np.where(~planted.train_mask, (planted.labels + 1) % 3, planted.labels))
    problems = [make_problem(graph, "auto", 0.0, choose_device("cpu")) for graph in (planted, neither)]
    (one, done), (two, same) = (corrected(problem, 0) for problem in problems)
    assert done == same
    assert np.array_equal(one.labels.numpy(), two.labels.numpy())


def test_few_labels_are_taken_as_they_are():
    graph = load("sbm", num_nodes=150, num_classes=3, train_per_class=5, val_per_class=5, seed=1)
    problem = make_problem(graph, "auto", 0.0, choose_device("cpu"))
    same, done = corrected(problem, 0)
    assert same is problem
    assert done == {"rate": None, "gain": None, "corrected": False}


@pytest.mark.parametrize("batch", ["fused", "partition", "neighbour"])
def test_batches_need_label_noise_none(clean, batch):
    with pytest.raises(ConfigError, match=f"label_noise='auto' needs batch=full, not {batch}"):
        GDAMN(**SHORT, label_noise="auto", batch=batch).fit(clean)


def test_ranks_need_label_noise_none(clean):
    with pytest.raises(ConfigError, match="several ranks need label_noise=none"):
        GDAMN(**SHORT, label_noise="auto")._fit(clean, None, object())


def test_the_default_is_none():
    assert GDAMN().settings.label_noise == GDAMNPlus().settings.label_noise == "none"
    with pytest.raises(ConfigError, match="one of none, auto"):
        GDAMN(label_noise="some")


def test_a_run_says_what_was_done(tmp_path):
    options = {"num_nodes": 150, "num_classes": 3, "train_per_class": 12, "val_per_class": 5}
    summary = train(RunSpec("sbm", "gdamn", (0,), 0.0, options, {**SHORT, "label_noise": "auto"}), tmp_path / "run")
    (done,) = summary["label_noise"]
    assert set(done) == {"rate", "gain", "corrected"}
    plain = train(RunSpec("sbm", "gdamn", (0,), 0.0, options, SHORT), tmp_path / "plain")
    assert "label_noise" not in plain


def test_the_noise_rate_is_found_again():
    """Labels drawn from known probabilities, a fifth of them replaced by another class."""
    random = np.random.default_rng(0)
    p = random.dirichlet([0.15] * 5, 2000)
    drawn = np.array([random.choice(5, p=row) for row in p])
    flipped = np.where(random.random(2000) < 0.2, (drawn + random.integers(1, 5, 2000)) % 5, drawn)
    assert not fit_label_noise(p, drawn).claimed
    noise = fit_label_noise(p, flipped)
    assert noise.claimed
    assert abs(noise.rate - 0.2) < 0.03
    assert np.mean(noise.weights[flipped != drawn]) < 0.4 < 0.9 < np.mean(noise.weights[flipped == drawn])
    wrong_share = (flipped != drawn).mean()
    assert abs((1 - noise.weights).mean() - wrong_share) < 0.02  # the probabilities add up


def test_classes_given_a_label_are_those_of_bayes():
    p, label, rate = np.array([[0.7, 0.2, 0.1]]), np.array([1]), 0.3
    joint = [0.7 * 0.15, 0.2 * 0.7, 0.1 * 0.15]
    assert np.allclose(true_classes(p, label, rate)[0], np.array(joint) / math.fsum(joint))
    assert true_classes(p, label, 0.0)[0].tolist() == [0.0, 1.0, 0.0]
