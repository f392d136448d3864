"""Nodes without edges: they are judged by their features, and nobody else's opinion depends on them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gdamn import GDAMN, Graph, load
from gdamn.fit.domains.domain import WholeView
from gdamn.fit.multihop import Opinion, multihop_opinion
from gdamn.fit.multihop.features import depths, multihop_features
from gdamn.model.objectives import e_step_target, m_step_target, q_loss
from gdamn.model.problem import Problem, make_problem, without_isolated

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


def em_target(graph: Graph, isolated: str) -> tuple[Problem, torch.Tensor, torch.Tensor]:
    """The problem of a fit, and its targets of the E-step and the M-step for uniform opinions."""
    problem = without_isolated(problem_of(graph), "graph", isolated)
    uniform = torch.full_like(problem.labels, 1 / 3)
    view, e_step = WholeView(problem), e_step_target(problem, uniform, 0.8, "means")
    return problem, view.own_rows(e_step), view.own_rows(m_step_target(uniform, problem.counts))


def test_isolated_nodes_have_no_part_in_the_means(graph: Graph) -> None:
    """The targets and the entropy of a graph are to the bit those of the same graph with nodes without edges."""
    more = with_isolated(graph, noise(300, graph.num_features))
    (_, e_alone, m_alone), (problem, e_more, m_more) = em_target(graph, "leave"), em_target(more, "leave")
    assert torch.equal(e_alone, e_more)
    assert torch.equal(m_alone, m_more)
    assert problem.counts.nodes == 400
    logits = torch.randn(700, 3, generator=torch.Generator().manual_seed(0))
    losses = [q_loss(z, m_alone, 0.2, 400)["loss"] for z in (logits[:400], WholeView(problem).own_only(logits))]
    assert losses[0] == losses[1]
    assert em_target(more, "count")[1].shape == (700, 3)


def test_which_isolated_nodes_count(graph: Graph) -> None:
    """Labelled ones do; all do where the paper's start is named, or where no other unlabelled node is left."""
    labels = np.where(np.arange(100) < 30, np.arange(100) % 3, -1)
    more = problem_of(with_isolated(graph, noise(100, graph.num_features), labels))
    counted = without_isolated(more, "auto", "auto").counted
    assert counted is not None
    assert counted.tolist() == [True] * 430 + [False] * 70
    assert without_isolated(more, "graph", "auto") is more
    assert without_isolated(more, "multihop", "count") is more
    assert without_isolated(problem_of(graph), "auto", "leave").counted is None
    edgeless = Graph.build(np.empty((2, 0), int), np.eye(8), np.arange(8) % 2, train_mask=np.arange(8) < 4)
    assert without_isolated(problem_of(edgeless), "auto", "auto").counted is None


@pytest.mark.parametrize("batch", ["full", "fused"])
def test_connected_nodes_learn_as_if_there_were_no_others(graph: Graph, batch: str) -> None:
    """With dropout off, thousands of isolated nodes leave a fit nearly what it was; counted, they don't."""
    quiet = {"dropout_input": 0.0, "dropout_hidden": 0.0, "dropout_labels": 0.0, "dropout_attention": 0.0}
    short = {"pretrain_epochs": 15, "epochs": 15, "hidden": 8, "em_iterations": 1, "start": "graph", "threads": 1}
    more = with_isolated(graph, noise(3_000, graph.num_features))
    s = {**quiet, **short, "normalize": "none", "batch": batch}
    alone = GDAMN(**s).fit(graph).predict_proba()
    left, counted = (GDAMN(**s, isolated=how).fit(more).predict_proba()[:400] for how in ("leave", "count"))
    assert np.abs(left - alone).mean() < 0.2 * np.abs(counted - alone).mean()
