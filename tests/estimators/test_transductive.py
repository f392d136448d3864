"""Cross-validation and searches of scikit-learn over the nodes of a graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score

from gdamn import Graph, TransductiveClassifier, load
from gdamn.baselines.gcn import GCNClassifier
from gdamn.baselines.lpa import LPAClassifier
from gdamn.errors import ConfigError, GraphError
from gdamn.estimators.transductive import labelled

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return replace(load("karate"), class_names=("a", "b", "c", "d"))


def gcn(graph: Graph, **settings) -> TransductiveClassifier:
    return TransductiveClassifier(GCNClassifier(epochs=10, threads=1, **settings), graph)


def test_a_fold_is_a_fit_on_its_nodes(graph: Graph) -> None:
    nodes, labels = labelled(graph)
    assert labels.tolist() == [graph.class_names[at] for at in graph.labels]
    folds = list(StratifiedKFold(3).split(nodes, labels))
    scores = cross_val_score(gcn(graph), nodes, labels, cv=folds)
    for (train, test), score in zip(folds, scores, strict=True):
        model = GCNClassifier(epochs=10, threads=1).fit(graph.with_masks(nodes[train], [], nodes[test]))
        assert model.score("test") == score


def test_no_fold_reads_a_label_of_another(graph: Graph) -> None:
    """The graph's own labels have no part in it."""
    nodes, labels = labelled(graph)
    bare = replace(graph, labels=np.full(graph.num_nodes, -1))
    expected = cross_val_predict(gcn(graph), nodes, labels, cv=3)
    assert np.array_equal(cross_val_predict(gcn(bare), nodes, labels, cv=3), expected)


def test_a_search_over_settings(graph: Graph) -> None:
    nodes, labels = labelled(graph)
    grid = {"model__hidden": [2, 16], "model__learning_rate": [0.01, 0.1]}
    search = GridSearchCV(gcn(graph), grid, cv=2, scoring="neg_log_loss").fit(nodes, labels)
    assert search.best_params_.keys() == grid.keys()
    assert search.best_estimator_.model_.hidden == search.best_params_["model__hidden"]
    assert search.predict(nodes[:3]).tolist() == search.best_estimator_.model_.predict()[:3].tolist()
    assert search.classes_.tolist() == list("abcd")


def test_a_clone_shares_the_graph_and_nothing_learned(graph: Graph) -> None:
    nodes, labels = labelled(graph)
    fitted = gcn(graph).fit(nodes[:, None], labels)
    copy = clone(fitted)
    assert copy.graph is fitted.graph
    assert copy.model is not fitted.model
    assert copy.model.get_params() == fitted.model.get_params()
    for ask in (copy.predict, copy.predict_proba):
        with pytest.raises(NotFittedError):
            ask(nodes)
    assert fitted.predict_proba(nodes[:2]).shape == (2, 4)


def test_weights_and_validation_nodes(graph: Graph) -> None:
    nodes, labels = labelled(graph)
    val = np.flatnonzero(graph.val_mask)
    rest = np.setdiff1d(nodes, val)
    weights = np.where(labels[rest] == "a", 5.0, 1.0)
    model = GCNClassifier(epochs=10, threads=1)
    fitted = TransductiveClassifier(model, graph, val).fit(rest, labels[rest], sample_weight=weights)
    every = np.ones(graph.num_nodes)
    every[rest] = weights
    expected = clone(model).fit(graph.with_masks(rest, val, []), sample_weight=every)
    assert np.array_equal(fitted.model_.probabilities_, expected.probabilities_)
    with pytest.raises(ConfigError, match="to be learned from and to choose the epoch"):
        TransductiveClassifier(model, graph, val).fit(nodes, labels)
    with pytest.raises(ConfigError, match="weighs labels"):
        TransductiveClassifier(LPAClassifier(), graph).fit(rest, labels[rest], sample_weight=weights)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [([0.5], "numbers of nodes"), ([[0, 1]], "numbers of nodes"), ([40], "the graph has 0 to 33"), ([3, 3], "once")],
)
def test_what_are_no_nodes(graph: Graph, nodes: list, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        gcn(graph).fit(nodes, ["a"] * len(nodes))
