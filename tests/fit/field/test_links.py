"""Links: columns with and without an edge, the share of edges drawn by lot, and what a fit does with it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from gdamn import GDAMN, Graph, load
from gdamn.fit.field import edge_links
from gdamn.fit.field.evidence import unit
from gdamn.fit.field.links import LOTS, Links, columns, draw_pairs, share_by_lot
from gdamn.fit.field.pairs import Pairs
from gdamn.model.problem import make_problem
from gdamn.using.ranking import doubt_of, pairs, sigmoid, suspects


def without(all_pairs: Pairs, at: int) -> Pairs:
    left, right = np.delete(all_pairs.left, at), np.delete(all_pairs.right, at)
    return Pairs(left, right, np.empty(0, np.int64), all_pairs.nodes)


def random_pairs(seed: int, nodes: int = 12, edges: int = 20) -> tuple[Pairs, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    chosen = generator.choice(nodes * (nodes - 1) // 2, edges, replace=False)
    left, right = (ends[chosen] for ends in np.triu_indices(nodes, 1))
    u = unit(generator.normal(size=(nodes, 4)).astype(np.float32))
    return Pairs(left, right, np.empty(0, np.int64), nodes), u, generator.uniform(0.1, 1, edges).astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_the_columns_of_an_edge_are_those_of_its_ends_without_it(seed: int):
    graph, u, trust = random_pairs(seed)
    z = columns(graph, u, trust, (graph.left, graph.right), trust)
    for at in range(len(graph)):
        ends = graph.left[at : at + 1], graph.right[at : at + 1]
        rest = columns(without(graph, at), u, np.delete(trust, at), ends)[0]
        np.testing.assert_allclose(z[at], rest, atol=1e-5)


@pytest.mark.parametrize("lot", LOTS)
def test_drawn_pairs_are_no_edges(lot: str):
    graph, _, _ = random_pairs(0)
    i, j = draw_pairs(graph, lot, np.random.default_rng(1))
    edges = set(zip(graph.left.tolist(), graph.right.tolist(), strict=True))
    assert len(i)
    assert (i != j).all()
    assert not any((min(pair), max(pair)) in edges for pair in zip(i.tolist(), j.tolist(), strict=True))


@given(st.integers(0, 10_000), st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_the_share_is_found_where_edges_are_a_mixture(seed: int, share: float):
    generator = np.random.default_rng(seed)
    by_lot, genuine = generator.normal(-2, 1, 4000), generator.normal(3, 1, 4000)
    edges = np.where(generator.random(4000) < share, generator.normal(-2, 1, 4000), genuine)
    found = share_by_lot(edges, by_lot)
    assert 0 <= found <= share + 0.06
    assert found >= share - 0.12


@pytest.fixture(scope="module")
def noisy() -> Graph:
    return load("digits", noise=0.5, seed=0)


def judged(graph: Graph) -> tuple[Pairs, Links]:
    problem = make_problem(graph, "auto", 0.0, torch.device("cpu"))
    return edge_links(problem.structure, problem.x, problem.device, seed=0)


def test_planted_edges_are_found_without_labels(noisy: Graph, one_thread: None):
    all_pairs, links = judged(noisy)
    scrambled = noisy.with_labels(np.random.default_rng(0).permutation(noisy.labels))
    np.testing.assert_array_equal(judged(scrambled)[1].lot, links.lot)
    planted = np.zeros(len(all_pairs) + 1, bool)
    planted[all_pairs.of_entry[noisy.structure.off_loop]] = noisy.meta["planted"]
    assert abs(links.share - planted.mean()) < 0.1
    assert roc_auc_score(planted[:-1], links.lot) > 0.98
    assert links.factors is not None
    assert (links.factors[planted[:-1]] == 0).mean() > 0.9


@pytest.mark.parametrize("name", ["digits", "karate"])
def test_a_clean_graph_loses_nothing(name: str, one_thread: None):
    assert judged(load(name, seed=0))[1].factors is None


def test_a_fit_cuts_them_and_says_so(noisy: Graph, tmp_path, one_thread: None):
    from gdamn.estimators.inductive import check_rebuilt

    model = GDAMN(seed=0, pretrain_epochs=15, epochs=5, em_iterations=1, threads=1).fit(noisy)
    planted, kept = noisy.meta["planted"], model.state_.kept
    assert kept is not None
    assert (kept[planted] == 0).mean() > 0.9
    assert (kept[~planted] > 0).mean() > 0.9
    assert abs(model.best_epoch_["edges_by_lot"] - planted.mean()) < 0.1
    ranked = suspects(noisy, model.predict_proba(), model.state_, len(pairs(noisy)))
    assert roc_auc_score(planted[ranked.at], ranked.suspicion) > 0.99
    model.save(tmp_path / "model.gdamn")
    again = GDAMN.load(tmp_path / "model.gdamn")
    np.testing.assert_array_equal(again.state_.kept, kept)
    check_rebuilt(again, noisy)


def test_the_setting_leaves_every_edge(noisy: Graph, one_thread: None):
    model = GDAMN(seed=0, judge_edges=False, pretrain_epochs=2, epochs=1, em_iterations=1, threads=1).fit(noisy)
    assert model.state_.kept is None
    assert model.state_.lot is None
    assert "edges_by_lot" not in model.best_epoch_


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_suspicions_add_up_to_the_edges_that_are_wrong(seed: int):
    generator = np.random.default_rng(seed)
    lot, reliability = np.exp(generator.normal(-2, 3, 50)), generator.uniform(0, 1, 50)
    doubt = doubt_of(lot, generator.normal(0, 5, 50), reliability)
    assert sigmoid(doubt).sum() == pytest.approx((1 - (1 - np.clip(lot, 0, 1)) * reliability).sum(), abs=1e-3)
