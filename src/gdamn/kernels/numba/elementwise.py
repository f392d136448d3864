"""Dropout, ReLU and Adam as compiled loops over flat arrays, in runs of fixed length."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from ..noise import LANES, lanes
from .scalars import exp32
from .vector_noise import MANY, drop32

_MATH = {"reassoc", "contract", "arcp", "nsz"}
_ZERO, _ONE = np.float32(0), np.float32(1)
_LOW = np.uint64(0xFFFF)
_RUN = 1 << 14
_SHORT = 1 << 10  # numbers whose noise is held at once


def _parallel(function):
    return numba.njit(parallel=True, cache=True, fastmath=_MATH, boundscheck=False)(function)


@numba.njit(inline="always")
def _draw(key, first, hashes):
    """The noise of the numbers from ``first`` (a multiple of 4) on, four numbers per hash."""
    start = first // LANES
    for k in range(len(hashes)):
        hashes[k] = lanes(key, np.uint64(start + k))


@numba.njit(cache=True, fastmath=_MATH)
def dropout_run(flat, out, first, key, limit, scale):
    """out = flat · scale where a number's 16 bits reach ``limit``, else 0; the noise is that from ``first`` on."""
    whole = len(flat) // MANY * MANY
    for at in range(0, whole, MANY):
        drop32(flat, out, at, key, (first + at) // LANES, limit, scale)
    for at in range(whole, len(flat)):
        bits = lanes(key, np.uint64((first + at) // LANES)) >> np.uint64(16 * ((first + at) % LANES))
        out[at] = _ZERO if (bits & _LOW) < limit else flat[at] * scale


@numba.njit(cache=True, fastmath=_MATH)
def relu_dropout_run(flat, out, first, key, limit, scale):
    """The same of max(flat, 0); written so that nan passes through and is noticed in the loss."""
    hashes = np.empty(_SHORT // LANES, np.uint64)
    bits = hashes.view(np.uint16)
    least = np.int32(limit)
    for start in range(0, len(flat), _SHORT):
        _draw(key, first + start, hashes)
        for e in range(min(_SHORT, len(flat) - start)):
            x = flat[start + e]
            out[start + e] = _ZERO if (x <= _ZERO) | (np.int32(bits[e]) < least) else x * scale


@_parallel
def dropout(flat, out, key, limit, scale):
    """out = flat · scale where the entry's 16 bits reach ``limit``, else 0; its own gradient too."""
    for run in prange((len(flat) + _RUN - 1) // _RUN):
        first, last = run * _RUN, min(len(flat), (run + 1) * _RUN)
        dropout_run(flat[first:last], out[first:last], first, key, limit, scale)


@_parallel
def relu_dropout(flat, out, key, limit, scale):
    """out = dropout(max(flat, 0)), in one pass."""
    for run in prange((len(flat) + _RUN - 1) // _RUN):
        first, last = run * _RUN, min(len(flat), (run + 1) * _RUN)
        relu_dropout_run(flat[first:last], out[first:last], first, key, limit, scale)


@_parallel
def relu(flat, out):
    """out = max(flat, 0), nan where it is."""
    for e in prange(len(flat)):
        out[e] = _ZERO if flat[e] <= _ZERO else flat[e]


@_parallel
def relu_dropout_backward(out, grad, d_flat, scale):
    """The gradient passes where the output is positive."""
    for e in prange(len(out)):
        d_flat[e] = grad[e] * scale if out[e] > _ZERO else _ZERO


@numba.njit(parallel=True, cache=True, fastmath={"contract", "nsz"}, boundscheck=False)
def elu(flat, out):
    """out = flat above 0, e^flat - 1 below; nan where it is. exp32 needs its operations in their order."""
    for e in prange(len(flat)):
        x = flat[e]
        y = exp32(min(x, _ZERO)) - _ONE
        out[e] = x if x > _ZERO else y


@_parallel
def elu_backward(out, grad, d_flat):
    """The slope is 1 above 0, and e^x = out + 1 below."""
    for e in prange(len(out)):
        d_flat[e] = grad[e] if out[e] > _ZERO else grad[e] * (out[e] + _ONE)


@_parallel
def adam(parameter, grad, mean, square, rate, decay, constants):
    """One step of Adam in place, flat arrays; constants: β₁, β₂, their corrections of the start, and ε."""
    one, (beta1, beta2, correction1, correction2, eps) = _ONE, constants
    for e in prange(len(parameter)):
        g = grad[e] + decay * parameter[e]
        mean[e] = beta1 * mean[e] + (one - beta1) * g
        square[e] = beta2 * square[e] + (one - beta2) * g * g
        parameter[e] -= rate / correction1 * mean[e] / (np.sqrt(square[e] / correction2) + eps)
