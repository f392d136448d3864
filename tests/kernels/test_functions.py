"""Every kernel on both paths, against dense float64 computations and against finite differences."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch.distributions import Bernoulli, kl_divergence
from torch.nn import functional

from gdamn.data import load
from gdamn.kernels import (
    Key,
    Pattern,
    bernoulli_kl,
    binary_concrete,
    dropout,
    edge_softmax,
    gram,
    relu_dropout,
    sddmm,
    softmax_losses,
    sparse_linear,
    spmm,
    use_kernels,
)
from gdamn.kernels.noise import uniform_torch

both = pytest.mark.parametrize("path", ["fast", "torch"])
several = settings(max_examples=15, deadline=None)


def make_pattern(filled: np.ndarray) -> Pattern:
    rows, cols = np.nonzero(filled)
    return Pattern.from_sorted(rows, cols, filled.shape)


def dense(p: Pattern, values: torch.Tensor) -> torch.Tensor:
    at = torch.as_tensor(p.rows).long(), torch.as_tensor(p.indices).long()
    return torch.zeros(p.shape, dtype=values.dtype).index_put(at, values)


def entries(p: Pattern, matrix: torch.Tensor) -> torch.Tensor:
    return matrix[torch.as_tensor(p.rows).long(), torch.as_tensor(p.indices).long()]


def dense_edge_softmax(p: Pattern, scores: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    mass = dense(p, torch.ones_like(weights) * weights) * torch.exp(dense(p, scores))
    total = mass.sum(1, keepdim=True)
    return entries(p, torch.where(total > 0, mass / torch.where(total > 0, total, 1), 0 * mass))


def draw(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def edge_weights(p: Pattern, seed: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Positive weights, a third of them 0 as the hard attention leaves them."""
    w = draw((p.num_entries,), seed, dtype)
    return torch.where(w > 0.4, 0 * w, w.abs() + 0.1)


# name -> (kernel, the dense computation of the same, its inputs)
OPERATIONS = {
    "spmm": (
        spmm,
        lambda p, v, h: dense(p, v) @ h,
        lambda p, width, seed: (draw((p.num_entries,), seed), draw((p.shape[1], width), seed + 1)),
    ),
    "sddmm": (
        sddmm,
        lambda p, a, b: entries(p, a @ b.T),
        lambda p, width, seed: (draw((p.shape[0], width), seed), draw((p.shape[1], width), seed + 1)),
    ),
    "edge_softmax": (
        edge_softmax,
        dense_edge_softmax,
        lambda p, width, seed: (draw((p.num_entries,), seed), edge_weights(p, seed + 1)),
    ),
}


def value_and_gradients(function, p: Pattern, inputs, cotangent_seed: int):
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = function(p, *leaves)
    cotangent = draw(tuple(out.shape), cotangent_seed).to(out.dtype)
    return [out.detach(), *torch.autograd.grad((out * cotangent).sum(), leaves)]


@st.composite
def patterns(sample):
    """Up to 12 x 12, with rows and columns that are empty, and others that are full."""
    rows, cols = sample(st.integers(1, 12)), sample(st.integers(1, 12))
    filled = sample(hnp.arrays(bool, (rows, cols)))
    if sample(st.booleans()):
        filled[sample(st.integers(0, rows - 1))] = True
    if sample(st.booleans()):
        filled[:, sample(st.integers(0, cols - 1))] = True
    if sample(st.booleans()):
        filled[sample(st.integers(0, rows - 1))] = False
    if sample(st.booleans()):
        filled[:, sample(st.integers(0, cols - 1))] = False
    return make_pattern(filled)


def fixed_pattern() -> Pattern:
    """A hub's row, a hub's column, an empty row, an empty column."""
    filled = np.random.default_rng(0).random((7, 6)) < 0.35
    filled[2], filled[:, 3] = True, True
    filled[4], filled[:, 5] = False, False
    return make_pattern(filled)


@both
@pytest.mark.parametrize("name", OPERATIONS)
@given(p=patterns(), width=st.sampled_from([1, 2, 3, 7, 16, 17]), seed=st.integers(0, 1000))
@several
def test_value_and_gradients_are_those_of_the_dense_computation(path, name, p, width, seed):
    kernel, reference, inputs = OPERATIONS[name]
    x = inputs(p, width, seed)
    with use_kernels(path):
        found = value_and_gradients(kernel, p, x, seed + 2)
    wanted = value_and_gradients(reference, p, [t.double() for t in x], seed + 2)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a.double(), b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_are_finite_differences_in_float64(name):
    kernel, _, inputs = OPERATIONS[name]
    p = fixed_pattern()
    x = [t.double() for t in inputs(p, 3, 5)]
    if name == "edge_softmax":
        x[1] = x[1] + 0.2  # a difference around weight 0 would step outside of the weights' range
    with use_kernels("torch"):
        assert torch.autograd.gradcheck(lambda *t: kernel(p, *t), [t.requires_grad_() for t in x])


@pytest.mark.parametrize("name", OPERATIONS)
def test_fast_gradients_are_finite_differences(name):
    """Central differences of the compiled float32 forward itself, along random directions."""
    kernel, _, inputs = OPERATIONS[name]
    p = fixed_pattern()
    x = list(inputs(p, 3, 5))
    if name == "edge_softmax":
        x[1] = x[1] + 0.2
    with use_kernels("fast"):
        _, *gradients = value_and_gradients(kernel, p, x, 9)
        for i, gradient in enumerate(gradients):
            step, direction = 1e-2, draw(tuple(x[i].shape), 20 + i)
            sides = []
            for sign in (1, -1):
                moved = [t + sign * step * direction if j == i else t for j, t in enumerate(x)]
                out = kernel(p, *moved)
                sides.append((out.double() * draw(tuple(out.shape), 9)).sum().item())
            slope = (sides[0] - sides[1]) / (2 * step)
            assert slope == pytest.approx((gradient * direction).sum().item(), rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("name", OPERATIONS)
def test_only_the_gradients_that_are_wanted(name):
    kernel, _, inputs = OPERATIONS[name]
    p = fixed_pattern()
    for wanted in (0, 1):
        x = list(inputs(p, 3, 5))
        x[wanted].requires_grad_()
        kernel(p, *x).sum().backward()
        assert x[wanted].grad is not None
        assert x[1 - wanted].grad is None


@both
def test_inputs_need_not_be_contiguous(path):
    p = fixed_pattern()
    v, h = draw((2 * p.num_entries,), 1)[::2], draw((5, p.shape[1]), 2).T
    with use_kernels(path):
        torch.testing.assert_close(spmm(p, v, h), dense(p, v) @ h)


@both
def test_a_pattern_without_entries(path):
    p = make_pattern(np.zeros((3, 2), bool))
    none = torch.zeros(0)
    with use_kernels(path):
        assert torch.equal(spmm(p, none, torch.ones(2, 4)), torch.zeros(3, 4))
        assert sddmm(p, torch.ones(3, 4), torch.ones(2, 4)).shape == (0,)
        assert edge_softmax(p, none, none).shape == (0,)
        assert torch.equal(sparse_linear(p, none, torch.ones(2, 4), 0.5, Key(1)), torch.zeros(3, 4))


@both
def test_a_row_without_weight_has_softmax_0_and_no_gradient(path):
    p = make_pattern(np.array([[1, 1, 1], [0, 1, 1], [0, 0, 0]], bool))
    scores = torch.tensor([0.5, -0.5, 2.0, 1.0, 3.0], requires_grad=True)
    weights = torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0], requires_grad=True)
    with use_kernels(path):
        soft = edge_softmax(p, scores, weights)
        (soft * torch.arange(5.0)).sum().backward()
    assert soft.tolist() == [0, 0, 0, 1, 0]
    assert scores.grad[:3].tolist() == [0, 0, 0]
    assert weights.grad[:3].tolist() == [0, 0, 0]
    assert torch.isfinite(scores.grad).all()
    assert torch.isfinite(weights.grad).all()


@both
def test_softmax_of_extreme_scores(path):
    p = make_pattern(np.ones((2, 3), bool))
    scores = torch.tensor([1e4, 1e4, -1e4, -1e4, -1e4, -2e4], requires_grad=True)
    with use_kernels(path):
        soft = edge_softmax(p, scores, torch.ones(6))
        soft.square().sum().backward()
    torch.testing.assert_close(soft, torch.tensor([0.5, 0.5, 0, 0.5, 0.5, 0]))
    assert torch.isfinite(scores.grad).all()


@both
def test_scores_of_cut_edges_do_not_overflow_the_gradient(path):
    """exp of a cut edge's score, shifted by the largest score of the kept ones, must stay finite."""
    p = make_pattern(np.ones((1, 3), bool))
    scores = torch.tensor([1000.0, -1000.0, -1000.0], requires_grad=True)
    weights = torch.tensor([0.0, 1.0, 1.0], requires_grad=True)
    with use_kernels(path):
        (edge_softmax(p, scores, weights) * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert torch.isfinite(weights.grad).all()


@both
@given(
    filled=hnp.arrays(bool, st.integers(1, 10).map(lambda n: (n, n))), undirected=st.booleans(), seed=st.integers(0, 99)
)
@several
def test_gram_is_the_product_of_the_rows_with_themselves(path, filled, undirected, seed):
    p = make_pattern(filled | filled.T if undirected else filled)
    x = draw((p.shape[0], 5), seed)
    with use_kernels(path):
        found = value_and_gradients(gram, p, [x], seed + 2)
    wanted = value_and_gradients(lambda p, x: entries(p, x @ x.T), p, [x.double()], seed + 2)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=2e-5, atol=2e-5)
    with use_kernels("torch"):
        assert torch.autograd.gradcheck(lambda x: gram(p, x), x.double().requires_grad_())


@both
@given(rows=st.integers(1, 20), classes=st.integers(1, 9), seed=st.integers(0, 99), spread=st.sampled_from([1.0, 30.0]))
@several
def test_softmax_losses(path, rows, classes, seed, spread):
    logits, target = spread * draw((rows, classes), seed), draw((rows, classes), seed + 1).abs()
    target[0] = 0  # a row that counts for nothing in the likelihood still has its entropy

    def both_sums(kernel):
        def run(_, x):
            cross, entropy = kernel(x, target.to(x.dtype))
            return torch.stack([cross, entropy])

        return run

    def reference(x, target):
        log_p = functional.log_softmax(x, 1)
        return -(target * log_p).sum(), -(log_p.exp() * log_p).sum()

    with use_kernels(path):
        found = value_and_gradients(both_sums(softmax_losses), None, [logits], seed + 2)
    wanted = value_and_gradients(both_sums(reference), None, [logits.double()], seed + 2)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-4 * spread)


def test_softmax_losses_gradient_is_a_finite_difference():
    target = torch.softmax(draw((5, 3), 1, torch.float64), 1)
    logits = draw((5, 3), 2, torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: softmax_losses(x, target), logits)
    for i in (0, 1):  # each alone
        assert torch.autograd.gradcheck(lambda x, i=i: softmax_losses(x, target)[i], logits)


@both
def test_softmax_losses_of_extreme_logits(path):
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]], requires_grad=True)
    with use_kernels(path):
        cross, entropy = softmax_losses(logits, torch.tensor([[1.0, 0, 0], [0, 1, 0]]))
        (cross + entropy).backward()
    assert cross.item() == pytest.approx(np.log(3), rel=1e-3)
    assert entropy.item() == pytest.approx(np.log(3), rel=1e-3)
    assert torch.isfinite(logits.grad).all()


@both
def test_bernoulli_kl(path):
    logits, prior = 3 * draw((200,), 1), torch.sigmoid(draw((200,), 2))
    free = torch.arange(200) % 5 != 0
    with use_kernels(path):
        found = value_and_gradients(lambda _, x: bernoulli_kl(x, prior.to(x.dtype), free), None, [logits], 3)

    def reference(_, x):
        return kl_divergence(Bernoulli(logits=x), Bernoulli(probs=prior.double()))[free].sum()

    for a, b in zip(found, value_and_gradients(reference, None, [logits.double()], 3), strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)
    exact = logits[:20].double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: bernoulli_kl(x, prior[:20].double(), free[:20]), exact)


@both
@pytest.mark.parametrize("logit", [-200.0, -50.0, 50.0, 200.0])
@pytest.mark.parametrize("prior", [1e-4, 1 - 1e-4])
def test_bernoulli_kl_of_extreme_logits(path, logit, prior):
    logits = torch.tensor([logit], requires_grad=True)
    with use_kernels(path):
        kl = bernoulli_kl(logits, torch.tensor([prior]), torch.tensor([True]))
        kl.backward()
    assert kl.item() == pytest.approx(-np.log(prior if logit > 0 else 1 - prior), rel=1e-3, abs=1e-4)
    assert torch.isfinite(logits.grad).all()


@both
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_relu_dropout_is_the_dropout_of_the_relu(path, rate):
    x = draw((300, 3), 1)
    with use_kernels(path):
        found = value_and_gradients(lambda _, x: relu_dropout(x, rate, Key(5)), None, [x], 2)
        wanted = value_and_gradients(lambda _, x: dropout(torch.relu(x), rate, Key(5)), None, [x], 2)
        assert torch.equal(relu_dropout(x, 0.5, None), torch.relu(x))
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b)


@both
@given(
    p=patterns(), width=st.sampled_from([1, 3, 16]), seed=st.integers(0, 1000), rate=st.sampled_from([0.0, 0.3, 0.9])
)
@several
def test_sparse_linear_is_the_product_with_the_dropped_matrix(path, p, width, seed, rate):
    values, weight, key = draw((p.num_entries,), seed), draw((p.shape[1], width), seed + 1), Key(seed)
    with use_kernels(path):
        dropped = dropout(values, rate, key)  # the mask is a function of the key and the position alone
        found = value_and_gradients(lambda p, w: sparse_linear(p, values, w, rate, key), p, [weight], seed)
    reference = value_and_gradients(lambda p, w: dense(p, dropped.double()) @ w, p, [weight.double()], seed)
    for a, b in zip(found, reference, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=5e-5, atol=5e-5)


@both
@pytest.mark.parametrize("rate", [0.2, 0.5, 0.8])
def test_dropout_keeps_the_right_share_and_scales(path, rate):
    n = 40_000
    x = torch.ones(n // 4, 4, requires_grad=True)
    with use_kernels(path):
        out = dropout(x, rate, Key(7))
        out.sum().backward()
    kept = out != 0
    torch.testing.assert_close(out[kept], torch.full_like(out[kept], 1 / (1 - rate)))
    assert abs(kept.float().mean().item() - (1 - rate)) < 4 * (rate * (1 - rate) / n) ** 0.5
    assert torch.equal(x.grad, out)  # the same mask and scale on the way back
    with use_kernels(path):
        assert not torch.equal(out, dropout(torch.ones(n // 4, 4), rate, Key(8)))


def test_both_paths_drop_the_same_entries():
    x = draw((501, 3), 1)
    with use_kernels("fast"):
        fast = dropout(x, 0.4, Key(5))
    with use_kernels("torch"):
        plain = dropout(x, 0.4, Key(5))
    assert torch.equal(fast == 0, plain == 0)
    torch.testing.assert_close(fast, plain)


def test_dropout_is_the_identity_without_a_key_or_a_rate():
    x = draw((5, 3), 1)
    assert dropout(x, 0.5, None) is x
    assert dropout(x, 0.0, Key(1)) is x


def relaxed(logits: torch.Tensor, pair: torch.Tensor, temperature: float, key: Key) -> torch.Tensor:
    u = uniform_torch(key, pair).double()
    return torch.sigmoid((logits + torch.log(u) - torch.log1p(-u)) / temperature)


@both
@pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0])
def test_binary_concrete_is_hard_forward_and_relaxed_backward(path, temperature):
    logits = draw((400,), 3).requires_grad_()
    pair = torch.arange(400) // 2
    free = torch.arange(400) % 7 != 0
    with use_kernels(path):
        hard = binary_concrete(logits, pair, free, temperature, Key(11))
        hard.sum().backward()
    exact = logits.detach().double().requires_grad_()
    soft = relaxed(exact, pair, temperature, Key(11))
    (slope,) = torch.autograd.grad(soft.sum(), exact)
    assert torch.equal(hard, torch.where(free, (soft > 0.5).float(), 1.0))
    torch.testing.assert_close(logits.grad.double(), torch.where(free, slope, 0.0), rtol=1e-4, atol=1e-5)


@both
def test_binary_concrete_has_the_right_mean(path):
    n, logit = 40_000, 0.7
    with use_kernels(path):
        hard = binary_concrete(torch.full((n,), logit), torch.arange(n), torch.ones(n, dtype=torch.bool), 0.5, Key(2))
    p = torch.sigmoid(torch.tensor(logit)).item()
    assert abs(hard.mean().item() - p) < 4 * (p * (1 - p) / n) ** 0.5


@both
def test_binary_concrete_of_extreme_logits(path):
    logits = torch.tensor([1e4, -1e4, 90.0, -90.0], requires_grad=True)
    with use_kernels(path):
        hard = binary_concrete(logits, torch.arange(4), torch.ones(4, dtype=torch.bool), 1e-3, Key(2))
        hard.sum().backward()
    assert hard.tolist() == [1, 0, 1, 0]
    assert logits.grad.abs().max() < 1e-30


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two cores")
def test_same_bits_on_one_thread_and_on_two():
    structure = load("sbm", num_nodes=2000, degree=12).structure
    p = structure.pattern
    pair, free = torch.as_tensor(structure.pair), torch.as_tensor(structure.free)
    before = numba.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            with use_kernels("fast"):
                results = []
                for kernel, _, inputs in OPERATIONS.values():
                    results += value_and_gradients(kernel, p, inputs(p, 17, 3), 4)
                values, weight = draw((p.num_entries,), 1), draw((p.shape[1], 5), 2)
                linear = lambda p, w, values=values: sparse_linear(p, values, w, 0.5, Key(3))  # noqa: E731
                results += value_and_gradients(linear, p, [weight], 4)
                sample = lambda p, logits: binary_concrete(logits, pair, free, 0.5, Key(3))  # noqa: E731
                results += value_and_gradients(sample, p, [values], 4)
                results += value_and_gradients(lambda p, x: dropout(x, 0.5, Key(3)), p, [values], 4)
                results += value_and_gradients(lambda p, x: relu_dropout(x, 0.5, Key(3)), p, [values], 4)
                results += value_and_gradients(gram, p, [weight], 4)
                kl = lambda p, x: bernoulli_kl(x, torch.full_like(x, 0.2), free)  # noqa: E731
                results += value_and_gradients(kl, p, [values], 4)
                losses = lambda p, x: sum(softmax_losses(x, x.detach().abs()))  # noqa: E731
                results += value_and_gradients(losses, p, [weight], 4)
            found.append(results)
    finally:
        numba.set_num_threads(before)
    assert len(found[0]) == 23
    for one, two in zip(*found, strict=True):
        assert torch.equal(one, two)


def test_the_path_is_chosen_by_dtype_and_the_choice_is_undone():
    p = fixed_pattern()
    v, h = draw((p.num_entries,), 1, torch.float64), draw((p.shape[1], 2), 2, torch.float64)
    assert spmm(p, v, h).dtype == torch.float64  # the compiled loops know float32 alone
    with pytest.raises(RuntimeError), use_kernels("fast"):
        raise RuntimeError
    assert spmm(p, v, h).dtype == torch.float64
