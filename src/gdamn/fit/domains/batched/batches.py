"""Which nodes a batch has: the parts of a partition, or as many nodes at random, newly drawn in every epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ....graph.partition import partition
from ....kernels import Key
from ....model.settings import Settings
from ..memory import free_bytes
from .large import LargeProblem
from .views import View, Viewer

ENTRIES = 2_000_000
"""Entries that the own rows of a batch have, about, where ``batch_nodes`` is 0."""
KEPT = 0.2
"""Views of parts are kept in at most this share of the free memory; the rest is made again in every epoch."""


@dataclass
class Batches:
    """The batches of one epoch.

    Attributes:
        parts: the own nodes of each batch, where they are the same in all epochs.
        size: own nodes of a batch where they are drawn.
    """

    nodes: int
    size: int
    hops: int
    fanout: int
    parts: list[NDArray[np.int64]] | None
    room: float
    _kept: dict[int, View] = field(default_factory=dict)

    @property
    def weighs(self) -> bool:
        """Whether the entries of a view stand for more than themselves."""
        return self.parts is None

    def __len__(self) -> int:
        return -(-self.nodes // self.size) if self.parts is None else len(self.parts)

    def view(self, viewer: Viewer, epoch: int, place: int, key: Key) -> View:
        """The batch at a place of an epoch; the order of the batches is drawn anew in every epoch."""
        rng = np.random.default_rng(key.fold(epoch).value)
        if self.parts is None:
            own = np.sort(rng.permutation(self.nodes)[place * self.size : (place + 1) * self.size])
            return viewer.sampled(own, self.hops, self.fanout, key.fold(epoch).fold(place))
        part = int(rng.permutation(len(self.parts))[place])
        if part not in self._kept:
            view = viewer.halo(self.parts[part], self.hops)
            self.room -= view.size
            if self.room < 0:
                return view
            self._kept[part] = view
        return self._kept[part]


def make_batches(problem: LargeProblem, s: Settings, mode: str) -> Batches:
    """The batches that the settings ask for."""
    n, entries = problem.num_nodes, problem.num_edges
    size = s.batch_nodes or max(1, round(n * min(1.0, ENTRIES / max(entries, 1))))
    hops = s.layers if s.halo < 0 else s.halo
    if mode == "neighbour":
        return Batches(n, min(size, n), s.layers, s.fanout, None, 0.0)
    count = max(1, round(n / size))
    part = partition(problem.graph, count, s.partitioner, s.seed)
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(count + 1))
    parts = [np.sort(order[a:b]) for a, b in pairwise(ends) if b > a]
    return Batches(n, size, hops, 0, parts, KEPT * free_bytes())
