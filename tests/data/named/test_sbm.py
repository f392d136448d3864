from __future__ import annotations

import numpy as np
import pytest

from gdamn.data import load
from gdamn.errors import ConfigError, GraphError


def test_defaults():
    graph = load("sbm")
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (1000, 5000, 32, 5)
    assert graph.inter_class_share() == pytest.approx(0.2)
    assert np.bincount(graph.labels).tolist() == [200] * 5
    assert (graph.train_mask.sum(), graph.val_mask.sum(), graph.test_mask.sum()) == (100, 150, 750)


@pytest.mark.parametrize("homophily", [0.0, 0.35, 1.0])
@pytest.mark.parametrize(("nodes", "classes"), [(100, 3), (101, 7), (50, 2)])
def test_edges_and_homophily_are_exact(homophily, nodes, classes):
    options = {"train_per_class": 2, "val_per_class": 2}
    graph = load("sbm", num_nodes=nodes, num_classes=classes, degree=5, homophily=homophily, **options)
    edges = round(nodes * 5 / 2)
    assert graph.num_edges == edges
    assert graph.inter_class_share() * edges == pytest.approx(edges - round(homophily * edges))
    assert np.ptp(np.bincount(graph.labels)) <= 1
    assert graph.meta["merged_duplicates"] == graph.meta["dropped_self_loops"] == 0


def test_seed_and_split():
    first, again, other = load("sbm", seed=1), load("sbm", seed=1), load("sbm", seed=2)
    split = load("sbm", seed=1, split=5)
    assert (first.indices == again.indices).all()
    assert (first.features == again.features).all()
    assert (first.labels != other.labels).any()
    assert (first.indices == split.indices).all()
    assert (first.train_mask != split.train_mask).any()


def test_full_graph():
    graph = load("sbm", num_nodes=20, num_classes=2, degree=19, homophily=90 / 190, train_per_class=2, val_per_class=2)
    assert graph.num_edges == 190


def test_degrees_are_spread_evenly():
    graph = load("sbm", num_nodes=20_000, degree=10)
    degrees = np.diff(graph.indptr)
    assert degrees.mean() == 10
    assert degrees.var() == pytest.approx(10, rel=0.1)


def test_features_follow_the_signal():
    graph = load("sbm", num_nodes=20_000, feature_signal=3.0, num_features=8)
    means = np.stack([graph.features[graph.labels == c].mean(axis=0) for c in range(5)])
    assert np.linalg.norm(means, axis=1) == pytest.approx(3.0, abs=0.15)
    assert (graph.features - means[graph.labels]).std() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"homophily": 1.5}, "homophily 1.5"),
        ({"degree": -1}, "degree is -1"),
        ({"num_nodes": 3, "num_classes": 4}, "3 nodes with 4 classes"),
        ({"num_nodes": 20, "degree": 10, "homophily": 1}, "only 30 pairs inside classes for 100 edges"),
        ({"num_nodes": 20, "num_classes": 1, "homophily": 0.5}, "only 0 pairs between classes"),
        ({"colour": 1}, "no option 'colour'"),
    ],
)
def test_what_cannot_be_made(options, message):
    with pytest.raises(ConfigError, match=message):
        load("sbm", **options)


def test_classes_too_small_for_the_split():
    with pytest.raises(GraphError, match="needs 20 for training"):
        load("sbm", num_nodes=100)
