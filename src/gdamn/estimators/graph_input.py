"""What an estimator takes for a graph: ours, or PyTorch Geometric's."""

from __future__ import annotations

import sys
from typing import Any

from ..errors import GraphError
from ..graph.graph import Graph
from ..graph.node_ids import plain_id


def as_graph(graph: Any) -> Graph:
    """A Graph from a Graph or a PyTorch Geometric Data."""
    if isinstance(graph, Graph):
        return graph
    if "torch_geometric" in sys.modules:
        from torch_geometric.data import Data

        if isinstance(graph, Data):
            return Graph.from_pyg(graph)
    raise GraphError(not_a_graph(graph, "a gdamn Graph or a PyTorch Geometric Data"))


def not_a_graph(value: Any, expected: str) -> str:
    """One sentence about what was given in the place of a graph."""
    kind = type(value).__name__
    hint = "; turn it into a graph of one kind with its to_homogeneous()" if kind == "HeteroData" else ""
    hint = '; gdamn.load("cora") gives a graph by its name' if isinstance(value, str) else hint
    return f"Expected {expected}, not {kind}{hint}."


def plain_split(split: Any) -> Any:
    """The name or number of a split, as a file can hold it."""
    plain = plain_id(split)
    return plain if plain is None or isinstance(plain, (int, float, str)) else str(plain)
