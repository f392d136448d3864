"""Compiled loops over the rows of a large graph: which entries a batch has."""
# mypy: disable-error-code="no-untyped-def,misc"

from __future__ import annotations

import numba
import numpy as np

from ....kernels.noise import uniform


@numba.njit(cache=True)
def inner_rows(indptr, indices, nodes, inside):
    """The entries of each node's row whose column is ``inside`` [N] too.

    Returns:
        [S + 1] pointers and [K] places in the graph, sorted within a row.
    """
    pointers = np.zeros(len(nodes) + 1, np.int64)
    for r in range(len(nodes)):
        count = 0
        for e in range(indptr[nodes[r]], indptr[nodes[r] + 1]):
            count += inside[indices[e]]
        pointers[r + 1] = pointers[r] + count
    places = np.empty(pointers[-1], np.int64)
    at = 0
    for r in range(len(nodes)):
        for e in range(indptr[nodes[r]], indptr[nodes[r] + 1]):
            if inside[indices[e]]:
                places[at] = e
                at += 1
    return pointers, places


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
