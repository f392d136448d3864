"""Spurious edges, which look as if they were drawn by lot, and likely ones, which are missing; both without labels."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from ..errors import ConfigError, GraphError
from ..fit.field import edge_links
from ..fit.field.candidates import likely_pairs
from ..fit.field.evidence import looks
from ..fit.field.links import CUT, FEWEST
from ..fit.field.pairs import Pairs
from ..graph.graph import Graph
from ..graph.pyg import not_a_graph
from ..model.inputs import feature_block
from .transforms import edge_values, is_per_edge, plain

MOST_EDGES = 300_000
"""Edges up to which this is a matter of seconds, so that ``gdamn inspect`` asks."""


@dataclass(frozen=True, eq=False)
class SpuriousEdges:
    """What was found.

    Attributes:
        probability: [E] for each entry of the graph's CSR, that it was drawn by lot.
        share: of all edges that were.
    """

    probability: NDArray[np.float32]
    share: float

    def cut(self, threshold: float = CUT) -> NDArray[np.bool_]:
        """[E] the entries that are better removed; none where hardly any edge is spurious."""
        chosen: NDArray[np.bool_] = self.probability >= threshold
        return chosen if self.share >= FEWEST else np.zeros(len(chosen), bool)


def spurious_edges(graph: Graph, seed: int = 0) -> SpuriousEdges:
    """How likely each edge was drawn by lot (``fit/field/links.py``); a graph of under 500 edges tells nothing.

    >>> found = spurious_edges(graph)
    >>> found.share, found.cut().sum()

    Args:
        graph: features and edges count, labels do not.
        seed: of the pairs that are drawn to compare the edges with.
    """
    if graph.num_features == 0:
        return SpuriousEdges(np.zeros(len(graph.indices), np.float32), 0.0)
    cpu = torch.device("cpu")
    pairs, links = edge_links(graph.structure, feature_block(graph.features, "auto", 0.0, cpu), cpu, seed)
    lot = pairs.on_entries(links.lot)[graph.structure.off_loop]
    return SpuriousEdges(np.minimum(lot, 1).astype(np.float32), links.share)


def likely_edges(graph: Graph, count: int = 5, seed: int = 0) -> NDArray[np.int64]:
    """[2, K] pairs that no edge joins but that look like the graph's edges, left < right (``fit/field/candidates.py``).

    Each node proposes ``count`` of the nodes that are most alike. Labels are not read.
    """
    if count < 1:
        raise ConfigError(f"Each node proposes at least one edge; the count is {count}.")
    if graph.num_features == 0 or graph.num_nodes < 3:
        return np.empty((2, 0), np.int64)
    cpu = torch.device("cpu")
    u = looks(graph.structure, feature_block(graph.features, "auto", 0.0, cpu), cpu, seed)
    return np.stack(likely_pairs(Pairs.of(graph.structure), u, count, seed))


class RemoveSpuriousEdges(BaseTransform):  # type: ignore[misc]  # PyTorch Geometric has no types here
    """Removes the edges that look as if they were drawn by lot; it needs neither labels nor a fitted model.

    Every edge-level attribute is filtered with them; all else stays, and a graph without spurious edges stays as it
    is. What was found is in ``data.spurious_share``.

    >>> data = RemoveSpuriousEdges()(data)

    Args:
        threshold: probability from which an edge is removed.
        seed: of the pairs that are drawn to compare the edges with.
    """

    def __init__(self, threshold: float = CUT, seed: int = 0) -> None:
        if not 0 < threshold <= 1:
            raise ConfigError(f"The threshold is {threshold!r}; it is a probability above 0, at most 1.")
        self.threshold, self.seed = threshold, seed

    def forward(self, data: Data) -> Data:
        """The Data without these edges."""
        if not isinstance(data, Data):
            raise GraphError(not_a_graph(data, "a PyTorch Geometric Data"))
        if not isinstance(data.edge_index, Tensor) or data.x is None:
            raise GraphError("RemoveSpuriousEdges needs edge_index, a tensor of [2, edges], and features x.")
        source, target = plain(data.edge_index).cpu().numpy().astype(np.int64)
        graph = Graph.build(np.stack([source, target]), data.x.cpu(), num_nodes=data.num_nodes)
        found = spurious_edges(graph, self.seed)
        places = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr)) * graph.num_nodes + graph.indices
        at = np.searchsorted(places, target * graph.num_nodes + source)
        loop = source == target
        cut = np.append(found.cut(self.threshold), False)[np.where(loop, len(places), at)]
        positions, none = np.flatnonzero(~cut), np.empty(0, np.int64)
        cleaned = copy.copy(data)
        per_edge = [key for key in data.keys() if is_per_edge(data, key) or key == "edge_weight"]  # noqa: SIM118
        for key in per_edge:
            cleaned[key] = edge_values(data, key, positions, none)
        cleaned.edge_index = plain(data.edge_index)[:, torch.from_numpy(positions).to(data.edge_index.device)]
        cleaned.spurious_share = found.share
        return cleaned

    def __repr__(self) -> str:
        return f"RemoveSpuriousEdges(threshold={self.threshold!r}, seed={self.seed!r})"
