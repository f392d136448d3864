"""Features propagated over a graph, and a first layer on them behind batch normalisation and dropout."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"
# ruff: noqa: D102

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import Function

from ..graph.pattern import Pattern
from .checks import check_shape, check_types
from .memory import empty
from .noise import Key
from .numba import dense
from .numba import features as loops
from .ops import dropout, matmul
from .paths import array, dropout_arguments, is_fast
from .products import column_sums, spmm
from .threads import use_threads


class Columns(NamedTuple):
    """Constant features [N, F], with mean and biased variance of each column: [F] both, float64."""

    x: Tensor
    mean: Tensor
    variance: Tensor


def propagated(pattern: Pattern, values: Tensor, x: Tensor, factors: Tensor, steps: int) -> Columns:
    """Σ_{k≤K} S^k (m ⊙ x) for S on a square pattern, [N, F]; not differentiable.

    A few columns at a time go through all steps, so that a cache holds what the steps read.

    Args:
        values: [E] S.
        x: [N, F]; factors: [N] m.
        steps: K.
    """
    nodes = pattern.shape[1]
    check_shape("propagated", "values", values, pattern.num_entries)
    check_shape("propagated", "x", x, nodes, -1)
    check_shape("propagated", "factors", factors, nodes)
    check_types("propagated", x, values, factors)
    if not is_fast(x, values, factors):
        total = start = x * factors[:, None]
        for _ in range(steps):
            total = start + spmm(pattern, values, total)
        return _with_moments(total)
    out, moments = empty(*x.shape), torch.empty(2, x.shape[1], dtype=torch.float64)
    matrix = pattern.indptr, pattern.indices, array(values)
    use_threads(pattern.num_entries * x.shape[1])
    loops.propagate(matrix, array(x), array(factors), steps, out.numpy(), tuple(moments.numpy()))
    return Columns(out, *moments)


def _with_moments(x: Tensor) -> Columns:
    wide = x.double()
    return Columns(x, wide.mean(0), wide.var(0, unbiased=False))


def norm_dropout_linear(
    columns: Columns, norm: nn.BatchNorm1d, weight: Tensor, bias: Tensor, rate: float, key: Key | None
) -> Tensor:
    """dropout(norm(x)) W + b for constant x [N, F], W [F, H], b [H]: [N, H]; differentiable in the norm, W and b.

    In training the norm takes the moments of x, and its running ones move on. Nothing of x's size is made.
    """
    x = columns.x
    check_shape("norm_dropout_linear", "x", x, -1, norm.num_features)
    check_shape("norm_dropout_linear", "weight", weight, norm.num_features, -1)
    check_shape("norm_dropout_linear", "bias", bias, weight.shape[1])
    check_types("norm_dropout_linear", x, weight, bias, norm.weight)
    if not norm.training or not is_fast(x, weight) or norm.momentum is None or norm.running_mean is None:
        return matmul(dropout(norm(x), rate, key), weight, bias)
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    out = NormDropoutLinear.apply(norm.weight, norm.bias, weight, bias, columns, (norm.eps, rate, key))
    norm.num_batches_tracked.add_(1)
    norm.running_mean.lerp_(columns.mean.float(), norm.momentum)
    norm.running_var.lerp_((columns.variance * (len(x) / max(len(x) - 1, 1))).float(), norm.momentum)
    return out


class NormDropoutLinear(Function):
    """With n = (x - μ) / σ and d the factors of dropout: out = (d ⊙ (γ n + β)) W + b.

    For G = ∂/∂out, A = (d ⊙ n)ᵀ G and B = dᵀ G, [F, H] both: ∂W = γ A + β B, ∂γ = W · A and ∂β = W · B row by row.
    """

    @staticmethod
    def forward(ctx, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor, columns: Columns, how):
        eps, rate, key = how
        inverse = torch.rsqrt(columns.variance + eps)
        scale = gamma.detach().double() * inverse
        shift = beta.detach().double() - columns.mean * scale
        ctx.noise = dropout_arguments(rate if key is not None else 0.0, key or Key(0))
        ctx.x, ctx.unit = columns.x, (inverse.float().numpy(), (-columns.mean * inverse).float().numpy())
        ctx.save_for_backward(gamma, beta, weight)
        (rows, depth), width = columns.x.shape, weight.shape[1]
        wide = max(width, dense.WIDE)
        panels, plus = np.empty((-(-wide // dense.WIDE) * depth, dense.WIDE), np.float32), np.zeros((1, wide))
        plus[0, :width] = array(bias)
        dense.pack(array(torch.nn.functional.pad(weight.detach(), (0, wide - width))), panels)
        out = empty(rows, wide)
        use_threads(rows * depth * width)
        affine = scale.float().numpy(), shift.float().numpy()
        loops.affine_dropout_matmul(array(ctx.x), affine, panels, plus.astype(np.float32), ctx.noise, out.numpy())
        return out[:, :width].contiguous()

    @staticmethod
    def backward(ctx, grad: Tensor):
        gamma, beta, weight = ctx.saved_tensors
        (rows, depth), width = ctx.x.shape, weight.shape[1]
        blocks = dense.row_blocks(rows)
        tall, wide = -(-depth // dense.TALL) * dense.TALL, -(-width // dense.WIDE) * dense.WIDE
        parts = empty(blocks * 2 * tall, wide)
        use_threads(2 * rows * depth * width)
        loops.affine_dropout_sums(array(ctx.x), ctx.unit, array(grad), ctx.noise, parts.numpy(), blocks)
        along, plain = parts.view(blocks, 2, tall, wide).sum(0)[:, :depth, :width]
        d_weight = gamma[:, None] * along + beta[:, None] * plain
        return (weight * along).sum(1), (weight * plain).sum(1), d_weight, column_sums(grad), None, None
