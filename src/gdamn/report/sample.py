"""Nodes drawn from a large graph by random walks, which keep neighbourhoods together (Leskovec and Faloutsos, 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..graph.graph import Graph

WALK = 50
"""Steps of a walk before another one starts."""


def walked(graph: Graph, count: int, seed: int = 0) -> NDArray[np.int64]:
    """At most so many nodes, each once, in the order that walks from random starts meet them."""
    draw = np.random.default_rng(seed)
    starts = draw.permutation(graph.num_nodes)
    found: dict[int, None] = {}
    for start in starts.tolist():
        node = start
        for chance in draw.random(WALK).tolist():
            found.setdefault(node)
            low, high = int(graph.indptr[node]), int(graph.indptr[node + 1])
            if low == high:
                break
            node = int(graph.indices[low + int(chance * (high - low))])
        if len(found) >= count:
            break
    return np.fromiter(found, np.int64, len(found))[:count]
