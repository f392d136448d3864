"""The layers of the baselines against PyTorch Geometric's, or against their formulas on dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GENConv

from gdamn import Graph
from gdamn.baselines.alagat import ALaGAT, ALaGATSettings
from gdamn.baselines.alagcn import ALaGCN
from gdamn.baselines.cs_gnn import CSGNN, SLOWER, CSGNNSettings, cut_smallest, smallest
from gdamn.baselines.deepergcn import TEMPERATURE, DeeperGCN, aggregate
from gdamn.baselines.grand import GRAND
from gdamn.data import load
from gdamn.estimators.registry import make
from gdamn.fit.training import Adam
from gdamn.kernels import Key, use_kernels
from gdamn.model.adjacency import gcn_adjacency
from gdamn.model.inputs import feature_block
from gdamn.model.propagators import MLP, without_nodes

CPU = torch.device("cpu")
N, WIDTH, C, HIDDEN, HEADS = 30, 9, 4, 6, 3
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
both = pytest.mark.parametrize("path", ["fast", "torch"])


pytestmark = pytest.mark.usefixtures("one_thread")


def build(weighted: bool) -> Graph:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, N - 1, (2, 70))  # the last node is isolated
    x = rng.standard_normal((N, WIDTH)) * (rng.random((N, WIDTH)) < 0.5)
    return Graph.build(edges, x, weights=rng.uniform(0.1, 2, 70) if weighted else None)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def graph(request) -> Graph:
    return build(request.param)


@pytest.fixture(scope="module")
def plain() -> Graph:
    return build(False)


def block(graph: Graph, rate: float = 0.0, sparse: bool = False):
    x = np.asarray(graph.features)
    return feature_block(sp.csr_array(x) if sparse else x, "none", rate, CPU)


def dense(graph: Graph) -> torch.Tensor:
    return torch.as_tensor(np.asarray(graph.features))


def matrix(graph: Graph, values) -> torch.Tensor:
    """The entries on A + I as a matrix."""
    p = graph.structure.pattern
    return torch.as_tensor(sp.csr_array((np.asarray(values), p.indices, p.indptr), shape=p.shape).toarray())


def started(net, seed: int = 1):
    """All weights started, and those that start alike or at 0 moved, where a mistake would hide."""
    net.initialise("xavier", torch.Generator().manual_seed(seed))
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.ndim == 1 or (parameter == parameter.flatten()[0]).all():
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
        for name, value in net.named_buffers():  # statistics of batch normalisation
            if value.dtype.is_floating_point:
                value.copy_(torch.rand(value.shape, generator=generator) + (0.5 if "var" in name else 0))
    return net.eval()


def alagat(structure, layers: int, rate: float) -> ALaGAT:
    """ALaGAT with both kinds of dropout at the rate."""
    s = ALaGATSettings(hidden=HIDDEN, heads=HEADS, layers=layers, dropout_hidden=rate, dropout_attention=rate)
    return ALaGAT(structure, CPU, WIDTH, C, s)


def networks(graph: Graph, rate: float = 0.0):
    """Each network on the graph, with dropout at the rate."""
    s, sizes = graph.structure, (WIDTH, HIDDEN, C)
    csgnn = CSGNNSettings(
        hidden=HIDDEN, layers=3, cut=0.3, dropout_hidden=rate, dropout_attention=rate, dropout_input=rate
    )
    return {
        "deepergcn": DeeperGCN(s, *sizes, 3, rate),
        "alagcn": ALaGCN(gcn_adjacency(s, CPU), *sizes, 4, rate),
        "alagat": alagat(s, 3, rate),
        "cs-gnn": CSGNN(s, CPU, WIDTH, C, csgnn),
    }


NAMES = ["deepergcn", "alagcn", "alagat", "cs-gnn"]


def evaluated(path: str, net, graph: Graph) -> torch.Tensor:
    with use_kernels(path), torch.no_grad():
        return net(block(graph, 0.5), None)


# --- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_dropout_is_drawn_from_the_key(graph, name):
    net = started(networks(graph, 0.4)[name])
    before = torch.get_rng_state()
    first, again, other = (net(block(graph, 0.5), key) for key in (Key(1), Key(1), Key(2)))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first, net(block(graph, 0.5), None))


@pytest.mark.parametrize("name", NAMES)
def test_same_gradient_by_both_kernels_and_on_sparse_features(graph, name):
    net = started(networks(graph)[name])
    results = []
    for path in ("fast", "torch"):
        for sparse in (False, True):
            with use_kernels(path):
                logits = net(block(graph, 0.0, sparse), Key(0))
                results.append(torch.autograd.grad(logits.square().mean(), list(net.parameters())))
    assert all((g != 0).any() for g in results[0])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


@pytest.fixture(scope="module")
def words() -> Graph:
    graph = load("sbm", num_nodes=3000, degree=10, num_features=32)
    rng = np.random.default_rng(0)
    x = sp.csr_array(np.where(rng.random((3000, 400)) < 0.03, rng.random((3000, 400)), 0), dtype=np.float32)
    return replace(graph, features=x)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two cores")
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("deepergcn", {"layers": 3, "hidden": 16}),
        ("alagcn", {}),
        ("alagat", {}),
        ("cs-gnn", {}),
        ("grand", {}),
        ("grand", {"batch_norm": True}),
    ],
)
def test_same_bits_on_one_thread_and_on_two(words, name, settings):
    one, two = (make(name, overrides={"epochs": 2, **settings, "threads": t}).fit(words) for t in (1, 2))
    assert one.history_ == two.history_
    for key, value in one.tensors_.items():
        assert value.tobytes() == two.tensors_[key].tobytes(), key


# --- DeeperGCN -------------------------------------------------------------------------------------------------------


def generalised(net: DeeperGCN, layer: int) -> GENConv:
    """PyG's layer with our weights."""
    conv = GENConv(HIDDEN, HIDDEN, aggr="softmax_sg", t=TEMPERATURE, num_layers=1, bias=True)
    with torch.no_grad():
        conv.mlp[0].weight.copy_(net.later[layer].T)
        conv.mlp[0].bias.copy_(net.bias[layer + 1])
    return conv


@both
@pytest.mark.parametrize("layers", [1, 3])
def test_deepergcn_equals_that_of_pyg(path, plain, layers):
    net = started(DeeperGCN(plain.structure, WIDTH, HIDDEN, C, layers, 0.5))
    p = plain.structure.pattern
    edges = torch.stack([torch.as_tensor(p.indices), torch.as_tensor(p.rows)]).long()  # with a loop at every node
    with torch.no_grad():
        h = generalised(net, 0)(dense(plain) @ net.first[0] + net.bias[0], edges)
        for layer in range(1, layers):
            h = h + generalised(net, layer)(torch.relu(net.norms[layer - 1](h)), edges)
        wanted = torch.relu(net.norms[-1](h)) @ net.later[-1] + net.bias[-1]
    torch.testing.assert_close(evaluated(path, net, plain), wanted, **CLOSE)


@both
def test_the_softmax_of_messages_passes_no_gradient(path, plain):
    """As PyG's softmax_sg."""
    p = plain.structure.pattern
    edges = torch.stack([torch.as_tensor(p.indices), torch.as_tensor(p.rows)]).long()
    conv = GENConv(HIDDEN, HIDDEN, aggr="softmax_sg", t=0.7, num_layers=1, bias=True)
    with torch.no_grad():
        conv.mlp[0].weight.copy_(torch.eye(HIDDEN))
        conv.mlp[0].bias.zero_()
    h = torch.randn(N, HIDDEN, generator=torch.Generator().manual_seed(3)).requires_grad_()
    scale = torch.randn(N, HIDDEN, generator=torch.Generator().manual_seed(4))
    (wanted,) = torch.autograd.grad((conv(h, edges) * scale).sum(), h)
    with use_kernels(path):
        (found,) = torch.autograd.grad(((h + aggregate(plain.structure, h, 0.7)) * scale).sum(), h)
    torch.testing.assert_close(found, wanted, **CLOSE)


def test_large_messages_do_not_overflow(plain):
    h = torch.full((N, 2), 1e6)
    h[0] = 0
    assert torch.isfinite(aggregate(plain.structure, h, 5.0)).all()


# --- ALaGCN and ALaGAT -----------------------------------------------------------------------------------------------


def standard(x: torch.Tensor) -> torch.Tensor:
    return (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt()


def gate(net, shares: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    """z [N, K] from shares [N, K, C]."""
    s = torch.stack([shares[i, :, c] for i, c in enumerate(own)])
    r = shares.clamp_min(1e-5)
    u = -(r * r.log()).sum(2)
    one, two = net.gates.threshold
    return torch.sigmoid(one - standard(s)) * torch.sigmoid(two - standard(u))


@both
@pytest.mark.parametrize("layers", [1, 2, 5])
@torch.no_grad()
def test_alagcn_by_dense_matrices(path, graph, layers):
    adjacency = gcn_adjacency(graph.structure, CPU)
    net = started(ALaGCN(adjacency, WIDTH, HIDDEN, C, layers, 0.5))
    a, s = matrix(graph, graph.structure.weights), matrix(graph, adjacency.values)
    degree = a.sum(1, keepdim=True)
    h = s @ dense(graph) @ net.first[0] + net.bias[0]
    before = torch.ones(N, 1)
    for _ in range(layers - 1):
        own = (h @ net.later[0] + net.bias[1]).argmax(1)
        z = gate(net, (a / degree @ F.one_hot(own, C).float())[:, None], own)
        h = h + torch.minimum(before, z) * (a @ h) / degree.sqrt()
        before = z
    torch.testing.assert_close(evaluated(path, net, graph), h @ net.later[0] + net.bias[1], **CLOSE)


def attention(a: torch.Tensor, h: torch.Tensor, target: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """[N, N] weights of one head."""
    mass = a * torch.exp(F.leaky_relu(h @ target[:, None] + (h @ source)[None], 0.2))
    return mass / mass.sum(1, keepdim=True)


@both
@pytest.mark.parametrize("layers", [1, 2, 4])
@torch.no_grad()
def test_alagat_by_dense_matrices(path, graph, layers):
    net = started(alagat(graph.structure, layers, 0.5))
    a = matrix(graph, graph.structure.weights)
    degree = a.sum(1)[:, None, None]

    def collect(h: torch.Tensor, pair: int) -> tuple[torch.Tensor, torch.Tensor]:
        alphas = [attention(a, h[:, k], net.target[pair][k], net.source[pair][k]) for k in range(HEADS)]
        return torch.stack([alpha @ h[:, k] for k, alpha in enumerate(alphas)], 1), torch.stack(alphas)

    h, _ = collect((dense(graph) @ net.first[0]).view(N, HEADS, HIDDEN), 0)
    before = torch.ones(N, 1)
    for _ in range(layers - 1):
        own = (h.flatten(1) @ net.later[0] + net.bias[0]).argmax(1)
        near, alphas = collect(h, 1)
        z = gate(net, (alphas @ F.one_hot(own, C).float()).transpose(0, 1) / degree, own)
        h = h + torch.minimum(before, z)[:, :, None] * near / degree.sqrt()
        before = z
    wanted = h.flatten(1) @ net.later[0] + net.bias[0]
    torch.testing.assert_close(evaluated(path, net, graph), wanted, **CLOSE)


@both
@torch.no_grad()
def test_the_first_layer_of_alagat_is_that_of_pyg(path, plain):
    net = started(alagat(plain.structure, 1, 0.0))
    conv = GATConv(WIDTH, HIDDEN, HEADS, bias=False)
    conv.lin.weight.copy_(net.first[0].T)
    conv.att_src.copy_(net.source[0][None])
    conv.att_dst.copy_(net.target[0][None])
    wanted = conv(dense(plain), plain.to_pyg().edge_index) @ net.later[0] + net.bias[0]
    torch.testing.assert_close(evaluated(path, net, plain), wanted, **CLOSE)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 20])
def test_the_smallest_are_those_of_a_stable_sort(count):
    values = torch.as_tensor([3, 0, 2, 0, 1, 2, 2, 0, 5, 1, 2, 0, 4, 4, 0, 1, 2, 3, 0, 2], dtype=torch.float32)
    expected = torch.zeros(20, dtype=torch.bool)
    expected[torch.argsort(values, stable=True)[:count]] = True
    assert torch.equal(smallest(values, count), expected)


def test_gates_learn_their_thresholds(plain):
    net = started(networks(plain)["alagcn"])
    net(block(plain), Key(0)).square().sum().backward()
    assert (net.gates.threshold.grad != 0).all()


def test_decoupled_decay_is_that_of_adamw(plain):
    """Up to the order of decay and step, a difference of the size η² λ."""
    ours, theirs = (started(networks(plain)["alagcn"]) for _ in range(2))
    model = make("alagcn", overrides={"learning_rate": 0.01, "weight_decay": 0.5})
    adam, adamw = Adam(model.groups(ours), 0.01), torch.optim.AdamW(theirs.parameters(), lr=0.01, weight_decay=0.5)
    for step in range(5):
        for net, optimiser in ((ours, adam), (theirs, adamw)):
            optimiser.zero_grad()
            net(block(plain), Key(step)).square().mean().backward()
            optimiser.step()
        model.stepped(ours)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=5 * 5 * 0.01**2 * 0.5)


# --- CS-GNN ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_the_cut_takes_the_smallest_and_keeps_the_total(share):
    alpha = torch.rand(40, generator=torch.Generator().manual_seed(0)) + 0.01
    free = torch.ones(40, dtype=torch.bool)
    free[::4] = False
    alpha = (alpha * free).requires_grad_()
    kept = cut_smallest(alpha, free, share)
    count = 30 - int(share * 30)
    assert int((kept > 0).sum()) == count
    if count:
        assert alpha[kept > 0].min() >= alpha[(kept == 0) & free].max() if count < 30 else True
        torch.testing.assert_close(kept.sum(), alpha.sum())
        assert (torch.autograd.grad(kept.sum(), alpha)[0] > 0).sum() == count
    else:
        assert (kept == 0).all()


@both
@pytest.mark.parametrize("layers", [1, 3])
@torch.no_grad()
def test_cs_gnn_by_dense_matrices(path, graph, layers):
    s = CSGNNSettings(hidden=HIDDEN, layers=layers, cut=0.3)
    net = started(CSGNN(graph.structure, CPU, WIDTH, C, s))
    free = matrix(graph, graph.structure.weights * graph.structure.free)
    h = dense(graph)
    for layer in range(layers):
        both_, value = (net.first[0], net.first[1]) if layer == 0 else (net.attention[layer - 1], net.value[layer - 1])
        c, q = (h @ both_ * SLOWER).chunk(2, 1)
        scores = F.elu((c[:, None] * (q[None] - c[:, None])).sum(2))  # ⟨q_j - c_i, c_i⟩
        mass = free * torch.exp(scores)
        alpha = mass / mass.sum(1, keepdim=True).clamp_min(1e-30)
        smallest = alpha[free > 0].sort().values[: int(0.3 * int((free > 0).sum()))]
        kept = alpha * (alpha > smallest[-1])
        alpha = kept * alpha.sum() / kept.sum()
        near = alpha @ (h @ value) + (h @ net.residual[layer - 1] if layer else 0)
        h = F.elu(torch.cat([near, h @ value], 1))
    wanted = h @ net.last[0] + net.bias[0]
    torch.testing.assert_close(evaluated(path, net, graph), wanted, **CLOSE)


# --- GRAND -----------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("sparse", [False, True])
@torch.no_grad()
def test_grand_with_batch_norm_by_dense_matrices(path, graph, sparse):
    adjacency = gcn_adjacency(graph.structure, CPU)
    net = started(GRAND(MLP(WIDTH, HIDDEN, C, 3, 0.5, True), adjacency, steps=3, drop_node=0.4, batch_norm=True))
    s = matrix(graph, adjacency.values)
    mean = sum(torch.linalg.matrix_power(s, k) for k in range(4)) / 4

    def answer(x: torch.Tensor) -> torch.Tensor:
        h = net.input_norm(mean @ x) @ net.body.first[0] + net.body.bias[0]
        for norm, weight, bias in zip(net.body.norms, net.body.later, list(net.body.bias)[1:], strict=True):
            h = norm(torch.relu(h)) @ weight + bias
        return h

    with use_kernels(path):
        (found,) = net(block(graph, 0.5, sparse), None)
        net.body.rate = 0.0
        (drawn,) = net(block(graph, 0.0, sparse), Key(5))
        mask = (without_nodes(torch.ones(N, 1), net.drop_node, Key(5).fold(0)) > 0).float()
    torch.testing.assert_close(found, answer(0.6 * dense(graph)), **CLOSE)
    torch.testing.assert_close(drawn, answer(mask * dense(graph)), **CLOSE)


def test_the_shifted_start_of_grand(plain):
    net = GRAND(MLP(500, 64, C, 2, 0.0, False), gcn_adjacency(plain.structure, CPU), 1, 0.5)
    net.initialise("shifted", torch.Generator().manual_seed(0))
    weight = net.body.first[0]
    assert abs(weight.mean().item() + 64**-0.5) < 0.005
    assert abs(weight.std().item() - 64**-0.5) < 0.005


# --- GMNN with GAT ---------------------------------------------------------------------------------------------------


def test_gmnn_gat_has_a_gat_for_labels_and_on_request_for_features():
    graph = load("sbm", num_nodes=90, num_classes=3, num_features=8, train_per_class=5, val_per_class=5)
    short = {"epochs": 2, "pretrain_epochs": 2, "hidden": 4, "threads": 1}
    a, b = (make("gmnn-gat", overrides={**short, **more}).fit(graph) for more in ({}, {"propagator": "gat"}))
    attention = {"target.0", "source.0"}
    for model, networks_with in ((a, {"p"}), (b, {"p", "q"})):
        for network, prefix in (("p", "p.decoder."), ("q", "q.")):
            assert ({prefix + name for name in attention} <= set(model.tensors_)) == (network in networks_with)
    assert a.tensors_["p.decoder.first.0"].shape == (3, 8 * 4)  # labels alone, 8 heads
    assert a.edge_weights_ is None
    assert not np.array_equal(a.probabilities_, b.probabilities_)
