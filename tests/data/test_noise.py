from __future__ import annotations

import numpy as np
import pytest

from gdamn.data import load, plant
from gdamn.data.noise import inter as noise
from gdamn.errors import ConfigError, GraphError
from gdamn.graph.graph import Graph


def pairs(graph: Graph) -> set[tuple[int, int]]:
    return set(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True))


def check(before: Graph, after: Graph, ratio: float) -> None:
    planted = after.meta["planted"]
    entries = set(zip(after.rows[planted].tolist(), after.indices[planted].tolist(), strict=True))
    labels = before.labels
    assert after.meta["noise"]["planted"] == round(ratio * before.num_edges)
    assert after.num_edges == before.num_edges + after.meta["noise"]["planted"]
    assert len(entries) == after.meta["noise"]["planted"] * (1 if before.directed else 2)
    assert not entries & pairs(before)
    assert entries | pairs(before) == pairs(after)
    assert all(labels[a] != labels[b] and min(labels[a], labels[b]) >= 0 for a, b in entries)


@pytest.mark.parametrize("ratio", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("listed", [0, noise.LISTED])
def test_edges_join_different_classes(monkeypatch, ratio, listed):
    monkeypatch.setattr(noise, "LISTED", listed)
    graph = load("sbm", num_nodes=200, degree=6, train_per_class=5, val_per_class=5)
    noisy = plant(graph, ratio, 3)
    check(graph, noisy, ratio)
    assert noisy.meta["noise"] == {"ratio": ratio, "seed": 3, "planted": round(ratio * 600)}
    assert (noisy.features == graph.features).all()
    assert (noisy.train_mask == graph.train_mask).all()
    assert (noisy.indices[noisy.reverse] == noisy.rows).all()


def test_seeded():
    graph = load("sbm")
    first, again, other = plant(graph, 1, 0), plant(graph, 1, 0), plant(graph, 1, 1)
    assert pairs(first) == pairs(again)
    assert pairs(first) != pairs(other)


def test_nodes_without_label_get_no_edges():
    labels = np.arange(60) % 3
    labels[::2] = -1
    graph = Graph.build(np.stack([np.arange(59), np.arange(1, 60)]), None, labels, num_nodes=60)
    check(graph, plant(graph, 2, 0), 2)


@pytest.mark.parametrize("listed", [0, noise.LISTED])
def test_directed(monkeypatch, listed):
    monkeypatch.setattr(noise, "LISTED", listed)
    rng = np.random.default_rng(0)
    graph = Graph.build(rng.integers(0, 50, (2, 200)), None, np.arange(50) % 4, num_nodes=50, directed=True)
    check(graph, plant(graph, 1, 0), 1)


def test_weights_are_drawn_from_the_graphs_own():
    graph = Graph.build([[0, 1, 2], [1, 2, 3]], None, [0, 1, 0, 1, 0, 1], num_nodes=6, weights=[0.5, 2, 4])
    noisy = plant(graph, 2, 0)
    check(graph, noisy, 2)
    assert set(noisy.weights.tolist()) <= {0.5, 2, 4}
    assert (noisy.weights == noisy.weights[noisy.reverse]).all()
    kept = ~noisy.meta["planted"]
    assert (noisy.weights[kept] == graph.weights).all()


def test_planting_twice_adds_up():
    graph = load("sbm")
    once = plant(graph, 0.5, 0)
    twice = plant(once, 1.0, 1)
    assert twice.meta["noise"] == {"ratio": 1.0, "seed": 1, "planted": 2500 + 7500}
    assert twice.meta["planted"].sum() == 20000
    old = ~twice.meta["planted"]
    assert pairs(graph) == set(zip(twice.rows[old].tolist(), twice.indices[old].tolist(), strict=True))


@pytest.mark.parametrize("listed", [0, noise.LISTED])
def test_all_pairs_can_be_planted_but_no_more(monkeypatch, listed):
    monkeypatch.setattr(noise, "LISTED", listed)
    graph = Graph.build([[0, 0], [1, 2]], None, [0, 0, 1, 1, 1], num_nodes=5)
    full = plant(graph, 2.5, 0)
    assert full.num_edges == 7
    check(graph, full, 2.5)
    with pytest.raises(GraphError, match=r"^Only 5 pairs of different classes are not joined yet; 6 edges"):
        plant(graph, 3, 0)


def test_zero_noise_marks_nothing():
    graph = load("sbm")
    assert plant(graph, 0, 0).meta["planted"].sum() == 0
    assert "planted" not in load("sbm", noise=0).meta


@pytest.mark.parametrize("ratio", [-0.1, float("nan"), float("inf")])
def test_wrong_ratio(ratio):
    with pytest.raises(ConfigError, match="noise ratio"):
        plant(load("sbm"), ratio, 0)


@pytest.mark.parametrize("labels", [None, [0, 0, 0], [2, -1, -1]])
def test_one_class(labels):
    graph = Graph.build([[0], [1]], None, labels, num_nodes=3)
    with pytest.raises(GraphError, match="at least two classes"):
        plant(graph, 1, 0)
