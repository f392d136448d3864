"""The objectives against torch.distributions, against plain formulas, and against finite differences."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck
from torch.distributions import Bernoulli, Categorical, kl_divergence
from torch.nn import functional

from gdamn import Graph
from gdamn.kernels import use_kernels
from gdamn.kernels.place import WHOLE, Place
from gdamn.model.objectives import (
    Counts,
    consistency,
    diverse,
    e_step_target,
    m_step_target,
    marginal_entropy,
    p_loss,
    pretrain_target,
    q_loss,
    structure_kl,
    structure_prior,
)


@pytest.fixture
def structure():
    """A triangle with a tail, and an isolated node: 4 edges, 5 loops."""
    return Graph.build([[0, 1, 2, 2], [1, 2, 0, 3]], np.ones((5, 1))).structure


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_structure_kl_leaves_out_the_loops(structure):
    logits = random(structure.pattern.num_entries)
    prior = torch.full_like(logits, 0.3)
    kl = kl_divergence(Bernoulli(logits=logits), Bernoulli(probs=prior))[torch.as_tensor(structure.free)]
    assert len(kl) == 8
    torch.testing.assert_close(structure_kl(structure, logits, prior, 8), kl.mean())
    torch.testing.assert_close(structure_kl(structure, logits, prior, 5), kl.sum() / 5)

    loops = torch.as_tensor(structure.loop)
    changed = structure_kl(structure, torch.where(loops, logits + 5, logits), prior, 8)
    torch.testing.assert_close(changed, kl.mean())
    leaf = logits.clone().requires_grad_()
    structure_kl(structure, leaf, prior, 8).backward()
    assert (leaf.grad[loops] == 0).all()
    assert (leaf.grad[~loops] != 0).all()


def test_structure_kl_of_a_graph_without_edges():
    lonely = Graph.build(np.empty((2, 0), int), np.ones((3, 1))).structure
    assert structure_kl(lonely, torch.zeros(3), torch.full((3,), 0.5), 0).item() == 0


@pytest.mark.parametrize("count", [8, 5])
def test_structure_kl_gradient(structure, count):
    logits = random(structure.pattern.num_entries).requires_grad_()
    labels = torch.softmax(random(5, 3, seed=2), 1)
    with use_kernels("torch"):
        prior = structure_prior(structure, labels, 1e-4)
        assert gradcheck(lambda x: structure_kl(structure, x, prior, count), logits)


@pytest.mark.parametrize("clamp", [1e-4, 0.1])
def test_prior_of_one_hot_labels(structure, clamp):
    labels = functional.one_hot(torch.tensor([0, 0, 1, 1, 2]), 3).float()
    prior = structure_prior(structure, labels, clamp)
    same = (labels @ labels.T)[structure.pattern.rows, structure.pattern.indices]
    torch.testing.assert_close(prior, torch.where(same > 0, 1 - clamp, clamp))


def test_prior_is_the_cosine(structure):
    labels = torch.softmax(2 * random(5, 3), 1)
    cosine = functional.cosine_similarity(labels[structure.pattern.rows], labels[structure.pattern.indices], dim=1)
    with use_kernels("torch"):
        torch.testing.assert_close(structure_prior(structure, labels, 1e-7), cosine.clamp(1e-7, 1 - 1e-7))


NODES, TRAIN, REST = 6, torch.tensor([1, 4]), torch.tensor([0, 2, 3, 5])


COUNTS = Counts(NODES, 0, 2, 4, 0)


def labelled(
    labels: torch.Tensor, train: torch.Tensor, rest: torch.Tensor, class_weights: torch.Tensor | None = None
) -> SimpleNamespace:
    """What pre-training and the E-step read of a problem."""
    counts = Counts(len(labels), 0, len(train), len(rest), 0)
    weights = {"class_weights": class_weights, "label_weights": None}
    return SimpleNamespace(labels=labels, train=train, rest=rest, counts=counts, **weights)


def known() -> torch.Tensor:
    """[N, C] one-hot on the training nodes, 0 elsewhere."""
    labels = torch.zeros(NODES, 3, dtype=torch.float64)
    labels[TRAIN] = functional.one_hot(torch.tensor([2, 0]), 3).double()
    return labels


def likelihood(logits: torch.Tensor, target: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """-Σ t log p over these nodes."""
    return functional.cross_entropy(logits[nodes], target[nodes], reduction="sum")


def test_pre_training_is_the_mean_likelihood_of_known_labels_plus_beta_entropy():
    logits = random(NODES, 3)
    target = pretrain_target(labelled(known(), TRAIN, REST))
    parts = q_loss(logits, target, 0.4, NODES)
    entropy = Categorical(logits=logits).entropy().mean()  # of all nodes, labelled or not
    torch.testing.assert_close(parts["entropy"], entropy)
    torch.testing.assert_close(parts["loss"], likelihood(logits, known(), TRAIN) / 2 + 0.4 * entropy)
    torch.testing.assert_close(
        q_loss(logits, pretrain_target(labelled(known(), TRAIN, REST)), 0.0, NODES)["loss"],
        likelihood(logits, known(), TRAIN) / 2,
    )


@pytest.mark.parametrize("how", ["means", "sums"])
def test_class_weights_make_a_weighted_mean_over_the_known_labels(how):
    """Torch's weighted cross-entropy divides by the sum of the weights, too."""
    classes, weights = torch.tensor([2, 0]), torch.tensor([3.0, 1.0, 0.5]).double()
    scaled = weights / weights[classes].mean()
    problem = labelled(known(), TRAIN, REST, scaled)
    logits = random(NODES, 3)
    wanted = functional.cross_entropy(logits[TRAIN], classes, weights)
    torch.testing.assert_close(q_loss(logits, pretrain_target(problem), 0.0, NODES)["loss"], wanted)
    posterior = torch.softmax(random(NODES, 3, seed=1), 1)
    found = q_loss(logits, e_step_target(problem, posterior, 0.8, how), 0.0, NODES)["loss"]
    others = likelihood(logits, posterior, REST)
    torch.testing.assert_close(found, wanted + 0.2 * others if how == "means" else (2 * wanted + 0.8 * others) / NODES)


def test_m_step_loss_is_minus_elbo_plus_beta_entropy():
    logits, labels = random(NODES, 3), torch.softmax(random(NODES, 3, seed=1), 1)
    kl = torch.tensor(0.3, dtype=torch.float64)
    parts = p_loss(logits, m_step_target(labels, COUNTS), kl, 0.4, 2.0, NODES)
    elbo = -functional.cross_entropy(logits, labels) - 2 * kl
    torch.testing.assert_close(parts["loss"], -elbo + 0.4 * Categorical(logits=logits).entropy().mean())
    without = p_loss(logits, m_step_target(labels, COUNTS), None, 0.0, 2.0, NODES)
    torch.testing.assert_close(without["loss"], functional.cross_entropy(logits, labels))


@pytest.mark.parametrize("how", ["means", "sums"])
def test_e_step_loss_reads_known_labels_on_l_and_the_posterior_on_u(how):
    logits = random(NODES, 3)
    labels, posterior = torch.full((NODES, 3), torch.nan).double(), torch.full((NODES, 3), torch.nan).double()
    labels[TRAIN], posterior[REST] = known()[TRAIN], torch.softmax(random(4, 3, seed=1), 1)
    found = q_loss(logits, e_step_target(labelled(labels, TRAIN, REST), posterior, 0.8, how), 0.0, NODES)["loss"]
    on_l, on_u = likelihood(logits, labels, TRAIN), likelihood(logits, posterior, REST)
    torch.testing.assert_close(found, on_l / 2 + 0.8 * on_u / 4 if how == "means" else (on_l + 0.8 * on_u) / NODES)


@pytest.mark.parametrize("beta", [0.0, 0.4])
def test_gradients_are_finite_differences(beta):
    target = m_step_target(torch.softmax(random(NODES, 3, seed=4), 1), COUNTS)
    kl = torch.tensor(0.3, dtype=torch.float64)
    assert gradcheck(lambda x: q_loss(x, target, beta, NODES)["loss"], random(NODES, 3).requires_grad_())
    assert gradcheck(lambda x: p_loss(x, target, kl, beta, 1.0, NODES)["loss"], random(NODES, 3).requires_grad_())


def test_losses_without_a_training_or_a_remaining_node():
    none = torch.zeros(0, dtype=torch.long)
    every = torch.arange(NODES)
    posterior = torch.softmax(random(NODES, 3), 1)
    assert torch.isfinite(e_step_target(labelled(posterior, every, none), posterior, 0.8, "means")).all()
    assert torch.isfinite(pretrain_target(labelled(known() * 0, none, every))).all()


@pytest.mark.parametrize("confidence", [0.0, 0.5, 1.0])
def test_consistency_by_hand(confidence):
    rng = np.random.default_rng(0)
    z = rng.standard_normal((3, 12, 4)) * 2
    p = np.exp(z) / np.exp(z).sum(2, keepdims=True)
    mean = p.mean(0)
    sharp = mean ** (1 / 0.4)
    sharp /= sharp.sum(1, keepdims=True)
    counts = mean.max(1) >= confidence
    wanted = (((p - sharp) ** 2).sum(2) * counts).mean()
    found = consistency([torch.as_tensor(part) for part in z], 0.4, confidence, 12)
    assert found.item() == pytest.approx(wanted, rel=1e-6)
    assert 0 < counts.sum() < 12 or confidence != 0.5


def test_consistency_of_equal_and_certain_passes_is_nothing():
    z = torch.eye(4).repeat(3, 1) * 60
    assert consistency([z, z], 0.5, 0.0, 12).item() == pytest.approx(0, abs=1e-12)


def mean_entropy(logits: torch.Tensor) -> torch.Tensor:
    """H(mean_i ŷ_i), as it is defined."""
    return Categorical(probs=torch.softmax(logits, 1).mean(0)).entropy()


def test_marginal_entropy_and_its_gradient_are_those_of_the_mean_prediction():
    one, other = random(NODES, 3).requires_grad_(), random(NODES, 3).requires_grad_()
    torch.testing.assert_close(marginal_entropy(one, NODES, WHOLE), mean_entropy(other))
    marginal_entropy(one, NODES, WHOLE).backward()
    mean_entropy(other).backward()
    torch.testing.assert_close(one.grad, other.grad)


def test_marginal_entropy_of_two_processes_is_that_of_all_nodes():
    logits = random(NODES, 3)
    sums = torch.softmax(logits, 1).sum(0)
    place = Place(rows=NODES, total=lambda _: torch.cat([sums, sums.new_tensor([NODES])]))
    shares = [marginal_entropy(part, NODES, place) for part in (logits[:2], logits[2:])]
    torch.testing.assert_close(sum(shares), mean_entropy(logits))


def test_with_diversity_the_entropy_term_is_the_mutual_information():
    """β (mean_i H(ŷ_i) - H(ȳ)) = -β I, with I = mean_i KL(ŷ_i ‖ ȳ); sure and even predictions have the most."""
    passes, beta = [random(NODES, 3, seed=seed) for seed in (0, 1)], 0.4
    target = torch.zeros(NODES, 3, dtype=torch.float64)
    entropies = [q_loss(logits, target, beta, NODES)["entropy"] for logits in passes]
    parts = {"loss": beta * torch.stack(entropies).mean()}
    predicted = [torch.softmax(logits, 1) for logits in passes]
    information = [
        kl_divergence(Categorical(probs=p), Categorical(probs=p.mean(0).expand(NODES, 3))).mean() for p in predicted
    ]
    found = diverse(parts, passes, beta, NODES, WHOLE)
    torch.testing.assert_close(found["loss"], -beta * torch.stack(information).mean())
    one_class = torch.tensor([[60.0, 0, 0]]).repeat(NODES, 1).double()
    assert marginal_entropy(one_class, NODES, WHOLE) == pytest.approx(0, abs=1e-9)
    even = 60 * torch.eye(3).repeat(2, 1).double()
    assert marginal_entropy(even, NODES, WHOLE) == pytest.approx(np.log(3))
