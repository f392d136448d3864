"""Rows of a diffusion against matrix powers, their properties, and features mixed by them on both paths."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gdamn.data import load
from gdamn.errors import GraphError
from gdamn.kernels import Key, MixedRows, Pattern, diffusion, diffusion_matrix, mixed_rows, set_threads, use_kernels

several = settings(max_examples=25, deadline=None)
ALPHA = 0.2
COEFFICIENTS = [ALPHA * (1 - ALPHA) ** n for n in range(6)]


def walk(seed: int, nodes: int) -> tuple[Pattern, torch.Tensor, np.ndarray]:
    """A random walk with loops, a third of its steps forbidden: the pattern, its values, and the dense matrix."""
    random = np.random.default_rng(seed)
    filled = (random.random((nodes, nodes)) < 0.3) | np.eye(nodes, dtype=bool)
    weights = filled * random.random((nodes, nodes)) * (random.random((nodes, nodes)) < 0.67) + np.eye(nodes)
    matrix = (weights / weights.sum(1, keepdims=True)).astype(np.float32)
    rows, columns = np.nonzero(filled)
    return Pattern.from_sorted(rows, columns, filled.shape), torch.from_numpy(matrix[rows, columns]), matrix


def dense(pattern: Pattern, values: torch.Tensor) -> np.ndarray:
    full = np.zeros(pattern.shape)
    full[pattern.rows, pattern.indices] = values.numpy()
    return full


def powers(matrix: np.ndarray) -> np.ndarray:
    return sum(c * np.linalg.matrix_power(matrix.astype(np.float64), n) for n, c in enumerate(COEFFICIENTS))


@several
@given(st.integers(0, 10_000), st.integers(2, 14))
def test_without_a_threshold_it_is_the_sum_of_powers(seed, nodes):
    pattern, values, matrix = walk(seed, nodes)
    np.testing.assert_allclose(
        dense(*diffusion_matrix(pattern, values, COEFFICIENTS, 0.0, nodes)), powers(matrix), 1e-5, 1e-7
    )


@several
@given(st.integers(0, 10_000), st.integers(2, 14), st.integers(1, 6), st.sampled_from([0.0, 1e-3, 1e-2]))
def test_a_row_keeps_its_largest_entries(seed, nodes, top, threshold):
    """What k entries keep is what all entries have at the k largest; more entries and lower thresholds keep more."""
    pattern, values, matrix = walk(seed, nodes)
    every = dense(*diffusion_matrix(pattern, values, COEFFICIENTS, threshold, nodes))
    kept, kept_values = diffusion_matrix(pattern, values, COEFFICIENTS, threshold, top)
    some, more = dense(kept, kept_values), dense(*diffusion_matrix(pattern, values, COEFFICIENTS, threshold, top + 1))
    assert (np.diff(kept.indptr) <= top).all()
    np.testing.assert_allclose(some.sum(1), np.sort(every, 1)[:, ::-1][:, :top].sum(1), 1e-5)
    assert ((some == 0) | (some == every)).all()
    assert ((some == 0) | (more == some)).all()
    assert (every <= powers(matrix) + 1e-6).all()
    assert (every.sum(1) <= 1 + 1e-6).all()


def test_equal_entries_go_to_the_lower_column():
    ring = np.roll(np.eye(5), 1, 1) + np.roll(np.eye(5), -1, 1)
    rows, columns = np.nonzero(ring)
    pattern, half = Pattern.from_sorted(rows, columns, ring.shape), torch.full((10,), 0.5)
    kept, _ = diffusion_matrix(pattern, half, [0.5, 0.5], 0.0, 2)
    assert kept.indices.reshape(5, 2).tolist() == [[0, 1], [0, 1], [1, 2], [2, 3], [0, 4]]


def test_the_bits_do_not_depend_on_the_threads():
    graph = load("karate")
    pattern, values = graph.structure.pattern, torch.ones(len(graph.structure.weights)) / 20
    before, found = set_threads(0), []
    try:
        for threads in {1, numba.config.NUMBA_NUM_THREADS}:
            set_threads(threads)
            found.append(diffusion_matrix(pattern, values, COEFFICIENTS, 1e-6, 7))
    finally:
        set_threads(before)
    for kept, kept_values in found:
        assert np.array_equal(kept.indices, found[0][0].indices)
        assert torch.equal(kept_values, found[0][1])


@pytest.mark.parametrize("path", ["fast", "torch"])
@pytest.mark.parametrize("sparse", [False, True])
def test_mixed_rows(path, sparse):
    """Against the dense product; with noise, against the rows that are left; always the same for the same entry."""
    pattern, values, _ = walk(3, 12)
    full = torch.as_tensor(dense(pattern, values), dtype=torch.float32)
    x = torch.randn(12, 5, generator=torch.Generator().manual_seed(0)) * (torch.arange(60).view(12, 5) % 3 > 0)
    at = np.nonzero(x.numpy())
    features = (Pattern.from_sorted(*at, (12, 5)), x[at]) if sparse else x
    rows = np.array([7, 2, 2, 11])
    with use_kernels(path):
        whole = mixed_rows(pattern, values, features, rows)
        torch.testing.assert_close(whole, (full / full.sum(1, keepdim=True))[rows] @ x)
        noisy = mixed_rows(pattern, values, features, rows, 0.5, Key(4))
        one = mixed_rows(pattern, values, torch.eye(12), rows, 0.5, Key(4))  # the weights themselves
        assert torch.equal(noisy[1], noisy[2])
        torch.testing.assert_close(noisy, one @ x)
        left = (one > 0) & (full[rows] > 0)
        assert left.sum() < (full[rows] > 0).sum()
        torch.testing.assert_close(one.sum(1), left.any(1).float())
        other = mixed_rows(pattern, values, features, rows, 0.5, Key(5))
        assert not torch.equal(noisy, other)
        assert torch.equal(mixed_rows(pattern, values * 0, features, rows), torch.zeros(4, 5))


def test_both_paths_drop_the_same_entries():
    pattern, values, _ = walk(5, 14)
    x, rows = torch.randn(14, 3, generator=torch.Generator().manual_seed(1)), np.arange(14)
    found = []
    for path in ("fast", "torch"):
        with use_kernels(path):
            found.append(mixed_rows(pattern, values, x, rows, 0.4, Key(9)))
    torch.testing.assert_close(*found)


def test_what_does_not_fit_is_refused():
    pattern, values, _ = walk(0, 4)
    wide = Pattern.from_sorted(np.array([0]), np.array([2]), (2, 3))
    for call in (
        lambda: diffusion_matrix(wide, torch.ones(1), [1.0]),
        lambda: diffusion_matrix(pattern, values[1:], [1.0]),
        lambda: diffusion_matrix(pattern, -values, [1.0]),
        lambda: diffusion_matrix(pattern, values, [1.0, -1.0]),
        lambda: diffusion_matrix(pattern, values, [1.0], top=0),
        lambda: mixed_rows(pattern, values, torch.ones(3, 2), np.array([0])),
        lambda: mixed_rows(pattern, values, torch.ones(4, 2), np.array([4])),
        lambda: mixed_rows(pattern, values, (wide, torch.ones(1)), np.array([0])),
    ):
        with pytest.raises(GraphError):
            call()


@pytest.mark.parametrize("hidden", [5, 32, 72])
@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.5, 0.6)])
def test_a_layer_on_mixed_rows_is_that_of_the_rows_themselves(hidden, rates, monkeypatch):
    """Value and gradient, with the same noise, with a row twice and one of no entries, for any number of threads."""
    monkeypatch.setattr(diffusion, "WIDE", 0)
    pattern, values, _ = walk(3, 12)
    values = values * torch.as_tensor(pattern.rows != 7)
    random = torch.Generator().manual_seed(0)
    x = torch.randn(12, 9, generator=random) * (torch.arange(108).view(12, 9) % 3 > 0)
    at = np.nonzero(x.numpy())
    features = Pattern.from_sorted(*at, (12, 9)), x[at]
    mixed = MixedRows((pattern, values), features, np.array([7, 2, 2, 11]), rates[0], Key(4), rates[1], Key(5))
    grad, found = torch.randn(4, hidden, generator=random), []
    weight = torch.randn(9, hidden, generator=random, requires_grad=True)
    before = set_threads(0)
    try:
        for threads in {1, numba.config.NUMBA_NUM_THREADS}:
            set_threads(threads)
            (slope,) = torch.autograd.grad(mixed.linear(weight), weight, grad)
            found.append((mixed.linear(weight), slope))
    finally:
        set_threads(before)
    expected = mixed.made() @ weight
    for product, slope in found:
        torch.testing.assert_close(product, expected)
        torch.testing.assert_close(slope, torch.autograd.grad(expected, weight, grad, retain_graph=True)[0])
        assert torch.equal(product, found[0][0])
        assert torch.equal(slope, found[0][1])
    assert torch.equal(found[0][0][0], torch.zeros(hidden))
    assert not torch.equal(found[0][0][1], found[0][0][2]) or rates[1] == 0  # dropout is a row's own


def test_a_layer_on_narrow_features_is_a_dense_product(monkeypatch):
    pattern, values, _ = walk(3, 12)
    features = Pattern.from_sorted(np.arange(12), np.arange(12), (12, 12)), torch.ones(12)
    mixed, weight = MixedRows((pattern, values), features, np.arange(12), 0.3, Key(4)), torch.eye(12)
    monkeypatch.setattr(diffusion.MixedLinear, "apply", None)
    assert torch.equal(mixed.linear(weight), mixed.made())
    monkeypatch.setattr(diffusion, "WIDE", 0)
    with pytest.raises(GraphError, match="weight"):
        mixed.linear(torch.eye(11))
