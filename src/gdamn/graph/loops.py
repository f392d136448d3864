"""A + I: the one place that puts a self-loop into every row of a CSR, and says what belongs to the entries."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from .read_only import sealed

if TYPE_CHECKING:
    from .graph import Graph

LOOP = -1
"""Stands where an entry is a loop, and so no entry of the graph."""


class LoopedRows(NamedTuple):
    """Rows of A + I.

    Attributes:
        indptr, indices: CSR, [R + 1] and [E], sorted within a row.
        entries: [E] position of each entry among the columns that it came from, :data:`LOOP` for a loop.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    entries: NDArray[np.int64]


def with_loops(indptr: NDArray[np.int64], columns: NDArray[np.int32], first: int = 0) -> LoopedRows:
    """Rows of sorted columns, each with its loop; that of row r is in column ``first`` + r.

    Args:
        indptr: [R + 1] row r has ``columns[indptr[r] : indptr[r + 1]]``; it need not begin at 0.
        first: the node of the first row, where the rows are only some of a graph's.
    """
    return LoopedRows(*_with_loops(sealed(indptr), sealed(columns), first))  # all sealed: compiled once


def entry_attributes(
    graph: Graph, entries: NDArray[np.int64], nodes: NDArray[Any]
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[Any]]:
    """Weight, whether it is a loop, and number of the pair {i, j}, as :class:`Structure` has them: [E] each.

    Args:
        entries: [E] positions in the graph's CSR, :data:`LOOP` for a loop.
        nodes: [R] the nodes of the loops, in their order.
    """
    edges = len(graph.indices)
    pair = np.empty(len(entries), np.int32 if edges + graph.num_nodes < 1 << 31 else np.int64)
    weights, loop = np.ones(len(entries), np.float32), np.empty(len(entries), np.bool_)
    _fill_attributes(entries, nodes, graph.reverse, edges, loop, pair)
    if graph.weights is not None:
        weights[~loop] = graph.weights[entries[~loop]]
    return weights, loop, pair


def on_entries(entries: NDArray[np.int64], marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[E] what is marked of a graph's CSR, on the entries of A + I; False on loops."""
    return sealed(np.append(marked, False)[entries])


def mirrored(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """[E] position of (j, i) for each entry (i, j) of a symmetric pattern, without a copy of the pattern."""
    positions: NDArray[np.int32] = _mirrored(indptr, indices)
    return positions


@numba.njit(cache=True)
def _with_loops(indptr, columns, first):
    rows = len(indptr) - 1
    out_indptr = np.empty(rows + 1, np.int64)
    size = indptr[rows] - indptr[0] + rows
    indices, entries = np.empty(size, np.int32), np.empty(size, np.int64)
    at = 0
    for r in range(rows):
        out_indptr[r], node, looped = at, first + r, False
        for e in range(indptr[r], indptr[r + 1]):
            if not looped and columns[e] > node:
                indices[at], entries[at], looped = node, LOOP, True
                at += 1
            indices[at], entries[at] = columns[e], e
            at += 1
        if not looped:
            indices[at], entries[at] = node, LOOP
            at += 1
    out_indptr[rows] = at
    return out_indptr, indices, entries


@numba.njit(cache=True)
def _fill_attributes(entries, nodes, reverse, edges, loop, pair):
    """An edge's pair is the smaller position of the entry and its reverse; those of loops follow."""
    loops = 0
    for at in range(len(entries)):
        e = entries[at]
        loop[at] = e < 0
        if e < 0:
            pair[at] = edges + nodes[loops]
            loops += 1
        else:
            pair[at] = reverse[e] if 0 <= reverse[e] < e else e


@numba.njit(cache=True)
def _mirrored(indptr, indices):
    """The place of (j, i) is the next free one of row j, because the rows i come in order."""
    out, reached = np.empty(len(indices), np.int32), indptr[:-1].copy()
    for e in range(len(indices)):
        j = indices[e]
        out[e] = reached[j]
        reached[j] += 1
    return out
