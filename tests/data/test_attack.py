"""The attack: its gradient, its projection, what it changes, and that it hurts more than chance does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from gdamn.baselines.gcn import GCNClassifier
from gdamn.data import add_noise
from gdamn.data.named.synthetic import BlockModel, sbm
from gdamn.data.noise import attack, surrogate
from gdamn.data.noise.attack import Attack, Block, projected
from gdamn.data.noise.changes import NO_CODES, edge_codes
from gdamn.data.noise.surrogate import Surrogate, margin_loss
from gdamn.errors import GraphError
from gdamn.graph.graph import Graph

GRAPH = sbm(BlockModel(200, 3, 6.0, 0.8, 8, train_per_class=8, val_per_class=8), seed=3)


def pairs(graph: Graph) -> set[tuple[int, int]]:
    return set(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True))


def of(graph: Graph) -> sp.csr_array:
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    return sp.csr_array((weights, graph.indices, graph.indptr), shape=(graph.num_nodes, graph.num_nodes))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_the_slope(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surrogate, "EPOCHS", 5)
    rng = np.random.default_rng(0)
    n, codes = GRAPH.num_nodes, edge_codes(GRAPH)
    graph = GRAPH
    if weighted:
        ends, weights = np.divmod(codes, n), rng.uniform(0.5, 2, len(codes)).astype(np.float32)
        masks = {"train_mask": GRAPH.train_mask, "test_mask": GRAPH.test_mask}
        graph = Graph.build(np.stack(ends), GRAPH.features, GRAPH.labels, weights=weights, **masks)
    network = Surrogate(graph, rng)
    targets = np.flatnonzero(~graph.train_mask)
    labels = network.logits()[targets].argmax(axis=1)
    chosen = np.unique(np.concatenate([codes[::40], [7, 3 * n + 150, 20 * n + 21]]))
    block = Block(chosen, rng.uniform(-0.4, 0.4, len(chosen)), np.ones(len(chosen)))

    def loss(change: np.ndarray) -> float:
        return margin_loss(network.logits(replace(block, change=change).matrix(n)), targets, labels)[0]

    value, gradient = network.edge_gradient(block.matrix(n), block.ends(n), targets, labels)
    assert value == pytest.approx(loss(block.change))
    step = 1e-6 * np.eye(len(chosen))
    slopes = [(loss(block.change + each) - loss(block.change - each)) / 2e-6 for each in step]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-9)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=30), st.integers(0, 8))
def test_the_projection_is_the_nearest_point(values: list[float], budget: int) -> None:
    p = np.array(values)
    near = projected(p, budget)
    assert ((near >= 0) & (near <= 1)).all()
    assert near.sum() <= budget + 1e-6
    if np.clip(p, 0, 1).sum() <= budget:
        np.testing.assert_array_equal(near, np.clip(p, 0, 1))
        return
    assert near.sum() == pytest.approx(budget, abs=1e-6)
    inside = (near > 1e-9) & (near < 1 - 1e-9)
    shifts = (p - near)[inside]  # where no bound holds, all are moved by the same amount
    assert np.ptp(shifts) < 1e-6 if len(shifts) else True


def test_a_block_holds_each_pair_once_and_knows_the_edges() -> None:
    under_way = Attack(GRAPH, 30, np.random.default_rng(0))
    under_way.size = 500
    block = under_way.filled(NO_CODES, np.empty(0))
    kept = block.codes[:3]
    again = under_way.resampled(replace(block, p=np.where(np.isin(block.codes, kept), 0.5, 0.0)))
    for each in (block, again):
        assert len(np.unique(each.codes)) == 500
        a, b = each.ends(GRAPH.num_nodes)
        assert (a < b).all()
        np.testing.assert_array_equal(each.change, np.where(np.isin(each.codes, under_way.edges), -1, 1))
    assert again.p[np.isin(again.codes, kept)].tolist() == [0.5] * 3
    assert again.p.sum() == 1.5


@pytest.fixture(scope="module")
def attacked() -> Graph:
    """By an attack of fewer steps than usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attack, "STEPS", 30)
        patch.setattr(attack, "RESAMPLED", 24)
        return add_noise(GRAPH, "attack:0.15", 0)


def test_the_attack_hurts_its_surrogate_more_than_random_edges_do(attacked: Graph) -> None:
    random = add_noise(GRAPH, "random:0.15", 0)
    network = Surrogate(GRAPH, np.random.default_rng([0, 0xA77A]))
    unseen = ~GRAPH.train_mask

    def accuracy(graph: Graph) -> float:
        correct = network.logits(of(graph) - of(GRAPH)).argmax(axis=1) == GRAPH.labels
        return float(correct[unseen].mean())

    assert accuracy(GRAPH) > 0.8
    assert accuracy(attacked) < accuracy(random) - 0.1
    assert accuracy(random) <= accuracy(GRAPH)


def test_a_gcn_that_is_trained_on_the_attacked_graph_suffers_too(attacked: Graph) -> None:
    scores = [GCNClassifier(epochs=60, seed=1).fit(graph).score("test") for graph in (GRAPH, attacked)]
    assert scores[1] < scores[0] - 0.05


def test_exactly_the_budget_is_changed(attacked: Graph) -> None:
    old, new = pairs(GRAPH), pairs(attacked)
    record = attacked.meta["noise"]
    assert len(old ^ new) == 2 * round(0.15 * GRAPH.num_edges)
    assert (len(new - old), len(old - new)) == (2 * record["planted"], 2 * record["removed"])
    assert new == {(b, a) for a, b in new}
    assert all(a != b for a, b in new)
    planted = attacked.meta["planted"]
    assert set(zip(attacked.rows[planted].tolist(), attacked.indices[planted].tolist(), strict=True)) == new - old


def test_small_blocks_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("BLOCK", 60), ("BLOCK_PER_EDGE", 0), ("BLOCK_PER_CHANGE", 1), ("STEPS", 5)):
        monkeypatch.setattr(attack, name, value)
    noisy = add_noise(GRAPH, "attack:0.1", 2)
    assert len(pairs(GRAPH) ^ pairs(noisy)) == 2 * round(0.1 * GRAPH.num_edges)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"directed": True}, "undirected"),
        ({"train_mask": GRAPH.train_mask & (GRAPH.labels == 0)}, "two classes"),
        ({"train_mask": GRAPH.train_mask | True}, "outside of the training set"),
    ],
)
def test_graphs_that_can_t_be_attacked(changes: dict, said: str) -> None:
    with pytest.raises(GraphError, match=said):
        add_noise(replace(GRAPH, **changes), "attack:0.1", 0)
    with pytest.raises(GraphError, match="pairs of nodes; "):
        add_noise(GRAPH, "attack:1000", 0)
