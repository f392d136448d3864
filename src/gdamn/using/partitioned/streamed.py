"""StreamedGraph: a partitioned graph in one process, the rows of one part at a time.

What all nodes have, such as the hidden values of a layer, lies in mapped files [N, H]; of these a part reads its own
rows and those of its halo, and writes its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...data.progress import Progress, silent
from ...fit.domains.ranks.group import Alone
from ...fit.domains.ranks.part_features import features_of, normaliser
from ...fit.domains.ranks.part_rows import own_rows
from ...graph.extension import as_held
from ...graph.parts import Part, PartitionedGraph
from ...graph.read_only import as_tensor
from ...kernels import Pattern, spmm
from ...model.adjacency import scaled, scales
from ...model.inputs import Block
from ...system.scratch import Scratch

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PartRows:
    """The rows of A + I that a part has.

    Attributes:
        part: the part.
        columns: [n + halo] the nodes that the columns of ``pattern`` name: its own, then those of other parts.
        pattern: CSR of the rows, for products that need no gradient: its transpose is not made.
        weights: [e] of the graph; 1 on loops, and where it has none.
        loops: [n] positions of the self-loops.
    """

    part: Part
    columns: NDArray[np.int64]
    pattern: Pattern
    weights: Tensor
    loops: NDArray[np.int64]

    @property
    def own(self) -> slice:
        """The part's run of nodes."""
        return slice(self.part.first_node, self.part.first_node + self.part.num_nodes)

    def gathered(self, array: NDArray[Any]) -> Tensor:
        """[n + halo, …] the rows of a mapped array [N, …] that the columns name."""
        n = self.part.num_nodes
        found = np.empty((len(self.columns), *array.shape[1:]), array.dtype)
        found[:n] = array[self.own]
        found[n:] = array[self.columns[n:]]
        return torch.from_numpy(found)

    def row_sums(self, values: Tensor) -> NDArray[Any]:
        """[n]."""
        return spmm(self.pattern, values, torch.ones(self.pattern.shape[1], 1))[:, 0].numpy()

    def column_sums(self, values: Tensor) -> NDArray[np.float64]:
        """[n + halo], of these rows alone; in double, so that the order of the parts doesn't show."""
        sums: NDArray[Any] = np.bincount(self.pattern.indices, values.numpy(), minlength=self.pattern.shape[1])
        return sums


Weigh = Callable[[PartRows], Tensor]
"""The weights [e] of a part's entries."""


def part_rows(part: Part, graph: PartitionedGraph) -> PartRows:
    """The rows of one part, in memory."""
    rows = own_rows([part], graph)
    own = np.arange(part.first_node, part.first_node + part.num_nodes)
    nothing, shape = np.empty(0, np.int32), (part.num_nodes, part.num_nodes + len(rows.outside))
    weights = torch.ones(len(rows.indices)) if rows.weights is None else torch.from_numpy(rows.weights)
    pattern = Pattern(shape, rows.indptr, rows.indices, np.zeros(1, np.int64), nothing, nothing)
    return PartRows(part, np.concatenate([own, rows.outside]), pattern, weights, rows.loops)


class StreamedGraph:
    """A graph to answer for.

    Args:
        graph: it; its parts are checked.
        fitted_on: the graph of the fit, which tells how features are normalised.
        normalize: the fit's setting of that name.
        room: where what all nodes have is kept.
    """

    def __init__(
        self,
        graph: PartitionedGraph,
        fitted_on: PartitionedGraph,
        normalize: str,
        room: Scratch,
        progress: Progress = silent,
    ) -> None:
        self.graph, self.fitted_on, self.room, self.progress = graph, fitted_on, room, progress
        for part in self.parts("checking parts"):
            part.check()
        self._normalised = normaliser(fitted_on.parts, fitted_on, normalize, Alone(torch.device("cpu")))

    def parts(self, what: str) -> Iterator[Part]:
        """One part after the other; mapped pages are given back in between."""
        parts = self.graph.parts
        for part in parts:
            self.progress(what, part.number, len(parts))
            yield part
            self.room.release()
        self.progress(what, len(parts), len(parts))

    def rows(self, what: str) -> Iterator[PartRows]:
        """The rows of one part after the other."""
        for part in self.parts(what):
            yield part_rows(part, self.graph)

    def x(self, part: Part) -> Block:
        """The features of a part's nodes, normalised as those of the fit were."""
        features = next(iter(features_of([part], self.graph)))
        x = self._normalised(as_held(features, self.fitted_on.is_sparse))
        if not sp.issparse(x):
            return Block(x.shape[1], 0.0, dense=torch.from_numpy(np.ascontiguousarray(x, np.float32)))
        pattern = Pattern.from_csr(x.indptr, x.indices, x.shape)
        return Block(x.shape[1], 0.0, pattern=pattern, values=as_tensor(np.ascontiguousarray(x.data, np.float32)))

    def of_features(self, what: str, function: Callable[[Block], Tensor], width: int) -> Floats:
        """[N, width] a function of each node's own features."""
        out = self.room.zeros(self.graph.num_nodes, width)
        for part in self.parts(what):
            out[part.first_node : part.first_node + part.num_nodes] = function(self.x(part)).numpy()
        return out

    def propagated(
        self,
        what: str,
        weigh: Weigh,
        h: Floats,
        width: int,
        then: Callable[[Tensor, slice], Tensor] = lambda rows, own: rows,
    ) -> Floats:
        """[N, width] then(Σ_j a_ij h_j), where ``then`` is given rows of a part and which nodes they are."""
        out = self.room.zeros(self.graph.num_nodes, width)
        for rows in self.rows(what):
            out[rows.own] = then(spmm(rows.pattern, weigh(rows), rows.gathered(h)), rows.own).numpy()
        return out

    def normalised(self, weigh: Weigh, how: str) -> Weigh:
        """The weights, normalised by the sums of all rows and columns (:func:`gdamn.model.adjacency.normalized`)."""
        if how == "none":
            return weigh
        nodes = self.graph.num_nodes
        row_sums, column_sums = self.room.zeros(nodes), self.room.zeros(nodes, dtype="<f8")
        for rows in self.rows("summing weights"):
            values = weigh(rows)
            row_sums[rows.own] = rows.row_sums(values)
            column_sums[rows.columns] += rows.column_sums(values)  # a column stands once

        def normalised(rows: PartRows) -> Tensor:
            n, sums_of_rows = rows.part.num_nodes, rows.gathered(row_sums)
            left, right = scales(sums_of_rows, rows.gathered(column_sums).float(), how)
            return scaled(rows.pattern, weigh(rows), left[:n], right)

        return normalised


def plain_weights(rows: PartRows) -> Tensor:
    """A + I."""
    return rows.weights


def loop_weights(rows: PartRows) -> Tensor:
    """I: every node alone."""
    weights = torch.zeros(len(rows.weights))
    weights[torch.from_numpy(rows.loops)] = 1.0
    return weights
