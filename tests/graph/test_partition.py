"""Parts of a graph: their sizes, and what is cut."""

from __future__ import annotations

import numpy as np
import pytest

from gdamn.data import load
from gdamn.errors import ConfigError
from gdamn.graph import partition as cutting
from gdamn.graph.graph import Graph
from gdamn.graph.order import renumbered
from gdamn.graph.partition import greedy, measure, partition, runs, starts, stream

COUNT = 6


def ring(shuffled: bool) -> Graph:
    i = np.arange(600)
    graph = Graph.build(np.concatenate([np.stack([i, (i + step) % 600]) for step in (1, 2, 5)], 1), np.zeros((600, 1)))
    return renumbered(graph, np.random.default_rng(0).permutation(600))[0] if shuffled else graph


def test_orders_runs_and_metis_are_what_they_were() -> None:
    graph = load("karate")
    np.testing.assert_array_equal(partition(graph, 5, "order"), np.arange(34) * 5 // 34)
    pymetis = pytest.importorskip("pymetis")
    adjacency = pymetis.CSRAdjacency(adj_starts=graph.indptr, adjacent=graph.indices)
    _, parts = pymetis.part_graph(5, adjacency=adjacency, options=pymetis.Options(seed=3))
    np.testing.assert_array_equal(partition(graph, 5, "metis", 3), parts)
    np.testing.assert_array_equal(partition(graph, 5, "auto", 3), parts)


def test_the_measure_counts_entries_and_halos() -> None:
    graph = load("karate")
    parts = np.random.default_rng(1).integers(0, 4, 34).astype(np.int32)
    cut = parts[graph.rows] != parts[graph.indices]
    halos = [len(np.unique(graph.indices[cut & (parts[graph.rows] == k)])) for k in range(4)]
    assert measure(graph, parts, 4) == (pytest.approx(cut.mean()), max(halos))


def test_runs_have_equal_work() -> None:
    rng = np.random.default_rng(0)
    work, order = rng.integers(1, 9, 500), rng.permutation(500)
    for given in (None, order):
        parts = runs(500, COUNT, work, given)
        assert (np.diff(parts if given is None else parts[given]) >= 0).all()
        shares = np.bincount(parts, work, COUNT)
        assert np.ptp(shares) <= 2 * work.max()


@pytest.mark.parametrize("name", ["ring", "shuffled ring", "digits", "random"])
def test_a_stream_never_cuts_more_than_its_start(name: str) -> None:
    rng = np.random.default_rng(0)
    directed = Graph.build(rng.integers(0, 300, (2, 2000)), np.zeros((300, 1)), directed=True)
    graph = {"digits": load("digits"), "random": directed}.get(name) or ring(name == "shuffled ring")
    work = np.diff(graph.indptr) + 1
    for start in (runs(graph.num_nodes, COUNT, work), rng.integers(0, COUNT, graph.num_nodes).astype(np.int32)):
        moved = stream(graph, COUNT, start, work)
        assert measure(graph, moved, COUNT).cut <= measure(graph, start, COUNT).cut
    fair = runs(graph.num_nodes, COUNT, work)
    sizes = np.bincount(stream(graph, COUNT, fair, work), work, COUNT)
    before = np.bincount(fair, work, COUNT).max()
    assert sizes.max() <= max(before, cutting.SLACK * work.sum() / COUNT)


def test_greedy_fills_every_part_and_cuts_less_than_lots() -> None:
    graph = load("digits")
    work = np.diff(graph.indptr) + 1
    parts = greedy(graph, COUNT, work)
    sizes = np.bincount(parts, work, COUNT)
    assert sizes.min() > 0
    assert sizes.max() <= cutting.SLACK * work.sum() / COUNT + work.max()
    lots = np.random.default_rng(0).integers(0, COUNT, graph.num_nodes).astype(np.int32)
    assert measure(graph, parts, COUNT).cut < 0.5 * measure(graph, lots, COUNT).cut


def test_the_stream_starts_from_the_better_order() -> None:
    line = ring(shuffled=True)
    assert measure(line, partition(line, COUNT, "order"), COUNT).cut > 0.7
    by_stream = measure(line, partition(line, COUNT, "stream"), COUNT).cut
    assert by_stream <= measure(line, partition(line, COUNT, "rcm"), COUNT).cut < 0.2


def test_without_room_for_cuthill_mckee_the_order_of_the_graph_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "RCM_ENTRIES", 10)
    graph = ring(shuffled=False)
    assert len(list(starts(graph, COUNT))) == 2
    np.testing.assert_array_equal(partition(graph, COUNT, "stream"), stream(graph, COUNT, runs(600, COUNT)))
    with pytest.raises(ConfigError, match="at most 10 entries"):
        partition(graph, COUNT, "rcm")
