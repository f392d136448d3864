"""Products of rows that two processes share have the values and gradients of the whole; both are played by one here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from gdamn.graph.pattern import Pattern
from gdamn.graph.shared_pattern import SharedPattern
from gdamn.kernels import Key, gram, spmm

N, HALF, RATE = 24, 12, 0.3


@dataclass(frozen=True, eq=False)
class Played(SharedPattern):
    """The rows of one of two processes; what the other would send is taken from ``whole``, and kept in ``sent``."""

    outside: np.ndarray | None = None
    whole: Tensor | None = None
    sent: Tensor | None = None

    def arriving(self, own: Tensor) -> tuple[Tensor, Callable[[], None]]:
        columns = torch.cat([own.detach(), torch.full((len(self.outside), own.shape[1]), torch.nan)])

        def wait() -> None:
            columns[len(own) :] = self.whole[self.outside]

        return columns, wait

    def leaving(self, columns: Tensor) -> Callable[[], Tensor]:
        self.sent[self.outside] += columns[self.shape[0] :]  # what leaves is final; the own rows may not be
        columns[self.shape[0] :] = torch.nan
        return lambda: columns[: self.shape[0]].clone()


def halves(directed: bool) -> tuple[Pattern, list[tuple[slice, slice, Played]]]:
    """A + I of a random graph, and for each half of its rows the slice of nodes, of entries, and its pattern."""
    rng = np.random.default_rng(1)
    dense = rng.random((N, N)) < 0.2
    dense |= np.eye(N, dtype=bool)
    matrix = sp.csr_array(dense if directed else dense | dense.T)
    whole = Pattern.from_csr(matrix.indptr, matrix.indices, (N, N))
    found = []
    for first in (0, HALF):
        begin, end = matrix.indptr[first], matrix.indptr[first + HALF]
        columns = matrix.indices[begin:end]
        own = (columns >= first) & (columns < first + HALF)
        outside = np.unique(columns[~own])
        local = np.where(own, columns - first, HALF + np.searchsorted(outside, columns))
        pointers = matrix.indptr[first : first + HALF + 1] - begin
        pattern = Played.from_csr(pointers, local, (HALF, HALF + len(outside)))
        pattern = replace(pattern, first_entry=int(begin), outside=outside)
        found.append((slice(first, first + HALF), slice(begin, end), pattern))
    return whole, found


def apart(
    found: list[tuple[slice, slice, Played]], x: Tensor, grad: Tensor, run: Callable, scale: float = 1.0
) -> tuple[Tensor, Tensor]:
    """What both processes compute, and the gradient of x: their own, with what the other has sent, times ``scale``."""
    sent, outs, grads = torch.zeros_like(x), [], []
    for nodes, entries, pattern in found:
        played = replace(pattern, whole=x, sent=sent)
        own = x[nodes].clone().requires_grad_()
        out = run(played, nodes, entries, own)
        out.backward(grad[nodes] if out.ndim == 2 else grad[entries])
        outs.append(out.detach())
        grads.append(own.grad)
    return torch.cat(outs), torch.cat(grads) + scale * sent


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("width", [3, 16, 70])
def test_gram(directed: bool, width: int) -> None:
    whole, found = halves(directed)
    x = torch.randn(N, width, generator=torch.Generator().manual_seed(0))
    grad = torch.randn(whole.num_entries, generator=torch.Generator().manual_seed(1))
    assert [pattern.symmetric_inside for *_, pattern in found] == [not directed] * 2
    known = x.clone().requires_grad_()
    expected = gram(whole, known, 0.7)
    expected.backward(grad)
    out, d_x = apart(found, x, grad, lambda p, _, __, own: gram(p, own, 0.7), 0.7)
    assert torch.equal(out, expected.detach())
    torch.testing.assert_close(d_x, known.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("width", [3, 16, 70])
def test_spmm_with_dropout_and_bias(directed: bool, width: int) -> None:
    whole, found = halves(directed)
    generator = torch.Generator().manual_seed(0)
    x, grad, bias = (torch.randn(*size, generator=generator) for size in ((N, width), (N, width), (width,)))
    values, key = torch.rand(whole.num_entries, generator=generator), Key(3)
    known, weights = x.clone().requires_grad_(), values.clone().requires_grad_()
    expected = spmm(whole, weights, known, bias, RATE, key)
    expected.backward(grad)
    mine = values.clone().requires_grad_()
    out, d_x = apart(found, x, grad, lambda p, _, entries, own: spmm(p, mine[entries], own, bias, RATE, key))
    assert torch.equal(out, expected.detach())
    torch.testing.assert_close(d_x, known.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(mine.grad, weights.grad, rtol=1e-4, atol=1e-5)


def test_rows_are_inner_or_outer() -> None:
    _, found = halves(directed=False)
    for *_, pattern in found:
        inner, outer = pattern.inner_rows.rows, pattern.outer_rows.rows
        assert sorted([*inner, *outer]) == list(range(HALF))
        assert all((pattern.indices[pattern.rows == row] < HALF).all() for row in inner)
        assert all((pattern.indices[pattern.rows == row] >= HALF).any() for row in outer)
        assert pattern.halo_blocks[0] == pattern.own_blocks[-1] == HALF


def test_rows_without_entries() -> None:
    pattern = SharedPattern.from_csr(np.array([0, 0, 1, 1, 2, 2]), np.array([5, 0]), (5, 6))
    assert list(pattern.inner_rows.rows) == [0, 2, 3, 4]
    assert list(pattern.outer_rows.rows) == [1]
    assert not pattern.symmetric_inside
