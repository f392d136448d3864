"""Sparse products as compiled loops: each row (or each fixed run of rows) is computed by one thread in a fixed order.

So every result has the same bits for any number of threads. ``blocks`` are row boundaries of about equal work
(:func:`pattern.balanced_blocks`). Running sums stay in registers (:mod:`vector`), and rows that lie far away in
memory are asked for before they are needed.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from .dense import is_zero
from .vector import add8, fma8, load8, prefetch, splat8, store8, total8

_MATH = {"reassoc", "contract", "arcp", "nsz"}
_ZERO = np.float32(0)
_LINE = 16  # float32 in a cache line
_AHEAD = 12  # entries between asking for a row and using it
_SEGMENT = 32  # entries whose rows stay in the nearest cache while all columns are summed
_FAR = 1 << 17  # float32 in an array that the nearest caches don't hold


def _parallel(function):
    return numba.njit(parallel=True, cache=True, fastmath=_MATH, boundscheck=False)(function)


@numba.njit(inline="always")
def _ask(dense, j):
    for h in range(0, dense.shape[1], _LINE):
        prefetch(dense, j, h)


@numba.njit(inline="always")
def _add64(values, at, indices, first, last, dense, out, i, h, far):
    """out[i, h : h + 64] += Σ_e values[at + e - first] · dense[indices[e], h : h + 64].

    Ten arguments: with the entries in a tuple the product with the transpose took 1.05 to 1.3 times as long.
    """
    s0, s1, s2, s3 = load8(out, i, h), load8(out, i, h + 8), load8(out, i, h + 16), load8(out, i, h + 24)
    s4, s5, s6, s7 = load8(out, i, h + 32), load8(out, i, h + 40), load8(out, i, h + 48), load8(out, i, h + 56)
    for e in range(first, last):
        if far and e + _AHEAD < len(indices):
            _ask(dense, indices[e + _AHEAD])
        j, v = indices[e], splat8(values[at + e - first])
        s0, s1 = fma8(v, load8(dense, j, h), s0), fma8(v, load8(dense, j, h + 8), s1)
        s2, s3 = fma8(v, load8(dense, j, h + 16), s2), fma8(v, load8(dense, j, h + 24), s3)
        s4, s5 = fma8(v, load8(dense, j, h + 32), s4), fma8(v, load8(dense, j, h + 40), s5)
        s6, s7 = fma8(v, load8(dense, j, h + 48), s6), fma8(v, load8(dense, j, h + 56), s7)
    store8(out, i, h, s0)
    store8(out, i, h + 8, s1)
    store8(out, i, h + 16, s2)
    store8(out, i, h + 24, s3)
    store8(out, i, h + 32, s4)
    store8(out, i, h + 40, s5)
    store8(out, i, h + 48, s6)
    store8(out, i, h + 56, s7)


@numba.njit(inline="always")
def _add16(values, at, indices, first, last, dense, out, i, h, far):
    """The same for 16 columns, two entries at a time in sums of their own: a sum waits for its last term."""
    s0, s1, t0, t1 = load8(out, i, h), load8(out, i, h + 8), splat8(_ZERO), splat8(_ZERO)
    pairs = first + (last - first) // 2 * 2
    for e in range(first, pairs, 2):
        if far and e + _AHEAD + 1 < len(indices):
            _ask(dense, indices[e + _AHEAD])
            _ask(dense, indices[e + _AHEAD + 1])
        j, v = indices[e], splat8(values[at + e - first])
        k, w = indices[e + 1], splat8(values[at + e + 1 - first])
        s0, s1 = fma8(v, load8(dense, j, h), s0), fma8(v, load8(dense, j, h + 8), s1)
        t0, t1 = fma8(w, load8(dense, k, h), t0), fma8(w, load8(dense, k, h + 8), t1)
    if pairs < last:
        j, v = indices[pairs], splat8(values[at + pairs - first])
        s0, s1 = fma8(v, load8(dense, j, h), s0), fma8(v, load8(dense, j, h + 8), s1)
    store8(out, i, h, add8(s0, t0))
    store8(out, i, h + 8, add8(s1, t1))


@numba.njit(inline="always")
def _add_last(values, at, indices, first, last, dense, out, i, h):
    """The same for the columns from h on, too few for vectors; four entries at a time."""
    width = dense.shape[1]
    fours = first + (last - first) // 4 * 4
    for e in range(first, fours, 4):
        k = at + e - first
        v0, v1, v2, v3 = values[k], values[k + 1], values[k + 2], values[k + 3]
        j0, j1, j2, j3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
        for c in range(h, width):
            out[i, c] += v0 * dense[j0, c] + v1 * dense[j1, c] + v2 * dense[j2, c] + v3 * dense[j3, c]
    for e in range(fours, last):
        v, j = values[at + e - first], indices[e]
        for c in range(h, width):
            out[i, c] += v * dense[j, c]


@numba.njit(inline="always")
def _add_row(values, at, indices, begin, end, dense, out, i):
    """out[i] += Σ_e values[at + e - begin] · dense[indices[e]] for e from begin to end, a segment at a time."""
    width = dense.shape[1]
    if width < 16:
        _add_last(values, at, indices, begin, end, dense, out, i, 0)
        return
    far = dense.size > _FAR
    for first in range(begin, end, _SEGMENT):
        last, v = min(first + _SEGMENT, end), at + first - begin
        h = 0
        while h + 64 <= width:
            _add64(values, v, indices, first, last, dense, out, i, h, far and h == 0)
            h += 64
        while h + 16 <= width:
            _add16(values, v, indices, first, last, dense, out, i, h, far and h == 0)
            h += 16
        if h < width:
            _add_last(values, v, indices, first, last, dense, out, i, h)


@_parallel
def spmm(indptr, indices, values, dense, bias, out, blocks):
    """out[i] = bias + Σ_j values[ij] · dense[j]; dense [K, H], bias [H], out [R, H]."""
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            for h in range(len(bias)):
                out[i, h] = bias[h]
            _add_row(values, indptr[i], indices, indptr[i], indptr[i + 1], dense, out, i)


@_parallel
def spmm_rows(indptr, indices, values, dense, bias, out, chosen):
    """The same for some of the rows; chosen = (rows [r], blocks [B + 1] of them)."""
    rows, blocks = chosen
    for b in prange(len(blocks) - 1):
        for r in range(blocks[b], blocks[b + 1]):
            i = rows[r]
            for h in range(len(bias)):
                out[i, h] = bias[h]
            _add_row(values, indptr[i], indices, indptr[i], indptr[i + 1], dense, out, i)


@_parallel
def spmm_permuted(indptr, indices, perm, values, dense, out, blocks):
    """out[i] = Σ_j values[perm[ij]] · dense[j]: the product with a transpose whose values stay in their order."""
    for b in prange(len(blocks) - 1):
        start, end = indptr[blocks[b]], indptr[blocks[b + 1]]
        moved = np.empty(end - start, np.float32)
        for e in range(start, end):
            moved[e - start] = values[perm[e]]
        for i in range(blocks[b], blocks[b + 1]):
            for h in range(out.shape[1]):
                out[i, h] = _ZERO
            _add_row(moved, indptr[i] - start, indices, indptr[i], indptr[i + 1], dense, out, i)


@numba.njit(inline="always")
def _dot(left, i, right, j):
    """left[i] · right[j], four vectors at a time."""
    width = left.shape[1]
    s0 = s1 = s2 = s3 = splat8(_ZERO)
    for h in range(0, width // 32 * 32, 32):
        s0 = fma8(load8(left, i, h), load8(right, j, h), s0)
        s1 = fma8(load8(left, i, h + 8), load8(right, j, h + 8), s1)
        s2 = fma8(load8(left, i, h + 16), load8(right, j, h + 16), s2)
        s3 = fma8(load8(left, i, h + 24), load8(right, j, h + 24), s3)
    for h in range(width // 32 * 32, width // 8 * 8, 8):
        s0 = fma8(load8(left, i, h), load8(right, j, h), s0)
    total = total8(add8(add8(s0, s1), add8(s2, s3)))
    for h in range(width // 8 * 8, width):
        total += left[i, h] * right[j, h]
    return total


@numba.njit(inline="always")
def _dot_row(indptr, indices, left, right, out, i):
    """out[ij] = left[i] · right[j] on the entries of row i."""
    width, far = left.shape[1], right.size > _FAR
    if is_zero(left, i, i + 1):
        out[indptr[i] : indptr[i + 1]] = _ZERO
    elif width < 16:
        for e in range(indptr[i], indptr[i + 1]):
            j, total = indices[e], _ZERO
            for h in range(width):
                total += left[i, h] * right[j, h]
            out[e] = total
    else:
        for e in range(indptr[i], indptr[i + 1]):
            if far and e + _AHEAD < len(indices):
                _ask(right, indices[e + _AHEAD])
            out[e] = _dot(left, i, right, indices[e])


@_parallel
def sddmm(indptr, indices, left, right, out, blocks):
    """out[ij] = left[i] · right[j]; left [R, H], right [K, H]."""
    for b in prange(len(blocks) - 1):
        for i in range(blocks[b], blocks[b + 1]):
            _dot_row(indptr, indices, left, right, out, i)


@_parallel
def sddmm_rows(indptr, indices, left, right, out, chosen):
    """The same on some of the rows; chosen = (rows [r], blocks [B + 1] of them)."""
    rows, blocks = chosen
    for b in prange(len(blocks) - 1):
        for r in range(blocks[b], blocks[b + 1]):
            _dot_row(indptr, indices, left, right, out, rows[r])


@numba.njit(inline="always")
def _spread16(entries, first, last, dense, i, out, base, h):
    """out[base + j, h : h + 16] += values[ij] · dense[i, h : h + 16] for the entries ij (values, indices) of row i."""
    values, indices = entries
    g0, g1 = load8(dense, i, h), load8(dense, i, h + 8)
    for e in range(first, last):
        k, v = base + indices[e], splat8(values[e])
        store8(out, k, h, fma8(v, g0, load8(out, k, h)))
        store8(out, k, h + 8, fma8(v, g1, load8(out, k, h + 8)))


@_parallel
def spread(indptr, indices, values, dense, out, blocks):
    """out[b, j] = Σ_i values[ij] · dense[i] over the rows i of block b; dense [R, H], out [B · K, H].

    The product with the transpose for a matrix of few columns, whose result the cache holds: the matrix and
    ``dense`` are read once in their order. The sum over the blocks is left to :func:`add_blocks`.
    """
    count, width = len(blocks) - 1, dense.shape[1]
    columns = len(out) // count
    for b in prange(count):
        base = b * columns
        out[base : base + columns] = _ZERO
        for i in range(blocks[b], blocks[b + 1]):
            first, last = indptr[i], indptr[i + 1]
            if is_zero(dense, i, i + 1):
                continue
            h = 0
            while h + 16 <= width:
                _spread16((values, indices), first, last, dense, i, out, base, h)
                h += 16
            if h < width:
                for e in range(first, last):
                    k, v = base + indices[e], values[e]
                    for c in range(h, width):
                        out[k, c] += v * dense[i, c]


@_parallel
def add_blocks(parts, out):
    """out = Σ_b parts[b], in order: [B · K, H] -> [K, H]."""
    columns = len(out)
    for j in prange(columns):
        for h in range(out.shape[1]):
            out[j, h] = parts[j, h]
        for k in range(columns + j, len(parts), columns):
            for h in range(out.shape[1]):
                out[j, h] += parts[k, h]


@_parallel
def add_reverse_inside(indptr, indices, t_indptr, t_perm, values, out):
    """The same for the entries between own rows, the first columns; others keep their value."""
    n = len(indptr) - 1
    for i in prange(n):
        at = t_indptr[i]
        for e in range(indptr[i], indptr[i + 1]):
            out[e] = values[e]
            if indices[e] < n:
                out[e] += values[t_perm[at]]
                at += 1


@_parallel
def add_reverse(values, perm, out):
    """out[e] = values[e] + values[perm[e]]: each entry and its transpose."""
    for e in prange(len(values)):
        out[e] = values[e] + values[perm[e]]
