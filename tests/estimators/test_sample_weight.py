"""Weights of single labels: against weights of classes, in every way to train, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from gdamn import GDAMN, Graph, load
from gdamn.errors import GraphError
from gdamn.estimators.registry import make
from gdamn.fit.domains.ranks.sharing import share_out
from gdamn.graph import order as ordering
from gdamn.model.objectives import e_step_target, pretrain_target
from gdamn.model.problem import make_problem
from gdamn.model.settings import Settings

pytestmark = pytest.mark.usefixtures("one_thread")
SHORT = {"pretrain_epochs": 5, "epochs": 4, "em_iterations": 1, "hidden": 8, "projection": 8, "threads": 1}
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def graph() -> Graph:
    sizes = {"num_nodes": 120, "num_classes": 3, "degree": 6, "num_features": 8}
    return load("sbm", **sizes, train_per_class=5, val_per_class=8)


def problem(graph: Graph, weights: np.ndarray | None, class_weight: str = "none"):
    given = None if weights is None else np.asarray(weights, np.float32)
    return make_problem(replace(graph, label_weights=given), "none", 0.0, CPU, class_weight)


def test_targets_are_weighed_and_their_mean_stays(graph: Graph) -> None:
    weights = np.random.default_rng(0).random(graph.num_nodes) + 0.1
    train = np.flatnonzero(graph.train_mask)
    for class_weight in ("none", "balanced", "0=5,1=1"):
        weighed, plain = problem(graph, weights, class_weight), problem(graph, None, class_weight)
        rows = pretrain_target(weighed).sum(1).numpy()
        expected = pretrain_target(plain).sum(1).numpy()[train] * weights[train]
        assert np.allclose(rows[train], expected / expected.sum(), rtol=1e-5)
        assert rows.sum() == pytest.approx(1, rel=1e-6)
        posterior = torch.full((graph.num_nodes, 3), 1 / 3)
        e_step = e_step_target(weighed, posterior, 0.5, "means")
        assert np.allclose(e_step[train].sum(1).numpy(), rows[train], rtol=1e-6)
        assert weighed.known_weights().mean().item() == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("name", ["gdamn", "gcn", "cs-gnn", "grand-plus"])
def test_weights_by_class_are_weights_of_its_labels(graph: Graph, name: str) -> None:
    names = make(name).get_params()
    few = {key: value for key, value in SHORT.items() if key in names}
    by_class = make(name, overrides={**few, "class_weight": "0=4,1=1,2=2"}).fit(graph)
    by_label = make(name, overrides=few).fit(graph, sample_weight=np.array([4, 1, 2])[graph.labels])
    alike = make(name, overrides=few).fit(graph, sample_weight=np.full(graph.num_nodes, 7.0))
    plain = make(name, overrides=few).fit(graph)
    assert np.allclose(by_label.probabilities_, by_class.probabilities_, atol=1e-5)
    assert np.array_equal(alike.probabilities_, plain.probabilities_)
    assert not np.allclose(by_label.probabilities_, plain.probabilities_, atol=1e-4)


@pytest.mark.parametrize("batch", ["fused", "partition", "neighbour"])
def test_every_way_to_train_reads_them(graph: Graph, batch: str) -> None:
    few = {**SHORT, "batch": batch, "batch_nodes": 60, "start": "graph", "partitioner": "order"}
    weights = np.array([4, 1, 2])[graph.labels]
    by_label = GDAMN(**few).fit(graph, sample_weight=weights)
    by_class = GDAMN(**few, class_weight={"0": 4, "1": 1, "2": 2}).fit(graph)
    assert np.allclose(by_label.probabilities_, by_class.probabilities_, atol=1e-4)


def test_few_labels_without_validation_read_them(graph: Graph) -> None:
    alone = graph.with_masks(graph.train_mask, [], graph.test_mask)
    by_label = GDAMN(**SHORT).fit(alone, sample_weight=np.array([9, 1, 1])[graph.labels])
    by_class = GDAMN(**SHORT, class_weight="0=9").fit(alone)
    assert np.allclose(by_label.probabilities_, by_class.probabilities_, atol=1e-4)


def test_they_follow_nodes_that_are_renumbered(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.random.default_rng(0).random(graph.num_nodes)
    plain = GDAMN(**SHORT, start="graph").fit(graph, sample_weight=weights)
    monkeypatch.setattr(ordering, "NODES", 1)
    monkeypatch.setattr(ordering, "GAIN", 10.0)
    order = ordering.local_order(graph)
    assert order is not None
    moved, _ = ordering.renumbered(replace(graph, label_weights=weights.astype(np.float32)), order)
    assert np.array_equal(moved.label_weights, weights.astype(np.float32)[order])
    again = GDAMN(**SHORT, start="graph").fit(graph, sample_weight=weights)
    assert plain.history_[0]["loss"] == pytest.approx(again.history_[0]["loss"], abs=0.2)


def test_ranks_get_their_rows(graph: Graph) -> None:
    class One:
        size, rank, device, leads = 1, 0, CPU, True

        def ask_all(self, value: str) -> list[str]:
            return [value]

        def exchange(self, rows: torch.Tensor, *_: object) -> torch.Tensor:
            return rows

    weights = np.random.default_rng(0).random(graph.num_nodes)
    whole = problem(graph, weights)
    mine = share_out(whole, Settings(start="graph"), One())  # type: ignore[arg-type]
    assert torch.equal(mine.label_weights, whole.label_weights)
    assert torch.equal(pretrain_target(mine), pretrain_target(whole))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "has shape \\(3,\\); give one weight for each of 120 nodes"),
        (np.full(120, -1.0), "negative or not finite"),
        (np.full(120, np.nan), "negative or not finite"),
        (np.zeros(120), "0 for every training node"),
        (["a"] * 120, "must be numbers"),
    ],
)
def test_weights_that_can_not_be(graph: Graph, weights: object, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        GDAMN().fit(graph, sample_weight=weights)  # type: ignore[arg-type]
