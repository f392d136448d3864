"""The decoupled attention against the paper's equations, computed densely."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from gdamn import Graph
from gdamn.kernels import Key, use_kernels
from gdamn.kernels.noise import uniform_torch
from gdamn.model.attention import HardAttention, SoftAttention, soft_weights, stable, tempered
from gdamn.model.inputs import feature_block

CPU = torch.device("cpu")
N, F_IN, C = 12, 7, 3
both = pytest.mark.parametrize("path", ["fast", "torch"])


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Weighted, with a hub and an isolated node."""
    rng = np.random.default_rng(1)
    edges = np.concatenate([rng.integers(0, N - 1, (2, 25)), np.stack([np.zeros(8, int), np.arange(1, 9)])], axis=1)
    weights = rng.uniform(0.2, 3, edges.shape[1])
    return Graph.build(edges, rng.standard_normal((N, F_IN)), np.arange(N) % C, weights=weights)


@pytest.fixture(scope="module")
def labels() -> torch.Tensor:
    return torch.softmax(2 * random(N, C), 1)


def dense(graph: Graph, values: torch.Tensor) -> torch.Tensor:
    """[N, N] of values on the entries of A + I."""
    p = graph.structure.pattern
    return torch.zeros(N, N).index_put((torch.as_tensor(p.rows).long(), torch.as_tensor(p.indices).long()), values)


def hard_attention(symmetric: bool = False) -> HardAttention:
    hard = HardAttention(C, 0.5, symmetric)
    with torch.no_grad():
        hard.Q.copy_(2 * random(C, C, seed=3))
    return hard


def soft_attention() -> SoftAttention:
    soft = SoftAttention(F_IN, 5)
    with torch.no_grad():
        soft.W_proj.copy_(random(F_IN, 5, seed=4))
        soft.s.copy_(random(5, seed=5))
    return soft


@both
@pytest.mark.parametrize("symmetric", [False, True])
def test_hard_attention_is_the_masked_sigmoid_of_the_bilinear_form(path, graph, labels, symmetric):
    hard = hard_attention(symmetric)
    with use_kernels(path):
        found = dense(graph, hard.probabilities(graph.structure, hard.logits(graph.structure, labels)))
    Q = (hard.Q + hard.Q.T) / 2 if symmetric else hard.Q
    adjacency = torch.as_tensor((graph.to_scipy().toarray() > 0).astype(np.float32))
    wanted = adjacency * torch.sigmoid(labels @ Q @ labels.T) + torch.eye(N)
    torch.testing.assert_close(found, wanted)


def test_q_starts_as_the_identity_so_that_equal_labels_keep_their_edge(graph):
    hard = HardAttention(C, 0.5, False)
    one_hot = functional.one_hot(torch.arange(N) % C, C).float()
    logits = hard.logits(graph.structure, one_hot)
    same = (one_hot @ one_hot.T)[graph.structure.pattern.rows, graph.structure.pattern.indices]
    assert torch.equal(logits, same)


@pytest.mark.parametrize("temperature", [0.1, 0.5, 3.0])
def test_tempered_labels_are_the_softmax_of_their_logarithm(labels, temperature):
    wanted = functional.softmax(labels.double().log() / temperature, dim=1).float()
    torch.testing.assert_close(tempered(labels, temperature), wanted)


def test_tempered_labels_are_the_same_at_1_and_known_ones_at_any_temperature(labels):
    assert tempered(labels, 1.0) is labels
    one_hot = functional.one_hot(torch.arange(N) % C, C).float()
    for temperature in (1e-3, 0.1, 10.0):
        assert torch.equal(tempered(one_hot, temperature), one_hot)
    likeliest = functional.one_hot(labels.argmax(1), C).float()
    torch.testing.assert_close(tempered(labels, 1e-3), likeliest)


@both
def test_samples_have_the_right_mean_and_loops_stay(path, graph, labels):
    hard, draws = hard_attention(), 2000
    structure = graph.structure
    with torch.no_grad(), use_kernels(path):
        logits = hard.logits(structure, labels)
        count = torch.zeros_like(logits)
        for i in range(draws):
            sample = hard.sample(structure, logits, Key(3).fold(i))
            assert ((sample == 0) | (sample == 1)).all()
            count += sample
    p = torch.sigmoid(logits)
    free = torch.as_tensor(structure.free)
    deviations = ((count / draws - p) / torch.sqrt(p * (1 - p) / draws))[free]
    assert deviations.abs().max() < 4
    assert (count[~free] == draws).all()


@both
def test_both_directions_agree_when_q_is_symmetric(path, graph, labels):
    structure = graph.structure
    hard = hard_attention(symmetric=True)
    with torch.no_grad(), use_kernels(path):
        for i in range(50):
            sample = dense(graph, hard.sample(structure, hard.logits(structure, labels), Key(i)))
            assert torch.equal(sample, sample.T)


@both
def test_straight_through_gradient_is_the_slope_of_the_relaxation(path, graph, labels):
    hard, structure, key = hard_attention(), graph.structure, Key(9)
    cotangent = random(structure.pattern.num_entries, seed=6)
    with use_kernels(path):
        sample = hard.sample(structure, hard.logits(structure, labels), key)
        (found,) = torch.autograd.grad((sample * cotangent).sum(), hard.Q)

    Q = hard.Q.detach().double().requires_grad_()
    logits = (labels.double() @ Q @ labels.double().T)[structure.pattern.rows, structure.pattern.indices]
    u = uniform_torch(key, torch.as_tensor(structure.pair)).double()
    relaxed = torch.sigmoid((logits + torch.log(u) - torch.log1p(-u)) / hard.temperature)
    relaxed = torch.where(torch.as_tensor(structure.free), relaxed, 1.0)
    (wanted,) = torch.autograd.grad((relaxed * cotangent).sum(), Q)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-5)
    assert torch.equal(sample, (relaxed > 0.5).float())


def dense_soft(soft: SoftAttention, x: torch.Tensor, existing: torch.Tensor) -> torch.Tensor:
    """The paper's equation for A^soft, node by node."""
    h = [soft.s * torch.relu(soft.W_proj.T @ x_i) for x_i in x]
    delta = torch.stack([torch.stack([-functional.cosine_similarity(a, b, dim=0) for b in h]) for a in h])
    mass = existing * torch.exp(delta)
    return mass / mass.sum(1, keepdim=True)


@both
def test_soft_attention_is_the_papers_equation(path, graph):
    structure, soft = graph.structure, soft_attention()
    x = torch.as_tensor(graph.features)
    existing = torch.as_tensor(structure.weights) * (random(structure.pattern.num_entries, seed=7) > -0.3)
    existing = torch.where(torch.as_tensor(structure.loop), 1.0, existing)
    block = feature_block(graph.features, "none", 0.0, CPU)
    cotangent = random(structure.pattern.num_entries, seed=8)
    with use_kernels(path):
        found = soft_weights(structure, soft.scores(structure, block), existing)
        gradients = torch.autograd.grad((found * cotangent).sum(), [soft.W_proj, soft.s])
    wanted = dense_soft(soft, x, dense(graph, existing))
    torch.testing.assert_close(dense(graph, found), wanted, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(dense(graph, found).sum(1), torch.ones(N))
    exact = torch.autograd.grad((wanted * dense(graph, cotangent)).sum(), [soft.W_proj, soft.s])
    for a, b in zip(gradients, exact, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)


def test_dissimilar_neighbours_weigh_more():
    """A path a - b - c where b's features equal a's: b listens to c."""
    g = Graph.build([[0, 1], [1, 2]], np.array([[1.0, 0], [1, 0], [0, 1]]))
    soft = SoftAttention(2, 2)
    with torch.no_grad():
        soft.W_proj.copy_(torch.eye(2))
    scores = soft.scores(g.structure, feature_block(g.features, "none", 0.0, CPU))
    row = soft_weights(g.structure, scores, torch.ones(len(scores))).detach()[2:5]
    torch.testing.assert_close(row, torch.softmax(torch.tensor([-1.0, -1.0, 0.0]), 0))


def test_a_node_without_features_is_as_similar_to_all(graph):
    x = np.array(graph.features)
    x[0] = 0
    soft = soft_attention()
    scores = soft.scores(graph.structure, feature_block(x, "none", 0.0, CPU))
    scores.sum().backward()
    assert (dense(graph, scores)[0] == 0).all()
    assert torch.isfinite(soft.W_proj.grad).all()


def test_weights_of_the_graph_count(graph):
    """Equal scores: A^soft is each edge's share of its row's weight, with weight 1 on the loop."""
    structure = graph.structure
    weights = torch.as_tensor(structure.weights)
    found = dense(graph, soft_weights(structure, torch.zeros(len(weights)), weights))
    wanted = torch.as_tensor(graph.to_scipy().toarray()).float() + torch.eye(N)
    torch.testing.assert_close(found, wanted / wanted.sum(1, keepdim=True))


def test_stable_is_the_product():
    hard, soft, existing = torch.rand(9), torch.rand(9), torch.rand(9)
    assert torch.equal(stable(hard, soft, existing, "stable"), hard * soft)
    assert torch.equal(stable(hard, soft, existing, "hard"), hard * existing)
