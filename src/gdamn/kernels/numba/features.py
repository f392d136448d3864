"""Features propagated over a graph, and a first layer on them behind a norm and dropout, as compiled loops.

Both work on a part of the [N, F] array that a cache holds: propagation on a few columns through all its steps, the
layer on a few rows. So arrays of the features' size are read once and written once.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from .dense import _DEEP, _ROWS, TALL, WIDE, _copy, _tile, _tile_t
from .elementwise import dropout_run
from .sparse import _AHEAD, _MATH, _ask
from .vector import add8, fma8, load8, mul8, splat8, store8

_ZERO, _ONE = np.float32(0), np.float32(1)
COLUMNS = 32
"""That go through all steps of propagation together."""
_RUN = 64  # rows whose sum is taken in float32


def _parallel(function):
    return numba.njit(parallel=True, cache=True, fastmath=_MATH, boundscheck=False)(function)


@numba.njit(inline="always")
def _step(matrix, start, before, after):
    """after = start + S before: [N, 32] all."""
    indptr, indices, values = matrix
    for i in range(len(start)):
        s0, s1, s2, s3 = load8(start, i, 0), load8(start, i, 8), load8(start, i, 16), load8(start, i, 24)
        for e in range(indptr[i], indptr[i + 1]):
            if e + _AHEAD < len(indices):
                _ask(before, indices[e + _AHEAD])
            j, v = indices[e], splat8(values[e])
            s0, s1 = fma8(v, load8(before, j, 0), s0), fma8(v, load8(before, j, 8), s1)
            s2, s3 = fma8(v, load8(before, j, 16), s2), fma8(v, load8(before, j, 24), s3)
        store8(after, i, 0, s0)
        store8(after, i, 8, s1)
        store8(after, i, 16, s2)
        store8(after, i, 24, s3)


@numba.njit(inline="always")
def _add_rows(x, first, last, sums, mean, power):
    """sums[0] = Σ x[i] over some rows of x [N, 32], or Σ (x[i] - mean[0])² where ``power`` is 2."""
    for h in range(0, COLUMNS, 8):
        total, minus = splat8(_ZERO), mul8(load8(mean, 0, h), splat8(-_ONE))
        if power == 2:
            for i in range(first, last):
                gap = add8(load8(x, i, h), minus)
                total = fma8(gap, gap, total)
        else:
            for i in range(first, last):
                total = add8(total, load8(x, i, h))
        store8(sums, 0, h, total)


@numba.njit(inline="always")
def _moments(x, mean, spread, first):
    """Mean and biased variance of the columns of x [N, 32], in float64 over runs of rows; from place ``first`` on."""
    rows, count = len(x), min(COLUMNS, len(mean) - first)
    sums, centre = np.zeros((1, COLUMNS), np.float32), np.zeros((1, COLUMNS), np.float32)
    totals = np.zeros((2, COLUMNS), np.float64)
    for power in (1, 2):
        for start in range(0, rows, _RUN):
            _add_rows(x, start, min(rows, start + _RUN), sums, centre, power)
            for h in range(COLUMNS):
                totals[power - 1, h] += sums[0, h]
        for h in range(COLUMNS):
            totals[power - 1, h] /= rows
            centre[0, h] = totals[0, h]
    for h in range(count):
        rounding = totals[0, h] - centre[0, h]
        mean[first + h], spread[first + h] = totals[0, h], totals[1, h] - rounding * rounding


@numba.njit(inline="always")
def _take(x, first, factors, start):
    """start = 32 columns of x from ``first`` on, or all there are, times a factor per row."""
    rows, width = x.shape
    if width < COLUMNS:
        for i in range(rows):
            for h in range(width):
                start[i, h] = x[i, h] * factors[i]
        return
    for i in range(rows):
        factor = splat8(factors[i])
        for h in range(0, COLUMNS, 8):
            store8(start, i, h, mul8(factor, load8(x, i, first + h)))


@numba.njit(inline="always")
def _give(columns, out, first):
    """out from the column ``first`` on = 32 columns, or as many as it has."""
    rows, width = out.shape
    if width < COLUMNS:
        for i in range(rows):
            for h in range(width):
                out[i, h] = columns[i, h]
        return
    for i in range(rows):
        for h in range(0, COLUMNS, 8):
            store8(out, i, first + h, load8(columns, i, h))


@_parallel
def propagate(matrix, x, factors, steps, out, moments):
    """out = Σ_{k≤K} S^k (m ⊙ x) as h + S (h + S (h + …)), and its columns' moments.

    The last 32 columns may overlap those before them, which are then made twice.

    Args:
        matrix: CSR arrays and values of S.
        x: [N, F]; factors: [N] m.
        moments: mean and biased variance of each column of the result: [F] both.
    """
    (rows, width), (mean, spread) = x.shape, moments
    for block in prange((width + COLUMNS - 1) // COLUMNS):
        first = max(0, min(block * COLUMNS, width - COLUMNS))
        start = np.zeros((rows, COLUMNS), np.float32)
        _take(x, first, factors, start)
        before, after = start, np.empty((rows, COLUMNS), np.float32)
        for step in range(steps):
            _step(matrix, start, before, after)
            before, after = after, np.empty((rows, COLUMNS), np.float32) if step == 0 else before
        _give(before, out, first)
        _moments(before, mean, spread, first)


@numba.njit(inline="always")
def _affine(x, first, last, scale, shift, out):
    """out[: last - first] = x[first:last] ⊙ scale + shift."""
    for i in range(first, last):
        for h in range(x.shape[1]):
            out[i - first, h] = x[i, h] * scale[h] + shift[h]


@_parallel
def affine_dropout_matmul(x, affine, panels, plus, noise, out):
    """out = dropout(x ⊙ scale + shift) @ w + plus: x [N, F], out [N, H ≥ 16]; panels of w by :func:`dense.pack`.

    Args:
        affine: scale and shift [F]; plus: [1, H]; noise: key, limit and factor of dropout.
    """
    (rows, depth), width, (scale, shift), (key, limit, factor) = x.shape, out.shape[1], affine, noise
    for t in prange((rows + _ROWS - 1) // _ROWS):
        first, last = t * _ROWS, min(rows, (t + 1) * _ROWS)
        y = np.zeros((max(TALL, last - first), depth), np.float32)
        _affine(x, first, last, scale, shift, y)
        if limit > 0:
            flat = y[: last - first].reshape(-1)
            dropout_run(flat, flat, first * depth, key, limit, factor)
        product = np.empty((len(y), width), np.float32)
        for p in range(len(panels) // depth):
            h = min(p * WIDE, width - WIDE)
            for start in range(0, len(y), TALL):
                _tile(y, min(start, len(y) - TALL), panels, p * depth, plus, 0, product, h)
        out[first:last] = product[: last - first]


@_parallel
def affine_dropout_sums(x, affine, grad, noise, parts, blocks):
    """parts[b] = [z‖d]ᵀ @ grad over the rows of block b, with z = d ⊙ (x ⊙ scale + shift), d the factors of dropout.

    parts is [B · 2 · F up to 6s, H up to 16s]: in each block first that of z, then that of d.
    """
    (rows, depth), (scale, shift), (key, limit, factor) = x.shape, affine, noise
    wide, tall = parts.shape[1], len(parts) // blocks // 2
    tiles = (rows + _DEEP - 1) // _DEEP
    for b in prange(blocks):
        base = b * 2 * tall
        parts[base : base + 2 * tall] = _ZERO
        panel, own = np.zeros((_DEEP, WIDE), np.float32), np.arange(_DEEP)
        left = np.zeros((2 * tall // TALL * _DEEP, 8), np.float32)
        z, d = np.zeros((_DEEP, depth), np.float32), np.empty((_DEEP, depth), np.float32)
        for tile in range(tiles * b // blocks, tiles * (b + 1) // blocks):
            first, deep = tile * _DEEP, min(_DEEP, rows - tile * _DEEP)
            d[:] = _ONE
            if limit > 0:
                flat = d.reshape(-1)
                dropout_run(flat, flat, first * depth, key, limit, factor)
            _affine(x, first, first + deep, scale, shift, z)
            for i in range(deep):
                for h in range(depth):
                    z[i, h] *= d[i, h]
            for i in range(0, tall, TALL):
                _copy(z, own, deep, i, left, i // TALL * _DEEP)
                _copy(d, own, deep, i, left, (tall + i) // TALL * _DEEP)
            for h in range(0, wide, WIDE):
                _copy(grad, first + own, deep, h, panel, 0)
                for i in range(0, 2 * tall, TALL):
                    _tile_t(left, i // TALL * _DEEP, panel, deep, parts, base + i, h)
