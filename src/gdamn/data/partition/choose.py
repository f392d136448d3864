"""Which parts: METIS where it fits, else the best by measured cut of runs and of a stream that starts from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import ConfigError
from ...graph import partition
from ...graph.graph import Graph
from ...graph.partition import Measure, Parts, measure, runs, stream
from ...graph.parts import DENSE, STORED
from ..progress import Progress, silent
from .layout import Layout, check_count

PARTITIONERS = ("auto", "metis", "order", "rcm", "stream")


def work_of_nodes(graph: Graph) -> NDArray[np.int64]:
    """[N] what a node costs in an epoch, in entries of a sparse product: its row of A + I and its features."""
    entries: NDArray[np.int64] = np.diff(graph.indptr) + 1
    x = graph.features
    entries += np.diff(x.indptr) // STORED if isinstance(x, sp.csr_array) else x.shape[1] // DENSE
    return entries


class Tried(NamedTuple):
    """Parts that were tried, how good they are, and the order that is kept within them; None for the graph's."""

    partitioner: str
    measure: Measure
    parts: Parts
    local: NDArray[np.int64] | None


def choose(
    graph: Graph, count: int, how: str = "auto", seed: int = 0, progress: Progress = silent
) -> tuple[Layout, list[tuple[str, Measure]]]:
    """The parts with the smallest cut among those that were tried, and what each of these measured.

    Args:
        how: one of :data:`PARTITIONERS`; ``auto`` tries several.
    """
    check_partitioner(how)
    check_count(graph.num_nodes, count)
    if how == "metis" and graph.directed:
        raise ConfigError("METIS takes undirected graphs alone, and this one is directed; choose auto, rcm or stream.")
    work = work_of_nodes(graph)

    def tried(name: str, local: NDArray[np.int64] | None, make: Callable[[], Parts]) -> Tried:
        progress(f"partitioning by {name}", 0, 1)
        parts = make()
        return Tried(name, measure(graph, parts, count), parts, local)

    found = []
    if how in ("auto", "order"):
        found.append(tried("order", None, lambda: runs(graph.num_nodes, count, work)))
    by_metis = how == "metis" or (how == "auto" and partition.metis_fits(graph))
    if by_metis:
        found.append(tried("metis", None, lambda: partition.metis(graph, count, seed, work, nested=True)))
    if how == "rcm":
        order = partition.rcm_order(graph)
        found.append(tried("rcm", order, lambda: runs(graph.num_nodes, count, work, order)))
    if how == "stream" or (how == "auto" and not by_metis):
        for local, start in partition.starts(graph, count, work):
            if local is not None and how == "auto":
                found.append(Tried("rcm", measure(graph, start, count), start, local))
            found.append(tried("stream", local, lambda start=start: stream(graph, count, start, work)))  # type: ignore[misc]
    best = min(found, key=lambda each: each.measure.cut)
    layout = Layout.make(best.parts, best.local, count, best.partitioner)
    return layout, _rows(found)


def check_partitioner(how: str) -> None:
    """Refuse a partitioner that there isn't."""
    if how not in PARTITIONERS:
        raise ConfigError(f"There is no partitioner '{how}'; choose {', '.join(PARTITIONERS)}.")


def _rows(found: list[Tried]) -> list[tuple[str, Measure]]:
    """What each partitioner measured; of several streams the better one."""
    rows: dict[str, Measure] = {}
    for each in found:
        if each.partitioner not in rows or each.measure.cut < rows[each.partitioner].cut:
            rows[each.partitioner] = each.measure
    return list(rows.items())
