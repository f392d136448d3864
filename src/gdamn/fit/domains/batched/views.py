"""View: the nodes that a batch needs as a small problem of its own, on which the networks run unchanged.

The batch's own nodes count in the losses; the others (its halo) are there for their messages. With as many hops of
halo as the networks have layers, the own nodes' predictions are those of the full batch: every row that they depend
on is complete. With fewer hops, or with sampled neighbours, they are an estimate (docs/scale.md states the bias).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....graph.loops import LOOP, entry_attributes, with_loops
from ....graph.structure import Structure
from ....kernels import Key, Pattern
from ....model.problem import Problem
from . import csr
from .large import LargeProblem
from .rows import Entries


@dataclass(frozen=True, eq=False)
class View:
    """Some nodes of a large problem.

    Attributes:
        problem: the small problem; its structure's pairs are the large graph's, and so is the noise on them.
        nodes: [S] the nodes in the large graph, sorted.
        own: [B] which of them the losses count.
        counted: [e] weight of each entry in sums over edges: 1 on the rows of own nodes (more where neighbours were
            sampled, so that the sum is unbiased), 0 on loops and on the halo's rows.
    """

    problem: Problem
    nodes: Tensor
    own: Tensor
    counted: Tensor

    def rows(self, x: Tensor) -> Tensor:
        """Of an array [N, …] of the whole graph, the rows of the view's nodes."""
        return x[self.nodes]

    def own_only(self, x: Tensor) -> Tensor:
        """Of an array of the view's nodes, the rows that the losses count."""
        return x[self.own]

    def own_rows(self, x: Tensor) -> Tensor:
        """Of an array [N, …] of the whole graph, the rows that the losses count."""
        return x[self.nodes[self.own]]

    @property
    def entries(self) -> Entries:
        """Its entries of A + I."""
        structure, device = self.problem.structure, self.nodes.device
        tensors = structure.tensor("weights", device), structure.tensor("free", device)
        return Entries(self.nodes, self.nodes, structure.pattern, *tensors)

    @property
    def size(self) -> int:
        """Bytes, about: entries with their transpose, and dense features."""
        structure = self.problem.structure
        return 40 * structure.pattern.num_entries + 4 * len(self.nodes) * (self.problem.x.width + 16)


class Viewer:
    """Makes views of one large problem; holds what is of size N between them."""

    def __init__(self, problem: LargeProblem) -> None:
        self.problem = problem
        self.local = np.empty(problem.num_nodes, np.int32)  # a node's number in the view under way

    def halo(self, own: NDArray[np.int64], hops: int) -> View:
        """The induced graph of the own nodes and what is within ``hops`` of them."""
        graph = self.problem.graph
        arrays = graph.indptr, graph.indices
        seen = np.zeros(graph.num_nodes, bool)
        seen[own] = True
        for _ in range(hops):
            csr.mark_neighbours(*arrays, np.flatnonzero(seen), seen)
        nodes = np.flatnonzero(seen)
        pointers, places = csr.inner_rows(*arrays, nodes, seen)
        return self._view(nodes, own, pointers, places, np.ones(len(nodes), np.float32))

    def sampled(self, own: NDArray[np.int64], hops: int, fanout: int, key: Key) -> View:
        """The own nodes, up to ``fanout`` neighbours of each, as many of each of those, and so on.

        Each of the k neighbours that stand for d weighs d / k times as much: sums over neighbours are unbiased.
        """
        graph = self.problem.graph
        rows = graph.indptr
        seen = np.zeros(graph.num_nodes, bool)
        seen[own] = True
        inner = own
        for _ in range(hops):
            inner = np.flatnonzero(seen)  # the nodes whose rows are sampled
            _, places = csr.sample_rows(rows, inner, fanout, np.uint64(key.value))
            seen[graph.indices[places]] = True
        nodes = np.flatnonzero(seen)
        sampled = np.zeros(graph.num_nodes, bool)
        sampled[inner] = True
        pointers, places = csr.sample_rows(rows, inner, fanout, np.uint64(key.value))
        counts = np.zeros(len(nodes), np.int64)
        counts[sampled[nodes]] = np.diff(pointers)
        ends = np.concatenate([[0], np.cumsum(counts)])
        degrees = np.diff(graph.indptr)[nodes]
        stands = np.where(counts > 0, degrees / np.maximum(counts, 1), 1).astype(np.float32)
        return self._view(nodes, own, ends, places, stands)

    def _view(
        self,
        nodes: NDArray[np.int64],
        own: NDArray[np.int64],
        pointers: NDArray[np.int64],
        places: NDArray[np.int64],
        stands: NDArray[np.float32],
    ) -> View:
        """From the places [K] of each row's entries in the graph, which ``pointers`` [S + 1] cut into rows.

        ``stands`` [S] is how many neighbours each entry of a row stands for.
        """
        large, device, graph = self.problem, self.problem.device, self.problem.graph
        is_own = np.zeros(large.num_nodes, bool)
        is_own[own] = True
        mine = is_own[nodes]
        self.local[nodes] = np.arange(len(nodes), dtype=np.int32)
        indptr, indices, chosen = with_loops(pointers, self.local[graph.indices[places]])
        places = np.append(places, LOOP)[chosen]  # a loop's -1 takes the last
        weights, loop, pair = entry_attributes(graph, places, nodes)
        each = np.where(loop, np.float32(1), np.repeat(stands, np.diff(indptr)))
        structure = Structure(
            pattern=Pattern.from_csr(indptr, indices, (len(nodes), len(nodes))),
            weights=weights * each,
            loop=loop,
            pair=pair,
        )
        counted = torch.as_tensor(each * (~loop & np.repeat(mine, np.diff(indptr)))).to(device)
        places_of = torch.as_tensor(nodes).to(device)
        labels = large.labels[places_of]
        known = labels.sum(1) > 0
        nothing = torch.empty(0, dtype=torch.int64, device=device)
        problem = Problem(
            structure=structure,
            x=large.x.block(nodes),
            labels=labels,
            train=known.nonzero()[:, 0],
            rest=(~known).nonzero()[:, 0],
            val=nothing,
            val_labels=nothing,
            train_labels=labels[known].argmax(1),
            device=device,
        )
        return View(problem, places_of, torch.as_tensor(np.flatnonzero(mine)).to(device), counted)
