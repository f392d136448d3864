"""The rows of A + I that a rank owns, put together from the parts that it maps."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray

from ....graph.parts import Part, PartitionedGraph
from ....graph.structure import Structure
from ..lean import LeanStructure
from .group import Group
from .halo import HaloPattern, agree


@dataclass(frozen=True, eq=False)
class OwnRows:
    """CSR of some rows of A + I, in the order of the whole graph; columns are local: own nodes first, then the halo.

    Attributes:
        indptr, indices: [n + 1] and [E]; pair: [E] number of the pair {i, j}; weights: [E], or None where all are 1.
        loops: [n] positions of the self-loops.
        outside: [halo] the nodes of other ranks, sorted.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    pair: NDArray[Any]
    weights: NDArray[np.float32] | None
    loops: NDArray[np.int64]
    outside: NDArray[np.int64]


def own_rows(parts: Sequence[Part], graph: PartitionedGraph) -> OwnRows:
    """The rows of consecutive parts."""
    first, last = parts[0].first_node, parts[-1].first_node + parts[-1].num_nodes
    n, outside = last - first, _outside(parts, first, last)
    size = sum(part.num_entries for part in parts) + n
    wide = graph.num_entries + graph.num_nodes >= 1 << 31
    rows = OwnRows(
        indptr=np.zeros(n + 1, np.int64),
        indices=np.empty(size, np.int32),
        pair=np.empty(size, np.int64 if wide else np.int32),
        weights=np.ones(size, np.float32) if graph.weighted else None,
        loops=np.empty(n, np.int64),
        outside=outside,
    )
    begin = 0
    for part in parts:
        halo = np.array(part.array("halo"))
        mine = (halo >= first) & (halo < last)
        places = np.where(mine, halo - first, n + np.searchsorted(outside, halo))
        places = np.concatenate([np.arange(part.num_nodes) + part.first_node - first, places]).astype(np.int32)
        weights = part.array("weights") if graph.weighted else np.empty(0, np.float32)
        arrays = part.array("indptr"), part.array("indices"), part.array("pair"), weights
        where = part.first_node, part.first_node - first, begin, graph.num_entries
        out = np.empty(0, np.float32) if rows.weights is None else rows.weights
        _fill(arrays, halo, places, where, (rows.indptr, rows.indices, rows.pair, out, rows.loops))
        begin += part.num_entries + part.num_nodes
    return rows


def _outside(parts: Sequence[Part], first: int, last: int) -> NDArray[np.int64]:
    """The nodes that the parts' rows name and don't own, sorted."""
    halos = [np.array(part.array("halo")) for part in parts]
    found: NDArray[np.int64] = np.unique(np.concatenate([h[(h < first) | (h >= last)] for h in halos]))
    return found


@numba.njit(cache=True)
def _fill(arrays, halo, places, where, out):
    """The rows of one part, each with its loop where its number belongs among those of its columns."""
    indptr, columns, pairs, weights = arrays
    first_node, first_row, begin, edges = where
    out_indptr, out_indices, out_pair, out_weights, loops = out
    nodes, at = len(indptr) - 1, begin
    for r in range(nodes):
        node, looped = first_node + r, False
        for e in range(indptr[r], indptr[r + 1]):
            c = columns[e]
            if not looped and (first_node + c if c < nodes else halo[c - nodes]) > node:
                out_indices[at], out_pair[at], loops[first_row + r], looped = first_row + r, edges + node, at, True
                at += 1
            out_indices[at], out_pair[at] = places[c], pairs[e]
            if len(out_weights):
                out_weights[at] = weights[e]
            at += 1
        if not looped:
            out_indices[at], out_pair[at], loops[first_row + r] = first_row + r, edges + node, at
            at += 1
        out_indptr[first_row + r + 1] = at


def own_structure(
    parts: Sequence[Part], graph: PartitionedGraph, bounds: NDArray[np.int64], group: Group, mode: str
) -> Structure:
    """A + I on the rank's rows.

    Args:
        bounds: [R + 1] rank r owns the nodes from ``bounds[r]`` to ``bounds[r + 1]``.
        mode: full; or fused, which holds only what the loops that make weights again need (lean.py), or batches, which
            need the numbers of the pairs beside that.
    """
    rows = own_rows(parts, graph)
    n = len(rows.loops)
    local = HaloPattern.from_csr(rows.indptr, rows.indices, (n, n + len(rows.outside)))
    assert isinstance(local, HaloPattern)
    first_entry = parts[0].first_entry + parts[0].first_node
    pattern = replace(local, first_entry=first_entry, halo=agree(rows.outside, bounds, group))
    if mode != "full":
        weights = torch.ones(1).expand(len(rows.indices)).numpy() if rows.weights is None else rows.weights
        pair = np.empty(0, np.int32) if pattern.symmetric and mode == "fused" else rows.pair
        return LeanStructure(pattern, weights, np.empty(0, bool), pair, loops=rows.loops)
    loop = np.zeros(len(rows.indices), bool)
    loop[rows.loops] = True
    weights = np.ones(len(rows.indices), np.float32) if rows.weights is None else rows.weights
    return Structure(pattern, weights, loop, rows.pair)
