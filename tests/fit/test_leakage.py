"""The proof that no label is read that may not be: labels are scrambled, and not one bit of the fit changes."""

from __future__ import annotations

import numpy as np
import pytest

from gdamn import Graph
from gdamn.data import load
from gdamn.estimators.registry import METHODS, make
from gdamn.runs.run import write_seed

WANTED = {"epochs": 4, "pretrain_epochs": 4, "hidden": 8, "projection": 8, "threads": 1}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load("sbm", num_nodes=150, num_classes=3, degree=6, num_features=8, train_per_class=6, val_per_class=10)


def fit(name: str, graph: Graph, **settings):
    names = METHODS[name].estimator().settings_class.names()
    return make(name, overrides={k: v for k, v in {**WANTED, **settings}.items() if k in names}).fit(graph)


def scrambled(graph: Graph, keep: np.ndarray, how: str = "other") -> Graph:
    """The graph with every label outside ``keep`` replaced by another class, or by unknown."""
    other = (graph.labels + np.random.default_rng(3).integers(1, 3, graph.num_nodes)) % graph.num_classes
    assert (other != graph.labels).all()
    return graph.with_labels(np.where(keep, graph.labels, other if how == "other" else -1))


WEIGHED = {"class_weight": "balanced", "metric": "macro_f1"}


@pytest.mark.parametrize("name", METHODS)
def test_class_weights_and_the_metric_read_no_other_label(graph, name):
    """Balanced weights count the training labels alone, and the score those of validation."""
    uneven = graph.with_masks(graph.train_mask & (np.cumsum(graph.train_mask) <= 11), graph.val_mask, graph.test_mask)
    assert len(set(np.bincount(uneven.labels[uneven.train_mask]))) > 1
    blind = scrambled(uneven, uneven.train_mask | uneven.val_mask)
    a, b = fit(name, uneven, **WEIGHED), fit(name, blind, **WEIGHED)
    assert a.history_ == b.history_
    assert a.best_epoch_ == b.best_epoch_
    for key, value in a.tensors_.items():
        assert np.array_equal(value, b.tensors_[key]), key
    if name != "lpa":  # nothing is trained in it, so no label has a weight
        plain = fit(name, uneven, metric="macro_f1")
        assert [r.get("loss") for r in a.history_] != [r.get("loss") for r in plain.history_]  # the weights count
    pair = [fit(name, g, **WEIGHED, start="graph") for g in (uneven, scrambled(uneven, uneven.train_mask))]
    losses = [[r.get("loss") for r in model.history_] for model in pair]
    seen = [[(r.get("val_macro_f1"), r.get("val_loss")) for r in model.history_] for model in pair]
    assert losses[0] == losses[1]
    assert seen[0] != seen[1]


@pytest.mark.parametrize("how", ["other", "unknown"])
@pytest.mark.parametrize("name", METHODS)
def test_labels_outside_train_and_validation_are_never_read(graph, name, how):
    blind = scrambled(graph, graph.train_mask | graph.val_mask, how)
    a, b = fit(name, graph), fit(name, blind)
    assert a.history_ == b.history_
    assert a.best_epoch_ == b.best_epoch_
    assert a.tensors_.keys() == b.tensors_.keys()
    for key, value in a.tensors_.items():  # probabilities, edge weights, pseudo-labels, all parameters
        assert np.array_equal(value, b.tensors_[key]), key
    assert np.array_equal(a.predict_proba(), b.predict_proba())
    if how == "other":
        assert a.score("test") != b.score("test")  # the scrambling did change the test labels


def test_no_test_label_is_read_for_the_confidence_that_is_written(graph, tmp_path):
    """predictions.csv is calibrated: by validation labels, and by no test or training label."""
    model = fit("gdamn", graph)
    blind = scrambled(graph, graph.train_mask | graph.val_mask)
    write_seed(tmp_path / "a", graph, model)
    write_seed(tmp_path / "b", blind, fit("gdamn", blind))
    written = (tmp_path / "a" / "predictions.csv").read_bytes()
    assert written == (tmp_path / "b" / "predictions.csv").read_bytes()
    write_seed(tmp_path / "c", scrambled(graph, graph.val_mask), model)
    assert written == (tmp_path / "c" / "predictions.csv").read_bytes()
    write_seed(tmp_path / "d", scrambled(graph, ~graph.val_mask), model)
    assert written != (tmp_path / "d" / "predictions.csv").read_bytes()  # the comparison can fail


@pytest.mark.parametrize("name", METHODS)
def test_validation_labels_only_choose_the_epoch(graph, name):
    on_graph = {"start": "graph"}  # start=auto chooses a setting on validation: see below
    a, b = fit(name, graph, **on_graph), fit(name, scrambled(graph, graph.train_mask), **on_graph)

    def training(model) -> list[dict]:
        return [{k: v for k, v in r.items() if not k.startswith("val_")} for r in model.history_]

    assert training(a) == training(b)
    seen = [[(r.get("val_accuracy"), r.get("val_loss")) for r in model.history_] for model in (a, b)]
    assert seen[0] != seen[1]  # both: after few epochs a network may give all nodes one class
    assert {k: v for k, v in b.best_epoch_.items() if not k.startswith("val_")} in training(a)


@pytest.mark.parametrize(
    "settings",
    [
        {"beta": "auto", "epochs": 2, "em_iterations": 1},
        {"start": "auto", "candidates": "all"},
        {"annotate_epochs": 4, "epochs": 8, "pseudo_labels": "soft"},
    ],
)
def test_settings_that_choose_on_validation_read_no_test_label(graph, settings):
    blind = scrambled(graph, graph.train_mask | graph.val_mask)
    a, b = fit("gdamn", graph, **settings), fit("gdamn", blind, **settings)
    assert a.history_ == b.history_
    assert a.best_epoch_ == b.best_epoch_
    assert np.array_equal(a.probabilities_, b.probabilities_)


def test_training_labels_are_read(graph):
    """The comparison can fail: another training label changes the fit."""
    labels = graph.labels.copy()
    node = np.flatnonzero(graph.train_mask)[0]
    labels[node] = (labels[node] + 1) % graph.num_classes
    changed = graph.with_labels(labels)
    for name in METHODS:
        assert not np.array_equal(fit(name, graph).probabilities_, fit(name, changed).probabilities_), name
