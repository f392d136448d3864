"""The field: belief propagation against enumeration, reliabilities against finite differences, and planted edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.special import expit, xlogy

from gdamn import GDAMN, Graph, load
from gdamn.fit.field import edge_field
from gdamn.fit.field.beliefs import propagate_beliefs
from gdamn.fit.field.pairs import Pairs
from gdamn.fit.field.reliability import PENALTY, fit_reliability, reliabilities
from gdamn.fit.multihop import features_opinion
from gdamn.model.problem import Problem, make_problem


def pairs_of(edges: list[tuple[int, int]], nodes: int) -> Pairs:
    graph = Graph.build(np.array(edges).T, np.zeros((nodes, 1), np.float32), num_nodes=nodes)
    return Pairs.of(graph.structure)


def enumerated(pairs: Pairs, known: np.ndarray, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Marginals of the nodes and P(same) of the pairs, by going through all labellings."""
    nodes, classes = known.shape
    marginals, same, total = np.zeros(known.shape), np.zeros(len(pairs)), 0.0
    for labels in itertools.product(range(classes), repeat=nodes):
        y = np.array(labels)
        equal = y[pairs.left] == y[pairs.right]
        weight = known[np.arange(nodes), y].prod() * np.where(equal, pi, (1 - pi) / (classes - 1)).prod()
        total += weight
        marginals[np.arange(nodes), y] += weight
        same += weight * equal
    return marginals / total, same / total


def test_pairs_stand_once_whatever_the_direction():
    graph = Graph.build(np.array([[0, 1, 2], [1, 0, 1]]), np.eye(3, dtype=np.float32), directed=True)
    pairs = Pairs.of(graph.structure)
    assert sorted(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == [(0, 1), (1, 2)]
    values = np.array([0.25, 0.5])
    dense = pairs.weighed(values).toarray()
    rows = np.repeat(np.arange(3), np.diff(graph.structure.pattern.indptr))
    on_entries = pairs.on_entries(values)
    for row, column, value in zip(rows, graph.structure.pattern.indices, on_entries, strict=True):
        assert value == (1 if row == column else dense[row, column])


def test_beliefs_on_a_tree_are_exact():
    generator = np.random.default_rng(0)
    pairs = pairs_of([(0, 1), (1, 2), (1, 3), (3, 4)], 6)  # node 5 is alone
    known = generator.dirichlet(np.ones(3), 6).astype(np.float32)
    pi = generator.uniform(0.1, 0.9, len(pairs)).astype(np.float32)
    beliefs = propagate_beliefs(pairs, known, pi, rounds=12, temper=1.0, keep=0.0)
    nodes, same = enumerated(pairs, known, pi)
    np.testing.assert_allclose(beliefs.nodes, nodes, atol=1e-5)
    np.testing.assert_allclose(beliefs.same, same, atol=1e-5)


def test_an_edge_does_not_confirm_itself():
    """Two unsure nodes joined by a reliable edge have learned nothing, however often they speak."""
    known = np.array([[0.6, 0.4], [0.6, 0.4]], np.float32)
    beliefs = propagate_beliefs(pairs_of([(0, 1)], 2), known, np.array([0.5], np.float32), rounds=50, temper=1.0)
    np.testing.assert_allclose(beliefs.nodes, known, atol=1e-6)


def test_reliability_is_a_minimum_of_its_loss():
    generator = np.random.default_rng(1)
    z, target = generator.normal(size=(200, 3)), generator.uniform(size=200).astype(np.float32)

    def loss(w: np.ndarray) -> float:
        p = expit(z @ w[:-1] + w[-1])
        return float(-(xlogy(target, p) + xlogy(1 - target, 1 - p)).sum() + PENALTY / 2 * (w[:-1] ** 2).sum())

    w = fit_reliability(z, target)
    for direction in np.eye(4):
        assert abs(loss(w + 1e-4 * direction) - loss(w - 1e-4 * direction)) / 2e-4 < 1e-3
    np.testing.assert_allclose(reliabilities(z, w), np.clip(expit(z @ w[:-1] + w[-1]), 0.02, 0.99), atol=1e-6)


def problem_of(graph: Graph) -> Problem:
    return make_problem(graph, "auto", 0.0, torch.device("cpu"))


@pytest.fixture(scope="module")
def noisy() -> Graph:
    return load("digits", noise=0.5, seed=3)


def test_planted_edges_are_trusted_least(noisy: Graph, one_thread: None):
    problem = problem_of(noisy)
    field = edge_field(problem, features_opinion(problem), 0)
    planted = noisy.meta["planted"]
    for values in (field.evidence, field.reliability):
        assert (values[problem.structure.loops] == 1).all()
        edges = values[problem.structure.off_loop]
        assert np.median(edges[planted]) < 0.2 < 0.8 < np.median(edges[~planted])
    right = (field.beliefs.argmax(1).numpy() == noisy.labels)[noisy.test_mask].mean()
    alone = (features_opinion(problem).argmax(1).numpy() == noisy.labels)[noisy.test_mask].mean()
    assert right > alone + 0.02


def test_only_training_labels_are_read(noisy: Graph, one_thread: None):
    scrambled = noisy.labels.copy()
    scrambled[~noisy.train_mask] = np.random.default_rng(0).permutation(scrambled[~noisy.train_mask])
    fields = []
    for graph in (noisy, noisy.with_labels(scrambled)):
        problem = problem_of(graph)
        fields.append(edge_field(problem, features_opinion(problem), 0))
    assert torch.equal(fields[0].beliefs, fields[1].beliefs)
    assert np.array_equal(fields[0].reliability, fields[1].reliability)


def test_a_graph_without_edges_has_a_field(one_thread: None):
    graph = load("karate")
    lonely = Graph.build(np.empty((2, 0), np.int64), graph.features, graph.labels)
    lonely = lonely.with_masks(graph.train_mask, graph.val_mask, graph.test_mask)
    problem = problem_of(lonely)
    field = edge_field(problem, torch.full_like(problem.labels, 1 / problem.num_classes), 0)
    assert (field.reliability == 1).all()
    assert torch.equal(field.beliefs[problem.train], problem.labels[problem.train])


SHORT = {"pretrain_epochs": 15, "epochs": 10, "em_iterations": 1, "threads": 1}


def test_evidence_is_a_start_that_auto_tries(noisy: Graph, one_thread: None):
    model = GDAMN(**SHORT).fit(noisy)
    phases = {record["phase"] for record in model.history_}
    assert "pre-train (evidence)" in phases
    judged = model.state_.judged
    assert judged is not None
    assert np.median(judged[1][noisy.meta["planted"]]) < 0.2
    without = GDAMN(**SHORT, judge_edges=False).fit(noisy)
    assert "pre-train (evidence)" not in {record["phase"] for record in without.history_}
    assert without.state_.judged is None


@pytest.mark.parametrize("iterations", [0, 1])
def test_a_model_that_started_on_evidence_is_rebuilt(noisy: Graph, iterations: int, tmp_path, one_thread: None):
    from gdamn.estimators.inductive import check_rebuilt

    model = GDAMN(start="evidence", **{**SHORT, "em_iterations": iterations}).fit(noisy)
    model.save(tmp_path / "model.gdamn")
    check_rebuilt(GDAMN.load(tmp_path / "model.gdamn"), noisy)
