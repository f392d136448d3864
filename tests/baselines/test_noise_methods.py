"""The methods made for noisy graphs, against their formulas on dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gdamn import Graph
from gdamn.baselines.elastic_gnn import ElasticGNN, ElasticSettings, Incidence, projected
from gdamn.baselines.gcn_jaccard import similarities
from gdamn.baselines.gcn_svd import low_rank
from gdamn.baselines.gnnguard import Guard
from gdamn.baselines.simp_gcn import ENDS, SimPGCN, SimPGCNSettings, extremes, similar
from gdamn.estimators.registry import make
from gdamn.kernels import Key, use_kernels
from gdamn.model.adjacency import gcn_adjacency
from gdamn.model.inputs import feature_block
from gdamn.model.propagators import GCN, MLP

CPU = torch.device("cpu")
N, WIDTH, C, HIDDEN = 30, 12, 3, 5
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
both = pytest.mark.parametrize("path", ["fast", "torch"])
pytestmark = pytest.mark.usefixtures("one_thread")


def build(weighted: bool = False, measured: bool = False) -> Graph:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, N - 1, (2, 70))  # the last node is isolated
    x = rng.standard_normal((N, WIDTH)) if measured else rng.random((N, WIDTH)) < 0.2
    x[3] = 0
    weights = rng.uniform(0.1, 2, 70) if weighted else None
    masks = {"train_mask": np.arange(N) < 9, "val_mask": np.arange(N) >= 20}
    return Graph.build(edges, x.astype(np.float32), np.arange(N) % C, weights=weights, **masks)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def graph(request) -> Graph:
    return build(request.param)


def dense(graph: Graph) -> np.ndarray:
    """The features as a matrix of its own."""
    x = graph.features
    return x.toarray() if sp.issparse(x) else np.array(x)


def matrix(graph: Graph, values) -> torch.Tensor:
    """The entries on A + I as a matrix."""
    p = graph.structure.pattern
    return torch.as_tensor(sp.csr_array((np.asarray(values), p.indices, p.indptr), shape=p.shape).toarray())


# --- GCN-Jaccard -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["none", "row"])
@pytest.mark.parametrize("sparse", [False, True])
def test_jaccard_is_that_of_sets(sparse, how):
    graph = build()
    x, p = dense(graph), graph.structure.pattern
    words = [set(np.flatnonzero(row)) for row in x]
    pairs = [(words[i], words[j]) for i, j in zip(p.rows, p.indices, strict=True)]
    wanted = [len(a & b) / max(len(a | b), 1) for a, b in pairs]
    block = feature_block(sp.csr_array(x) if sparse else x, how, 0.5, CPU)
    torch.testing.assert_close(similarities(block, p), torch.tensor(wanted), **CLOSE)


def test_measurements_are_compared_by_their_cosine():
    graph = build(measured=True)
    x, p = torch.as_tensor(dense(graph)), graph.structure.pattern
    wanted = torch.cosine_similarity(x[p.rows.astype(int)], x[p.indices.astype(int)])
    found = similarities(feature_block(dense(graph), "none", 0.0, CPU), p)
    torch.testing.assert_close(found, wanted, **CLOSE)


def test_gcn_jaccard_is_a_gcn_on_the_graph_without_these_edges():
    graph, few = build(), {"epochs": 3, "threads": 1}
    x = dense(graph).astype(float)
    common, sizes = x @ x.T, x.sum(1)
    like = common >= 0.2 * (sizes[:, None] + sizes - common).clip(1e-9)
    kept = np.triu(graph.to_scipy().toarray() * like)
    assert 0 < np.count_nonzero(kept) < graph.num_edges
    masks = {"train_mask": graph.train_mask, "val_mask": graph.val_mask}
    cut = Graph.build(np.stack(np.nonzero(kept)), graph.features, graph.labels, **masks)
    start = {**few, "dropout_input": 0.0, "dropout_hidden": 0.0}
    ours = make("gcn-jaccard", overrides={**start, "threshold": 0.2})
    plain = make("gcn", overrides=start)
    ours.method = "gcn"  # the same start of the weights
    torch.testing.assert_close(ours.fit(graph).history_[0]["loss"], plain.fit(cut).history_[0]["loss"])
    np.testing.assert_allclose(ours.probabilities_, plain.probabilities_, atol=1e-5)


# --- GCN-SVD ---------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("rank", [1, 4, N - 1, 200])
def test_gcn_svd_by_dense_matrices(path, graph, rank):
    a = graph.to_scipy().toarray().astype(float)
    u, s, vt = np.linalg.svd(a)
    near = u[:, :rank] * s[:rank] @ vt[:rank]
    if rank >= N - 1:
        np.testing.assert_allclose(near, a, atol=1e-9)  # nothing is lost: the isolated node takes one of the ranks
    d = 1 + near.sum(1).clip(0)
    smooth = torch.as_tensor((near + np.eye(N)) / np.sqrt(np.outer(d, d)), dtype=torch.float32)
    adjacency = low_rank(graph.structure, rank, CPU)
    for width in (HIDDEN, WIDTH + 1):  # weights first, features first
        net = GCN([WIDTH], width, C, 2, 0.5)
        net.initialise("xavier", torch.Generator().manual_seed(1))
        x = torch.as_tensor(dense(graph))
        wanted = smooth @ torch.relu(smooth @ x @ net.first[0] + net.bias[0]) @ net.later[0] + net.bias[1]
        with use_kernels(path), torch.no_grad():
            found = net(adjacency, [feature_block(dense(graph), "none", 0.0, CPU)], None)
        torch.testing.assert_close(found, wanted, **CLOSE)


def test_gcn_svd_without_edges_is_an_mlp():
    graph = Graph.build(np.zeros((2, 0), int), np.eye(4, dtype=np.float32))
    h = torch.rand(4, 2)
    torch.testing.assert_close(low_rank(graph.structure, 2, CPU).propagate(h, None), h)


# --- Elastic GNN -----------------------------------------------------------------------------------------------------


def elastic(graph: Graph, **settings) -> ElasticGNN:
    body = MLP(WIDTH, HIDDEN, C, 2, 0.5)
    body.initialise("xavier", torch.Generator().manual_seed(1))
    return ElasticGNN(body, gcn_adjacency(graph.structure, CPU), ElasticSettings(hidden=HIDDEN, **settings)).eval()


def incidence(graph: Graph) -> torch.Tensor:
    """Δ from a matrix of weights."""
    a = graph.to_scipy().toarray()
    scale = 1 / np.sqrt(1 + a.sum(1))
    rows = []
    for i, j in zip(*np.nonzero(np.triu(a, 1)), strict=True):
        row = np.zeros(N)
        row[i], row[j] = np.sqrt(a[i, j]) * scale[i], -np.sqrt(a[i, j]) * scale[j]
        rows.append(row)
    return torch.as_tensor(np.stack(rows), dtype=torch.float32)


@both
def test_the_incidence_matrix_squared_is_the_laplacian(path, graph):
    s = matrix(graph, gcn_adjacency(graph.structure, CPU).values)
    delta, made = incidence(graph), Incidence(graph.structure, CPU)
    h = torch.rand(N, 2, generator=torch.Generator().manual_seed(0))
    with use_kernels(path):
        found = made.collected(made.jumps(h))
    torch.testing.assert_close(delta.T @ delta, torch.eye(N) - s, **CLOSE)
    torch.testing.assert_close(found, h - s @ h, **CLOSE)


@both
@pytest.mark.parametrize(("lambda1", "lambda2"), [(0.05, 3.0), (0.02, 0.0), (0.0, 3.0), (0.0, 0.0)])
@torch.no_grad()
def test_elastic_gnn_by_dense_matrices(path, graph, lambda1, lambda2):
    net = elastic(graph, lambda1=lambda1, lambda2=lambda2, steps=4)
    s, delta = matrix(graph, gcn_adjacency(graph.structure, CPU).values), incidence(graph)
    start = torch.relu(torch.as_tensor(dense(graph)) @ net.body.first[0]) @ net.body.later[0]  # biases start at 0
    gamma = 1 / (1 + lambda2)
    f, z = start, torch.zeros(len(delta), C)
    for _ in range(4):
        y = f - gamma * (f - start + lambda2 * (f - s @ f))  # a step down the smooth part
        z = z + delta @ (y - gamma * delta.T @ z) / (2 * gamma)
        z = torch.stack([row * min(1.0, lambda1 / max(row.norm().item(), 1e-12)) for row in z])
        f = y - gamma * delta.T @ z
    with use_kernels(path):
        found = net(feature_block(dense(graph), "none", 0.5, CPU), None)
    torch.testing.assert_close(found, f, **CLOSE)


@torch.no_grad()
def test_many_steps_minimise_the_elastic_objective():
    graph = build()
    net, x = elastic(graph, lambda1=0.05, lambda2=1.0, steps=400), feature_block(dense(build()), "none", 0.0, CPU)
    start, found, delta = net.body(x, None), net(x, None), incidence(graph)

    def objective(f: torch.Tensor) -> float:
        jumps = delta @ f
        return (0.05 * jumps.norm(dim=1).sum() + jumps.square().sum() / 2 + (f - start).square().sum() / 2).item()

    generator = torch.Generator().manual_seed(2)
    least = objective(found)
    assert least < objective(start)
    for _ in range(50):
        assert least <= objective(found + 0.01 * torch.randn(found.shape, generator=generator)) + 1e-6


def test_rows_are_projected_on_the_ball():
    z = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    torch.testing.assert_close(projected(z, 1.0), torch.tensor([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]))
    assert (projected(z, 0.0) == 0).all()


# --- GNNGuard --------------------------------------------------------------------------------------------------------


def guard(graph: Graph, layers: int, threshold: float = 0.3) -> Guard:
    body = MLP(WIDTH, HIDDEN, C, layers, 0.5)
    body.initialise("xavier", torch.Generator().manual_seed(1))
    net = Guard(body, graph.structure, CPU, threshold)
    with torch.no_grad():
        net.memory.fill_(0.4)
    return net


@both
@pytest.mark.parametrize("layers", [1, 2, 3])
@torch.no_grad()
def test_gnnguard_by_dense_matrices(path, graph, layers):
    net = guard(graph, layers)
    a, h = torch.as_tensor(graph.to_scipy().toarray(), dtype=torch.float32), torch.as_tensor(dense(graph))
    weights, omega, beta = [*net.body.first, *net.body.later], None, 1 / (1 + np.exp(-0.4))
    alive = a > 0
    for layer, weight in enumerate(weights):
        if layer:
            h = torch.relu(h)
        cosines = torch.cosine_similarity(h[:, None], h[None], dim=2)
        s = a * cosines * (cosines >= 0.3) * alive
        alive = s > 0
        left = alive.sum(1, keepdim=True)
        alpha = s / s.sum(1, keepdim=True).clamp_min(1e-9) * left / (left + 1) + torch.diag(1 / (left[:, 0] + 1))
        torch.testing.assert_close(alpha.sum(1), torch.ones(N))
        omega = alpha if omega is None else beta * omega + (1 - beta) * alpha
        h = omega @ h @ weight
    assert 0 < alive.sum() < (a > 0).sum()
    for sparse in (False, True):
        x = dense(graph)
        with use_kernels(path):
            found = net(feature_block(sp.csr_array(x) if sparse else x, "none", 0.5, CPU), None)
        torch.testing.assert_close(found, h, **CLOSE)


def test_the_memory_of_gnnguard_is_learned():
    graph = build()
    net = guard(graph, 2)
    net(feature_block(dense(graph), "none", 0.0, CPU), Key(0)).square().sum().backward()
    assert all((parameter.grad != 0).any() for parameter in net.parameters())


# --- SimP-GCN --------------------------------------------------------------------------------------------------------


def cosine_matrix(x: np.ndarray) -> np.ndarray:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True).clip(1e-12)
    return unit @ unit.T


@pytest.mark.parametrize("rows", [7, 512])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_most_and_least_similar_nodes(monkeypatch, sparse, rows):
    monkeypatch.setattr("gdamn.baselines.simp_gcn.ROWS", rows)
    x = np.random.default_rng(0).standard_normal((N, WIDTH)).astype(np.float32)
    wanted = cosine_matrix(x)
    (near, high), (far, low) = extremes(feature_block(sp.csr_array(x) if sparse else x, "none", 0.0, CPU), 4, 2)
    for i in range(N):
        order = [j for j in np.argsort(wanted[i]) if j != i]
        assert set(near[i]) == set(order[-4:])
        assert set(far[i]) == set(order[:2])
        np.testing.assert_allclose(high[i], wanted[i, near[i]], atol=1e-5)
        np.testing.assert_allclose(low[i], wanted[i, far[i]], atol=1e-5)


def test_a_node_is_never_its_own_neighbour_even_where_nothing_is_alike():
    x = feature_block(np.zeros((6, 3), np.float32), "none", 0.0, CPU)
    (near, _), (far, _) = extremes(x, 20, 20)
    assert near.shape == far.shape == (6, 5)
    assert all(i not in near[i] and i not in far[i] for i in range(6))
    assert (similar(x, 3, CPU).values == 0).all()


@both
@pytest.mark.parametrize("layers", [1, 2, 3])
@torch.no_grad()
def test_simp_gcn_by_dense_matrices(path, graph, layers):
    s = SimPGCNSettings(hidden=HIDDEN, layers=layers, neighbours=4, own=0.3)
    x = feature_block(dense(graph), "none", 0.0, CPU)
    like, adjacency = similar(x, 4, CPU), gcn_adjacency(graph.structure, CPU)
    net = SimPGCN(adjacency, like, WIDTH, C, s).eval()
    net.initialise("xavier", torch.Generator().manual_seed(1))
    for bias in net.bias:
        bias.copy_(torch.linspace(-0.5, 0.5, len(bias)))
    a, p = matrix(graph, adjacency.values), like.pattern
    cosines = torch.as_tensor(cosine_matrix(dense(graph)), dtype=torch.float32)
    k = torch.zeros(N, N)
    k[p.rows.astype(int), p.indices.astype(int)] = cosines[p.rows.astype(int), p.indices.astype(int)]
    assert ((k > 0).sum(1) <= 4).all()
    scale = k.sum(1).clamp_min(1e-12).rsqrt()
    k = scale[:, None] * k * scale
    h, hidden = torch.as_tensor(dense(graph)), None
    for layer, (weight, bias) in enumerate(zip([*net.first, *net.later], net.bias, strict=True)):
        h = torch.relu(h) if layer else h
        hidden = h if layer == 1 else hidden
        share, own = torch.sigmoid(h @ weight[:, -2] + bias[-2]), h @ weight[:, -1] + bias[-1]
        mix = torch.diag(share) @ a + torch.diag(1 - share) @ k + 0.3 * torch.diag(own)
        h = mix @ h @ weight[:, :-2] + bias[:-2]
    hidden = h if hidden is None else hidden
    with use_kernels(path):
        logits, found = net.passes(x, None)
    torch.testing.assert_close(logits, h, **CLOSE)
    torch.testing.assert_close(found, hidden, **CLOSE)
    errors = []
    for (i, j), cosine in zip(like.pairs.T.tolist(), like.cosines.tolist(), strict=True):
        assert abs(cosine - cosines[i, j]) < 1e-5
        errors.append(((hidden[i] - hidden[j]).abs() @ net.compare[0])[0].item() - cosine)
    assert len(errors) == N * (4 + ENDS)  # k = 4 leaves fewer than ENDS similar ones
    torch.testing.assert_close(net.similarity_loss(found, Key(0)).item(), np.mean(np.square(errors)), **CLOSE)


def test_the_pairs_of_an_epoch_are_drawn_from_the_key(monkeypatch):
    monkeypatch.setattr("gdamn.baselines.simp_gcn.PAIRS", 20)
    graph = build()
    x = feature_block(dense(graph), "none", 0.0, CPU)
    like = similar(x, 4, CPU)
    net = SimPGCN(gcn_adjacency(graph.structure, CPU), like, WIDTH, C, SimPGCNSettings(hidden=HIDDEN))
    net.initialise("xavier", torch.Generator().manual_seed(1))
    _, hidden = net.passes(x, Key(0))
    first, again, other = (net.similarity_loss(hidden, key).item() for key in (Key(1), Key(1), Key(2)))
    assert first == again != other
