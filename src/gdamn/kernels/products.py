"""Sparse and dense products with their gradients, written by hand."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
# ruff: noqa: D101, D102

from __future__ import annotations

import numpy as np
from torch import Tensor
from torch.autograd import Function

from ..graph.pattern import Pattern
from . import torch_path as plain
from .checks import check_transpose
from .memory import empty
from .noise import Key
from .numba import dense as loops
from .numba import sparse
from .numba.elementwise import dropout as _dropout_loop
from .paths import array, is_fast, run_from
from .threads import use_threads


def spmm(p: Pattern, values: Tensor, dense: Tensor, bias: Tensor | None = None) -> Tensor:
    """bias + A H: [R, H]."""
    if not is_fast(values, dense):
        out = plain.spmm(p, values, dense)
        return out if bias is None else out + bias
    width = dense.shape[1]
    out = empty(p.shape[0], width)
    start = np.zeros(width, np.float32) if bias is None else array(bias)
    use_threads(p.num_entries * width)
    sparse.spmm(p.indptr, p.indices, array(values), array(dense), start, out.numpy(), p.blocks)
    return out


def spmm_t(p: Pattern, values: Tensor, dense: Tensor) -> Tensor:
    """Aᵀ G: [K, H]; the matrix in its own order where the result is small, else its transpose."""
    check_transpose(p)
    if not is_fast(values, dense):
        return plain.spmm_transposed(p, values, dense)
    width = dense.shape[1]
    out = empty(p.shape[1], width)
    use_threads(p.num_entries * width)
    if len(p.spread_blocks) > 1:
        parts = np.empty(((len(p.spread_blocks) - 1) * p.shape[1], width), np.float32)
        sparse.spread(p.indptr, p.indices, array(values), array(dense), parts, p.spread_blocks)
        sparse.add_blocks(parts, out.numpy())
    else:
        arrays = p.t_indptr, p.t_indices, p.t_perm, array(values), array(dense), out.numpy()
        sparse.spmm_permuted(*arrays, p.t_blocks)
    return out


def sddmm(p: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """left_i · right_j on every entry: [E]."""
    if not is_fast(left, right):
        return plain.sddmm(p, left, right)
    out = empty(p.num_entries)
    use_threads(p.num_entries * left.shape[1])
    sparse.sddmm(p.indptr, p.indices, array(left), array(right), out.numpy(), p.blocks)
    return out


def add_reverse(p: Pattern, values: Tensor) -> Tensor:
    """Each entry's value plus that of its transpose, in a symmetric pattern: [E]."""
    if not is_fast(values):
        return values + values[p.tensor("t_perm", values.device)]
    out = empty(p.num_entries)
    use_threads(2 * p.num_entries)
    sparse.add_reverse(array(values), p.t_perm, out.numpy())
    return out


def dropout(x: Tensor, rate: float, key: Key, first: int = 0) -> Tensor:
    """Dropout of every number of x, with the noise from place ``first`` on."""
    if not is_fast(x):
        return plain.dropout(x, rate, key, first)
    out = empty(*x.shape)
    use_threads(3 * x.numel())
    run_from(first, _dropout_loop, array(x).reshape(-1), out.numpy().reshape(-1), rate, key)
    return out


def matmul(x: Tensor, weight: Tensor, plus: Tensor | None = None) -> Tensor:
    """plus + X W: [N, H]; plus [N, H] or [H]."""
    (rows, depth), width = x.shape, weight.shape[1]
    narrow = width < loops.WIDE
    if not is_fast(x, weight) or depth == 0 or (rows < loops.TALL and not narrow):
        return x @ weight if plus is None else x @ weight + plus
    out = empty(rows, width)
    panels = np.empty((max(1, -(-width // loops.WIDE)) * depth, loops.WIDE), np.float32)
    loops.pack(array(weight), panels)
    start = np.zeros((1, width), np.float32) if plus is None else array(plus).reshape(-1, width)
    use_threads(x.numel() * width)
    (loops.matmul_narrow if narrow else loops.matmul)(array(x), panels, start, out.numpy())
    return out


def matmul_t(x: Tensor, grad: Tensor) -> Tensor:
    """Xᵀ G: [K, H]."""
    if not is_fast(x, grad):
        return x.T @ grad
    (rows, depth), width = x.shape, grad.shape[1]
    blocks = loops.row_blocks(rows)
    use_threads(x.numel() * width)
    tall, wide = -(-depth // loops.TALL) * loops.TALL, -(-width // loops.WIDE) * loops.WIDE
    parts = empty(blocks, tall, wide)
    loops.matmul_t(array(x), array(grad), parts.numpy().reshape(-1, wide), blocks)
    return parts.sum(0)[:depth, :width].contiguous()


def column_sums(x: Tensor) -> Tensor:
    """Σ_i x_i: [H]."""
    if not is_fast(x):
        return x.sum(0)
    parts = empty(loops.row_blocks(len(x)), x.shape[1])
    use_threads(x.numel())
    loops.column_sums(array(x), parts.numpy())
    return parts.sum(0)


class Spmm(Function):
    """The dropped values are made again on the way back: an array [E] less to hold in each layer."""

    @staticmethod
    def forward(ctx, pattern: Pattern, values: Tensor, dense: Tensor, bias: Tensor | None, rate: float, key: Key):
        first = pattern.first_entry
        ctx.pattern, ctx.drop = pattern, lambda x: dropout(x, rate, key, first) if rate > 0 else x
        ctx.save_for_backward(values, dense)
        return spmm(pattern, ctx.drop(values), dense, bias)

    @staticmethod
    def backward(ctx, grad: Tensor):
        values, dense = ctx.saved_tensors
        d_values = ctx.drop(sddmm(ctx.pattern, grad, dense)) if ctx.needs_input_grad[1] else None
        d_dense = spmm_t(ctx.pattern, ctx.drop(values), grad) if ctx.needs_input_grad[2] else None
        d_bias = column_sums(grad) if ctx.needs_input_grad[3] else None
        return None, d_values, d_dense, d_bias, None, None


class Sddmm(Function):
    @staticmethod
    def forward(ctx, pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(left, right)
        return sddmm(pattern, left, right)

    @staticmethod
    def backward(ctx, grad: Tensor):
        left, right = ctx.saved_tensors
        d_left = spmm(ctx.pattern, grad, right) if ctx.needs_input_grad[1] else None
        d_right = spmm_t(ctx.pattern, grad, left) if ctx.needs_input_grad[2] else None
        return None, d_left, d_right


class Gram(Function):
    @staticmethod
    def forward(ctx, pattern: Pattern, rows: Tensor, scale: float) -> Tensor:
        ctx.pattern, ctx.scale = pattern, scale
        ctx.save_for_backward(rows)
        return sddmm(pattern, rows * scale if scale != 1 else rows, rows)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (rows,) = ctx.saved_tensors
        p: Pattern = ctx.pattern
        both = add_reverse(p, grad) if p.symmetric else grad  # one product in place of two
        d_rows = spmm(p, both, rows)
        if not p.symmetric:
            d_rows += spmm_t(p, grad, rows)
        return None, d_rows * ctx.scale if ctx.scale != 1 else d_rows, None


class SparseLinear(Function):
    @staticmethod
    def forward(ctx, pattern: Pattern, values: Tensor, weight: Tensor, rate: float, key: Key) -> Tensor:
        dropped = dropout(values, rate, key, pattern.first_entry) if rate > 0 else values
        ctx.pattern = pattern
        ctx.save_for_backward(dropped)
        return spmm(pattern, dropped, weight)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (dropped,) = ctx.saved_tensors
        return None, None, spmm_t(ctx.pattern, dropped, grad), None, None


class Matmul(Function):
    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, plus: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.is_bias = plus is not None and plus.ndim == 1
        return matmul(x, weight, plus)

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, weight = ctx.saved_tensors
        d_x = matmul(grad, weight.T) if ctx.needs_input_grad[0] else None
        d_weight = matmul_t(x, grad) if ctx.needs_input_grad[1] else None
        d_plus = None
        if ctx.needs_input_grad[2]:
            d_plus = column_sums(grad) if ctx.is_bias else grad
        return d_x, d_weight, d_plus
