"""Entries of A + I on which weights are made, used once and dropped: those of a batch, or of a block of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....graph.graph import Graph
from ....graph.loops import entry_attributes, with_loops
from ....kernels import Pattern, sddmm, spmm
from ....model.adjacency import scaled


@dataclass(frozen=True, eq=False)
class Entries:
    """Some entries of A + I.

    Attributes:
        rows, columns: the nodes of the pattern's rows and columns, as an index of arrays [N, …].
        pattern: CSR of the entries, [R, K].
        weights: [e] of the input graph; 1 for loops and for unweighted graphs.
        free: [e] False on loops.
    """

    rows: slice | Tensor
    columns: slice | Tensor
    pattern: Pattern
    weights: Tensor
    free: Tensor

    def dots(self, left: Tensor, right: Tensor, scale: float = 1.0) -> Tensor:
        """scale · left_i · right_j on every entry, for [N, H] both: [e]."""
        rows = left[self.rows]
        return sddmm(self.pattern, rows * scale if scale != 1 else rows, right[self.columns])

    def scaled(self, values: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """left_i a_ij right_j with [N] both: [e]."""
        return scaled(self.pattern, values, left[self.rows], right[self.columns])


@dataclass(frozen=True, eq=False)
class RowBlock(Entries):
    """A run of rows with all their columns.

    Attributes:
        pattern: [R, N]; for products that need no gradient: its transpose is not made.
        pair: [e] the number of the unordered pair, as in :class:`gdamn.graph.structure.Structure`.
        places: [e] position in the graph's CSR, -1 for loops.
    """

    pair: Tensor
    places: NDArray[np.int64]

    def product(self, values: Tensor, h: Tensor, bias: Tensor | None = None) -> Tensor:
        """Σ_j a_ij h_j + b: [R, H]."""
        return spmm(self.pattern, values, h, bias)

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
    indptr, indices, places = with_loops(graph.indptr[first : last + 1], graph.indices, first)
    weights, loop, pair = entry_attributes(graph, places, np.arange(first, last))
    nothing = np.empty(0, np.int32)
    return RowBlock(
        rows=slice(first, last),
        columns=slice(None),
        pattern=Pattern((last - first, graph.num_nodes), indptr, indices, np.zeros(1, np.int64), nothing, nothing),
        weights=torch.as_tensor(weights).to(device),
        free=torch.as_tensor(~loop).to(device),
        pair=torch.as_tensor(pair).to(device),
        places=places,
    )
