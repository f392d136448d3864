"""A model on other graphs: the graph of its fit gives its saved answers, and new nodes are predicted nearly as well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from after_helpers import SCHEDULE, digits, part

from gdamn import GDAMN, GDAMNPlus, Graph
from gdamn.errors import ConfigError, GraphError
from gdamn.estimators.inductive import answer, check_rebuilt, known_nodes
from gdamn.estimators.rebuild import graph_of_choice
from gdamn.estimators.registry import METHODS, make
from gdamn.graph import order as ordering
from gdamn.model.settings import PROPAGATORS

pytestmark = pytest.mark.usefixtures("one_thread")
SHORT = {"pretrain_epochs": 6, "epochs": 4, "em_iterations": 2, "threads": 1, "hidden": 8}


def same_answers(model: GDAMN, graph: Graph) -> None:
    again = answer(model, graph)
    assert np.array_equal(again.probabilities, model.probabilities_)
    for name, weights in (model.edge_weights_ or {}).items():
        assert np.array_equal(again.weights[name], weights)
        assert np.array_equal(again.weights[f"loop.{name}"], model.tensors_[f"loop.{name}"])


@pytest.mark.parametrize("propagator", PROPAGATORS)
def test_the_graph_of_the_fit_gives_the_saved_answers_bit_for_bit(propagator: str, noisy: Graph) -> None:
    same_answers(GDAMN(**SHORT, propagator=propagator, candidates="em").fit(noisy), noisy)


CHANGES: list[dict[str, object]] = [
    {"normalize": "standard"},
    {"start": "auto", "candidates": "all", "epochs": 1},
    {"start": "features", "em_iterations": 0},
    {"start": "similar", "em_iterations": 0},
    {"start": "similar", "candidates": "em"},
    {"start": "auto", "em_iterations": 0},
    {"em_iterations": 0},
    {"hard": False},
    {"attention_temperature": 0.2, "candidates": "em"},
    {"soft": False, "reweight": "hard"},
    {"hard": False, "soft": False},
    {"reweight_samples": 3, "candidates": "em"},
    {"pseudo_labels": "sample", "candidates": "em"},
    {"batch_norm": True, "layers": 3, "average": 0.9, "candidates": "em"},
]


@pytest.mark.parametrize("changes", CHANGES, ids=lambda each: ",".join(map(str, each)))
def test_so_do_other_settings(changes: dict[str, object], noisy: Graph) -> None:
    same_answers(GDAMN(**{**SHORT, **changes}).fit(noisy), noisy)


def test_so_does_a_graph_that_is_renumbered_for_the_fit(noisy: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "NODES", 1)
    monkeypatch.setattr(ordering, "GAIN", 10.0)
    assert ordering.local_order(noisy) is not None
    same_answers(GDAMN(**SHORT, candidates="em", reweight_samples=2).fit(noisy), noisy)


def test_so_does_gdamn_plus_and_a_model_that_was_saved(noisy: Graph, tmp_path: Path) -> None:
    model = GDAMNPlus(**SHORT).fit(noisy)
    same_answers(model, noisy)
    loaded = GDAMNPlus.load(model.save(tmp_path / "model.gdamn"))
    assert np.array_equal(answer(loaded, noisy, noisy).probabilities, model.probabilities_)
    with pytest.raises(GraphError, match="fitted_on"):
        answer(loaded, noisy)


WITHOUT = {"lpa": "no function of features", "gcn-cs": "more than its weights", "pro-gnn": "more than its weights"}


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"gdamn", "gdamn-plus"}))
def test_every_method_answers_as_it_did_or_says_that_it_cannot(name: str, noisy: Graph) -> None:
    few = {
        key: value for key, value in {**SHORT, "epochs": 3}.items() if key in METHODS[name].estimator()().get_params()
    }
    model = make(name, None, overrides=few).fit(noisy)
    if name not in WITHOUT:
        check_rebuilt(model, noisy)
        return
    with pytest.raises(GraphError, match=WITHOUT[name]):
        check_rebuilt(model, noisy)


def test_weights_of_edges_fit_no_other_graph(noisy: Graph) -> None:
    fitted = make("gcn-lpa", None, overrides={"epochs": 2, "threads": 1}).fit(noisy)
    with pytest.raises(GraphError, match="don't fit another graph"):
        answer(fitted, part(noisy, np.arange(100)))


def test_new_nodes_are_predicted_nearly_as_well_as_in_the_fit() -> None:
    """A tenth of the nodes is left out of the fit; the same nodes within a fit are the measure."""
    inside, outside = [], []
    for seed in (0, 1):
        graph = digits(1200, 0.5, seed)
        held = np.random.default_rng(seed).choice(np.flatnonzero(graph.test_mask), 120, replace=False)
        rest = np.setdiff1d(np.arange(graph.num_nodes), held)
        settings = {**SCHEDULE, "seed": seed}
        whole = GDAMN.preset("digits", **settings).fit(graph)
        fitted = GDAMN.preset("digits", **settings).fit(part(graph, rest))
        found = answer(fitted, graph).probabilities.argmax(1)
        inside.append((whole.predict(names=False) == graph.labels)[held].mean())
        outside.append((found == graph.labels)[held].mean())
    assert np.mean(inside) > 0.85
    assert np.mean(outside) > np.mean(inside) - 0.05


def test_labels_of_the_new_graph_are_not_read(model: GDAMN, noisy: Graph) -> None:
    nodes = np.arange(0, 300, 2)
    some = part(noisy, nodes)
    unknown = replace(
        some, labels=np.full(len(nodes), -1), train_mask=some.train_mask & False, val_mask=some.val_mask & False
    )
    assert np.array_equal(answer(model, some).probabilities, answer(model, unknown).probabilities)


def test_nodes_are_known_by_id_and_features(noisy: Graph) -> None:
    nodes = np.array([5, 7, 200])
    some = part(noisy, nodes)
    assert known_nodes(some, noisy).tolist() == [5, 7, 200]
    other = some.features.copy()
    other[1] += 1
    assert known_nodes(replace(some, features=other), noisy).tolist() == [5, -1, 200]
    assert known_nodes(replace(some, node_ids=np.array(["a", "b", "n5"])), noisy).tolist() == [-1, -1, -1]


def test_sparse_and_dense_features_are_read_alike(noisy: Graph) -> None:
    """Words of a small vocabulary: held sparse in the fit; a few busy nodes alone would be held dense."""
    rng = np.random.default_rng(0)
    words = (rng.random((300, 40)) < 0.1).astype(np.float32)
    words[:10] = 1
    graph = Graph.build(
        np.stack([noisy.indices, noisy.rows]),
        words,
        noisy.labels,
        train_mask=noisy.train_mask,
        val_mask=noisy.val_mask,
        test_mask=noisy.test_mask,
        node_ids=noisy.node_ids,
    )
    fitted = GDAMN(**SHORT, normalize="standard").fit(graph)
    busy = part(graph, np.arange(10))
    assert graph.is_sparse
    assert not busy.is_sparse
    assert (known_nodes(busy, graph) == np.arange(10)).all()
    forced = replace(busy, features=graph.features[:10])
    assert np.array_equal(answer(fitted, busy).probabilities, answer(fitted, forced).probabilities)


def test_what_cannot_be_is_said(model: GDAMN, noisy: Graph) -> None:
    with pytest.raises(GraphError, match="features"):
        answer(model, replace(noisy, features=noisy.features[:, :5]))
    with pytest.raises(GraphError, match="other classes"):
        answer(model, replace(noisy, class_names=("a", "b", "c")))
    with pytest.raises(GraphError, match="saved answers"):
        answer(model, noisy, replace(noisy, features=noisy.features + 1))
    with pytest.raises(ConfigError, match="at least once"):
        answer(model, noisy, rounds=0)


def test_models_that_do_not_tell_their_start(noisy: Graph) -> None:
    """As they were saved before the records told it: with auto, epochs on the graph, then those without it."""
    fitted = GDAMN(**{**SHORT, "em_iterations": 0, "start": "auto"}).fit(noisy)
    for start in ("graph", "features"):
        one = GDAMN(**{**SHORT, "em_iterations": 0, "start": start}).fit(noisy)
        records = [{k: v for k, v in record.items() if k != "start"} for record in one.history_]
        others = [{**record, "loss": -1.0} for record in records]
        fitted.tensors_ = one.tensors_
        fitted.history_ = records + others if start == "graph" else others + records
        fitted.best_epoch_ = records[one.history_.index(one.best_epoch_)]
        assert graph_of_choice(fitted) == start
        same_answers(fitted, noisy)


SHORT_START = {**SHORT, "em_iterations": 0}


def test_the_graph_of_the_chosen_epoch_is_told(noisy: Graph, model: GDAMN) -> None:
    assert graph_of_choice(model) == "refined"
    assert graph_of_choice(GDAMN(**SHORT_START, start="graph").fit(noisy)) == "graph"
    assert graph_of_choice(GDAMN(**SHORT_START, start="features").fit(noisy)) == "features"
