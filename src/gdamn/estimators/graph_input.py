"""What an estimator takes for a graph: ours, or PyTorch Geometric's."""

from __future__ import annotations

import sys
from typing import Any

from ..errors import GraphError
from ..graph.graph import Graph
from ..graph.node_ids import plain_id
from ..graph.pyg import not_a_graph


def as_graph(graph: Any) -> Graph:
    """A Graph from a Graph or a PyTorch Geometric Data."""
    if isinstance(graph, Graph):
        return graph
    if "torch_geometric" in sys.modules:
        from torch_geometric.data import Data

        if isinstance(graph, Data):
            return Graph.from_pyg(graph)
    raise GraphError(not_a_graph(graph, "a gdamn Graph or a PyTorch Geometric Data"))


def plain_split(split: Any) -> Any:
    """The name or number of a split, as a file can hold it."""
    plain = plain_id(split)
    return plain if plain is None or isinstance(plain, (int, float, str)) else str(plain)
