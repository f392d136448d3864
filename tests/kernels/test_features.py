"""Propagated features, and a first layer behind a norm and dropout, against plain torch in float64."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from torch import nn

from gdamn.kernels import Key, Pattern, norm_dropout_linear, propagated, set_threads, use_kernels
from gdamn.kernels.features import Columns

both = pytest.mark.parametrize("path", ["fast", "torch"])


def graph(nodes: int, share: float) -> tuple[Pattern, torch.Tensor]:
    rng = np.random.default_rng(0)
    rows, columns = np.nonzero(rng.random((nodes, nodes)) < share)
    pattern = Pattern.from_sorted(rows, columns, (nodes, nodes))
    return pattern, torch.as_tensor(rng.random(pattern.num_entries), dtype=torch.float32) / (nodes * share)


def with_moments(x: torch.Tensor) -> Columns:
    return Columns(x, x.double().mean(0), x.double().var(0, unbiased=False))


@both
@pytest.mark.parametrize(("width", "steps"), [(5, 3), (32, 0), (32, 1), (75, 4)])
def test_propagated_features_are_sums_of_powers(path, width, steps):
    pattern, values = graph(90, 0.1)
    generator = torch.Generator().manual_seed(width)
    x, factors = torch.randn(90, width, generator=generator) + 3, torch.rand(90, generator=generator).round()
    matrix = torch.zeros(90, 90, dtype=torch.float64)
    matrix[torch.as_tensor(pattern.rows).long(), torch.as_tensor(pattern.indices).long()] = values.double()
    power = total = x.double() * factors.double()[:, None]
    for _ in range(steps):
        power = matrix @ power
        total = total + power
    with use_kernels(path):
        found = propagated(pattern, values, x, factors, steps)
    for mine, right in zip(found, with_moments(total), strict=True):
        assert torch.allclose(mine.double(), right, rtol=1e-5, atol=1e-5)


@both
@pytest.mark.parametrize("rate", [0.0, 0.6])
@pytest.mark.parametrize(("rows", "width", "hidden"), [(3, 7, 5), (201, 26, 32), (450, 10, 20)])
def test_norm_dropout_linear(path, rate, rows, width, hidden):
    """The float64 side goes through torch's own norm; its dropout draws the same noise."""
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(rows, width, generator=generator) * 2 + 1
    gamma, beta, bias = (torch.randn(n, generator=generator) for n in (width, width, hidden))
    weight, outer = torch.randn(width, hidden, generator=generator), torch.randn(rows, hidden, generator=generator)

    def result(dtype: torch.dtype, kernels: str | None) -> list[torch.Tensor]:
        norm = nn.BatchNorm1d(width).to(dtype)
        norm.weight.data, norm.bias.data = gamma.to(dtype), beta.to(dtype)
        w, b = weight.to(dtype).requires_grad_(), bias.to(dtype).requires_grad_()
        with use_kernels(kernels):
            out = norm_dropout_linear(with_moments(x.to(dtype)), norm, w, b, rate, Key(4))
            grads = torch.autograd.grad(out, [norm.weight, norm.bias, w, b], outer.to(dtype))
            moved = norm.running_mean, norm.running_var
            norm.eval()
            evaluated = norm_dropout_linear(with_moments(x.to(dtype)), norm, w, b, rate, None)
        return [out, *grads, *moved, evaluated]

    for mine, right in zip(result(torch.float32, path), result(torch.float64, None), strict=True):
        assert torch.allclose(mine.double(), right, rtol=1e-3, atol=2e-3), (mine.double() - right).abs().max()


def test_same_bits_of_features_on_one_thread_and_on_two():
    pattern, values = graph(300, 0.1)
    x = torch.randn(300, 80, generator=torch.Generator().manual_seed(0))

    def everything(threads: int) -> list[torch.Tensor]:
        limit = set_threads(threads)
        columns, norm = propagated(pattern, values, x, torch.ones(300), 3), nn.BatchNorm1d(80)
        weight, bias = torch.ones(80, 32, requires_grad=True), torch.zeros(32, requires_grad=True)
        out = norm_dropout_linear(columns, norm, weight, bias, 0.5, Key(2))
        grads = torch.autograd.grad(out.square().sum(), [norm.weight, norm.bias, weight, bias])
        set_threads(limit)
        return [*columns, out, *grads]

    before = numba.get_num_threads()
    one, two = everything(1), everything(2)
    numba.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
