"""The map: its layout against exact sums, and its sample."""

from __future__ import annotations

import numpy as np
import pytest

from gdamn.graph.graph import Graph
from gdamn.report.layout import field, layout
from gdamn.report.sample import walked


def cliques() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two cliques of 12 nodes, which one edge joins; the ends of the edges, and whether each is inside a clique."""
    inside = [(i + k, j + k) for k in (0, 12) for i in range(12) for j in range(i)]
    a, b = np.array([*inside, (0, 12)]).T
    return a, b, np.arange(len(a)) < len(inside)


def test_field_repels_as_the_sum_over_all_pairs_does() -> None:
    """Where nodes lie several cells apart, the grid and the pairs agree."""
    draw = np.random.default_rng(0)
    y, mass = draw.uniform(-1, 1, (40, 2)), draw.uniform(1, 2, 40)
    y = y[[0, *(at for at in range(1, 40) if np.hypot(*(y[at] - y[:at]).T).min() > 0.08)]]
    mass = mass[: len(y)]
    cells = 256
    h = (y.max(axis=0) - y.min(axis=0)).max() / (cells - 3)
    d = y[:, None] - y[None]
    exact = (mass[None, :, None] * d / ((d**2).sum(axis=-1, keepdims=True) + h * h)).sum(axis=1)
    np.testing.assert_allclose(field(cells)(y, mass), exact, atol=0.02 * np.abs(exact).max())


def test_layout_keeps_cliques_together_and_is_the_same_every_time() -> None:
    a, b, inside = cliques()
    place = layout(24, a, b, np.ones(len(a)))
    length = np.hypot(*(place[a] - place[b]).T)
    assert length[inside].max() < length[~inside].min()
    assert np.abs(place).max() <= 1
    assert np.array_equal(place, layout(24, a, b, np.ones(len(a))))


@pytest.mark.parametrize("nodes", [0, 1, 2, 5])
def test_layout_of_hardly_any_graph(nodes: int) -> None:
    none = np.empty(0, np.int64)
    place = layout(nodes, none, none, np.empty(0))
    assert place.shape == (nodes, 2)
    assert np.isfinite(place).all()


def test_walks_meet_nodes_once_and_keep_neighbourhoods_together() -> None:
    ring = np.arange(2000)
    graph = Graph.build(np.stack([ring, (ring + 1) % 2000]), np.ones((2000, 1)), np.zeros(2000, int))
    found = walked(graph, 300)
    assert len(found) == len(set(found.tolist())) == 300
    kept = np.isin((found + 1) % 2000, found).mean()
    assert kept > 0.7, "of nodes drawn by lot, 15 % would have their neighbour"
    assert np.array_equal(found, walked(graph, 300))
    assert len(walked(graph, 5000)) == 2000
