"""Batch normalisation with ReLU and dropout as compiled loops over fixed tiles of rows."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from .elementwise import relu_dropout_run

_ZERO = np.float32(0)
TILE = 64
"""Rows of a tile; a multiple of 4, because dropout takes its noise for four numbers at once."""


def _parallel(function):
    math = {"reassoc", "contract", "nsz"}
    return numba.njit(parallel=True, cache=True, fastmath=math, boundscheck=False)(function)


@_parallel
def moments(x, mean, square):
    """Per tile of rows the mean of each column and Σ (x - mean)²: [T, H] both; exact where the mean is large."""
    rows, width = x.shape
    for t in prange(len(mean)):
        first, last = t * TILE, min(rows, (t + 1) * TILE)
        scale = np.float32(1.0 / (last - first))
        for h in range(width):
            mean[t, h] = square[t, h] = _ZERO
        for i in range(first, last):
            for h in range(width):
                mean[t, h] += x[i, h]
        for h in range(width):
            mean[t, h] *= scale
        for i in range(first, last):
            for h in range(width):
                d = x[i, h] - mean[t, h]
                square[t, h] += d * d


@_parallel
def affine_relu(x, scale, shift, out):
    """out = max(x ⊙ scale + shift, 0), nan where it is."""
    rows, width = x.shape
    for i in prange(rows):
        for h in range(width):
            z = x[i, h] * scale[h] + shift[h]
            out[i, h] = _ZERO if z <= _ZERO else z


@_parallel
def affine_relu_dropout(x, scale, shift, out, key, limit, factor):
    """out = dropout(max(x ⊙ scale + shift, 0)), with the noise of :func:`elementwise.relu_dropout`."""
    rows, width = x.shape
    flat = out.reshape(-1)
    for t in prange((rows + TILE - 1) // TILE):
        first, last = t * TILE, min(rows, (t + 1) * TILE)
        z = np.empty((last - first, width), np.float32)
        for i in range(first, last):
            for h in range(width):
                z[i - first, h] = x[i, h] * scale[h] + shift[h]
        place = first * width
        relu_dropout_run(z.reshape(-1), flat[place : last * width], place, key, limit, factor)


@_parallel
def backward_sums(x, out, grad, mean, factor, d_shift, d_scale):
    """With dz = factor · grad where out > 0: Σ dz and Σ dz ⊙ (x - mean) per tile of rows, [T, H] both."""
    rows, width = x.shape
    for t in prange(len(d_shift)):
        for h in range(width):
            d_shift[t, h] = d_scale[t, h] = _ZERO
        for i in range(t * TILE, min(rows, (t + 1) * TILE)):
            for h in range(width):
                dz = grad[i, h] * factor if out[i, h] > _ZERO else _ZERO
                d_shift[t, h] += dz
                d_scale[t, h] += dz * (x[i, h] - mean[h])


@_parallel
def backward(x, out, grad, mean, factor, coefficients, d_x):
    """d_x = scale ⊙ dz - (x - mean) ⊙ slope - offset, with dz = factor · grad where out > 0.

    The coefficients are scale, slope and offset, [H] each.
    """
    (rows, width), (scale, slope, offset) = x.shape, coefficients
    for i in prange(rows):
        for h in range(width):
            dz = grad[i, h] * factor if out[i, h] > _ZERO else _ZERO
            d_x[i, h] = scale[h] * dz - (x[i, h] - mean[h]) * slope[h] - offset[h]
