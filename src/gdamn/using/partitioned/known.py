"""Which nodes of a partitioned graph an older one has: the same id and features, by hashes of bounded memory."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.progress import Progress, silent
from ...data.stream.ids import MOST_IDS, IdTable, Keys, hash_texts
from ...fit.domains.ranks.part_features import features_of
from ...graph.extension import as_held, differing
from ...graph.parts import Part, PartitionedGraph
from ...system.scratch import Scratch


@dataclass(frozen=True, eq=False)
class Known:
    """Which nodes an older graph has.

    Attributes:
        older: that graph.
        numbers: [N] each node's number in it, -1 for new ones; a mapped array.
    """

    older: PartitionedGraph
    numbers: NDArray[np.int64]

    def new_in(self, part: Part) -> NDArray[np.int64]:
        """Which of a part's nodes are new."""
        return np.flatnonzero(self.numbers[part.first_node : part.first_node + part.num_nodes] < 0)

    def looked_up(self, part: Part, of: Callable[[Part], NDArray[Any]], new: NDArray[Any]) -> NDArray[Any]:
        """[n, …] of a part's nodes: what ``of`` an older part gives of known ones, ``new`` [n, …] of the others."""
        numbers = np.array(self.numbers[part.first_node : part.first_node + part.num_nodes])
        for older, at in by_part(self.older.parts, numbers):
            new[at] = of(older)[numbers[at] - older.first_node]
        return new


def by_part(parts: Sequence[Part], nodes: NDArray[np.int64]) -> Iterator[tuple[Part, NDArray[np.int64]]]:
    """Each part that has some of the nodes, and which of them; nodes of -1 are in none."""
    firsts = np.array([part.first_node for part in parts])
    owners = np.where(nodes < 0, -1, np.searchsorted(firsts, nodes, side="right") - 1)
    for number in np.unique(owners[owners >= 0]):
        yield parts[number], np.flatnonzero(owners == number)


def find_known(
    graph: PartitionedGraph, older: PartitionedGraph, room: Scratch, progress: Progress = silent, most: int = MOST_IDS
) -> Known:
    """Look up every id; a node with other features is new, because row numbers as ids say nothing of who it is.

    Args:
        most: ids that are in memory at a time.
    """
    numbers = room.zeros(graph.num_nodes, dtype="<i8")
    if graph.digest == older.digest:
        for part in graph.parts:
            own = slice(part.first_node, part.first_node + part.num_nodes)
            numbers[own] = np.arange(own.start, own.stop)
        return Known(older, numbers)
    numbers[:] = -1
    seeds = np.array([secrets.randbits(64), secrets.randbits(64)], np.uint64)
    for first, keys in _runs(older, seeds, most):
        table = IdTable(keys, first)
        for part in graph.parts:
            progress("looking for known nodes", part.number, len(graph.parts))
            own = slice(part.first_node, part.first_node + part.num_nodes)
            found = table.numbers(_keys(part, seeds))
            numbers[own] = np.where(found >= 0, found, numbers[own])
            room.release()
    known = Known(older, numbers)
    for part in graph.parts:
        progress("comparing features", part.number, len(graph.parts))
        _forget_changed(known, graph, part)
        room.release()
    return known


def _runs(graph: PartitionedGraph, seeds: NDArray[np.uint64], most: int) -> Iterator[tuple[int, Keys]]:
    """First node and hashes of runs of nodes, of whole parts, that have about so many nodes at most."""
    waiting: list[Keys] = []
    first = 0
    for part in graph.parts:
        if waiting and sum(map(len, waiting)) + part.num_nodes > most:
            yield first, np.concatenate(waiting)
            waiting, first = [], part.first_node
        waiting.append(_keys(part, seeds))
    yield first, np.concatenate(waiting)


def _keys(part: Part, seeds: NDArray[np.uint64]) -> Keys:
    """[n, 2] hashes of a part's ids, as texts."""
    import pyarrow as pa

    return hash_texts(pa.array([str(name) for name in part.array("node_ids").tolist()], pa.large_string()), seeds)


def _forget_changed(known: Known, graph: PartitionedGraph, part: Part) -> None:
    """Nodes of a part whose features are others than those of the older graph's node are new."""
    own = slice(part.first_node, part.first_node + part.num_nodes)
    numbers = np.array(known.numbers[own])
    x: Any = as_held(next(iter(features_of([part], graph))), known.older.is_sparse)
    for older, at in by_part(known.older.parts, numbers):
        theirs = next(iter(features_of([older], known.older)))[numbers[at] - older.first_node]
        numbers[at[differing(x[at], theirs)]] = -1
    known.numbers[own] = numbers
