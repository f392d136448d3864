"""Pro-GNN, against its formulas on dense matrices: each step on the graph has a closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_graphs import CLOSE, HIDDEN, N, build, dense, new_gcn, problem_of
from torch.nn import functional as F

from gdamn import Graph
from gdamn.baselines import pro_gnn
from gdamn.baselines.pro_gnn import ProGNN, ProGNNSettings
from gdamn.errors import TrainingError
from gdamn.estimators.registry import make
from gdamn.kernels import Key

pytestmark = pytest.mark.usefixtures("one_thread")


def pro(graph: Graph, **settings) -> ProGNN:
    return ProGNN(new_gcn(), problem_of(graph), ProGNNSettings(hidden=HIDDEN, **settings)).eval()


def random_symmetric(seed: int = 0) -> torch.Tensor:
    s = torch.randn(N, N, generator=torch.Generator().manual_seed(seed))
    return (s + s.T) / 2


def test_the_step_of_the_l1_norm_is_its_minimum():
    s, z = torch.linspace(-1, 1, 41), torch.linspace(-1.5, 1.5, 3001)
    cost = (z - s[:, None]).square() / 2 + 0.3 * z.abs()
    torch.testing.assert_close(pro_gnn.shrunk(s, 0.3), z[cost.argmin(1)], rtol=0, atol=2e-3)


def test_the_step_of_the_nuclear_norm_by_singular_values():
    s = random_symmetric()
    u, sigma, vt = np.linalg.svd(s.numpy())
    found = pro_gnn.low_rank(s, 1.5)
    np.testing.assert_allclose(found, u * np.maximum(sigma - 1.5, 0) @ vt, atol=1e-4)
    assert torch.equal(found, found.T)
    assert 0 < np.linalg.matrix_rank(found.numpy(), tol=1e-3) == (sigma > 1.5).sum() < N

    def cost(z: torch.Tensor) -> float:
        return ((z - s).square().sum() / 2 + 1.5 * torch.linalg.matrix_norm(z, "nuc")).item()

    assert all(cost(found) <= cost(found + 0.05 * random_symmetric(i)) for i in range(1, 20))


def test_roughness_is_the_sum_of_differences_along_edges():
    graph = build(weighted=True)
    s, x = torch.as_tensor(graph.to_scipy().toarray()).float(), torch.as_tensor(dense(graph))
    scale = (s.sum(1, keepdim=True) + 1e-3).rsqrt()
    rows = x * scale
    wanted = (s * (rows[:, None] - rows[None]).square().sum(2)).sum() / 2
    laplacian = scale * (torch.diag(s.sum(1)) - s) * scale.T
    torch.testing.assert_close(pro_gnn.roughness(s, x @ x.T), wanted, **CLOSE)
    torch.testing.assert_close(torch.trace(x.T @ laplacian @ x), wanted, **CLOSE)


def test_the_gradient_of_the_graph_by_differences():
    graph, s = build(), {"gamma": 3.0, "lambda_": 0.01}
    net, x = pro(graph, **s), torch.as_tensor(dense(graph)).double()
    labels = torch.tensor(graph.labels[:9])
    net.use((net.given + 0.1 * random_symmetric().abs()).clamp(0, 1))
    first, later, *biases = (p.detach().double() for p in (net.gcn.first[0], net.gcn.later[0], *net.gcn.bias))

    def cost(a: torch.Tensor) -> torch.Tensor:
        d = (a.sum(1) + 1).rsqrt()
        smooth = d[:, None] * (a + torch.eye(N)) * d
        logits = smooth @ torch.relu(smooth @ x @ first + biases[0]) @ later + biases[1]
        near = torch.linalg.matrix_norm(a - net.given.double())
        return near + 3 * F.cross_entropy(logits[:9], labels) + 0.01 * pro_gnn.roughness(a, x @ x.T)

    slope, here = net.gradient(), net.graph.double()
    assert torch.equal(slope, slope.T)
    for seed in range(3):
        way = random_symmetric(seed).double()
        wanted = (cost(here + 1e-5 * way) - cost(here - 1e-5 * way)) / 2e-5
        torch.testing.assert_close((slope.double() * way).sum(), wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", [{}, {"weighted": True}, {"directed": True}], ids=["plain", "weighted", "directed"])
def test_the_learned_graph_is_symmetric_and_within_bounds(kind):
    net = pro(build(**kind), graph_rate=0.1)
    assert 0 <= net.given.min() < net.given.max() <= 1
    for _ in range(8):
        net.learn_graph(Key(0))
        assert torch.equal(net.graph, net.graph.T)
        assert 0 <= net.graph.min() < net.graph.max() <= 1
    norm = torch.linalg.matrix_norm
    assert norm(net.graph, "nuc") < norm(net.given, "nuc")


def test_a_step_on_the_graph_is_gradient_then_both_norms_then_bounds():
    net = pro(build(), graph_rate=0.2, alpha=0.1)
    net.learn_graph(Key(0))
    before, velocity = net.graph.clone(), net.velocity.clone()
    moved = before - 0.2 * (0.9 * velocity + net.gradient())
    u, sigma, vt = np.linalg.svd(moved.numpy())
    near = u * np.maximum(sigma - 0.2 * 1.5, 0) @ vt
    wanted = np.clip(np.sign(near) * np.maximum(np.abs(near) - 0.2 * 0.1, 0), 0, 1)
    net.learn_graph(Key(0))
    np.testing.assert_allclose(net.graph, wanted, atol=1e-4)


def test_without_any_norm_pro_gnn_is_a_gcn_with_two_steps_an_epoch(monkeypatch):
    monkeypatch.setattr(pro_gnn, "start", lambda gcn, generator: gcn.initialise("xavier", generator))
    graph = build()
    free = {"alpha": 0.0, "beta": 0.0, "gamma": 0.0, "lambda_": 0.0, "threads": 1, "dropout_hidden": 0.0}
    ours = make("pro-gnn", overrides={**free, "epochs": 3})
    ours.method = "gcn"  # the same start of the weights
    same = {"dropout_input": 0.0, "dropout_hidden": 0.0, "decay": "all", "threads": 1}
    plain = make("gcn", overrides={**same, "epochs": 6}).fit(graph).history_[1::2]
    found = ours.fit(graph).history_
    np.testing.assert_allclose([r["loss"] for r in found], [r["loss"] for r in plain], rtol=1e-5)
    np.testing.assert_allclose([r["val_loss"] for r in found], [r["val_loss"] for r in plain], rtol=1e-5)


def test_pro_gnn_refuses_more_pairs_than_memory_holds(monkeypatch):
    monkeypatch.setattr(pro_gnn, "free_bytes", lambda: 10_000)
    with pytest.raises(TrainingError, match=r"every pair of 24 nodes, .* GB are free; train it on a smaller graph"):
        make("pro-gnn", overrides={"epochs": 1, "threads": 1}).fit(build())
