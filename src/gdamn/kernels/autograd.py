"""The gradients of the operations in :mod:`functions`, written by hand, and the choice between their two bodies.

Each operation has two bodies with the same result: the compiled loops (:mod:`fast`) for float32 on the CPU, and
plain torch (:mod:`plain`) for every other device. :func:`use_kernels` forces one of them.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
# ruff: noqa: D101, D102

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from . import fast, plain
from .noise import Key, threshold
from .pattern import Pattern

_forced: str | None = None
_limit = 0
_now = 0

SMALL = 500_000
"""Loops with fewer multiplications than this run on one thread: waking the others would cost more."""


def set_threads(count: int) -> int:
    """Let the compiled loops use ``count`` threads (0: all); returns the limit before."""
    global _limit, _now
    before, _limit, _now = _limit, count, 0
    return before


def _use_threads(work: int) -> None:
    """Threads for the next loop: one for a small loop, all that are allowed for a large one."""
    global _now
    most: int = numba.config.NUMBA_NUM_THREADS
    count = 1 if work < SMALL else max(1, min(_limit or most, most))
    if count != _now:
        numba.set_num_threads(count)
        _now = count


@contextmanager
def use_kernels(name: str | None) -> Iterator[None]:
    """Within the block use the kernels called ``fast`` or ``torch``; None chooses by device."""
    global _forced
    before, _forced = _forced, name
    try:
        yield
    finally:
        _forced = before


def _fast(*tensors: Tensor) -> bool:
    if _forced is not None:
        return _forced == "fast"
    return all(t.device.type == "cpu" and t.dtype == torch.float32 for t in tensors)


def _array(t: Tensor) -> Any:
    return t.detach().contiguous().numpy()


def _spmm(p: Pattern, values: Tensor, dense: Tensor) -> Tensor:
    if not _fast(values, dense):
        return plain.spmm(p, values, dense)
    out = torch.empty((p.shape[0], dense.shape[1]))
    _use_threads(p.num_entries * dense.shape[1])
    fast.spmm(p.indptr, p.indices, _array(values), _array(dense), out.numpy(), p.blocks)
    return out


def _spmm_t(p: Pattern, values: Tensor, dense: Tensor) -> Tensor:
    if not _fast(values, dense):
        return plain.spmm_transposed(p, values, dense)
    out = torch.empty((p.shape[1], dense.shape[1]))
    _use_threads(p.num_entries * dense.shape[1])
    fast.spmm_permuted(p.t_indptr, p.t_indices, p.t_perm, _array(values), _array(dense), out.numpy(), p.t_blocks)
    return out


def _sddmm(p: Pattern, left: Tensor, right: Tensor) -> Tensor:
    if not _fast(left, right):
        return plain.sddmm(p, left, right)
    out = torch.empty(p.num_entries)
    _use_threads(p.num_entries * left.shape[1])
    fast.sddmm(p.indptr, p.indices, _array(left), _array(right), out.numpy(), p.blocks)
    return out


def _add_reverse(p: Pattern, values: Tensor) -> Tensor:
    if not _fast(values):
        return values + values[p.tensor("t_perm", values.device)]
    out = torch.empty(p.num_entries)
    _use_threads(2 * p.num_entries)
    fast.add_reverse(_array(values), p.t_perm, out.numpy())
    return out


def _rate(rate: float, key: Key) -> tuple[Any, ...]:
    """Dropout's arguments for the compiled loops."""
    return np.uint64(key.value), np.uint64(threshold(rate)), np.float32(1 / (1 - rate))


class Spmm(Function):
    @staticmethod
    def forward(ctx, pattern: Pattern, values: Tensor, dense: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(values, dense)
        return _spmm(pattern, values, dense)

    @staticmethod
    def backward(ctx, grad: Tensor):
        values, dense = ctx.saved_tensors
        d_values = _sddmm(ctx.pattern, grad, dense) if ctx.needs_input_grad[1] else None
        d_dense = _spmm_t(ctx.pattern, values, grad) if ctx.needs_input_grad[2] else None
        return None, d_values, d_dense


class Sddmm(Function):
    @staticmethod
    def forward(ctx, pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(left, right)
        return _sddmm(pattern, left, right)

    @staticmethod
    def backward(ctx, grad: Tensor):
        left, right = ctx.saved_tensors
        d_left = _spmm(ctx.pattern, grad, right) if ctx.needs_input_grad[1] else None
        d_right = _spmm_t(ctx.pattern, grad, left) if ctx.needs_input_grad[2] else None
        return None, d_left, d_right


class Gram(Function):
    @staticmethod
    def forward(ctx, pattern: Pattern, rows: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(rows)
        return _sddmm(pattern, rows, rows)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (rows,) = ctx.saved_tensors
        p: Pattern = ctx.pattern
        if not p.symmetric:
            return None, _spmm(p, grad, rows) + _spmm_t(p, grad, rows)
        return None, _spmm(p, _add_reverse(p, grad), rows)  # one product in place of two


class SparseLinear(Function):
    @staticmethod
    def forward(ctx, pattern: Pattern, values: Tensor, weight: Tensor, rate: float, key: Key) -> Tensor:
        kept = _dropout(values, rate, key) if rate > 0 else values
        ctx.pattern = pattern
        ctx.save_for_backward(kept)
        return _spmm(pattern, kept, weight)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (kept,) = ctx.saved_tensors
        return None, None, _spmm_t(ctx.pattern, kept, grad), None, None


class UnitRows(Function):
    @staticmethod
    def forward(ctx, x: Tensor, scale: Tensor) -> Tensor:
        if _fast(x, scale):
            unit, norms = torch.empty(x.shape), torch.empty(len(x))
            _use_threads(3 * x.numel())
            fast.unit_rows(_array(x), _array(scale), unit.numpy(), norms.numpy())
        else:
            unit, norms = plain.unit_rows(x, scale)
        ctx.save_for_backward(x, scale, unit, norms)
        return unit

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, scale, unit, norms = ctx.saved_tensors
        if not _fast(x, scale, grad):
            return plain.unit_rows_backward(x, scale, unit, norms, grad)
        d_x, d_scale = torch.empty(x.shape), torch.empty(-(-len(x) // fast._TILE), x.shape[1])
        _use_threads(3 * x.numel())
        arrays = _array(x), _array(scale), _array(unit), _array(norms), _array(grad)
        fast.unit_rows_backward(*arrays, d_x.numpy(), d_scale.numpy())
        return d_x, d_scale.sum(0)


class EdgeSoftmax(Function):
    @staticmethod
    def forward(ctx, pattern: Pattern, scores: Tensor, weights: Tensor) -> Tensor:
        ctx.pattern = pattern
        if _fast(scores, weights):
            out, mass = torch.empty(pattern.num_entries), torch.empty(pattern.num_entries)
            _use_threads(10 * pattern.num_entries)
            arrays = _array(scores), _array(weights), out.numpy(), mass.numpy()
            fast.edge_softmax(pattern.indptr, *arrays, pattern.blocks)
        else:
            out, mass = plain.edge_softmax(pattern, scores, weights)
        ctx.save_for_backward(weights, out, mass)
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        weights, soft, mass = ctx.saved_tensors
        p: Pattern = ctx.pattern
        if not _fast(weights, grad):
            return None, *plain.edge_softmax_backward(p, weights, soft, mass, grad)
        d_scores, d_weights = torch.empty(p.num_entries), torch.empty(p.num_entries)
        _use_threads(5 * p.num_entries)
        arrays = _array(weights), _array(soft), _array(mass), _array(grad), d_scores.numpy(), d_weights.numpy()
        fast.edge_softmax_backward(p.indptr, *arrays, p.blocks)
        return None, d_scores, d_weights


class BinaryConcrete(Function):
    @staticmethod
    def forward(ctx, logits: Tensor, pair: Tensor, free: Tensor, temperature: float, key: Key) -> Tensor:
        if _fast(logits):
            hard, slope = torch.empty_like(logits), torch.empty_like(logits)
            noise = np.uint64(key.value), np.float32(temperature)
            _use_threads(20 * len(logits))
            fast.binary_concrete(_array(logits), pair.numpy(), free.numpy(), *noise, hard.numpy(), slope.numpy())
        else:
            hard, slope = plain.binary_concrete(logits, pair, free, temperature, key)
        ctx.save_for_backward(slope)
        return hard

    @staticmethod
    def backward(ctx, grad: Tensor):
        (slope,) = ctx.saved_tensors
        return grad * slope, None, None, None, None


class Dropout(Function):
    @staticmethod
    def forward(ctx, x: Tensor, rate: float, key: Key) -> Tensor:
        ctx.rate, ctx.key = rate, key
        return _dropout(x, rate, key)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return _dropout(grad, ctx.rate, ctx.key), None, None


class ReluDropout(Function):
    @staticmethod
    def forward(ctx, x: Tensor, rate: float, key: Key) -> Tensor:
        ctx.rate = rate
        if _fast(x):
            out = torch.empty(x.shape)
            _use_threads(3 * x.numel())
            fast.relu_dropout(_array(x).reshape(-1), out.numpy().reshape(-1), *_rate(rate, key))
        else:
            out = plain.dropout(torch.relu(x), rate, key)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        (out,) = ctx.saved_tensors
        if not _fast(out, grad):
            return torch.where(out > 0, grad / (1 - ctx.rate), torch.zeros_like(grad)), None, None
        d_x = torch.empty(out.shape)
        flat = _array(out).reshape(-1), _array(grad).reshape(-1), d_x.numpy().reshape(-1)
        _use_threads(out.numel())
        fast.relu_dropout_backward(*flat, np.float32(1 / (1 - ctx.rate)))
        return d_x, None, None


class SoftmaxLosses(Function):
    @staticmethod
    def forward(ctx, logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        if _fast(logits, target):
            p, (log_total, cross, entropy) = torch.empty(logits.shape), torch.empty(3, len(logits))
            _use_threads(10 * logits.numel())
            arrays = _array(logits), _array(target), p.numpy(), log_total.numpy(), cross.numpy(), entropy.numpy()
            fast.softmax_losses(*arrays)
        else:
            p, log_total, cross, entropy = plain.softmax_losses(logits, target)
        ctx.save_for_backward(logits, target, p, log_total, entropy)
        return cross.sum(), entropy.sum()

    @staticmethod
    def backward(ctx, d_cross: Tensor, d_entropy: Tensor):
        logits, target, p, log_total, entropy = ctx.saved_tensors
        if not _fast(logits, target):
            return plain.softmax_losses_backward(logits, target, p, log_total, entropy, d_cross, d_entropy), None
        out = torch.empty(logits.shape)
        outer = np.float32(d_cross.item()), np.float32(d_entropy.item())
        _use_threads(3 * logits.numel())
        arrays = _array(logits), _array(target), _array(p), _array(log_total), _array(entropy)
        fast.softmax_losses_backward(*arrays, *outer, out.numpy())
        return out, None


class BernoulliKL(Function):
    @staticmethod
    def forward(ctx, logits: Tensor, prior: Tensor, free: Tensor) -> Tensor:
        if _fast(logits, prior):
            kl, slope = torch.empty_like(logits), torch.empty_like(logits)
            _use_threads(40 * len(logits))
            fast.bernoulli_kl(_array(logits), _array(prior), free.numpy(), kl.numpy(), slope.numpy())
        else:
            kl, slope = plain.bernoulli_kl(logits, prior, free)
        ctx.save_for_backward(slope)
        return kl.sum()

    @staticmethod
    def backward(ctx, grad: Tensor):
        (slope,) = ctx.saved_tensors
        return grad * slope, None, None


def _dropout(x: Tensor, rate: float, key: Key) -> Tensor:
    if not _fast(x):
        return plain.dropout(x, rate, key)
    out = torch.empty(x.shape)
    _use_threads(3 * x.numel())
    fast.dropout(_array(x).reshape(-1), out.numpy().reshape(-1), *_rate(rate, key))
    return out


def adam_step(
    parameter: Tensor, grad: Tensor, mean: Tensor, square: Tensor, rate: float, decay: float, steps: int
) -> None:
    """One step of Adam in place; ``mean`` and ``square`` are its moments, ``decay`` is L2 in the gradient."""
    if not _fast(parameter, grad):
        plain.adam(parameter, grad, mean, square, rate, decay, steps)
        return
    flat = [t.detach().numpy().reshape(-1) for t in (parameter, grad.contiguous(), mean, square)]
    f = np.float32
    betas = f(0.9), f(0.999), f(1 - 0.9**steps), f(1 - 0.999**steps)
    _use_threads(5 * parameter.numel())
    fast.adam(*flat, f(rate), f(decay), *betas, f(1e-8))
