"""Dense products, batch normalisation and the wide cases of the sparse products, on both paths."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from gdamn.kernels import Key, Pattern, dropout, gram, matmul, norm_relu_dropout, relu_dropout, sddmm, spmm, use_kernels
from gdamn.kernels.threads import use_threads

both = pytest.mark.parametrize("path", ["fast", "torch"])
several = settings(max_examples=25, deadline=None)


def draw(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def value_and_gradients(function, inputs, seed: int = 9):
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = function(*leaves)
    cotangent = draw(tuple(out.shape), seed).to(out.dtype)
    return [out.detach(), *torch.autograd.grad((out * cotangent).sum(), leaves)]


def assert_same(found, wanted, tolerance: float = 3e-5) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == torch.float32
        scale = max(1.0, b.abs().max().item()) if b.numel() else 1.0
        torch.testing.assert_close(a.double() / scale, b / scale, rtol=0, atol=tolerance)


@both
@given(
    rows=st.integers(1, 700),
    depth=st.integers(1, 40),
    width=st.sampled_from([1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 40, 70]),
    plus=st.sampled_from(["none", "bias", "full"]),
    seed=st.integers(0, 99),
)
@several
def test_matmul_is_the_product_in_float64(path, rows, depth, width, plus, seed):
    inputs = [draw((rows, depth), seed), draw((depth, width), seed + 1)]
    if plus != "none":
        inputs.append(draw((width,) if plus == "bias" else (rows, width), seed + 2))
    with use_kernels(path):
        found = value_and_gradients(matmul, inputs)
    wanted = value_and_gradients(lambda x, w, b=None: x @ w + (0 if b is None else b), [t.double() for t in inputs])
    assert_same(found, wanted)


@both
def test_matmul_of_views(path):
    x, w = draw((9, 30), 1).T, draw((20, 9), 2).T
    with use_kernels(path):
        torch.testing.assert_close(matmul(x, w), x @ w)


def test_matmul_gradients_are_finite_differences():
    leaves = [draw(s, i, torch.float64).requires_grad_() for i, s in enumerate([(7, 5), (5, 3), (3,)])]
    assert torch.autograd.gradcheck(matmul, leaves)
    x, w, direction = draw((50, 8), 1), draw((8, 20), 2), draw((8, 20), 3)
    with use_kernels("fast"):
        _, _, gradient = value_and_gradients(matmul, [x, w])
        sides = [(matmul(x, w + s * direction).double() * draw((50, 20), 9)).sum() for s in (0.5, -0.5)]
    assert (sides[0] - sides[1]).item() == pytest.approx((gradient * direction).sum().item(), rel=1e-4)


def random_pattern(rows: int, columns: int, share: float, seed: int) -> Pattern:
    filled = np.random.default_rng(seed).random((rows, columns)) < share
    filled[rows // 2], filled[:, columns // 2] = True, True
    at = np.nonzero(filled)
    return Pattern.from_sorted(at[0], at[1], filled.shape)


def dense(p: Pattern, values: torch.Tensor) -> torch.Tensor:
    at = torch.as_tensor(p.rows.copy()).long(), torch.as_tensor(p.indices.copy()).long()
    return torch.zeros(p.shape, dtype=values.dtype).index_put(at, values)


@both
@given(
    shape=st.sampled_from([(300, 5), (60, 80), (5, 300), (1, 1)]),
    width=st.sampled_from([1, 7, 8, 15, 16, 17, 40, 64, 65, 100, 128, 130]),
    seed=st.integers(0, 99),
)
@several
def test_wide_products_are_those_of_dense_matrices(path, shape, width, seed):
    p = random_pattern(*shape, 0.4, seed)
    assert (len(p.spread_blocks) > 1) == (shape == (300, 5))  # the gradient in the matrix's own order
    inputs = [draw((p.num_entries,), seed), draw((p.shape[1], width), seed + 1), draw((width,), seed + 2)]
    with use_kernels(path):
        found = value_and_gradients(lambda v, h, b: spmm(p, v, h, b), inputs)
    assert_same(found, value_and_gradients(lambda v, h, b: dense(p, v) @ h + b, [t.double() for t in inputs]))
    inputs = [draw((p.shape[0], width), seed), draw((p.shape[1], width), seed + 1)]
    at = torch.as_tensor(p.rows.copy()).long(), torch.as_tensor(p.indices.copy()).long()
    with use_kernels(path):
        found = value_and_gradients(lambda a, b: sddmm(p, a, b), inputs)
    assert_same(found, value_and_gradients(lambda a, b: (a @ b.T)[at], [t.double() for t in inputs]))


@both
@pytest.mark.parametrize("rate", [0.3, 0.8])
def test_dropout_of_the_values_within_the_product(path, rate):
    p = random_pattern(30, 20, 0.4, 3)
    inputs = [draw((p.num_entries,), 1), draw((20, 17), 2)]
    with use_kernels(path):
        found = value_and_gradients(lambda v, h: spmm(p, v, h, None, rate, Key(4)), inputs)
        wanted = value_and_gradients(lambda v, h: spmm(p, dropout(v, rate, Key(4)), h), inputs)
        assert torch.equal(spmm(p, *inputs, None, rate, None), spmm(p, *inputs))
    for a, b in zip(found, wanted, strict=True):
        assert torch.equal(a, b)


@both
def test_gram_with_a_scale(path):
    p = random_pattern(12, 12, 0.4, 3)
    with use_kernels(path):
        found = value_and_gradients(lambda x: gram(p, x, -0.5), [draw((12, 16), 1)])
        wanted = value_and_gradients(lambda x: -0.5 * gram(p, x), [draw((12, 16), 1)])
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b)


def test_a_row_longer_than_a_segment_and_an_array_beyond_the_cache():
    p = random_pattern(40, 2000, 0.05, 1)
    values, h = draw((p.num_entries,), 1), draw((2000, 128), 2)
    with use_kernels("fast"):
        torch.testing.assert_close(spmm(p, values, h), dense(p, values) @ h, rtol=1e-4, atol=1e-4)


def new_norm(width: int, seed: int) -> nn.BatchNorm1d:
    norm = nn.BatchNorm1d(width)
    with torch.no_grad():
        norm.weight.copy_(draw((width,), seed))
        norm.bias.copy_(draw((width,), seed + 1))
    return norm


@both
@given(
    rows=st.sampled_from([2, 3, 63, 64, 65, 500]),
    width=st.sampled_from([1, 3, 8, 17]),
    rate=st.sampled_from([0.0, 0.4]),
    offset=st.sampled_from([0.0, 100.0]),
    seed=st.integers(0, 99),
)
@several
def test_norm_relu_dropout_is_torchs_norm(path, rows, width, rate, offset, seed):
    x = draw((rows, width), seed) + offset
    mine, theirs = new_norm(width, seed + 1), new_norm(width, seed + 1).double()
    key = Key(seed)
    with use_kernels(path):
        mask = dropout(torch.ones(rows, width), rate, key).double()
        out = norm_relu_dropout(x.requires_grad_(), mine, rate, key)
    exact = x.detach().double().requires_grad_()
    wanted = torch.relu(theirs(exact)) * mask
    cotangent = draw((rows, width), seed + 2)
    found = torch.autograd.grad((out * cotangent).sum(), [x, mine.weight, mine.bias])
    gradients = torch.autograd.grad((wanted * cotangent).sum(), [exact, theirs.weight, theirs.bias])
    tolerance = 1e-4 if offset == 0 else 1e-2  # of a difference of numbers near 100
    near = (theirs(exact).abs() < tolerance).any(0)  # a number near 0 may fall on either side of the ReLU
    if not near.any() and (rows > 3):
        assert_same([out.detach(), *found], [wanted.detach(), *gradients], tolerance * 10)
    state = mine.state_dict()
    torch.testing.assert_close(state["running_mean"].double(), reference_moment(x, "mean"), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(state["running_var"].double(), reference_moment(x, "var"), rtol=1e-3, atol=1e-3)
    assert state["num_batches_tracked"] == 1


def reference_moment(x: torch.Tensor, which: str) -> torch.Tensor:
    """The running moments after one batch, from their start 0 and 1."""
    exact = x.detach().double()
    return 0.1 * exact.mean(0) if which == "mean" else 0.9 + 0.1 * exact.var(0)


def test_norm_in_evaluation_uses_the_running_moments():
    norm = new_norm(5, 1)
    with use_kernels("fast"):
        norm_relu_dropout(3 * draw((80, 5), 2) + 1, norm, 0.5, Key(1))
        norm.eval()
        x = draw((30, 5), 3)
        with torch.no_grad():
            plain = torch.relu(norm(x))
            torch.testing.assert_close(norm_relu_dropout(x, norm, 0.5, None), plain)
        asked = norm_relu_dropout(x.requires_grad_(), norm, 0.5, None)
        assert asked.requires_grad
        torch.testing.assert_close(asked.detach(), plain)


@both
def test_relu_lets_nan_through(path):
    x = torch.tensor([[-1.0, 0.0, 2.0, float("nan")]])
    with use_kernels(path):
        out = relu_dropout(x, 0.5, None)
    assert out[0, :3].tolist() == [0, 0, 2]
    assert out[0, 3].isnan()


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two cores")
def test_same_bits_on_one_thread_and_on_two():
    x, w, b = draw((5000, 33), 1), draw((33, 40), 2), draw((40,), 3)
    p = random_pattern(3000, 20, 0.5, 1)
    values, h = draw((p.num_entries,), 4), draw((20, 40), 5)
    found = []
    before = numba.get_num_threads()
    try:
        for threads in (1, 2):
            use_threads(0 if threads == 1 else 10**9)
            numba.set_num_threads(threads)
            with use_kernels("fast"):
                results = value_and_gradients(matmul, [x, w, b])
                norm = new_norm(33, 6)
                results += value_and_gradients(lambda x, n=norm: norm_relu_dropout(x, n, 0.3, Key(1)), [x])
                results += [norm.running_mean, norm.running_var]
                results += value_and_gradients(lambda v, h: spmm(p, v, h), [values, h])
            found.append(results)
    finally:
        numba.set_num_threads(before)
    for one, two in zip(*found, strict=True):
        assert torch.equal(one, two)
