"""The GCN against PyTorch Geometric's, and the same network on sparse and on dense features."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.nn import GCNConv

from gdamn import Graph
from gdamn.adjacency import Adjacency, gcn_adjacency, normalized
from gdamn.inputs import feature_block, label_block
from gdamn.inputs import normalized as normalized_features
from gdamn.kernels import Key, use_kernels
from gdamn.propagators import GCN, initialise_gcn

CPU = torch.device("cpu")
N, WIDTH, C = 30, 9, 4
both = pytest.mark.parametrize("path", ["fast", "torch"])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """On tiny graphs threads only wait for each other."""
    before = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    yield
    torch.set_num_threads(before[0])
    numba.set_num_threads(before[1])


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def graph(request) -> Graph:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, N - 1, (2, 70))  # the last node is isolated
    x = rng.standard_normal((N, WIDTH)) * (rng.random((N, WIDTH)) < 0.5)
    return Graph.build(edges, x, weights=rng.uniform(0.1, 2, 70) if request.param else None)


def network(layers: int, widths=(WIDTH,), batch_norm: bool = False, rate: float = 0.0) -> GCN:
    net = GCN(widths, 6, C, layers, rate, batch_norm)
    initialise_gcn(net, "xavier", torch.Generator().manual_seed(1))
    with torch.no_grad():
        for bias in net.bias:
            bias.copy_(torch.randn(bias.shape, generator=torch.Generator().manual_seed(2)))
    return net


@both
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_equals_the_gcn_of_pyg(path, graph, layers):
    net, data = network(layers), graph.to_pyg()
    weights = [net.first[0], *net.later]
    h = torch.as_tensor(np.asarray(graph.features))
    for i, (weight, bias) in enumerate(zip(weights, net.bias, strict=True)):
        conv = GCNConv(*weight.shape)
        with torch.no_grad():
            conv.lin.weight.copy_(weight.T)
            conv.bias.copy_(bias)
        h = conv(h, data.edge_index, data.edge_weight if graph.weights is not None else None)
        h = torch.relu(h) if i < layers - 1 else h
    with use_kernels(path):
        found = net(gcn_adjacency(graph.structure, CPU), [feature_block(graph.features, "none", 0.0, CPU)], None)
    torch.testing.assert_close(found, h, rtol=1e-5, atol=1e-5)


@both
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_sparse_and_dense_features_give_the_same(path, graph, rate):
    """Without dropout; with it both draw from the key, but over different positions."""
    net = network(2)
    adjacency = gcn_adjacency(graph.structure, CPU)
    results = []
    for x in (np.asarray(graph.features), sp.csr_array(graph.features)):
        with use_kernels(path):
            logits = net(adjacency, [feature_block(x, "none", rate, CPU)], None)
            results.append([logits, *torch.autograd.grad(logits.square().sum(), list(net.parameters()))])
    for dense, sparse in zip(*results, strict=True):
        torch.testing.assert_close(dense, sparse, rtol=1e-4, atol=1e-4)


@both
def test_blocks_side_by_side_are_one_concatenated_input(path, graph):
    net = network(2, (C, WIDTH))
    whole = network(2, (C + WIDTH,))
    with torch.no_grad():
        whole.first[0].copy_(torch.cat([net.first[0], net.first[1]]))
        whole.later[0].copy_(net.later[0])
    labels = torch.softmax(torch.randn(N, C, generator=torch.Generator().manual_seed(0)), 1)
    x = torch.as_tensor(np.asarray(graph.features))
    adjacency = gcn_adjacency(graph.structure, CPU)
    with use_kernels(path):
        parts = net(adjacency, [label_block(labels, 0.0), feature_block(graph.features, "none", 0.0, CPU)], None)
        one = whole(adjacency, [label_block(torch.cat([labels, x], 1), 0.0)], None)
    torch.testing.assert_close(parts, one, rtol=1e-5, atol=1e-5)


def test_dropout_is_drawn_from_the_key(graph):
    net = network(3, rate=0.5)
    adjacency = Adjacency(graph.structure, gcn_adjacency(graph.structure, CPU).values, 0.3)
    blocks = [feature_block(graph.features, "none", 0.5, CPU)]
    first, again, other = (net(adjacency, blocks, key) for key in (Key(1), Key(1), Key(2)))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first, net(adjacency, blocks, None))


@pytest.mark.parametrize("where", ["input", "edges"])
def test_dropout_is_right_in_the_mean(graph, where):
    """In one linear layer the mean over many keys is the value without dropout."""
    net = network(1)
    values = gcn_adjacency(graph.structure, CPU).values
    adjacency = Adjacency(graph.structure, values, 0.4 if where == "edges" else 0.0)
    blocks = [feature_block(graph.features, "none", 0.4 if where == "input" else 0.0, CPU)]
    with torch.no_grad():
        draws = torch.stack([net(adjacency, blocks, Key(0).fold(i)) for i in range(1000)])
        exact = net(adjacency, blocks, None)
    deviation = (draws.mean(0) - exact) / (draws.std(0) / 1000**0.5 + 1e-6)
    assert deviation.abs().max() < 4.5
    assert (draws.std(0) > 0).any()


def test_batch_norm(graph):
    net = network(3, batch_norm=True)
    adjacency, blocks = gcn_adjacency(graph.structure, CPU), [feature_block(graph.features, "none", 0.5, CPU)]
    net.train()
    out = net(adjacency, blocks, Key(1))
    out.square().sum().backward()
    assert out.shape == (N, C)
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in net.parameters())
    assert len(net.norms) == 2
    net.eval()
    with torch.no_grad():
        assert torch.equal(net(adjacency, blocks, None), net(adjacency, blocks, None))


def test_an_isolated_node_keeps_its_own_message(graph):
    net = network(1)
    x = np.asarray(graph.features)
    adjacency = gcn_adjacency(graph.structure, CPU)
    out = net(adjacency, [feature_block(graph.features, "none", 0.0, CPU)], None)
    torch.testing.assert_close(out[-1], torch.as_tensor(x[-1]) @ net.first[0] + net.bias[0])


@pytest.mark.parametrize("how", ["none", "row", "sym"])
def test_normalisation_of_weights(graph, how):
    structure, p = graph.structure, graph.structure.pattern
    values = torch.rand(p.num_entries, generator=torch.Generator().manual_seed(1)) + 0.1
    found = sp.csr_array((normalized(structure, values, how).numpy(), p.indices, p.indptr), shape=p.shape).toarray()
    a = sp.csr_array((values.numpy(), p.indices, p.indptr), shape=p.shape).toarray()
    r, c = a.sum(1, keepdims=True), a.sum(0, keepdims=True)
    wanted = {"none": a, "row": a / r, "sym": a / np.sqrt(r * c)}[how]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("how", ["auto", "row", "standard", "none"])
def test_normalisation_of_features(sparse, how):
    rng = np.random.default_rng(0)
    x = (rng.random((20, 6)) * (rng.random((20, 6)) < 0.6)).astype(np.float32)
    x[3], x[:, 2] = 0, 0
    given = sp.csr_array(x) if sparse else x.copy()
    found = normalized_features(given, how)
    found = found.toarray() if sparse else found
    assert found.dtype == np.float32
    if how in ("auto", "row"):
        total = x.sum(1, keepdims=True)
        wanted = x / np.where(total > 0, total, 1)
    elif how == "standard":
        spread = x.std(0)
        wanted = (x if sparse else x - x.mean(0)) / np.where(spread > 0, spread, 1)
    else:
        wanted = x
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(given.toarray() if sparse else given, x)  # the input stays as it was


def test_auto_leaves_features_with_negative_values_alone():
    x = np.array([[1.0, -1.0], [2.0, 2.0]], np.float32)
    assert normalized_features(x, "auto") is x


@pytest.mark.parametrize(
    ("how", "bound"), [("xavier", (6 / (WIDTH + C + 6)) ** 0.5), ("kaiming", (6 / (WIDTH + C)) ** 0.5)]
)
def test_start_of_the_weights(how, bound):
    net = GCN([C, WIDTH], 6, C, 2, 0.0)
    initialise_gcn(net, how, torch.Generator().manual_seed(0))
    weights = torch.cat([w.detach().reshape(-1) for w in net.first])
    assert 0.8 * bound < weights.abs().max() <= bound
    assert all((b == 0).all() for b in net.bias)
