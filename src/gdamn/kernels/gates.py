"""What heads compute on the nodes alone: the halves of their scores, and sums with a factor per node and head."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,no-any-return"
# ruff: noqa: D102

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from ..errors import GraphError
from .checks import check_shape, check_types
from .memory import empty
from .numba import gates
from .numba.dense import row_blocks
from .paths import array, is_fast
from .threads import use_threads


def add_heads(x: Tensor, gate: Tensor, y: Tensor) -> Tensor:
    """x_ik + gate_ik y_ik for x and y [N, K · H], gate [N, K]: [N, K · H]; differentiable in all."""
    check_shape("add_heads", "y", y, *x.shape)
    check_shape("add_heads", "gate", gate, len(x), -1)
    check_types("add_heads", x, gate, y)
    if gate.shape[1] == 0 or x.shape[1] % gate.shape[1]:
        raise GraphError(f"add_heads: {x.shape[1]} columns can't be shared out among {gate.shape[1]} heads.")
    if not is_fast(x, gate, y):
        return x + (gate[:, :, None] * y.view(*gate.shape, -1)).flatten(1)
    return AddHeads.apply(x, gate, y)


class AddHeads(Function):
    """The compiled loops of :func:`add_heads`."""

    @staticmethod
    def forward(ctx, x: Tensor, gate: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(gate, y)
        out = empty(*x.shape)
        use_threads(x.numel())
        gates.add_heads(array(x), array(gate), array(y), out.numpy())
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        gate, y = ctx.saved_tensors
        d_gate, d_y = empty(*gate.shape), empty(*y.shape)
        use_threads(2 * y.numel())
        gates.add_heads_backward(array(grad), array(gate), array(y), d_gate.numpy(), d_y.numpy())
        return grad, d_gate, d_y


def head_scores(x: Tensor, target: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    """a_k · x_ik and b_k · x_ik for x [N, K · H], a and b [K, H]: [N, K] both; differentiable in all."""
    check_shape("head_scores", "x", x, -1, target.numel())
    check_shape("head_scores", "source", source, *target.shape)
    check_types("head_scores", x, target, source)
    if is_fast(x, target, source):
        t, s = HeadScores.apply(x, target, source)
        return t, s
    parts = x.view(len(x), *target.shape)
    return (parts * target).sum(2), (parts * source).sum(2)


class HeadScores(Function):
    """The compiled loops of :func:`head_scores`."""

    @staticmethod
    def forward(ctx, x: Tensor, target: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(x, target, source)
        t, s = empty(len(x), len(target)), empty(len(x), len(target))
        use_threads(2 * x.numel())
        gates.head_scores(array(x), *_flat(target, source), t.numpy(), s.numpy())
        return t, s

    @staticmethod
    def backward(ctx, d_t: Tensor, d_s: Tensor):
        x, target, source = ctx.saved_tensors
        d_x, sums = empty(*x.shape), np.empty((2 * row_blocks(len(x)), x.shape[1]), np.float32)
        use_threads(4 * x.numel())
        gates.head_scores_backward(array(x), _flat(target, source), (array(d_t), array(d_s)), d_x.numpy(), sums)
        d_target, d_source = torch.from_numpy(sums).view(-1, 2, *target.shape).sum(0)
        return d_x, d_target, d_source


def _flat(target: Tensor, source: Tensor):
    """Both as [1, K · H] arrays."""
    return array(target).reshape(1, -1), array(source).reshape(1, -1)
