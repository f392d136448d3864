"""Attention of several heads in one loop over the rows; its gradients are one over the columns (:mod:`heads_backward`).

e_ijk = LeakyReLU(t_ik + s_jk), α_ijk = w_ij exp e_ijk / Σ_j' w_ij' exp e_ij'k, out_ik = Σ_j d_ijk α_ijk v_jk for a head
k, where d is the factor of dropout: 0, or ``noise.scale``. Nothing per entry and head is kept: the way back makes α
again from the largest score and the sum, which are kept per node and head.

With the slope c_ijk of the LeakyReLU at its place, beside out_ik goes turned_ik = Σ_j c_ijk d_ijk α_ijk v_jk. Then the
gradient of all scores of a row needs no loop over the row: with G = ∂/∂out and r_ik = G_ik · out_ik,
∂/∂t_ik = G_ik · turned_ik - r_ik Σ_j c_ijk α_ijk, and likewise ∂/∂s_jk over the entries of a column.

Heads go 8 at a time: [·, K] arrays have K rounded up to a multiple of 8, and heads without values are not read.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import prange

from .edges import _MOST, _elementwise
from .sparse import _AHEAD, _ask
from .vector import WIDTH, add8, div8, fma8, load8, max8, min8, mul8, splat8, store8, where8
from .vector_noise import exp8, keep8

_ZERO, _ONE = np.float32(0), np.float32(1)
SLOPE = np.float32(0.2)
"""Of the LeakyReLU below 0."""


class Rows(NamedTuple):
    """A CSR pattern as arrays, its weights w [E], runs of rows, and which rows are wanted [R]; empty: all."""

    indptr: Any
    indices: Any
    weights: Any
    blocks: Any
    wanted: Any


class Columns(NamedTuple):
    """The transpose of a pattern as arrays: ``perm`` [E] has the place of each of its entries in the CSR."""

    indptr: Any
    indices: Any
    perm: Any
    blocks: Any


class Noise(NamedTuple):
    """Dropout of α: keys [K] of the heads, least 16 bits that stay (0: all), the factor of what stays.

    The noise of an entry is that at its place ``first`` + e, or, where ``by_row``, at its place in an array that has
    the entries of a row head after head, for ``heads`` of them.
    """

    keys: Any
    limit: Any
    scale: Any
    first: Any
    by_row: Any
    heads: Any


class Nodes(NamedTuple):
    """Halves of the scores, t [R, K] of the rows and s [C, K] of the columns, and v [C, heads · H]."""

    target: Any
    source: Any
    values: Any


@numba.njit(inline="always")
def _keep(noise, entry, begin, count, k):
    """The factors of dropout of heads k to k + 7, of an entry of a row that begins at ``begin`` and has ``count``."""
    first, step = entry + noise.first, np.int64(0)
    if noise.by_row:
        first, step = first + (noise.heads - 1) * begin + k * count, count
    return keep8(noise.keys, k, first, step, noise.limit, noise.scale)


@numba.njit(inline="always")
def _mass(z, top, weight):
    """w exp(LeakyReLU(z) - top)."""
    score = max8(z, mul8(splat8(SLOPE), z))
    gap = min8(splat8(_MOST), fma8(top, splat8(-_ONE), score))
    return mul8(exp8(gap), splat8(weight))


@numba.njit(inline="always")
def _slope(z):
    """Of the LeakyReLU at z."""
    return where8(z, splat8(_ONE), splat8(SLOPE))


@numba.njit(inline="always")
def _sum8(parts, indices, begin, end, x, k, h, both):
    """Σ_e f[e, k] x[indices[e], h : h + 8] and, where ``both``, Σ_e g[e, k] x[indices[e], h : h + 8]."""
    f, g, _ = parts
    a = b = splat8(_ZERO)
    if both:
        for e in range(begin, end):
            v = load8(x, indices[e], h)
            a, b = fma8(splat8(f[e - begin, k]), v, a), fma8(splat8(g[e - begin, k]), v, b)
    else:
        for e in range(begin, end):
            a = fma8(splat8(f[e - begin, k]), load8(x, indices[e], h), a)
    return a, b


@numba.njit(inline="always")
def _store16(parts, indices, begin, end, x, heads, places, to):
    """Both sums of :func:`_collect` for two heads, 8 columns each from their places on."""
    (f, g, _), (k, m), (h, c), (out, i, turned, t) = parts, heads, places, to
    s0 = s1 = t0 = t1 = splat8(_ZERO)
    for e in range(begin, end):
        j, at = indices[e], e - begin
        v, w = load8(x, j, h), load8(x, j, c)
        s0, t0 = fma8(splat8(f[at, k]), v, s0), fma8(splat8(g[at, k]), v, t0)
        s1, t1 = fma8(splat8(f[at, m]), w, s1), fma8(splat8(g[at, m]), w, t1)
    store8(out, i, h, s0)
    store8(out, i, c, s1)
    store8(turned, t, h, t0)
    store8(turned, t, c, t1)


@numba.njit(inline="always")
def _store32(f, indices, begin, end, x, heads, places, to):
    """The first of both sums for four heads."""
    (k0, k1, k2, k3), (h0, h1, h2, h3), (out, i) = heads, places, to
    s0 = s1 = s2 = s3 = splat8(_ZERO)
    for e in range(begin, end):
        j, at = indices[e], e - begin
        s0 = fma8(splat8(f[at, k0]), load8(x, j, h0), s0)
        s1 = fma8(splat8(f[at, k1]), load8(x, j, h1), s1)
        s2 = fma8(splat8(f[at, k2]), load8(x, j, h2), s2)
        s3 = fma8(splat8(f[at, k3]), load8(x, j, h3), s3)
    store8(out, i, h0, s0)
    store8(out, i, h1, s1)
    store8(out, i, h2, s2)
    store8(out, i, h3, s3)


@numba.njit(inline="always")
def _store_four(parts, indices, begin, end, x, heads, places, to):
    """The first sum for four heads and, unless ``turned`` is empty, the second, too."""
    out, i, turned, _t = to
    if len(turned):
        _store16(parts, indices, begin, end, x, heads[:2], places[:2], to)
        _store16(parts, indices, begin, end, x, heads[2:], places[2:], to)
    else:
        _store32(parts[0], indices, begin, end, x, heads, places, (out, i))


@numba.njit(inline="always")
def _sum1(parts, indices, begin, end, x, k, h):
    """:func:`_sum8` for one column."""
    f, g, _ = parts
    a = b = _ZERO
    for e in range(begin, end):
        v = x[indices[e], h]
        a, b = a + f[e - begin, k] * v, b + g[e - begin, k] * v
    return a, b


@numba.njit(inline="always")
def _collect(parts, indices, begin, end, x, sums, i, t):
    """out[i] = Σ_e f[e, k] x[indices[e]] on the columns of each head k, and turned[t] = Σ_e g[e, k] x[indices[e]].

    ``parts`` are f, g and a place for [2, 8] numbers, ``sums`` out and turned, which may be empty. 8 columns at a time
    stay in registers; what they write beyond their head is written again by the next.
    """
    (_, _, window), (out, turned, heads) = parts, sums
    width, both, to = out.shape[1], len(turned) > 0, (out, i, turned, t)
    units, done = width // heads, 0
    if units % WIDTH == 0 and width % 32 == 0:
        for h in range(0, width, 32):
            four = h // units, (h + 8) // units, (h + 16) // units, (h + 24) // units
            _store_four(parts, indices, begin, end, x, four, (h, h + 8, h + 16, h + 24), to)
        return
    while units <= WIDTH and (done + 3) * units + WIDTH <= width:
        h, four = done * units, (done, done + 1, done + 2, done + 3)
        _store_four(parts, indices, begin, end, x, four, (h, h + units, h + 2 * units, h + 3 * units), to)
        done += 4
    for k in range(done, heads):
        for h in range(k * units, (k + 1) * units, WIDTH):
            if h + WIDTH <= width:
                a, b = _sum8(parts, indices, begin, end, x, k, h, both)
                store8(out, i, h, a)
                if both:
                    store8(turned, t, h, b)
                continue
            first = max(0, width - WIDTH)
            if width >= WIDTH:
                a, b = _sum8(parts, indices, begin, end, x, k, first, both)
                store8(window, 0, 0, a)
                store8(window, 1, 0, b)
            else:
                for c in range(h, (k + 1) * units):
                    window[0, c], window[1, c] = _sum1(parts, indices, begin, end, x, k, c)
            for c in range(h, (k + 1) * units):
                out[i, c] = window[0, c - first]
                if both:
                    turned[t, c] = window[1, c - first]


@numba.njit(inline="always")
def _widest(indptr, first, last):
    """The most entries that one of some rows has."""
    most = 0
    for i in range(first, last):
        most = max(most, indptr[i + 1] - indptr[i])
    return most


@numba.njit(inline="always")
def _fetch(indices, e, arrays):
    """Have what an entry reads on its way, a few entries before."""
    if e + _AHEAD < len(indices):
        for array in arrays:
            _ask(array, indices[e + _AHEAD])


@numba.njit(inline="always")
def _row_parts(rows, nodes, noise, i, k, totals, parts):
    """f[e] = d_ijk α_ijk and g[e] = c_ijk d_ijk α_ijk of the heads k to k + 7, for the entries of row i."""
    (indptr, indices, weights, _, _), (f, g, _) = rows, parts
    tops, inverses, slopes = totals
    begin, end = indptr[i], indptr[i + 1]
    top = splat8(-np.float32(np.inf))
    for e in range(begin, end):
        _fetch(indices, e, (nodes.source, nodes.values))
        if weights[e] > _ZERO:
            top = max8(top, load8(nodes.source, indices[e], k))
    target, total, turned = load8(nodes.target, i, k), splat8(_ZERO), splat8(_ZERO)
    top = add8(target, top)
    top = max8(top, mul8(splat8(SLOPE), top))  # the LeakyReLU rises, so the largest s has the largest score
    for e in range(begin, end):
        z = add8(target, load8(nodes.source, indices[e], k))
        mass = _mass(z, top, weights[e])
        sloped = mul8(_slope(z), mass)
        total, turned = add8(total, mass), add8(turned, sloped)
        store8(f, e - begin, k, mass)
        store8(g, e - begin, k, sloped)
    inverse = where8(total, div8(splat8(_ONE), total), splat8(_ZERO))
    store8(tops, i, k, top)
    store8(inverses, i, k, inverse)
    store8(slopes, i, k, mul8(turned, inverse))
    for e in range(end - begin):
        factor = inverse
        if noise.limit > 0:
            factor = mul8(factor, _keep(noise, begin + e, begin, end - begin, k))
        store8(f, e, k, mul8(load8(f, e, k), factor))
        store8(g, e, k, mul8(load8(g, e, k), factor))


@numba.njit(inline="always")
def _leave_out(i, totals, results):
    """0 for a row that nobody wants, in all arrays; their columns are multiples of 8, or are written one by one."""
    tops, inverses, slopes = totals
    for k in range(0, tops.shape[1], WIDTH):
        store8(tops, i, k, splat8(_ZERO))
        store8(inverses, i, k, splat8(_ZERO))
        store8(slopes, i, k, splat8(_ZERO))
    for array in results:
        if len(array):
            for h in range(array.shape[1]):
                array[i, h] = _ZERO


@_elementwise
def attend(rows, nodes, noise, classes, totals, out, turned, shares):
    """out [R, heads · H] and, unless they are empty, turned [R, heads · H] and shares [R, C · K].

    Args:
        classes: [C] the class of each column: shares_ick = Σ_j d_ijk α_ijk over the columns j of class c.
        totals: largest score, 1 / Σ_j w_ij exp(e_ijk - largest) and Σ_j c_ijk α_ijk: results [R, K].
    """
    indptr, indices, blocks = rows.indptr, rows.indices, rows.blocks
    padded = nodes.target.shape[1]
    for b in prange(len(blocks) - 1):
        most = _widest(indptr, blocks[b], blocks[b + 1])
        f, g = np.empty((most, padded), np.float32), np.empty((most, padded), np.float32)
        parts = f, g, np.empty((2, WIDTH), np.float32)
        for i in range(blocks[b], blocks[b + 1]):
            begin, end = indptr[i], indptr[i + 1]
            if len(rows.wanted) and not rows.wanted[i]:
                _leave_out(i, totals, (out, turned, shares))
                continue
            for k in range(0, padded, WIDTH):
                _row_parts(rows, nodes, noise, i, k, totals, parts)
            _collect(parts, indices, begin, end, nodes.values, (out, turned, noise.heads), i, i)
            for at in range(0, shares.shape[1], WIDTH):
                store8(shares, i, at, splat8(_ZERO))
            if len(classes):
                for e in range(begin, end):
                    for k in range(0, padded, WIDTH):
                        at = classes[indices[e]] * padded + k
                        store8(shares, i, at, add8(load8(shares, i, at), load8(f, e - begin, k)))
