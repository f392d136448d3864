"""Sparse rows of a diffusion over a graph, features mixed by some of them, and a first layer on these.

Only the layer is differentiable, and only in its weights.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd import Function

from ..errors import GraphError
from ..graph.pattern import Pattern
from .checks import check_shape, check_types
from .noise import Key, uniform_torch
from .numba import diffusion as loops
from .ops import dropout
from .paths import array, dropout_arguments, is_fast
from .threads import use_threads

Features = tuple[Pattern, Tensor]
"""A sparse matrix: its pattern, and a value per entry."""

WIDE = 4096
"""From so many columns on a first layer meets the entries of sparse features; below, mixed rows are as fast."""


def diffusion_matrix(
    pattern: Pattern, values: Tensor, coefficients: Sequence[float], threshold: float = 0.0, top: int = 16
) -> tuple[Pattern, Tensor]:
    """The largest entries of each row of Σ_n c_n P^n for P ≥ 0 on a square pattern, by forward push from every node.

    With a threshold of 0 and as many entries as there are nodes it is exact. A walk does not go on from a node where
    all that could still come of it is at most ``threshold`` times the node's number of entries. Rows are made one by
    one, each by one thread: the bits don't depend on the number of threads, and no array of N² exists.

    Args:
        values: [E] P.
        coefficients: c_0, c_1, …; none negative.
        top: entries that a row keeps, of equal ones those of the lower columns.

    Returns:
        The pattern [N, N] of at most ``top`` entries a row, and their values, float32 on the device of P's.
    """
    check_shape("diffusion_matrix", "values", values, pattern.num_entries)
    check_types("diffusion_matrix", values)
    nodes = pattern.shape[0]
    if pattern.shape[1] != nodes:
        raise GraphError(f"diffusion_matrix: the pattern must be square; got {list(pattern.shape)}.")
    weights = np.asarray(coefficients, np.float64)
    if top < 1 or weights.ndim != 1 or len(weights) == 0 or not (weights >= 0).all() or not threshold >= 0:
        raise GraphError("diffusion_matrix: top must be at least 1, and coefficients and threshold not negative.")
    top = min(top, nodes)
    columns, kept = np.zeros((nodes, top), np.int32), np.zeros((nodes, top), np.float32)
    counts = np.zeros(nodes, np.int64)
    given = array(values.detach().to("cpu", torch.float32))
    if not (given >= 0).all():
        raise GraphError("diffusion_matrix: values must not be negative.")
    use_threads(pattern.num_entries * len(weights) * nodes)
    matrix = pattern.indptr, pattern.indices, given
    loops.diffuse(matrix, weights, float(threshold), pattern.blocks, columns, kept, counts)
    there = np.arange(top) < counts[:, None]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return Pattern.from_csr(indptr, columns[there], pattern.shape), torch.from_numpy(kept[there]).to(values.device)


def mixed_rows(
    pattern: Pattern,
    values: Tensor,
    x: Tensor | Features,
    rows: NDArray[np.int64],
    rate: float = 0.0,
    key: Key | None = None,
) -> Tensor:
    """Σ_j m_ij π_ij x_j / Σ_j m_ij π_ij for some rows i of Π: [B, F]; 0 for a row that loses all its entries.

    m leaves out entries with probability ``rate``, as a function of the key and of the entry's place in Π.

    Args:
        values: [E] Π on the pattern.
        x: [K, F] dense, or sparse as a pattern with values.
        rows: [B].
    """
    data = _check(pattern, values, x, rows)
    rate = 0.0 if key is None else rate
    if not is_fast(values, data):
        return _mixed_by_torch(pattern, values, x, rows, rate, key or Key(0))
    width = x.shape[1] if isinstance(x, Tensor) else x[0].shape[1]
    out = np.empty((len(rows), width), np.float32)
    matrix = np.ascontiguousarray(rows, np.int64), pattern.indptr, pattern.indices, array(values)
    noise = np.float32(rate), np.uint64((key or Key(0)).value)
    use_threads(len(rows) * width)
    if isinstance(x, Tensor):
        loops.mix_dense(*matrix, *noise, array(x), out)
    else:
        loops.mix_sparse(*matrix, *noise, (x[0].indptr, x[0].indices, array(data)), out)
    return torch.from_numpy(out)


def _check(pattern: Pattern, values: Tensor, x: Tensor | Features, rows: NDArray[np.int64]) -> Tensor:
    """Refuse what doesn't fit; returns the numbers of x."""
    check_shape("mixed_rows", "values", values, pattern.num_entries)
    data = x if isinstance(x, Tensor) else x[1]
    check_types("mixed_rows", values, data)
    if isinstance(x, Tensor):
        check_shape("mixed_rows", "x", x, pattern.shape[1], -1)
    elif x[0].shape[0] != pattern.shape[1] or len(data) != x[0].num_entries:
        raise GraphError(f"mixed_rows: x must have {pattern.shape[1]} rows and a value for each of its entries.")
    if len(rows) and not (rows.min() >= 0 and rows.max() < pattern.shape[0]):
        raise GraphError(f"mixed_rows: rows must lie between 0 and {pattern.shape[0] - 1}.")
    return data


@dataclass(frozen=True, eq=False)
class MixedRows:
    """Rows of :func:`mixed_rows` that are not made yet, behind dropout.

    Attributes:
        matrix: Π, its pattern and values.
        features: X.
        rows: [B].
        rate, key: which entries of Π are left out.
        input_rate, input_key: dropout of the mixed features; none without a key.
    """

    matrix: tuple[Pattern, Tensor]
    features: Tensor | Features
    rows: NDArray[np.int64]
    rate: float
    key: Key
    input_rate: float = 0.0
    input_key: Key | None = None

    def made(self) -> Tensor:
        """The rows: [B, F]."""
        mixed = mixed_rows(*self.matrix, self.features, self.rows, self.rate, self.key)
        return dropout(mixed, self.input_rate, self.input_key)

    def linear(self, weight: Tensor) -> Tensor:
        """The rows times W [F, H]: [B, H], differentiable in W.

        Where X is sparse and wide, its entries meet W one by one: nothing as wide as X is made.
        """
        pattern, values = self.matrix
        x = self.features
        if isinstance(x, Tensor) or x[0].shape[1] < WIDE or not is_fast(values, x[1], weight):
            return self.made() @ weight
        _check(pattern, values, x, self.rows)
        check_shape("mixed_rows", "weight", weight, x[0].shape[1], -1)
        return MixedLinear.apply(weight, self)

    def terms(self) -> tuple[Any, ...]:
        """The entries of X that meet W: where those of each row begin and end [B], their columns and factors [M]."""
        (pattern, values), (x, data) = self.matrix, cast(Features, self.features)
        rows = np.ascontiguousarray(self.rows, np.int64)
        entries, _ = pattern.select_rows(rows)
        sizes = np.concatenate([[0], np.cumsum(np.diff(x.indptr)[entries.indices])])[entries.indptr]
        begin, end = sizes[:-1].copy(), np.empty(len(rows), np.int64)
        columns, parts = np.empty(sizes[-1], np.int32), np.empty(sizes[-1], np.float32)
        noise = dropout_arguments(self.input_rate if self.input_key else 0.0, self.input_key or Key(0))
        matrix, drawn = (
            (pattern.indptr, pattern.indices, array(values)),
            (np.float32(self.rate), np.uint64(self.key.value)),
        )
        terms = begin, end, columns, parts
        use_threads(10 * len(parts))
        loops.mix_entries(rows, matrix, drawn, (x.indptr, x.indices, array(data)), x.shape[1], noise, terms)
        return terms


class MixedLinear(Function):
    """Y = dr(X̄) W and ∂W = dr(X̄)ᵀ ∂Y for mixed rows X̄ [B, F] of a sparse X."""

    @staticmethod
    def forward(ctx, weight: Tensor, mixed: MixedRows) -> Tensor:
        ctx.terms, ctx.shape = mixed.terms(), weight.shape
        out = torch.empty(len(mixed.rows), weight.shape[1])
        use_threads(len(ctx.terms[-1]) * weight.shape[1])
        loops.mix_linear(*ctx.terms, array(weight), out.numpy())
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        d_weight = torch.empty(ctx.shape)
        use_threads(len(ctx.terms[-1]) * grad.shape[1])
        loops.mix_linear_backward(*ctx.terms, array(grad), d_weight.numpy())
        return d_weight, None


def _mixed_by_torch(
    pattern: Pattern, values: Tensor, x: Tensor | Features, rows: NDArray[np.int64], rate: float, key: Key
) -> Tensor:
    """The same in plain torch."""
    some, places = pattern.select_rows(rows)
    entries = torch.as_tensor(places).to(values.device)
    kept = values[entries] * (uniform_torch(key, entries) >= rate)
    owners, columns = some.tensor("rows", values.device), some.tensor("indices", values.device)
    total = torch.zeros(len(rows), dtype=values.dtype, device=values.device).index_add(0, owners, kept)
    if isinstance(x, Tensor):
        out = torch.zeros(len(rows), x.shape[1], dtype=values.dtype, device=values.device)
        out = out.index_add(0, owners, kept[:, None] * x[columns])
    else:
        picked, where = x[0].select_rows(some.indices)  # the row of X of every entry
        owner, column = (picked.tensor(name, values.device) for name in ("rows", "indices"))
        parts = kept[owner] * x[1][torch.as_tensor(where).to(values.device)]
        width = x[0].shape[1]
        out = torch.zeros(len(rows) * width, dtype=values.dtype, device=values.device)
        out = out.index_add(0, owners[owner] * width + column, parts).view(len(rows), width)
    return out / torch.where(total > 0, total, torch.ones_like(total))[:, None]
