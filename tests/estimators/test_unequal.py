"""Unequal classes: weights find the rare ones, and the metric that is asked for chooses the epoch."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score
from unequal import unequal_graph

from gdamn import GDAMN
from gdamn.errors import ConfigError
from gdamn.estimators.registry import METHODS, make
from gdamn.model.confusion import confusion, precision_recall

FEW = {"pretrain_epochs": 40, "epochs": 30, "em_iterations": 1, "start": "graph", "hidden": 16, "threads": 1}
TRAINED = [name for name in METHODS if name != "lpa"]
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def graph():
    return unequal_graph(signal=1.5, wrong=0.5)


def fit(name, graph, **settings):
    names = METHODS[name].estimator().settings_class.names()
    return make(name, overrides={k: v for k, v in {**FEW, **settings}.items() if k in names}).fit(graph)


def recalls(model, graph):
    """Of the test nodes of each class, the share that is found."""
    test = graph.test_mask
    return precision_recall(confusion(graph.labels[test], model.predict(names=False)[test], graph.num_classes))[1]


@pytest.mark.parametrize("name", ["gdamn", "gdamn-plus", "gcn"])
def test_balanced_weights_find_the_rare_classes(name):
    """Three graphs, their test nodes; without weights most of the rare nodes are taken for the common class."""
    plain, weighed = (
        np.mean([recalls(fit(name, g, class_weight=how), g) for g in map(graph_of, range(3))], axis=0)
        for how in ("none", "balanced")
    )
    assert plain[0] > 0.97
    assert weighed[0] > 0.85
    assert (weighed[1:] > plain[1:] + 0.1).all(), (plain, weighed)
    assert weighed[1:].mean() > plain[1:].mean() + 0.2, (plain, weighed)


def graph_of(seed):
    return unequal_graph(seed=seed, signal=1.5, wrong=0.5)


@pytest.mark.parametrize("name", TRAINED)
def test_no_weights_are_the_fit_as_it_was_and_equal_weights_too(graph, name):
    plain = fit(name, graph, epochs=3, pretrain_epochs=3)
    assert "class_weight" in plain.settings_class.names()
    asked = fit(name, graph, epochs=3, pretrain_epochs=3, class_weight={"common": 2, "rare": 2, "rarest": 2})
    assert asked.history_ == plain.history_
    assert np.array_equal(asked.probabilities_, plain.probabilities_)
    weighed = fit(name, graph, epochs=3, pretrain_epochs=3, class_weight="rarest=30")
    assert not np.array_equal(weighed.probabilities_, plain.probabilities_)


def test_balanced_is_the_same_as_its_weights_by_name(graph):
    counts = np.bincount(graph.labels[graph.train_mask])
    named = dict(zip(graph.class_names, graph.train_mask.sum() / (3 * counts), strict=True))
    a, b = (fit("gdamn", graph, epochs=3, pretrain_epochs=3, class_weight=how) for how in ("balanced", named))
    assert np.array_equal(a.probabilities_, b.probabilities_)


@pytest.mark.parametrize("batch", ["full", "fused", "partition"])
def test_a_class_that_is_not_there_is_refused(graph, batch):
    with pytest.raises(ConfigError, match="names the class 'spam', but the graph's are common, rare, rarest"):
        GDAMN(**FEW, class_weight="spam=3", batch=batch).fit(graph)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1"])
def test_the_metric_chooses_the_epoch(graph, name, metric):
    model, key, val = fit(name, graph, epochs=12, metric=metric), f"val_{metric}", graph.val_mask
    scored = [r for r in model.history_ if key in r]
    assert scored
    assert all("val_accuracy" in r for r in scored)
    labels, predicted = graph.labels[val], model.predict(names=False)[val]
    wanted = (
        balanced_accuracy_score(labels, predicted)
        if metric == "balanced_accuracy"
        else f1_score(labels, predicted, average="macro")
    )
    assert model.best_epoch_[key] == pytest.approx(wanted)
    if name != "gcn-cs":  # its last record is that of another step
        candidates = scored if getattr(model.settings, "candidates", "all") == "all" else scored[40:]
        assert model.best_epoch_[key] == max(r[key] for r in candidates)
    assert metric.replace("_", " ").replace("f1", "F1") in model.protocol_["selection"]


def test_accuracy_has_no_key_of_its_own(graph):
    model = fit("gcn", graph, epochs=3)
    assert {key for record in model.history_ for key in record if key.startswith("val_")} == {
        "val_accuracy",
        "val_loss",
    }
    assert "highest validation accuracy" in model.protocol_["selection"]


def test_without_validation_nodes_the_last_epoch_is_kept(graph):
    blind = graph.with_masks(graph.train_mask, graph.val_mask & False, graph.test_mask)
    model = fit("gcn", blind, epochs=3, metric="macro_f1")
    assert model.best_epoch_["epoch"] == 2
    assert model.best_epoch_["val_macro_f1"] is None
