"""Graphs with other edges than the given one, for methods that add some."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..graph.loops import LOOP, with_loops
from ..graph.pattern import Pattern
from ..graph.structure import Structure


def edges_of(structure: Structure) -> sp.csr_array:
    """A [N, N] without its loops and without edges that weigh 0."""
    pattern = structure.pattern
    weights = np.where(structure.loop, 0, structure.weights)
    a = sp.csr_array((weights, pattern.indices, pattern.indptr), shape=pattern.shape, copy=True)
    a.eliminate_zeros()
    return a


def joined(others: NDArray[Any]) -> sp.csr_array:
    """[N, N] with 1 from each node to the ``others`` [N, k] of its row."""
    nodes = len(others)
    rows = np.repeat(np.arange(nodes), others.shape[1])
    return sp.csr_array((np.ones(others.size, np.float32), (rows, others.reshape(-1))), shape=(nodes, nodes))


def structure_of(a: sp.csr_array) -> Structure:
    """A + I for A [N, N] without loops."""
    a.sort_indices()
    looped = with_loops(a.indptr.astype(np.int64), a.indices.astype(np.int32))
    pattern = Pattern.from_csr(looped.indptr, looped.indices, a.shape)
    loop = looped.entries == LOOP
    weights = np.ones(len(loop), np.float32)
    weights[~loop] = a.data[looped.entries[~loop]]
    ends = np.stack([pattern.rows, pattern.indices]).astype(np.int64)
    _, pair = np.unique(ends.min(0) * len(looped.indptr) + ends.max(0), return_inverse=True)
    return Structure(pattern, weights, loop, pair.astype(np.int32))
