"""Gradients of the attention of several heads (:mod:`heads`), with the names of that module."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from .dense import is_zero
from .edges import _elementwise, _parallel
from .heads import _collect, _keep, _mass, _slope, _widest
from .sparse import _AHEAD, _ask
from .vector import WIDTH, add8, fma8, load8, mul8, splat8, store8, total8

_ZERO, _ONE = np.float32(0), np.float32(1)


@numba.njit(inline="always")
def _dot(left, i, right, j, first, last):
    """left[i, first : last] · right[j, first : last]."""
    whole, total = first + (last - first) // WIDTH * WIDTH, _ZERO
    if whole > first:
        sums = splat8(_ZERO)
        for h in range(first, whole, WIDTH):
            sums = fma8(load8(left, i, h), load8(right, j, h), sums)
        total = total8(sums)
    for h in range(whole, last):
        total += left[i, h] * right[j, h]
    return total


@_parallel
def row_gradients(grad, out, turned, slopes, heads, along, d_target, live):
    """along_ik = r_ik = G_ik · out_ik and d_target_ik = G_ik · turned_ik - r_ik Σ_j c_ijk α_ijk: [R, K] both.

    live: [R] result: whether any number of G_i is not 0. Few rows are where few nodes have a label.
    """
    units = grad.shape[1] // heads
    for i in prange(len(grad)):
        live[i] = not is_zero(grad, i, i + 1)
        for k in range(heads):
            along[i, k] = d_target[i, k] = _ZERO
            if live[i]:
                along[i, k] = _dot(grad, i, out, i, k * units, (k + 1) * units)
                through = _dot(grad, i, turned, i, k * units, (k + 1) * units)
                d_target[i, k] = through - along[i, k] * slopes[i, k]


@numba.njit(inline="always")
def _live_entries(columns, j, outer, near, entries):
    """The rows and places of a column's entries in rows that are live, and how many there are."""
    indptr, indices, perm, _ = columns
    grad, _, _, _, live = outer
    count = 0
    for e in range(indptr[j], indptr[j + 1]):
        if e + _AHEAD < len(indices) and live[indices[e + _AHEAD]]:
            _ask(grad, indices[e + _AHEAD])
        near[count], entries[count] = indices[e], perm[e]
        count += live[indices[e]]
    return count


@numba.njit(inline="always")
def _column_parts(found, rows, nodes, noise, outer, j, k, parts):
    """f and g of :func:`heads._row_parts` for the live entries of column j; Σ_i c_ijk α_ijk r_ik."""
    (near, entries, count), (f, g, _) = found, parts
    _, along, tops, inverses, _ = outer
    source, total = load8(nodes.source, j, k), splat8(_ZERO)
    for e in range(count):
        i, entry = near[e], entries[e]
        z = add8(load8(nodes.target, i, k), source)
        alpha = mul8(_mass(z, load8(tops, i, k), rows.weights[entry]), load8(inverses, i, k))
        sloped = mul8(_slope(z), alpha)
        total = fma8(sloped, load8(along, i, k), total)
        if noise.limit > 0:
            start = rows.indptr[i]
            keep = _keep(noise, entry, start, rows.indptr[i + 1] - start, k)
            alpha, sloped = mul8(alpha, keep), mul8(sloped, keep)
        store8(f, e, k, alpha)
        store8(g, e, k, sloped)
    return total


@_elementwise
def column_gradients(columns, rows, nodes, noise, outer, d_source, d_values):
    """d_values_jk = Σ_i d_ijk α_ijk G_ik and d_source_jk = v_jk · Σ_i c_ijk d_ijk α_ijk G_ik - Σ_i c_ijk α_ijk r_ik.

    Args:
        outer: G [R, heads · H], r [R, K] by :func:`row_gradients`, the first two totals of :func:`heads.attend`, and
            which rows of G are live.
        d_source, d_values: results [C, K] and [C, heads · H].
    """
    indptr, blocks = columns.indptr, columns.blocks
    grad, heads, padded = outer[0], noise.heads, d_source.shape[1]
    units = grad.shape[1] // heads
    for b in prange(len(blocks) - 1):
        most = _widest(indptr, blocks[b], blocks[b + 1]) + 1
        near, entries = np.empty(most, np.int64), np.empty(most, np.int64)
        f, g = np.empty((most, padded), np.float32), np.empty((most, padded), np.float32)
        parts = f, g, np.empty((2, WIDTH), np.float32)
        turned = np.empty((1, grad.shape[1]), np.float32)
        for j in range(blocks[b], blocks[b + 1]):
            count = _live_entries(columns, j, outer, near, entries)
            if count == 0:
                d_source[j], d_values[j] = _ZERO, _ZERO
                continue
            for k in range(0, padded, WIDTH):
                found = near, entries, count
                store8(d_source, j, k, _column_parts(found, rows, nodes, noise, outer, j, k, parts))
            _collect(parts, near, 0, count, grad, (d_values, turned, heads), j, 0)
            for k in range(heads):
                through = _dot(nodes.values, j, turned, 0, k * units, (k + 1) * units)
                d_source[j, k] = through - d_source[j, k]


@_elementwise
def weight_gradients(rows, nodes, noise, outer, d_weights):
    """d_weights_ij = Σ_k exp(e_ijk) / Σ_j' w_ij' exp e_ij'k · (d_ijk G_ik · v_jk - r_ik): [E]."""
    indptr, indices, blocks = rows.indptr, rows.indices, rows.blocks
    grad, along, tops, inverses, live = outer
    heads, padded = noise.heads, nodes.target.shape[1]
    units = grad.shape[1] // heads
    for b in prange(len(blocks) - 1):
        dots = np.zeros((1, padded), np.float32)
        for i in range(blocks[b], blocks[b + 1]):
            begin, count = indptr[i], indptr[i + 1] - indptr[i]
            for e in range(begin, begin + count):
                j, total = indices[e], splat8(_ZERO)
                if not live[i]:
                    d_weights[e] = _ZERO
                    continue
                for k in range(heads):
                    dots[0, k] = _dot(grad, i, nodes.values, j, k * units, (k + 1) * units)
                for k in range(0, padded, WIDTH):
                    z = add8(load8(nodes.target, i, k), load8(nodes.source, j, k))
                    share = mul8(_mass(z, load8(tops, i, k), _ONE), load8(inverses, i, k))
                    dot = load8(dots, 0, k)
                    if noise.limit > 0:
                        dot = mul8(dot, _keep(noise, e, begin, count, k))
                    total = fma8(share, fma8(load8(along, i, k), splat8(-_ONE), dot), total)
                d_weights[e] = total8(total)
