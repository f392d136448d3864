"""The counter-based noise: two bodies with the same bits, uniform, and independent along indices and keys."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from scipy import stats

from gdamn.kernels import Key
from gdamn.kernels.noise import uniform, uniform_torch

MASK = (1 << 64) - 1
N = 100_000


@numba.njit
def compiled(key, index):
    out = np.empty(len(index), np.float32)
    for i in range(len(index)):
        out[i] = uniform(key, np.uint64(index[i]))
    return out


def numbers(key: Key, index: np.ndarray) -> np.ndarray:
    return compiled(np.uint64(key.value), index)


@pytest.mark.parametrize("value", [0, 1, 12345, (1 << 63) - 1, 1 << 63, MASK])
def test_both_bodies_have_the_same_bits(value):
    index = np.concatenate([np.arange(1000), 2 ** np.arange(62), np.array([2**62 + 12345, 2**63 - 1])])
    fast = numbers(Key(value), index)
    plain = uniform_torch(Key(value), torch.as_tensor(index)).numpy()
    assert fast.dtype == plain.dtype == np.float32
    assert np.array_equal(fast, plain)


def test_shape_of_the_index_is_kept():
    index = torch.arange(12).reshape(3, 4)
    assert torch.equal(uniform_torch(Key(3), index).reshape(-1), uniform_torch(Key(3), torch.arange(12)))


@pytest.mark.parametrize("key", [Key(0), Key(1), Key(0).fold("gdamn").fold(3)])
def test_uniform(key):
    u = numbers(key, np.arange(N)).astype(float)
    assert 0 < u.min() < u.max() <= 1
    assert abs(u.mean() - 0.5) < 4 * np.sqrt(1 / 12 / N)
    assert abs(u.var() - 1 / 12) < 4 * np.sqrt(1 / 180 / N)
    assert stats.kstest(u, "uniform").pvalue > 1e-3


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    return abs(float(np.corrcoef(a, b)[0, 1]))


@pytest.mark.parametrize("lag", [1, 2, 3, 64, 1024])
def test_neighbouring_indices_are_independent(lag):
    u = numbers(Key(5).fold("x"), np.arange(N + lag))
    assert correlation(u[:-lag], u[lag:]) < 4 / np.sqrt(N)


def test_neighbouring_keys_are_independent():
    index = np.arange(N)
    root = Key(5)
    streams = [numbers(k, index) for k in (root, root.fold(0), root.fold(1), root.fold("a"), root.fold(0).fold(0))]
    for i, a in enumerate(streams):
        for b in streams[:i]:
            assert correlation(a, b) < 4.5 / np.sqrt(N)


def test_one_index_along_epochs_is_uniform():
    """What one edge sees over many epochs."""
    root = Key(0).fold("M")
    u = np.array([uniform_torch(root.fold(epoch), torch.tensor([17])).item() for epoch in range(2000)])
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    assert correlation(u[:-1], u[1:]) < 4 / np.sqrt(2000)


def test_fold_gives_distinct_keys():
    children = [Key(seed).fold(part) for seed in range(50) for part in [*range(200), "a", "b", "edges", "input"]]
    grand = [Key(seed).fold(a).fold(b) for seed in range(10) for a in range(20) for b in range(20)]
    values = [k.value for k in children + grand]
    assert len(set(values)) == len(values)
    assert all(0 <= v <= MASK for v in values)


def test_fold_is_a_pure_function_and_order_matters():
    assert Key(1).fold("a") == Key(1).fold("a")
    assert Key(1).fold("a").fold("b") != Key(1).fold("b").fold("a")
    assert Key(1).fold(1) != Key(1).fold("1")


def unmix(z: int) -> int:
    """The inverse of SplitMix64's finaliser."""
    z ^= (z >> 31) ^ (z >> 62)
    z = z * pow(0x94D049BB133111EB, -1, 1 << 64) & MASK
    z ^= (z >> 27) ^ (z >> 54)
    z = z * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & MASK
    return z ^ (z >> 30) ^ (z >> 60)


@pytest.mark.parametrize(
    "hashed",
    [0, MASK],
)
def test_the_ends_of_the_interval_are_open(hashed):
    """A key whose hash at index 0 is the smallest or the largest: 0 or 1 would make the logistic noise infinite."""
    key = Key((unmix(hashed) - 0x9E3779B97F4A7C15) & MASK)
    assert 0 < float(numbers(key, np.arange(1))[0]) < 1
    assert 0 < uniform_torch(key, torch.arange(1)).item() < 1
