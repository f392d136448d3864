"""Compiled loops over the rows of a large graph: which entries a batch or a block has, with one loop per node."""
# mypy: disable-error-code="no-untyped-def,misc"

from __future__ import annotations

import numba
import numpy as np

from ....kernels.noise import uniform

_LOOP = -1


@numba.njit(cache=True)
def count_rows(indptr, indices, nodes, local):
    """[S] entries of each node's row whose column is in the batch (local ≥ 0), and one for the loop."""
    counts = np.empty(len(nodes), np.int64)
    for r in range(len(nodes)):
        n = 1
        for e in range(indptr[nodes[r]], indptr[nodes[r] + 1]):
            if local[indices[e]] >= 0:
                n += 1
        counts[r] = n
    return counts


@numba.njit(cache=True)
def fill_rows(indptr, indices, nodes, local, out_indptr, out_indices, out_places):
    """The rows themselves, sorted, in the batch's own numbers; the place of an entry in the graph, -1 for a loop.

    ``nodes`` is sorted, so the batch's numbers are in the order of the graph's.
    """
    for r in range(len(nodes)):
        at, i, looped = out_indptr[r], nodes[r], False
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if local[j] < 0:
                continue
            if not looped and j > i:
                out_indices[at], out_places[at], looped = local[i], _LOOP, True
                at += 1
            out_indices[at], out_places[at] = local[j], e
            at += 1
        if not looped:
            out_indices[at], out_places[at] = local[i], _LOOP


@numba.njit(cache=True)
def mark_neighbours(indptr, indices, nodes, seen):
    """Mark every neighbour of the nodes in ``seen`` [N]."""
    for r in range(len(nodes)):
        for e in range(indptr[nodes[r]], indptr[nodes[r] + 1]):
            seen[indices[e]] = True


@numba.njit(cache=True)
def sample_rows(indptr, nodes, fanout, key):
    """Up to ``fanout`` entries of each node's row: those with the smallest hash of (key, place of the entry).

    A function of the key and the entry alone, so that neither the batch nor the order of its nodes matters.

    Returns:
        [S + 1] pointers and [K] places in the graph, sorted within a row.
    """
    pointers = np.zeros(len(nodes) + 1, np.int64)
    for r in range(len(nodes)):
        degree = indptr[nodes[r] + 1] - indptr[nodes[r]]
        pointers[r + 1] = pointers[r] + min(degree, fanout)
    places = np.empty(pointers[-1], np.int64)
    for r in range(len(nodes)):
        begin, end = indptr[nodes[r]], indptr[nodes[r] + 1]
        if end - begin <= fanout:
            places[pointers[r] : pointers[r + 1]] = np.arange(begin, end)
            continue
        drawn = np.empty(end - begin, np.float32)
        for e in range(begin, end):
            drawn[e - begin] = uniform(key, np.uint64(e))
        chosen = np.argsort(drawn, kind="mergesort")[:fanout]
        chosen.sort()
        places[pointers[r] : pointers[r + 1]] = begin + chosen
    return pointers, places


@numba.njit(cache=True)
def with_loops(nodes, local, indices, pointers, places, out_indptr, out_indices, out_places):
    """Rows of chosen places (empty rows for nodes beyond ``pointers``), each with its loop, in the batch's numbers."""
    at = 0
    for r in range(len(nodes)):
        out_indptr[r], i, looped = at, nodes[r], False
        for k in range(pointers[r], pointers[r + 1]):
            j = indices[places[k]]
            if not looped and j > i:
                out_indices[at], out_places[at], looped = local[i], _LOOP, True
                at += 1
            out_indices[at], out_places[at] = local[j], places[k]
            at += 1
        if not looped:
            out_indices[at], out_places[at] = local[i], _LOOP
            at += 1
    out_indptr[len(nodes)] = at


@numba.njit(cache=True)
def block_rows(indptr, indices, first, last, out_indices, out_places):
    """The rows ``first`` to ``last`` with all their columns and their loops, sorted; places as above."""
    at = 0
    for i in range(first, last):
        looped = False
        for e in range(indptr[i], indptr[i + 1]):
            if not looped and indices[e] > i:
                out_indices[at], out_places[at], looped = i, _LOOP, True
                at += 1
            out_indices[at], out_places[at] = indices[e], e
            at += 1
        if not looped:
            out_indices[at], out_places[at] = i, _LOOP
            at += 1
