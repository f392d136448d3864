"""Nodes without edges: they are judged by their features, and nobody else's opinion depends on them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gdamn import Graph, load
from gdamn.fit.multihop import Opinion, multihop_opinion
from gdamn.fit.multihop.features import depths, multihop_features
from gdamn.model.problem import Problem, make_problem

pytestmark = pytest.mark.usefixtures("one_thread")
CPU = torch.device("cpu")
EDGES = {"num_nodes": 400, "num_classes": 3, "feature_signal": 1.0}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """A graph whose 400 nodes all have edges."""
    sbm = load("sbm", seed=0, **EDGES)
    assert not sbm.structure.isolated.any()
    return sbm


def with_isolated(graph: Graph, features: np.ndarray, labels: np.ndarray | None = None) -> Graph:
    """The graph and nodes without edges behind its own; those with a label are training nodes."""
    more = np.full(len(features), -1) if labels is None else labels
    none = np.zeros(len(features), bool)
    return Graph.build(
        np.stack([graph.indices, graph.rows]),
        np.concatenate([graph.features, features]).astype(np.float32),
        np.concatenate([graph.labels, more]),
        train_mask=np.concatenate([graph.train_mask, more >= 0]),
        val_mask=np.concatenate([graph.val_mask, none]),
        test_mask=np.concatenate([graph.test_mask, none]),
    )


def problem_of(graph: Graph) -> Problem:
    return make_problem(graph, "none", 0.0, CPU)


def opinion_of(graph: Graph) -> Opinion:
    return multihop_opinion(problem_of(graph))


def noise(nodes: int, width: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(nodes, width)).astype(np.float32)


def test_isolated_nodes_are_those_without_edges_in_either_direction() -> None:
    ring = Graph.build([[0, 1], [1, 2]], np.eye(5), directed=True)
    assert ring.structure.isolated.tolist() == [False, False, False, True, True]


@pytest.mark.parametrize("width", [0, 200])
def test_others_do_not_notice_isolated_nodes(graph: Graph, width: int) -> None:
    """Both with few features and with more than are kept, which are projected."""
    x = np.concatenate([graph.features, noise(400, width)], axis=1)
    plain = Graph.build(
        np.stack([graph.indices, graph.rows]), x, graph.labels, train_mask=graph.train_mask, val_mask=graph.val_mask
    )
    more = with_isolated(plain, 3 * noise(1_000, x.shape[1]))
    one, two = opinion_of(plain), opinion_of(more)
    assert torch.allclose(one.probabilities, two.probabilities[:400], atol=0.02)
    assert (one.probabilities.argmax(1) == two.probabilities[:400].argmax(1)).float().mean() > 0.99
    assert one.probabilities.argmax(1).unique().numel() == 3


def test_the_rows_of_a_node_without_edges_two_ways(graph: Graph) -> None:
    """What nodes would look like without edges is what copies of them without edges look like."""
    copied = np.arange(50)
    more = with_isolated(graph, graph.features[copied])
    problem = problem_of(more)
    for depth in depths(problem.structure, problem.x, torch.from_numpy(copied), 0):
        assert torch.allclose(depth.alone, depth.h[400:], atol=1e-6), depth.name


def test_a_node_without_edges_and_features_has_empty_rows(graph: Graph) -> None:
    problem = problem_of(with_isolated(graph, np.zeros((2, graph.num_features))))
    for name, h in multihop_features(problem.structure, problem.x, CPU, 0):
        assert not h[400:].any(), name
        lengths = h[:400].norm(dim=1)
        assert ((lengths - 1).abs() < 1e-5).all(), name


def test_isolated_nodes_are_less_sure_and_as_right_as_they_say(graph: Graph) -> None:
    """Their features alone tell less than those of a neighbourhood, and cross-fitting knows it."""
    others = np.flatnonzero(~graph.train_mask)
    p = opinion_of(with_isolated(graph, graph.features[others])).probabilities.numpy()
    connected, alone = p[others], p[400:]
    labels = graph.labels[others]
    assert alone.max(1).mean() < connected.max(1).mean() - 0.05
    assert (alone.argmax(1) == labels).mean() < (connected.argmax(1) == labels).mean()
    assert abs(alone.max(1).mean() - (alone.argmax(1) == labels).mean()) < 0.12


def test_a_graph_without_edges_has_an_opinion() -> None:
    labels = np.arange(60) % 2
    x = np.stack([labels, 1 - labels], axis=1) + 0.1 * noise(60, 2)
    graph = Graph.build(np.empty((2, 0), int), x, labels, train_mask=np.arange(60) < 20)
    opinion = opinion_of(graph)
    assert (opinion.probabilities.argmax(1).numpy() == labels).all()
    assert opinion.held_out.shape == (20, 2)


def test_labelled_nodes_without_edges_are_held_out_by_their_features(graph: Graph) -> None:
    """Their held-out opinion is theirs too, not that of nodes with neighbours."""
    train = np.flatnonzero(graph.train_mask)
    more = with_isolated(graph, graph.features[train[:30]], graph.labels[train[:30]])
    opinion = opinion_of(more)
    assert torch.allclose(opinion.held_out.sum(1), torch.ones(len(opinion.held_out), dtype=torch.float64))
    assert opinion.held_out[-30:].amax(1).mean() < opinion.held_out[:-30].amax(1).mean()


def test_a_component_without_a_label_is_judged_by_its_features(graph: Graph) -> None:
    """A second graph like the first, with noisier features, without a label and without an edge to it."""
    edges = np.stack([graph.indices, graph.rows])
    both = Graph.build(
        np.concatenate([edges, edges + 400], axis=1),
        np.concatenate([graph.features, graph.features + noise(400, graph.num_features)]),
        np.concatenate([graph.labels, np.full(400, -1)]),
        train_mask=np.concatenate([graph.train_mask, np.zeros(400, bool)]),
    )
    p, alone = opinion_of(both).probabilities, opinion_of(graph).probabilities
    right = (p.argmax(1).numpy() == np.tile(graph.labels, 2)).reshape(2, 400).mean(1)
    confidence = p.amax(1).reshape(2, 400).mean(1)
    assert right[0] > right[1] > 0.6
    assert confidence[1] < confidence[0]
    assert (p[:400].argmax(1) == alone.argmax(1)).float().mean() > 0.95
