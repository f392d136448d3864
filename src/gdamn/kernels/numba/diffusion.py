"""Rows of a diffusion matrix as compiled loops: each row is made by one thread in a fixed order.

So every result has the same bits for any number of threads.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from ..noise import LANES, lanes, uniform
from .sparse import _add_row
from .vector import fma8, load8, splat8, store8

STRIPE = 32
"""Columns of a gradient that one thread makes at a time."""


def _parallel(function):
    return numba.njit(parallel=True, cache=True, boundscheck=False)(function)


@numba.njit(inline="always")
def _less(values, ids, a, b):
    """Whether entry a has to go before entry b does: the smaller one, of equal ones that of the higher column."""
    return values[a] < values[b] or (values[a] == values[b] and ids[a] > ids[b])


@numba.njit(inline="always")
def _swap(values, ids, a, b):
    values[a], values[b] = values[b], values[a]
    ids[a], ids[b] = ids[b], ids[a]


@numba.njit
def _keep_largest(values, ids, count, value, at):
    """A heap of the largest entries, the least of them on top; the new one comes in if there is room or it is larger.

    Returns:
        How many entries the heap has now.
    """
    if count < len(values):
        values[count], ids[count] = value, at
        child = count
        while child > 0 and _less(values, ids, child, (child - 1) // 2):
            _swap(values, ids, child, (child - 1) // 2)
            child = (child - 1) // 2
        return count + 1
    if value < values[0] or (value == values[0] and at > ids[0]):
        return count
    values[0], ids[0] = value, at
    parent = 0
    while 2 * parent + 1 < count:
        child = 2 * parent + 1
        if child + 1 < count and _less(values, ids, child + 1, child):
            child += 1
        if not _less(values, ids, child, parent):
            break
        _swap(values, ids, child, parent)
        parent = child
    return count


@numba.njit
def _spread(indptr, indices, values, floor, now, nxt, here, there):
    """One step of the walk from the nodes in ``here``; those with less than ``floor`` per entry are left behind.

    Returns:
        How many nodes of ``there`` have something now.
    """
    reached = 0
    for u in here:
        mass = now[u]
        now[u] = 0.0
        if mass <= floor * (indptr[u + 1] - indptr[u]):
            continue
        for e in range(indptr[u], indptr[u + 1]):
            part = mass * values[e]
            if part > 0.0:
                j = indices[e]
                if nxt[j] == 0.0:
                    there[reached] = j
                    reached += 1
                nxt[j] += part
    return reached


@_parallel
def diffuse(matrix, coefficients, threshold, blocks, out_ids, out_values, out_count):
    """The ``top`` largest entries of every row of Σ_n c_n P^n, sorted by column: [R, top] and how many there are [R].

    P is a matrix in CSR: indptr, indices and values. A walk does not go on from a node where all that could still come
    of it is at most ``threshold`` times the node's number of entries: its mass times Σ_{m≥n} c_m.
    """
    indptr, indices, values = matrix
    nodes, top = len(indptr) - 1, out_ids.shape[1]
    floors = np.zeros(len(coefficients))
    for step in range(len(coefficients)):
        floors[step] = threshold / max(coefficients[step:].sum(), 1e-300)
    for block in prange(len(blocks) - 1):
        now, nxt, total = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes)
        here, there = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
        seen = np.empty(nodes, np.int32)
        best, best_ids = np.empty(top), np.empty(top, np.int32)
        for s in range(blocks[block], blocks[block + 1]):
            now[s], here[0], reached = 1.0, s, 1
            total[s], seen[0], known = coefficients[0], s, 1
            for step in range(1, len(coefficients)):
                reached = _spread(indptr, indices, values, floors[step], now, nxt, here[:reached], there)
                for j in there[:reached]:
                    if total[j] == 0.0:
                        seen[known] = j
                        known += 1
                    total[j] += coefficients[step] * nxt[j]
                now, nxt, here, there = nxt, now, there, here
            count = 0
            for j in here[:reached]:
                now[j] = 0.0
            for j in seen[:known]:
                if total[j] > 0.0:
                    count = _keep_largest(best, best_ids, count, total[j], j)
                total[j] = 0.0
            order = np.argsort(best_ids[:count])
            for k in range(count):
                out_ids[s, k], out_values[s, k] = best_ids[order[k]], best[order[k]]
            out_count[s] = count


@_parallel
def mix_dense(rows, indptr, indices, values, rate, key, x, out):
    """out_b = Σ_e m_e v_e x_j(e) / Σ_e m_e v_e over the entries of row rows_b; m_e leaves out a share ``rate`` of them.

    The noise of an entry is a function of its place in the whole matrix. A row that loses all its entries is 0.
    """
    for b in prange(len(rows)):
        total = np.float32(0)
        out[b] = 0
        for e in range(indptr[rows[b]], indptr[rows[b] + 1]):
            if rate <= 0 or uniform(key, np.uint64(e)) >= rate:
                total += values[e]
                for h in range(x.shape[1]):
                    out[b, h] += values[e] * x[indices[e], h]
        if total > 0:
            for h in range(x.shape[1]):
                out[b, h] /= total


@_parallel
def mix_sparse(rows, indptr, indices, values, rate, key, x, out):
    """The same for X in CSR: indptr, indices and values."""
    x_indptr, x_indices, x_values = x
    for b in prange(len(rows)):
        total = np.float32(0)
        out[b] = 0
        for e in range(indptr[rows[b]], indptr[rows[b] + 1]):
            if rate <= 0 or uniform(key, np.uint64(e)) >= rate:
                total += values[e]
                j = indices[e]
                for k in range(x_indptr[j], x_indptr[j + 1]):
                    out[b, x_indices[k]] += values[e] * x_values[k]
        if total > 0:
            for h in range(out.shape[1]):
                out[b, h] /= total


@numba.njit(inline="always")
def _kept(noise, place):
    """1 where dropout keeps the number at this place of a flat array, else 0: the same as of a dense one."""
    key, limit, _ = noise
    bits = lanes(key, np.uint64(place // LANES)) >> np.uint64(16 * (place % LANES))
    return np.int64((bits & np.uint64(0xFFFF)) >= limit)


@_parallel
def mix_entries(rows, matrix, drawn, x, width, noise, terms):
    """The terms of dropout(mixed row b of X), with the rows of :func:`mix_sparse`.

    Args:
        matrix, x: in CSR; drawn: which entries of the matrix are left out: rate and key.
        noise: key, limit and factor of dropout; width: columns of X.
        terms: where those of a row begin [B], and what is found here: where they end [B], their columns and factors
            [M]; a column may come several times in a row.
    """
    (indptr, indices, values), (x_indptr, x_indices, x_values) = matrix, x
    (rate, key), (begin, end, columns, parts) = drawn, terms
    for b in prange(len(rows)):
        total, at = np.float32(0), begin[b]
        for e in range(indptr[rows[b]], indptr[rows[b] + 1]):
            if rate <= 0 or uniform(key, np.uint64(e)) >= rate:
                total += values[e]
                j = indices[e]
                for k in range(x_indptr[j], x_indptr[j + 1]):
                    columns[at], parts[at] = x_indices[k], values[e] * x_values[k]
                    at += _kept(noise, b * width + x_indices[k])  # else the next term overwrites it
        end[b] = at
        if total > 0:
            factor = noise[2] / total
            for k in range(begin[b], at):
                parts[k] *= factor


@_parallel
def mix_linear(begin, end, columns, parts, weight, out):
    """out_b = Σ_k parts_k W_columns(k) over the terms of row b: [B, H]."""
    for b in prange(len(begin)):
        out[b] = 0
        _add_row(parts, begin[b], columns, begin[b], end[b], weight, out, b)


@_parallel
def mix_linear_backward(begin, end, columns, parts, grad, d_weight):
    """The gradient on W [F, H], some of its columns at a time: each number is one sum in the order of the terms."""
    width = d_weight.shape[1]
    for stripe in prange((width + STRIPE - 1) // STRIPE):
        first, last = stripe * STRIPE, min(width, (stripe + 1) * STRIPE)
        d_weight[:, first:last] = 0
        for b in range(len(begin)):
            if last - first == STRIPE:
                g0, g1 = load8(grad, b, first), load8(grad, b, first + 8)
                g2, g3 = load8(grad, b, first + 16), load8(grad, b, first + 24)
                for k in range(begin[b], end[b]):
                    f, part = columns[k], splat8(parts[k])
                    store8(d_weight, f, first, fma8(part, g0, load8(d_weight, f, first)))
                    store8(d_weight, f, first + 8, fma8(part, g1, load8(d_weight, f, first + 8)))
                    store8(d_weight, f, first + 16, fma8(part, g2, load8(d_weight, f, first + 16)))
                    store8(d_weight, f, first + 24, fma8(part, g3, load8(d_weight, f, first + 24)))
            else:
                for k in range(begin[b], end[b]):
                    for h in range(first, last):
                        d_weight[columns[k], h] += parts[k] * grad[b, h]
