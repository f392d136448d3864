"""RS-GNN, against its formulas on dense matrices; its link predictor finds a missing edge."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from small_graphs import CLOSE, CPU, HIDDEN, WIDTH, N, build, dense, matrix, new_gcn, problem_of

from gdamn import Graph
from gdamn.baselines import rs_gnn
from gdamn.baselines.rewired import edges_of, joined
from gdamn.baselines.rs_gnn import RSGNN, NoisyEdges, RSGNNSettings
from gdamn.baselines.simp_gcn import extremes
from gdamn.estimators.registry import make
from gdamn.kernels import Key
from gdamn.model.inputs import feature_block
from gdamn.model.propagators import MLP

pytestmark = pytest.mark.usefixtures("one_thread")


def rs(graph: Graph, **settings) -> RSGNN:
    predictor = MLP(WIDTH, 6, 6, 2, 0.0)
    predictor.initialise("xavier", torch.Generator().manual_seed(2))
    s = RSGNNSettings(hidden=HIDDEN, projection=6, neighbours=4, **settings)
    return RSGNN(new_gcn(), predictor, problem_of(graph), s).eval()


def test_edges_may_be_where_they_are_and_between_similar_nodes():
    graph = build()
    x = feature_block(dense(graph), "none", 0.0, CPU)
    found = rs_gnn.candidates(x, edges_of(graph.structure), 3).toarray()
    (near, _), _ = extremes(x, 3, 1)
    similar = joined(near).toarray()
    assert np.array_equal(found, np.minimum(graph.to_scipy().toarray() + similar + similar.T, 1))
    assert not found.diagonal().any()
    assert np.array_equal(rs_gnn.candidates(x, edges_of(graph.structure), 0).toarray(), graph.to_scipy().toarray())


@pytest.mark.parametrize("sparse", [False, True])
def test_the_loss_of_noisy_edges_by_dense_matrices(sparse):
    graph = build()
    a, x = graph.to_scipy().toarray(), dense(graph)
    block = feature_block(sp.csr_array(x) if sparse else x, "none", 0.0, CPU)
    noisy = NoisyEdges(block, edges_of(graph.structure), 6, 2.0)
    drawn = noisy.drawn(Key(1))
    pairs = list(zip(drawn.rows.tolist(), drawn.indices.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs) > N
    assert all(i < j and a[i, j] == 0 for i, j in pairs)
    assert np.array_equal(drawn.indices, noisy.drawn(Key(1)).indices)
    assert not np.array_equal(drawn.indices, noisy.drawn(Key(2)).indices)
    z = torch.randn(N, 4, generator=torch.Generator().manual_seed(0))
    scores, distances = (z @ z.T).numpy(), np.square(x[:, None] - x[None]).sum(2)
    edges = [(i, j) for i in range(N) for j in range(i + 1, N) if a[i, j]]
    total = sum(np.exp(-distances[e] / 4) * (scores[e] - 1) ** 2 for e in edges)
    total += sum(np.exp(distances[e] / 4) * scores[e] ** 2 for e in pairs)
    wanted = total * N / (len(edges) + len(pairs))
    np.testing.assert_allclose(noisy.loss(z, Key(1)).item(), wanted, rtol=1e-4)


def test_features_that_are_far_apart_have_a_finite_weight():
    graph = build()
    far = feature_block(dense(graph) * np.float32(1e6), "none", 0.0, CPU)
    noisy = NoisyEdges(far, edges_of(graph.structure), 6, 1.0)
    assert torch.isfinite(noisy.loss(torch.ones(N, 2), Key(0)))


@torch.no_grad()
def test_rs_gnn_by_dense_matrices():
    net = rs(build(), threshold=0.2, strong=0.5)
    x, pattern = torch.as_tensor(dense(build())), net.structure.pattern
    body = net.predictor
    z = torch.relu(x @ body.first[0]) @ body.later[0]  # biases start at 0
    allowed = matrix(pattern, np.ones(pattern.num_entries)) * (1 - torch.eye(N))
    scores = z @ z.T
    s = torch.where(scores >= 0.2, scores, 0.0) * allowed
    assert 0 < (s > 0).sum() < allowed.sum()
    d = (s.sum(1) + 1).rsqrt()
    smooth = (d[:, None] * (s + torch.eye(N)) * d).float()
    logits = smooth @ torch.relu(smooth @ x @ net.gcn.first[0]) @ net.gcn.later[0]
    torch.testing.assert_close(net(None), logits, **CLOSE)
    p = logits.softmax(1)
    pairs = [(i, j) for i in range(N) for j in range(i + 1, N) if s[i, j] >= 0.5 and (i >= 9 or j >= 9)]
    wanted = sum((s[i, j] * (p[i] - p[j]).square().sum()).item() for i, j in pairs) / N
    assert pairs
    np.testing.assert_allclose(net.roughness(p).item(), wanted, rtol=1e-4)


def test_a_step_on_the_links_leaves_the_gcn_and_one_on_the_gcn_the_links():
    net = rs(build(), learning_rate=0.01)
    gcn, links = ([p.clone() for p in part.parameters()] for part in (net.gcn, net.predictor))
    net.learn_graph(Key(0))
    assert all(torch.equal(a, b) for a, b in zip(gcn, net.gcn.parameters(), strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(links, net.predictor.parameters(), strict=True))
    net.gcn_loss(Key(1))["loss"].backward()
    assert all(p.grad is None for p in net.predictor.parameters())
    assert all(p.grad is not None for p in net.gcn.parameters())


def test_the_gcn_teaches_the_links_too():
    net = rs(build(), alpha=0.0, learning_rate=0.02, weight_decay=0.0, threshold=0.0)
    with torch.no_grad():
        before = net.gcn_loss(Key(0))["likelihood"].item()
    for step in range(20):
        net.learn_graph(Key(step))
    with torch.no_grad():
        assert net.gcn_loss(Key(0))["likelihood"].item() < before


def two_groups(taken: tuple[int, int], added: tuple[int, int]) -> Graph:
    """Two groups of 15 nodes, each with its words and most of its edges, without one edge and with a wrong one."""
    rng = np.random.default_rng(1)
    group = np.arange(30) % 2
    x = rng.random((30, 12)) < np.where((np.arange(12) % 2 == group[:, None]), 0.7, 0.1)
    pairs = [(i, j) for i in range(30) for j in range(i + 1, 30) if group[i] == group[j] and rng.random() < 0.7]
    edges = (set(pairs) | {added}) - {taken}
    masks = {"train_mask": np.arange(30) < 8, "val_mask": np.arange(30) >= 24}
    return Graph.build(np.array(sorted(edges)).T, x.astype(np.float32), group, **masks)


def test_the_link_predictor_adds_a_missing_edge_and_doubts_a_wrong_one():
    graph = two_groups((0, 2), (0, 3))
    model = make("rs-gnn", overrides={"epochs": 150, "neighbours": 20, "learning_rate": 0.01, "threads": 1})
    net = model.fit(graph)._learned
    s = matrix(net.structure.pattern, net.current())
    assert graph.to_scipy()[0, 2] == 0 < graph.to_scipy()[0, 3]
    assert s[0, 2] > 0.5 > 0.2 > s[0, 3]
