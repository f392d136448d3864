"""RowBlock: some rows of A + I with all their columns, on which weights are made, used once and dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....graph.graph import Graph
from ....kernels import Pattern, sddmm, spmm
from . import csr


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Rows ``rows`` of A + I, e entries.

    Attributes:
        pattern: [R, N]; for products that need no gradient: its transpose is not made.
        weights: [e] of the input graph; 1 for loops and for unweighted graphs.
        free: [e] False on loops.
        pair: [e] the number of the unordered pair, as in :class:`gdamn.graph.structure.Structure`.
        places: [e] position in the graph's CSR, -1 for loops.
    """

    rows: slice
    pattern: Pattern
    weights: Tensor
    free: Tensor
    pair: Tensor
    places: NDArray[np.int64]

    def dots(self, left: Tensor, right: Tensor) -> Tensor:
        """left_i · right_j on every entry, for [N, H] both: [e]."""
        return sddmm(self.pattern, left[self.rows], right)

    def product(self, values: Tensor, h: Tensor, bias: Tensor | None = None) -> Tensor:
        """Σ_j a_ij h_j + b: [R, H]."""
        return spmm(self.pattern, values, h, bias)

    def scaled(self, values: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """left_i a_ij right_j with [N] both: [e]."""
        return values * self.dots(left[:, None], right[:, None])

    def row_sums(self, values: Tensor) -> Tensor:
        """[R]."""
        ones = torch.ones(self.pattern.shape[1], 1, device=values.device)
        return spmm(self.pattern, values, ones)[:, 0]

    def column_sums(self, values: Tensor) -> Tensor:
        """[N], of these rows alone; in double, so that the order of the blocks doesn't show."""
        counts = np.bincount(self.pattern.indices, values.cpu().numpy(), minlength=self.pattern.shape[1])
        return torch.as_tensor(counts).to(values.device)


def row_block(graph: Graph, first: int, last: int, device: torch.device) -> RowBlock:
    """The rows ``first`` to ``last`` of A + I."""
    degrees = np.diff(graph.indptr[first : last + 1])
    indptr = np.zeros(last - first + 1, np.int64)
    np.cumsum(degrees + 1, out=indptr[1:])
    indices, places = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int64)
    csr.block_rows(graph.indptr, graph.indices, first, last, indices, places)
    nothing = np.empty(0, np.int32)
    pattern = Pattern((last - first, graph.num_nodes), indptr, indices, np.zeros(1, np.int64), nothing, nothing)
    nodes = indices[places < 0]
    return RowBlock(slice(first, last), pattern, *of_places(graph, places, nodes, device), places)


def of_places(
    graph: Graph, places: NDArray[np.int64], loops: NDArray[Any], device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, free and pair [e] of the entries at these places of A; -1 is a loop, of the nodes ``loops`` in order."""
    free = places >= 0
    weights, pair = np.ones(len(places), np.float32), np.empty(len(places), np.int64)
    edges = places[free]
    if graph.weights is not None:
        weights[free] = graph.weights[edges]
    back = graph.reverse[edges]
    pair[free] = np.where(back >= 0, np.minimum(edges, back), edges)
    pair[~free] = len(graph.indices) + loops
    kind = np.int32 if len(graph.indices) + graph.num_nodes < 1 << 31 else np.int64
    return tuple(torch.as_tensor(a).to(device) for a in (weights, free, pair.astype(kind)))  # type: ignore[return-value]
