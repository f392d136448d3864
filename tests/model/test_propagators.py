"""The propagators against PyTorch Geometric's, and the same networks on sparse and on dense features."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric import nn as pyg_nn
from torch_geometric.nn import CorrectAndSmooth, GATConv, GCN2Conv, GCNConv, LabelPropagation, SAGEConv, SGConv

from gdamn import Graph
from gdamn.baselines.gcn_cs import GCNCSClassifier, correct, smooth
from gdamn.baselines.gcn_lpa import GCNLPAClassifier
from gdamn.baselines.grand import GRAND
from gdamn.baselines.lpa import LPAClassifier
from gdamn.baselines.sgc import SGC
from gdamn.errors import ConfigError
from gdamn.graph.normalisation import IDF_POWER
from gdamn.graph.normalisation import normalized as normalized_features
from gdamn.kernels import Key, use_kernels
from gdamn.model.adjacency import Adjacency, gcn_adjacency, neighbours, normalized
from gdamn.model.inputs import feature_block, label_block
from gdamn.model.propagators import (
    APPNP,
    DAGNN,
    GAT,
    GCN,
    GCNII,
    MAKERS,
    MLP,
    SAGE,
    Pagerank,
    RandomPropagation,
    Walk,
    draws,
    make_propagator,
    without_nodes,
)
from gdamn.model.settings import P_PROPAGATORS, Settings

CPU = torch.device("cpu")
N, WIDTH, C = 30, 9, 4
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
both = pytest.mark.parametrize("path", ["fast", "torch"])


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def graph(request) -> Graph:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, N - 1, (2, 70))  # the last node is isolated
    x = rng.standard_normal((N, WIDTH)) * (rng.random((N, WIDTH)) < 0.5)
    return Graph.build(edges, x, weights=rng.uniform(0.1, 2, 70) if request.param else None)


def network(layers: int, widths=(WIDTH,), batch_norm: bool = False, rate: float = 0.0) -> GCN:
    net = GCN(widths, 6, C, layers, rate, batch_norm)
    net.initialise("xavier", torch.Generator().manual_seed(1))
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
    learned = [p for p in net.parameters() if p.requires_grad]
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in learned)
    assert len(net.norms) == 2
    assert [bias.requires_grad for bias in net.bias] == [False, False, True]  # a norm takes its bias out again
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
@pytest.mark.parametrize("how", ["auto", "row", "unit", "binary", "idf", "standard", "none"])
def test_normalisation_of_features(sparse, how):
    rng = np.random.default_rng(0)
    x = (rng.random((20, 6)) * (rng.random((20, 6)) < 0.6)).astype(np.float32)
    x[3], x[:, 2] = 0, 0
    given = sp.csr_array(x) if sparse else x.copy()
    found = normalized_features(given, how)
    found = found.toarray() if sparse else found
    assert found.dtype == np.float32
    if how == "row" or (how == "auto" and sparse):
        total = x.sum(1, keepdims=True)
        wanted = x / np.where(total > 0, total, 1)
    elif how == "unit" and sparse:
        length = np.linalg.norm(x, axis=1, keepdims=True)
        wanted = x / np.where(length > 0, length, 1)
    elif how == "binary":
        count = (x != 0).sum(1, keepdims=True)
        wanted = (x != 0) / np.where(count > 0, count, 1)
    elif how == "idf":
        weighed = x * [0 if not n else math.log(20 / n) ** IDF_POWER for n in (x != 0).sum(0)]
        total = weighed.sum(1, keepdims=True)
        wanted = weighed / np.where(total > 0, total, 1)
    elif how in ("auto", "unit", "standard"):
        spread = x.std(0)
        wanted = (x if sparse else x - x.mean(0)) / np.where(spread > 0, spread, 1)
    else:
        wanted = x
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(given.toarray() if sparse else given, x)  # the input stays as it was


def test_new_words_weigh_as_they_do_in_the_features_of_the_fit():
    x = (np.arange(40).reshape(8, 5) % 3 > 0).astype(np.float32)
    assert np.array_equal(normalized_features(x[:3], "idf", x), normalized_features(x, "idf")[:3])
    assert not np.array_equal(normalized_features(x[:3], "idf"), normalized_features(x, "idf")[:3])


@pytest.mark.parametrize("x", [np.ones((8, 5), np.float32), sp.csr_array(np.eye(1, 5, dtype=np.float32).repeat(8, 0))])
def test_features_that_no_node_lacks_have_no_rarity(x):
    with pytest.raises(ConfigError, match="every node has each of them"):
        normalized_features(x, "idf")


WORDS = np.eye(8, dtype=np.float32)


@pytest.mark.parametrize(
    ("x", "how"),
    [
        (3 * WORDS, "row"),  # counts, mostly 0
        ((np.arange(40).reshape(8, 5) % 3 > 0).astype(np.float32), "row"),  # 0 and 1, mostly 1
        (sp.csr_array(np.arange(40, dtype=np.float32).reshape(8, 5)), "row"),
        (sp.csr_array(-3 * WORDS), "none"),
        (-3 * WORDS, "none"),
        (np.arange(40, dtype=np.float32).reshape(8, 5), "standard"),
        (np.arange(-20, 20, dtype=np.float32).reshape(8, 5), "none"),  # embeddings, or standardised by somebody
        (np.arange(-200, 200, 10, dtype=np.float32).reshape(8, 5), "standard"),
        (np.zeros((8, 0), np.float32), "none"),
        (np.zeros((0, 5), np.float32), "none"),
    ],
)
def test_auto_standardises_measurements_and_divides_counts_by_their_sum(x, how):
    found, wanted = normalized_features(x, "auto"), normalized_features(x, how)
    assert type(found) is type(wanted)
    assert (found != wanted).sum() == 0


def test_columns_far_from_0_are_standardised_too():
    """Times in seconds: their squares' difference has no digit left in single precision."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.normal(size=50_000), 1.6e9 + 1e6 * rng.normal(size=50_000), np.full(50_000, 7e8)], 1)
    found = normalized_features(x.astype(np.float32), "standard")
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-3)
    np.testing.assert_allclose(found.std(0), [1, 1, 0], atol=1e-3)


@pytest.mark.parametrize(
    ("how", "bound"), [("xavier", (6 / (WIDTH + C + 6)) ** 0.5), ("kaiming", (6 / (WIDTH + C)) ** 0.5)]
)
def test_start_of_the_weights(how, bound):
    net = GCN([C, WIDTH], 6, C, 2, 0.0)
    net.initialise(how, torch.Generator().manual_seed(0))
    weights = torch.cat([w.detach().reshape(-1) for w in net.first])
    assert 0.8 * bound < weights.abs().max() <= bound
    assert all((b == 0).all() for b in net.bias)


# --- the other propagators -------------------------------------------------------------------------------------------


def started(net, seed: int = 1):
    """All weights started, and biases away from 0, where a mistake would hide."""
    net.initialise("xavier", torch.Generator().manual_seed(seed))
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if "bias" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return net.eval()


def evaluated(path: str, net, adjacency, graph: Graph) -> torch.Tensor:
    with use_kernels(path), torch.no_grad():
        return net(adjacency, [feature_block(graph.features, "none", 0.5, CPU)], None)


def dense(graph: Graph) -> torch.Tensor:
    return torch.as_tensor(np.asarray(graph.features))


def edge_weight(graph: Graph, data) -> torch.Tensor | None:
    return data.edge_weight if graph.weights is not None else None


def perceptron(body, x: torch.Tensor) -> torch.Tensor:
    """An MLP without our kernels."""
    h = x @ body.first[0] + body.bias[0]
    for weight, bias in zip(body.later, list(body.bias)[1:], strict=True):
        h = torch.relu(h) @ weight + bias
    return h


@both
@pytest.mark.parametrize(("layers", "heads", "out_heads"), [(1, 3, 2), (2, 3, 1), (3, 2, 2)])
@torch.no_grad()
def test_equals_the_gat_of_pyg(path, graph, layers, heads, out_heads):
    """PyG's knows no weights; ours weighs the softmax by the adjacency's values, so they are 1 here."""
    net, data = started(GAT([WIDTH], 5, C, layers, 0.5, heads, out_heads)), graph.to_pyg()
    h = dense(graph)
    for i, weight in enumerate([net.first[0], *net.later]):
        last = i == layers - 1
        k = out_heads if last else heads
        conv = GATConv(weight.shape[0], weight.shape[1] // k, k, concat=not last)
        conv.lin.weight.copy_(weight.T)
        conv.att_dst.copy_(net.target[i])
        conv.att_src.copy_(net.source[i])
        conv.bias.copy_(net.bias[i])
        h = conv(h, data.edge_index)
        h = h if last else torch.nn.functional.elu(h)
    ones = torch.ones(graph.structure.pattern.num_entries)
    torch.testing.assert_close(evaluated(path, net, Adjacency(graph.structure, ones, 0.5), graph), h, **CLOSE)


def test_gat_weighs_its_softmax_by_the_graph(graph):
    net = started(GAT([WIDTH], 5, C, 2, 0.0, 2, 1))
    weights = graph.structure.tensor("weights", CPU)
    plain, weighted, doubled = (
        evaluated("fast", net, Adjacency(graph.structure, w), graph)
        for w in (torch.ones_like(weights), weights, 2 * weights)
    )
    torch.testing.assert_close(weighted, doubled, **CLOSE)
    assert torch.equal(plain, weighted) == (graph.weights is None)


@both
@pytest.mark.parametrize("layers", [1, 2, 3])
@torch.no_grad()
def test_equals_the_sage_of_pyg(path, layers):
    """PyG's has no weights and takes the mean over neighbours without the node."""
    rng = np.random.default_rng(0)
    graph = Graph.build(rng.integers(0, N - 1, (2, 70)), rng.standard_normal((N, WIDTH)))
    net, data = started(SAGE([WIDTH], 6, C, layers, 0.5)), graph.to_pyg()
    h = dense(graph)
    for i, (weight, bias) in enumerate(zip([net.first[0], *net.later], net.bias, strict=True)):
        near, own = weight.chunk(2, 1)
        conv = SAGEConv(*near.shape)
        conv.lin_l.weight.copy_(near.T)
        conv.lin_l.bias.copy_(bias)
        conv.lin_r.weight.copy_(own.T)
        h = conv(h, data.edge_index)
        h = torch.relu(h) if i < layers - 1 else h
    torch.testing.assert_close(evaluated(path, net, neighbours(graph.structure, "row", CPU), graph), h, **CLOSE)


@both
@pytest.mark.parametrize("layers", [1, 2])
@torch.no_grad()
def test_equals_the_appnp_of_pyg(path, graph, layers):
    net, data = started(APPNP(WIDTH, 6, C, layers, 0.5, steps=4, teleport=0.15)), graph.to_pyg()
    wanted = pyg_nn.APPNP(4, 0.15)(perceptron(net.body, dense(graph)), data.edge_index, edge_weight(graph, data))
    found = evaluated(path, net, gcn_adjacency(graph.structure, CPU), graph)
    torch.testing.assert_close(found, wanted, **CLOSE)


@both
@torch.no_grad()
def test_equals_the_gcnii_of_pyg(path, graph):
    net, data = started(GCNII([WIDTH], 6, C, 3, 0.5, alpha=0.2, theta=0.7)), graph.to_pyg()
    h = start = torch.relu(dense(graph) @ net.first[0] + net.bias[0])
    for i, weight in enumerate(net.later):
        conv = GCN2Conv(6, 0.2, 0.7, i + 1)
        conv.weight1.copy_(weight)
        h = torch.relu(conv(h, start, data.edge_index, edge_weight(graph, data)))
    found = evaluated(path, net, gcn_adjacency(graph.structure, CPU), graph)
    torch.testing.assert_close(found, h @ net.last + net.bias[1], **CLOSE)


@both
@torch.no_grad()
def test_equals_the_sgc_of_pyg(path, graph):
    net, data = SGC(WIDTH, C, 2), graph.to_pyg()
    started(net.body)
    conv = SGConv(WIDTH, C, 2)
    conv.lin.weight.copy_(net.body.first[0].T)
    conv.lin.bias.copy_(net.body.bias[0])
    wanted = conv(dense(graph), data.edge_index, edge_weight(graph, data))
    found = evaluated(path, net, gcn_adjacency(graph.structure, CPU), graph)
    torch.testing.assert_close(found, wanted, **CLOSE)


def whole(adjacency: Adjacency) -> torch.Tensor:
    """The adjacency as a dense matrix."""
    p = adjacency.structure.pattern
    matrix = torch.zeros(p.shape)
    matrix[torch.as_tensor(p.rows).long(), torch.as_tensor(p.indices).long()] = adjacency.values
    return matrix


@both
@torch.no_grad()
def test_dagnn_by_dense_matrices(path, graph):
    """PyG has none: the equation, written out."""
    net = started(DAGNN(WIDTH, 6, C, 2, 0.5, steps=3))
    adjacency = gcn_adjacency(graph.structure, CPU)
    s, h = whole(adjacency), perceptron(net.body, dense(graph))
    depths = torch.stack([torch.linalg.matrix_power(s, k) @ h for k in range(4)])
    wanted = (torch.sigmoid(depths @ net.gate + net.gate_bias) * depths).sum(0)
    torch.testing.assert_close(evaluated(path, net, adjacency, graph), wanted, **CLOSE)


@both
@torch.no_grad()
def test_grand_propagates_hidden_units_as_it_would_features(path, graph):
    """S^k (m ⊙ X) W = S^k (m ⊙ (X W)): in evaluation, and with the same left-out nodes in training."""
    adjacency = gcn_adjacency(graph.structure, CPU)
    net = GRAND(started(MLP(WIDTH, 6, C, 2, 0.0, False)), adjacency, steps=3, drop_node=0.4)
    x, s = dense(graph), whole(adjacency)
    mean = sum(torch.linalg.matrix_power(s, k) for k in range(4)) / 4
    block = feature_block(graph.features, "none", 0.0, CPU)
    key = Key(5)
    with use_kernels(path):
        (found,) = net(block, None)
        draws = net(block, key, samples=2)
        masks = [(without_nodes(torch.ones(N, 1), net.drop_node, key.fold(i)) > 0).float() for i in range(2)]
    torch.testing.assert_close(found, perceptron(net.body, mean @ (0.6 * x)), **CLOSE)
    assert not torch.equal(*masks)
    for draw, mask in zip(draws, masks, strict=True):
        torch.testing.assert_close(draw, perceptron(net.body, mean @ (mask * x)), **CLOSE)


FAMILY = {
    "gat": lambda rate: GAT([WIDTH], 5, C, 2, rate, 2, 1),
    "sage": lambda rate: SAGE([WIDTH], 6, C, 2, rate),
    "appnp": lambda rate: APPNP(WIDTH, 6, C, 2, rate, 3, 0.1),
    "dagnn": lambda rate: DAGNN(WIDTH, 6, C, 2, rate, 3),
    "gcnii": lambda rate: GCNII([WIDTH], 6, C, 3, rate),
}


@pytest.mark.parametrize("name", FAMILY)
def test_every_propagator_draws_its_dropout_from_the_key(graph, name):
    net = started(FAMILY[name](0.5)).train()
    adjacency = Adjacency(graph.structure, gcn_adjacency(graph.structure, CPU).values, 0.3)
    blocks = [feature_block(graph.features, "none", 0.5, CPU)]
    before = torch.get_rng_state()
    first, again, other = (net(adjacency, blocks, key) for key in (Key(1), Key(1), Key(2)))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first, net(adjacency, blocks, None))


@pytest.mark.parametrize("name", FAMILY)
def test_every_propagator_has_the_same_gradient_by_both_kernels(graph, name):
    """And on sparse features as on dense ones."""
    net = started(FAMILY[name](0.0))
    values = gcn_adjacency(graph.structure, CPU).values.clone().requires_grad_()
    results = []
    for path in ("fast", "torch"):
        for x in (np.asarray(graph.features), sp.csr_array(graph.features)):
            with use_kernels(path):
                logits = net(Adjacency(graph.structure, values), [feature_block(x, "none", 0.0, CPU)], None)
                results.append(torch.autograd.grad(logits.square().sum(), [values, *net.parameters()]))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)


# --- labels that spread ----------------------------------------------------------------------------------------------

PYG_NORMS = {
    "row": lambda d, i, j: 1 / d[i],
    "col": lambda d, i, j: 1 / d[j],
    "sym": lambda d, i, j: (d[i] * d[j]) ** -0.5,
}


@pytest.fixture(scope="module")
def labelled() -> Graph:
    rng = np.random.default_rng(4)
    edges = rng.integers(0, N - 2, (2, 60))  # two nodes that nothing reaches
    labels = rng.integers(0, C, N)
    labels[:C] = range(C)
    masks = {"train_mask": np.arange(N) < 10, "val_mask": (np.arange(N) >= 10) & (np.arange(N) < 18)}
    return Graph.build(edges, rng.standard_normal((N, WIDTH)), labels, **masks, test_mask=np.arange(N) >= 18)


def pyg_weights(graph: Graph, norm: str) -> tuple[torch.Tensor, torch.Tensor]:
    index = graph.to_pyg().edge_index
    degree = torch.bincount(index[1], minlength=N).float()
    return index, PYG_NORMS[norm](degree, index[1], index[0])


@pytest.mark.parametrize("norm", PYG_NORMS)
@pytest.mark.parametrize("alpha", [1.0, 0.9])
def test_lpa_equals_that_of_pyg(labelled, norm, alpha):
    steps = 6
    model = LPAClassifier(epochs=steps, alpha=alpha, norm=norm, threads=1)
    blind = labelled.with_masks(labelled.train_mask, [], labelled.test_mask)  # without validation the last step stays
    index, weight = pyg_weights(labelled, norm)
    train, y = torch.as_tensor(labelled.train_mask), torch.as_tensor(labelled.labels)
    known = torch.nn.functional.one_hot(y, C).float()

    def after(f: torch.Tensor) -> torch.Tensor:
        return torch.where(train[:, None], known, f.clamp(0, 1))

    wanted = LabelPropagation(steps, alpha)(y, index, train, weight, post_step=after)
    total = wanted.sum(1, keepdim=True)
    found = torch.as_tensor(model.fit(blind).probabilities_)
    reached = total[:, 0] > 0
    torch.testing.assert_close(found[reached], (wanted / total)[reached], **CLOSE)
    assert model.best_epoch_["coverage"] == pytest.approx(reached.float().mean().item())
    assert model.best_epoch_["coverage"] < 1
    prior = known[train].mean(0)
    assert (found[~reached] == prior).all()


@pytest.mark.parametrize("norms", [("row", "sym"), ("col", "row"), ("sym", "col")])
def test_correct_and_smooth_equals_that_of_pyg(labelled, norms):
    answer = torch.softmax(torch.randn(N, C, generator=torch.Generator().manual_seed(3)), 1)
    train, y = torch.as_tensor(labelled.train_mask), torch.as_tensor(labelled.labels)
    (index, first), (_, second) = (pyg_weights(labelled, norm) for norm in norms)
    pyg = CorrectAndSmooth(7, 0.9, 5, 0.7, autoscale=True)
    corrected = pyg.correct(answer, y[train], train, index, first)
    smoothed = pyg.smooth(corrected, y[train], train, index, second)

    nodes, known = train.nonzero()[:, 0], torch.nn.functional.one_hot(y, C).float()
    mine = correct(neighbours(labelled.structure, norms[0], CPU), answer, known, nodes, 0.9, 7)
    torch.testing.assert_close(mine, corrected, **CLOSE)
    mine = smooth(neighbours(labelled.structure, norms[1], CPU), mine, known, nodes, 0.7, 5)
    torch.testing.assert_close(mine, smoothed, **CLOSE)


def test_gcn_cs_without_its_two_steps_is_the_gcn(labelled):
    settings = {"epochs": 5, "threads": 1}
    model = GCNCSClassifier(**settings, correct_alpha=0.0, smooth_alpha=0.0).fit(labelled)
    np.testing.assert_allclose(model.probabilities_, model.tensors_["base_probabilities"], rtol=1e-5)
    other = GCNCSClassifier(**settings, correct_alpha=0.5).fit(labelled)
    assert np.array_equal(other.tensors_["base_probabilities"], model.tensors_["base_probabilities"])
    assert not np.array_equal(other.probabilities_, model.probabilities_)
    assert other.history_[-1] == other.best_epoch_


def test_gcn_lpa_learns_the_weights_of_edges(labelled):
    """The weights of a node sum to 1, and without their term in the loss another fit comes out."""
    fits = [GCNLPAClassifier(epochs=5, layers=2, lambda_=v, threads=1).fit(labelled) for v in (0.0, 10.0)]
    thetas = [torch.as_tensor(f.tensors_["network.theta"])[:, 0] for f in fits]
    assert not torch.equal(*thetas)
    assert fits[1].history_[-1]["lpa"] < fits[1].history_[0]["lpa"]


def random_network(steps: int, drop_node: float) -> RandomPropagation:
    net = RandomPropagation([C, WIDTH], 6, C, 2, 0.0, steps, drop_node)
    net.initialise("xavier", torch.Generator().manual_seed(0))
    return net


@both
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_random_propagation_by_hand(path, graph, steps):
    """The mean of the powers of Â on the features themselves, in front of the perceptron."""
    net, adjacency = random_network(steps, 0.3), gcn_adjacency(graph.structure, CPU)
    labels = torch.softmax(torch.randn(N, C, generator=torch.Generator().manual_seed(0)), 1)
    p = graph.structure.pattern
    a = sp.csr_array((adjacency.values.numpy(), p.indices, p.indptr), shape=p.shape).toarray()
    x = np.concatenate([labels.numpy(), np.asarray(graph.features)], 1)
    smooth = sum(np.linalg.matrix_power(a, k) @ x for k in range(steps + 1)) / (steps + 1) * (1 - 0.3)
    first = torch.cat(list(net.body.first))
    wanted = torch.relu(torch.as_tensor(smooth, dtype=torch.float32) @ first) @ net.body.later[0]
    with use_kernels(path):
        found = net(adjacency, [label_block(labels, 0.0), feature_block(graph.features, "none", 0.0, CPU)], None)
    torch.testing.assert_close(found, wanted, **CLOSE)


def test_random_propagation_is_right_in_the_mean(graph):
    """The node mask acts before a linear map, so the mean of the first product over many keys is that without one."""
    x = torch.randn(N, 6, generator=torch.Generator().manual_seed(0))
    masked = torch.stack([without_nodes(x, 0.4, Key(0).fold(i)) for i in range(2000)])
    rows = masked.abs().sum(2)
    assert torch.equal(masked, x * (rows > 0)[:, :, None])  # whole rows, not scaled
    assert 0.35 < (rows == 0).float().mean() < 0.45
    torch.testing.assert_close(masked.mean(0), without_nodes(x, 0.4, None), rtol=0, atol=0.1)


@pytest.mark.parametrize("name", MAKERS)
def test_draws_are_separate_passes(graph, name):
    """Several passes at once give what each gives alone, and they differ from each other."""
    settings = Settings(hidden=6, heads=2, steps=2, dropout_hidden=0.5)
    net = make_propagator(name, [WIDTH], C, settings, torch.Generator().manual_seed(0))
    adjacency, blocks = gcn_adjacency(graph.structure, CPU), [feature_block(graph.features, "none", 0.2, CPU)]
    found = draws(net, adjacency, blocks, Key(5), 3)
    for i, logits in enumerate(found):
        torch.testing.assert_close(logits, net(adjacency, blocks, Key(5).fold(i)), **CLOSE)
    assert not torch.equal(found[0], found[1])


@pytest.mark.parametrize("name", P_PROPAGATORS)
def test_every_propagator_carries_labels_and_features(graph, name):
    """As p: two blocks, weights that are learned, and a gradient for every parameter and every edge."""
    net = make_propagator(name, [C, WIDTH], C, Settings(hidden=6, heads=2, steps=2), torch.Generator().manual_seed(0))
    values = gcn_adjacency(graph.structure, CPU).values.clone().requires_grad_()
    labels = torch.softmax(torch.randn(N, C, generator=torch.Generator().manual_seed(0)), 1)
    blocks = [label_block(labels, 0.0), feature_block(graph.features, "none", 0.0, CPU)]
    out = net(Adjacency(graph.structure, values), blocks, Key(0))
    out.square().sum().backward()
    assert out.shape == (N, C)
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in net.parameters())
    assert values.grad is not None
    assert (values.grad != 0).any()


@both
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_pagerank_predicts_with_the_whole_matrix(path, graph, sparse, layers):
    """Against dense float64 matrices; with every entry kept, a row of training is the same."""
    walk = Walk(steps=4, teleport=0.3, top=N, threshold=0.0, drop=0.0)
    net = Pagerank(WIDTH, 6, C, layers, 0.0, walk, batch_norm=True)
    net.initialise("xavier", torch.Generator().manual_seed(0))
    for norm in (net.input_norm, *net.body.norms):
        norm.running_mean.uniform_(-1, 1, generator=torch.Generator().manual_seed(1))
        norm.running_var.uniform_(0.5, 2, generator=torch.Generator().manual_seed(2))
        norm.weight.data.uniform_(0.5, 2, generator=torch.Generator().manual_seed(3))
        norm.bias.data.uniform_(-1, 1, generator=torch.Generator().manual_seed(4))
    net.eval()
    weights = graph.structure.tensor("weights", CPU)
    p = graph.structure.pattern
    a = sp.csr_array((weights.numpy(), p.indices, p.indptr), shape=p.shape).toarray().astype(np.float64)
    a /= a.sum(1, keepdims=True)
    pi = sum(0.3 * 0.7**n * np.linalg.matrix_power(a, n) for n in range(5))
    mixed = torch.as_tensor(pi / pi.sum(1, keepdims=True) @ np.asarray(graph.features), dtype=torch.float32)
    wanted = net.body.after_first(net.input_norm(mixed) @ net.body.first[0], None)
    features = np.asarray(graph.features)
    x = feature_block(sp.csr_array(features) if sparse else features, "none", 0.0, CPU)
    adjacency, rows = Adjacency(graph.structure, weights), np.array([3, 0, 3])
    with use_kernels(path):
        torch.testing.assert_close(net(adjacency, [x], None), wanted, **CLOSE)
        torch.testing.assert_close(net.rows(walk.matrix(adjacency), x, rows, Key(1)), wanted[rows], **CLOSE)
