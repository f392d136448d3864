"""Dense products as compiled loops: fixed tiles of rows, each computed by one thread in a fixed order.

6 rows and 16 columns of the result are held in 12 vector registers while their sums run. Why not torch's product:
its bits depend on its number of threads, so that it would have to run on one.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from .vector import add8, fma8, load8, splat8, store8

_ZERO = np.float32(0)
TALL, WIDE = 6, 16
"""Rows and columns of a tile; a product must have this many rows, and its columns are padded to it."""
_ROWS = 192  # of one task
_DEEP = 128  # rows that a sum over rows takes before it goes to the next tile


def row_blocks(rows: int) -> int:
    """Runs of rows that a sum over all rows is cut into: a function of their number, not of the threads."""
    return max(1, min(32, rows // 256))


def _parallel(function):
    math = {"reassoc", "contract", "nsz"}
    return numba.njit(parallel=True, cache=True, fastmath=math, boundscheck=False)(function)


@numba.njit(cache=True)
def pack(w, panels):
    """w [K, H] as panels of 16 columns below each other: [K · P, 16]; the last begins at H - 16, or ends in 0."""
    depth, width = w.shape
    for p in range(len(panels) // depth):
        start = max(0, min(p * WIDE, width - WIDE))
        for k in range(depth):
            for h in range(WIDE):
                panels[p * depth + k, h] = w[k, start + h] if start + h < width else _ZERO


@numba.njit(inline="always")
def _put(out, i, h, v0, v1):
    store8(out, i, h, v0)
    store8(out, i, h + 8, v1)


@numba.njit(inline="always")
def _tile(x, i, panels, at, plus, step, out, h):
    """out[i : i + 6, h : h + 16] = plus[i : i + 6] + x[i : i + 6] @ a panel; step 0: plus has one row for all."""
    j = i * step
    a0, a1, b0, b1 = load8(plus, j, h), load8(plus, j, h + 8), load8(plus, j + step, h), load8(plus, j + step, h + 8)
    j += 2 * step
    c0, c1, d0, d1 = load8(plus, j, h), load8(plus, j, h + 8), load8(plus, j + step, h), load8(plus, j + step, h + 8)
    j += 2 * step
    e0, e1, f0, f1 = load8(plus, j, h), load8(plus, j, h + 8), load8(plus, j + step, h), load8(plus, j + step, h + 8)
    for k in range(x.shape[1]):
        w0, w1 = load8(panels, at + k, 0), load8(panels, at + k, 8)
        v = splat8(x[i, k])
        a0, a1 = fma8(v, w0, a0), fma8(v, w1, a1)
        v = splat8(x[i + 1, k])
        b0, b1 = fma8(v, w0, b0), fma8(v, w1, b1)
        v = splat8(x[i + 2, k])
        c0, c1 = fma8(v, w0, c0), fma8(v, w1, c1)
        v = splat8(x[i + 3, k])
        d0, d1 = fma8(v, w0, d0), fma8(v, w1, d1)
        v = splat8(x[i + 4, k])
        e0, e1 = fma8(v, w0, e0), fma8(v, w1, e1)
        v = splat8(x[i + 5, k])
        f0, f1 = fma8(v, w0, f0), fma8(v, w1, f1)
    _put(out, i, h, a0, a1)
    _put(out, i + 1, h, b0, b1)
    _put(out, i + 2, h, c0, c1)
    _put(out, i + 3, h, d0, d1)
    _put(out, i + 4, h, e0, e1)
    _put(out, i + 5, h, f0, f1)


@numba.njit(inline="always")
def is_zero(x, first, last):
    """Whether all numbers of some rows are 0: where few nodes have a label, most rows of a gradient are."""
    for i in range(first, last):
        for k in range(x.shape[1]):
            if x[i, k] != _ZERO:
                return False
    return True


@_parallel
def matmul(x, panels, plus, out):
    """out = plus + x @ w: [N, K] @ [K, H]; N ≥ 6, H ≥ 16, plus [N, H] or [1, H], panels of w by :func:`pack`.

    The last tile takes the last 6 rows, even if some of them are done already: the same sums again.
    """
    rows, depth = x.shape
    width = out.shape[1]
    step = 1 if len(plus) > 1 else 0
    for t in prange((rows + _ROWS - 1) // _ROWS):
        first, last = t * _ROWS, min(rows, (t + 1) * _ROWS)
        for p in range(len(panels) // depth):
            h = min(p * WIDE, width - WIDE)
            for start in range(first, last, TALL):
                i = min(start, rows - TALL)
                if is_zero(x, i, i + TALL):
                    for j in range(i, i + TALL):
                        _put(out, j, h, load8(plus, j * step, h), load8(plus, j * step, h + 8))
                else:
                    _tile(x, i, panels, p * depth, plus, step, out, h)


@numba.njit(inline="always")
def _give(plus, at, sums, row, out, i):
    """out[i] = plus[at] + a row of sums."""
    for h in range(out.shape[1]):
        out[i, h] = plus[at, h] + sums[row, h]


@_parallel
def matmul_narrow(x, panel, plus, out):
    """The same for H < 16, with one panel; four rows at a time where H ≤ 8, as a sum waits for its last term."""
    rows, depth = x.shape
    step = 1 if len(plus) > 1 else 0
    for t in prange((rows + _ROWS - 1) // _ROWS):
        sums = np.empty((4, WIDE), np.float32)
        i, last = t * _ROWS, min(rows, (t + 1) * _ROWS)
        while out.shape[1] <= 8 and i + 4 <= last:
            a = b = c = d = splat8(_ZERO)
            for k in range(depth):
                w = load8(panel, k, 0)
                a, b = fma8(splat8(x[i, k]), w, a), fma8(splat8(x[i + 1, k]), w, b)
                c, d = fma8(splat8(x[i + 2, k]), w, c), fma8(splat8(x[i + 3, k]), w, d)
            store8(sums, 0, 0, a)
            store8(sums, 1, 0, b)
            store8(sums, 2, 0, c)
            store8(sums, 3, 0, d)
            for r in range(4):
                _give(plus, (i + r) * step, sums, r, out, i + r)
            i += 4
        for j in range(i, last):
            a0 = a1 = splat8(_ZERO)
            for k in range(depth):
                v = splat8(x[j, k])
                a0, a1 = fma8(v, load8(panel, k, 0), a0), fma8(v, load8(panel, k, 8), a1)
            _put(sums, 0, 0, a0, a1)
            _give(plus, j * step, sums, 0, out, j)


@numba.njit(inline="always")
def _add_to(out, i, h, v0, v1):
    store8(out, i, h, add8(load8(out, i, h), v0))
    store8(out, i, h + 8, add8(load8(out, i, h + 8), v1))


@numba.njit(inline="always")
def _tile_t(left, at, panel, deep, out, i, h):
    """out[i : i + 6, h : h + 16] += left[at : at + deep, :6]ᵀ @ panel[:deep]."""
    a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = e0 = e1 = f0 = f1 = splat8(_ZERO)
    for r in range(deep):
        w0, w1 = load8(panel, r, 0), load8(panel, r, 8)
        s = at + r
        v = splat8(left[s, 0])
        a0, a1 = fma8(v, w0, a0), fma8(v, w1, a1)
        v = splat8(left[s, 1])
        b0, b1 = fma8(v, w0, b0), fma8(v, w1, b1)
        v = splat8(left[s, 2])
        c0, c1 = fma8(v, w0, c0), fma8(v, w1, c1)
        v = splat8(left[s, 3])
        d0, d1 = fma8(v, w0, d0), fma8(v, w1, d1)
        v = splat8(left[s, 4])
        e0, e1 = fma8(v, w0, e0), fma8(v, w1, e1)
        v = splat8(left[s, 5])
        f0, f1 = fma8(v, w0, f0), fma8(v, w1, f1)
    _add_to(out, i, h, a0, a1)
    _add_to(out, i + 1, h, b0, b1)
    _add_to(out, i + 2, h, c0, c1)
    _add_to(out, i + 3, h, d0, d1)
    _add_to(out, i + 4, h, e0, e1)
    _add_to(out, i + 5, h, f0, f1)


@numba.njit(inline="always")
def _copy(x, rows, deep, start, strip, at):
    """strip[at : at + deep] = x[rows[:deep]] from column ``start`` on, as many columns as there are."""
    width = strip.shape[1]
    if start + width <= x.shape[1]:
        for r in range(deep):
            for c in range(0, width, 8):
                store8(strip, at + r, c, load8(x, rows[r], start + c))
    else:
        for r in range(deep):
            for c in range(x.shape[1] - start):
                strip[at + r, c] = x[rows[r], start + c]


@_parallel
def matmul_t(x, g, parts, blocks):
    """parts[b] = x[rows of b]ᵀ @ g[rows of b]: x [N, K], g [N, H], parts [B · K up to 6s, H up to 16s].

    Both sides are copied a few rows at a time into strips of a tile's width, which lie in the nearest cache. Rows of g
    that are 0 are left out.
    """
    rows = len(x)
    wide, tall = parts.shape[1], len(parts) // blocks
    for b in prange(blocks):
        base = b * tall
        parts[base : base + tall] = _ZERO
        panel, some = np.zeros((_DEEP, WIDE), np.float32), np.zeros(_DEEP, np.int64)
        left = np.zeros((tall // TALL * _DEEP, 8), np.float32)
        last = rows * (b + 1) // blocks
        for first in range(rows * b // blocks, last, _DEEP):
            deep = 0
            for i in range(first, min(first + _DEEP, last)):
                if not is_zero(g, i, i + 1):
                    some[deep] = i
                    deep += 1
            for i in range(0, tall if deep else 0, TALL):
                _copy(x, some, deep, i, left, i // TALL * _DEEP)
            for h in range(0, wide if deep else 0, WIDE):
                _copy(g, some, deep, h, panel, 0)
                for i in range(0, tall, TALL):
                    _tile_t(left, i // TALL * _DEEP, panel, deep, parts, base + i, h)


@_parallel
def column_sums(x, parts):
    """parts[b] = Σ x[i] over the rows of b: [B, H]."""
    count = len(parts)
    for b in prange(count):
        parts[b] = _ZERO
        for i in range(len(x) * b // count, len(x) * (b + 1) // count):
            for h in range(x.shape[1]):
                parts[b, h] += x[i, h]
