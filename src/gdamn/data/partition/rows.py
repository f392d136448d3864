"""Rows of a graph in a new order of its nodes, a part at a time, and the pair that each of their entries belongs to."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from ...graph.graph import Graph
from ...graph.parts import Part
from ...graph.read_only import sealed


class Rows(NamedTuple):
    """The rows of one part.

    Attributes:
        indptr: [n + 1] from 0.
        columns: [e] new numbers, sorted within a row.
        weights: [e], or None.
        halo: [h] new numbers of the columns outside of the part, sorted.
        local: [e] the columns as the part names them.
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    weights: NDArray[np.float32] | None
    halo: NDArray[np.int64]
    local: NDArray[np.int32]


def part_rows(graph: Graph, nodes: NDArray[np.int64], places: NDArray[np.int64], first: int) -> Rows:
    """The rows of these nodes.

    Args:
        nodes: [n] the part's nodes, as the graph numbers them.
        places: [N] the new number of each node.
        first: the new number of the part's first node.
    """
    begins = graph.indptr[nodes]
    indptr = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(graph.indptr[nodes + 1] - begins, out=indptr[1:])
    columns = np.empty(indptr[-1], np.int64)
    weights = np.empty(0 if graph.weights is None else indptr[-1], np.float32)
    values = sealed(weights) if graph.weights is None else graph.weights
    _gather(graph.indices, values, begins, indptr, places, columns, weights)
    inside = (columns >= first) & (columns < first + len(nodes))
    halo = np.unique(columns[~inside])
    local = np.where(inside, columns - first, len(nodes) + np.searchsorted(halo, columns)).astype(np.int32)
    return Rows(indptr, columns, None if graph.weights is None else weights, halo, local)


class Pairs:
    """The pairs of entries, part after part: the smaller position of an entry (i, j) and its reverse (j, i).

    An undirected graph's (j, i) is the next free place of row j, because the rows i come in order. Of a directed graph
    only an earlier row j matters, and its entries are there already, sorted.

    Args:
        indptr: [N + 1] row pointers in the new order.
    """

    def __init__(self, indptr: NDArray[np.int64], directed: bool) -> None:
        self.indptr, self.directed = indptr, directed
        self.kind: Any = np.int32 if indptr[-1] + len(indptr) - 1 < 1 << 31 else np.int64
        self._reached = np.empty(0, np.int64) if directed else indptr[:-1].copy()

    def of(self, rows: Rows, first: int, earlier: Iterable[Part]) -> NDArray[Any]:
        """[e] the pairs of a part's entries; the parts come in order.

        Args:
            first: the part's first node.
            earlier: the parts before it, as they were written.
        """
        pair = np.arange(self.indptr[first], self.indptr[first] + len(rows.columns)).astype(self.kind)
        if not self.directed:
            _next_free(rows.columns, self._reached, pair)
            return pair
        by_column = np.argsort(rows.columns, kind="stable")
        row_of = np.repeat(np.arange(first, first + len(rows.indptr) - 1), np.diff(rows.indptr))
        for part in earlier:
            arrays = part.array("indptr"), part.array("indices"), part.array("halo")
            self._search(rows, part.first_node, arrays, by_column, row_of, pair)
        self._search(rows, first, (rows.indptr, rows.local, rows.halo), by_column, row_of, pair)
        return pair

    def _search(self, rows: Rows, first: int, arrays: Any, by_column: Any, row_of: Any, pair: NDArray[Any]) -> None:
        """Look for the reverses of the entries that lead to one part, whose rows are given, and begin at ``first``."""
        ends = first, first + len(arrays[0]) - 1
        begin, end = np.searchsorted(rows.columns, ends, sorter=by_column)
        sealed_arrays = tuple(sealed(array) for array in arrays)  # all sealed: compiled once
        _found(sealed_arrays, first, self.indptr[first], by_column[begin:end], rows.columns, row_of, pair)

    def skip(self, part: Part) -> None:
        """A part that is written already."""
        if not self.directed:
            _next_free(part.columns(part.array("indices")), self._reached, np.zeros(0, self.kind))


@numba.njit(cache=True)
def _gather(indices, values, begins, indptr, places, columns, weights):
    """Each row's columns in the new numbering, sorted, and the weights along with them."""
    for i in range(len(indptr) - 1):
        begin, end = indptr[i], indptr[i + 1]
        for e in range(end - begin):
            columns[begin + e] = places[indices[begins[i] + e]]
        if len(weights):
            order = np.argsort(columns[begin:end])
            for e in range(end - begin):
                weights[begin + e] = values[begins[i] + order[e]]
        columns[begin:end].sort()


@numba.njit(cache=True)
def _next_free(columns, reached, pair):
    for e in range(len(columns)):
        j = columns[e]
        if len(pair) and reached[j] < pair[e]:
            pair[e] = reached[j]
        reached[j] += 1


@numba.njit(cache=True)
def _found(part, first_row, first_entry, chosen, columns, row_of, pair):
    """Where an entry (i, j) has its (j, i) in the rows of a part, at an earlier position, that is its pair."""
    indptr, local, halo = part
    n = len(indptr) - 1
    for at in range(len(chosen)):
        e = chosen[at]
        i, j = row_of[e], columns[e] - first_row
        low, high = indptr[j], indptr[j + 1]
        while low < high:
            middle = (low + high) // 2
            node = first_row + local[middle] if local[middle] < n else halo[local[middle] - n]
            if node < i:
                low = middle + 1
            else:
                high = middle
        if low == indptr[j + 1] or first_entry + low >= pair[e]:
            continue
        if (first_row + local[low] if local[low] < n else halo[local[low] - n]) == i:
            pair[e] = first_entry + low
