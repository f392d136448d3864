"""A + I of rows that begin anywhere, and the position of every entry's reverse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from gdamn.graph.graph import Graph
from gdamn.graph.loops import LOOP, entry_attributes, mirrored, with_loops
from gdamn.graph.transpose import transpose_csr


def random_graph(directed: bool, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, 30, (2, 90))
    return Graph.build(edges, None, num_nodes=32, weights=rng.random(90) + 0.1, directed=directed)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("first", "last"), [(0, 32), (0, 7), (5, 20), (30, 32), (9, 9)])
def test_rows_of_a_plus_i(directed: bool, first: int, last: int) -> None:
    graph = random_graph(directed)
    rows = with_loops(graph.indptr[first : last + 1], graph.indices, first)
    whole = (graph.to_scipy() != 0).toarray() + np.eye(32, dtype=bool)
    made = sp.csr_array((np.ones(len(rows.indices)), rows.indices, rows.indptr), (last - first, 32))
    assert made.has_sorted_indices
    np.testing.assert_array_equal(made.toarray() > 0, whole[first:last])

    weights, loop, pair = entry_attributes(graph, rows.entries, np.arange(first, last))
    np.testing.assert_array_equal(loop, rows.entries == LOOP)
    np.testing.assert_array_equal(rows.indices[~loop], graph.indices[rows.entries[~loop]])
    entries = slice(graph.indptr[first] + first, graph.indptr[last] + last)
    for values, name in ((weights, "weights"), (loop, "loop"), (pair, "pair")):
        np.testing.assert_array_equal(values, getattr(graph.structure, name)[entries])


def test_one_noise_for_both_directions() -> None:
    for directed in (False, True):
        graph = random_graph(directed)
        structure = graph.structure
        ends = [tuple(sorted(e)) for e in zip(structure.pattern.rows, structure.pattern.indices, strict=True)]
        assert len(set(zip(ends, structure.pair.tolist(), strict=True))) == len(set(ends))
        assert len(set(structure.pair.tolist())) == len(set(ends))


def test_the_mirror_is_the_transpose_of_an_undirected_graph() -> None:
    pattern = random_graph(directed=False).structure.pattern
    transposed = transpose_csr(pattern.indptr, pattern.indices, pattern.shape)
    np.testing.assert_array_equal(mirrored(pattern.indptr, pattern.indices), transposed[2])
