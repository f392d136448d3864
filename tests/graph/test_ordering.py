"""Renumbering a large graph for a fit: what comes back is in the caller's order."""

from __future__ import annotations

import numpy as np
import pytest

from gdamn import GDAMN, Graph
from gdamn.graph import order as ordering


def ring(n: int, weighted: bool, seed: int = 0) -> Graph:
    """A ring of nodes with shuffled numbers, and classes that are stretches of it."""
    rng = np.random.default_rng(seed)
    name = rng.permutation(n)
    edges = np.concatenate([np.stack([name, np.roll(name, -1)]), np.stack([name, np.roll(name, -2)])], 1)
    labels = np.empty(n, int)
    labels[name] = np.arange(n) * 3 // n
    x = np.eye(3)[labels] + rng.standard_normal((n, 3))
    train = np.concatenate([np.flatnonzero(labels == c)[:5] for c in range(3)])
    val = np.concatenate([np.flatnonzero(labels == c)[5:15] for c in range(3)])
    weights = rng.uniform(0.5, 2, edges.shape[1]) if weighted else None
    return Graph.build(edges, x, labels, weights=weights, train_mask=train, val_mask=val)


@pytest.fixture
def every_size(monkeypatch):
    monkeypatch.setattr(ordering, "NODES", 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_graph_in_another_order(every_size, weighted):
    graph = ring(120, weighted)
    order = ordering.local_order(graph)
    assert order is not None
    assert sorted(order) == list(range(120))
    moved, entries = ordering.renumbered(graph, order)
    a = graph.to_scipy().toarray()
    np.testing.assert_array_equal(moved.to_scipy().toarray(), a[np.ix_(order, order)])
    np.testing.assert_array_equal(moved.indices, np.argsort(order)[graph.indices[entries]])
    assert np.abs(moved.rows - moved.indices).mean() < 0.2 * np.abs(graph.rows - graph.indices).mean()
    for name in ("labels", "train_mask", "val_mask", "node_ids", "features"):
        np.testing.assert_array_equal(getattr(moved, name), getattr(graph, name)[order])


def test_a_fit_gives_each_node_and_edge_its_own(every_size):
    """A fit on the graph is the fit on the renumbered one, node by node and edge by edge."""
    graph = ring(150, False)
    order = ordering.local_order(graph)
    moved, entries = ordering.renumbered(graph, order)
    assert ordering.local_order(moved) is None  # it is in order already
    settings = {"epochs": 5, "pretrain_epochs": 20, "hidden": 8, "projection": 8, "threads": 1, "em_iterations": 1}
    a, b = GDAMN(**settings).fit(graph), GDAMN(**settings).fit(moved)
    np.testing.assert_array_equal(a.probabilities_[order], b.probabilities_)
    np.testing.assert_array_equal(a.edge_weights_["hard"][entries], b.edge_weights_["hard"])
    assert a.history_ == b.history_
    assert a.refine().edge_index.numpy().tolist() == np.stack([graph.indices, graph.rows]).tolist()


def test_small_graphs_and_graphs_without_an_order_stay(monkeypatch):
    assert ordering.local_order(ring(100, False)) is None
    monkeypatch.setattr(ordering, "NODES", 1)
    rng = np.random.default_rng(0)
    tangle = Graph.build(rng.integers(0, 200, (2, 4000)), np.zeros((200, 2)))
    assert ordering.local_order(tangle) is None  # nothing brings random neighbours nearer
    assert ordering.local_order(Graph.build(np.zeros((2, 0), int), np.zeros((5, 2)))) is None
