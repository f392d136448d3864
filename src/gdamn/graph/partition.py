"""Parts of a graph whose nodes have most of their neighbours within: METIS, runs of an order, a stream over these."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from .graph import Graph
from .order import cuthill_mckee

Parts = NDArray[np.int32]
"""[N] the part of each node."""

METIS_ENTRIES = 1 << 25
"""METIS holds several copies of the graph with 64-bit numbers: beyond this many entries it is left out."""
RCM_ENTRIES = (1 << 31) - 1
"""SciPy's reverse Cuthill–McKee counts entries in 32 bits."""
PASSES = 10
ROUNDS = 3
"""Passes of a stream that starts from parts, and of one that starts from nothing."""
SLACK = 1.05
"""A part of a stream holds at most this many times the mean."""


def partition(
    graph: Graph, count: int, how: str = "auto", seed: int = 0, work: NDArray[np.int64] | None = None
) -> Parts:
    """[N] the part of each node, 0 to ``count`` - 1.

    Args:
        how: metis; order (runs of the node numbers); rcm (runs of the reverse Cuthill–McKee order); stream (the best of
            :func:`starts` after :func:`stream`); auto: metis where it can be, else stream.
        work: [N] what each node counts in the size of a part; each 1 when left out.
    """
    if count <= 1 or how == "order":
        return runs(graph.num_nodes, count, work)
    if how == "metis" or (how == "auto" and metis_fits(graph)):
        return metis(graph, count, seed, work)
    if how == "rcm":
        return runs(graph.num_nodes, count, work, rcm_order(graph))
    moved = [stream(graph, count, start, work) for _, start in starts(graph, count, work)]
    return min(moved, key=lambda parts: measure(graph, parts, count).cut)


def starts(
    graph: Graph, count: int, work: NDArray[np.int64] | None = None
) -> Iterator[tuple[NDArray[np.int64] | None, Parts]]:
    """What a stream starts from: runs of the graph's order, of reverse Cuthill–McKee where SciPy can do it, and greedy.

    Each comes with the order that is worth keeping within the parts; None for that of the graph.
    """
    yield None, runs(graph.num_nodes, count, work)
    if len(graph.indices) <= RCM_ENTRIES:
        order = rcm_order(graph)
        yield order, runs(graph.num_nodes, count, work, order)
    yield None, greedy(graph, count, work)


def rcm_order(graph: Graph) -> NDArray[np.int64]:
    """[N] the nodes in reverse Cuthill–McKee order; a graph that is too large for SciPy is refused."""
    if len(graph.indices) > RCM_ENTRIES:
        raise ConfigError(f"partitioner='rcm' takes at most {RCM_ENTRIES:,} entries; choose order or stream.")
    return cuthill_mckee(graph)


def metis_fits(graph: Graph) -> bool:
    """Whether METIS is installed, and the graph is undirected and not too large for it."""
    there = importlib.util.find_spec("pymetis") is not None
    return there and len(graph.indices) <= METIS_ENTRIES and not graph.directed


def runs(n: int, count: int, work: NDArray[np.int64] | None = None, order: NDArray[np.int64] | None = None) -> Parts:
    """Runs of an order of the nodes, with about equal work."""
    if work is None:
        place = (np.arange(n, dtype=np.int64) * max(count, 1) // max(n, 1)).astype(np.int32)
    else:
        before = np.cumsum(work if order is None else work[order])
        place = ((before - 1) * count // max(int(before[-1]) if n else 1, 1)).astype(np.int32)
    if order is None:
        return place
    parts = np.empty(n, np.int32)
    parts[order] = place
    return parts


def metis(graph: Graph, count: int, seed: int, work: NDArray[np.int64] | None = None, *, nested: bool = False) -> Parts:
    """Parts by METIS.

    Args:
        nested: by halving again and again, so that a run of the parts has few edges to the rest, too.
    """
    if importlib.util.find_spec("pymetis") is None:
        raise ConfigError("partitioner='metis' needs pymetis; pip install 'gdamn[scale]', or choose stream.")
    import pymetis

    options = pymetis.Options(seed=seed)
    adjacency = pymetis.CSRAdjacency(adj_starts=graph.indptr, adjacent=graph.indices)
    _, parts = pymetis.part_graph(count, adjacency=adjacency, options=options, vweights=work, recursive=nested or None)
    return np.asarray(parts, np.int32)


def stream(graph: Graph, count: int, start: Parts, work: NDArray[np.int64] | None = None) -> Parts:
    """The parts of ``start`` after some passes over the nodes, of which each goes where most of its neighbours are.

    A node moves only where that cuts fewer entries and the part has room, so the cut never grows. (In a directed graph
    it may, as a row has but one direction; then ``start`` is the answer.)
    """
    weights = np.ones(graph.num_nodes, np.int64) if work is None else work
    most = SLACK * float(weights.sum()) / count
    parts: Parts = _moved(graph.indptr, graph.indices, weights, start.copy(), (count, most, PASSES))
    return parts if measure(graph, parts, count).cut <= measure(graph, start, count).cut else start


class Measure(NamedTuple):
    """How good parts are.

    Attributes:
        cut: share of the entries whose ends are in different parts.
        largest_halo: nodes of other parts that a part's rows name, of the part with most of them.
    """

    cut: float
    largest_halo: int


def measure(graph: Graph, parts: Parts, count: int) -> Measure:
    """Cut and largest halo of parts."""
    order = np.argsort(parts, kind="stable")
    outside, largest = _measure(graph.indptr, graph.indices, parts, order, count)
    return Measure(int(outside) / max(len(graph.indices), 1), int(largest))


def greedy(graph: Graph, count: int, work: NDArray[np.int64] | None = None) -> Parts:
    """Each node in turn goes where most of its neighbours are, less so the fuller the part; some times over.

    It is linear deterministic greedy (Stanton and Kliot, 2012), for graphs whose order has no locality.
    """
    weights = np.ones(graph.num_nodes, np.int64) if work is None else work
    parts: Parts = _greedy(graph.indptr, graph.indices, weights, (count, SLACK * float(weights.sum()) / count, ROUNDS))
    return parts


@numba.njit(cache=True)
def _greedy(indptr, indices, work, limits):
    count, most, rounds = limits
    n = len(indptr) - 1
    parts = np.full(n, -1, np.int32)
    sizes, near = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(rounds):
        for i in range(n):
            if parts[i] >= 0:
                sizes[parts[i]] -= work[i]
            best, best_score = -1, 0.0
            for e in range(indptr[i], indptr[i + 1]):
                if parts[indices[e]] >= 0:
                    near[parts[indices[e]]] += 1
            for e in range(indptr[i], indptr[i + 1]):
                k = parts[indices[e]]
                if k >= 0:
                    score = near[k] * (1 - (sizes[k] + work[i]) / most)
                    if score > best_score:
                        best, best_score = k, score
            for e in range(indptr[i], indptr[i + 1]):
                if parts[indices[e]] >= 0:
                    near[parts[indices[e]]] = 0
            if best < 0:
                best = int(np.argmin(sizes))
            parts[i] = best
            sizes[best] += work[i]
    return parts


@numba.njit(cache=True)
def _moved(indptr, indices, work, parts, limits):
    """Each node in turn goes to the part with most of its neighbours that has room; until few move."""
    count, most, passes = limits
    n = len(parts)
    sizes, near = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for i in range(n):
        sizes[parts[i]] += work[i]
    for _ in range(passes):
        moves = 0
        for i in range(n):
            mine = parts[i]
            for e in range(indptr[i], indptr[i + 1]):
                near[parts[indices[e]]] += 1
            best, best_near = mine, near[mine]
            for e in range(indptr[i], indptr[i + 1]):
                k = parts[indices[e]]
                if near[k] > best_near and sizes[k] + work[i] <= most:
                    best, best_near = k, near[k]
            for e in range(indptr[i], indptr[i + 1]):
                near[parts[indices[e]]] = 0
            if best != mine:
                parts[i] = best
                sizes[mine] -= work[i]
                sizes[best] += work[i]
                moves += 1
        if moves * 1000 <= n:
            break
    return parts


@numba.njit(cache=True)
def _measure(indptr, indices, parts, order, count):
    """Entries between parts, and the largest number of different columns outside of a part that its rows name."""
    seen, halos = np.full(len(parts), -1, np.int32), np.zeros(count, np.int64)
    outside = 0
    for at in range(len(order)):
        i = order[at]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if parts[j] != parts[i]:
                outside += 1
                if seen[j] != parts[i]:
                    seen[j] = parts[i]
                    halos[parts[i]] += 1
    return outside, halos.max()
