"""Products where some rows of H are other processes': they travel while the rows that need none are computed.

On the way back the rows of other processes are computed first, and travel while the own ones are.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
# ruff: noqa: D102

from __future__ import annotations

import numpy as np
from torch import Tensor
from torch.autograd import Function

from ..graph.shared_pattern import SharedPattern
from .memory import empty
from .noise import Key
from .numba import sparse
from .paths import array
from .products import column_sums, dropout, sddmm, spmm_t
from .products import spmm as whole_spmm
from .threads import use_threads


def spmm(p: SharedPattern, values: Tensor, own: Tensor, bias: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """bias + A H [n, H], and H [n + halo, H] with the rows of other processes."""
    columns, wait = p.arriving(own)
    width = columns.shape[1]
    out = empty(p.shape[0], width)
    start = np.zeros(width, np.float32) if bias is None else array(bias)
    arrays = p.indptr, p.indices, array(values), array(columns), start, out.numpy()
    use_threads(p.num_entries * width)
    sparse.spmm_rows(*arrays, p.inner_rows)
    wait()
    sparse.spmm_rows(*arrays, p.outer_rows)
    return out, columns


def transposed(p: SharedPattern, values: Tensor, grad: Tensor) -> Tensor:
    """Aᵀ G [n, H], with what other processes have for these rows."""
    if len(p.spread_blocks) > 1:
        return p.leaving(spmm_t(p, values, grad))()
    columns = empty(p.shape[1], grad.shape[1])
    arrays = p.t_indptr, p.t_indices, p.t_perm, array(values), array(grad), columns.numpy()
    use_threads(p.num_entries * grad.shape[1])
    sparse.spmm_permuted(*arrays, p.halo_blocks)
    returned = p.leaving(columns)
    sparse.spmm_permuted(*arrays, p.own_blocks)
    return returned()


class Spmm(Function):
    """dropout(A) H + b; see :class:`gdamn.kernels.products.Spmm`."""

    @staticmethod
    def forward(ctx, pattern: SharedPattern, values: Tensor, own: Tensor, bias: Tensor | None, rate: float, key: Key):
        first = pattern.first_entry
        ctx.pattern, ctx.drop = pattern, lambda x: dropout(x, rate, key, first) if rate > 0 else x
        out, columns = spmm(pattern, ctx.drop(values), own, bias)
        ctx.save_for_backward(values, columns)
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        values, columns = ctx.saved_tensors
        d_own = transposed(ctx.pattern, ctx.drop(values), grad) if ctx.needs_input_grad[2] else None
        d_values = ctx.drop(sddmm(ctx.pattern, grad, columns)) if ctx.needs_input_grad[1] else None
        d_bias = column_sums(grad) if ctx.needs_input_grad[3] else None
        return None, d_values, d_own, d_bias, None, None


class Gram(Function):
    """scale · row_i · row_j on every entry [E], from the own rows [n, H]."""

    @staticmethod
    def forward(ctx, pattern: SharedPattern, own: Tensor, scale: float) -> Tensor:
        columns, wait = pattern.arriving(own)
        ctx.pattern, ctx.scale = pattern, scale
        ctx.save_for_backward(columns)
        out = empty(pattern.num_entries)
        arrays = pattern.indptr, pattern.indices, array(own * scale), array(columns), out.numpy()
        use_threads(pattern.num_entries * own.shape[1])
        sparse.sddmm_rows(*arrays, pattern.inner_rows)
        wait()
        sparse.sddmm_rows(*arrays, pattern.outer_rows)
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        """The halo's rows get Aᵀ H. Own rows get (A + Aᵀ) H in one product, where their entries have a reverse."""
        (columns,) = ctx.saved_tensors
        p: SharedPattern = ctx.pattern
        own = columns[: p.shape[0]]
        if not p.symmetric_inside:
            d_own = whole_spmm(p, grad, columns)
            d_own += transposed(p, grad, own)
            return None, d_own * ctx.scale, None
        out, width, values = empty(*columns.shape), columns.shape[1], array(grad)
        use_threads(p.num_entries * width)
        sparse.spmm_permuted(p.t_indptr, p.t_indices, p.t_perm, values, array(own), out.numpy(), p.halo_blocks)
        returned = p.leaving(out)
        both = empty(p.num_entries).numpy()
        sparse.add_reverse_inside(p.indptr, p.indices, p.t_indptr, p.t_perm, values, both)
        start = np.zeros(width, np.float32)
        sparse.spmm(p.indptr, p.indices, both, array(columns), start, out.numpy()[: p.shape[0]], p.blocks)
        return None, returned() * ctx.scale, None
