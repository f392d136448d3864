"""RefineGraph: a fitted model as a PyTorch Geometric transform, for any network that comes behind it."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from ..base import NodeClassifier, as_graph
from ..errors import ConfigError, GraphError
from .opened import attention
from .selection import WEIGHTS, chosen_entries


class RefineGraph(BaseTransform):  # type: ignore[misc]  # PyTorch Geometric has no types here
    """Replaces the edges of the graph that a model was fitted on by those that it keeps, with its weights.

    The Data gets ``edge_index``, ``edge_weight`` and beside it ``hard``, ``soft`` and ``stable``; all else stays.

    >>> data = RefineGraph(model, keep="hard>0.5")(data)

    Args:
        model: a fitted model with attention.
        keep: only edges for which this holds, such as ``hard>0.5``.
        top: only the edges that are among so many of the highest stable weight of one of their ends.
        weight: what ``edge_weight`` is: hard, soft, stable, or None for no weights.
        loops: add a self-loop to every node, with its weight in the model. Layers that add loops of weight 1, such
            as GCNConv, leave these as they are. Without it a node's own message outweighs its neighbours' where
            they are doubtful, which measured better (docs/after-training.md).
    """

    def __init__(
        self,
        model: NodeClassifier,
        keep: str | None = None,
        top: int | None = None,
        weight: str | None = "stable",
        loops: bool = False,
    ) -> None:
        if weight is not None and weight not in WEIGHTS:
            raise ConfigError(f"The weight is {weight!r}; choose {', '.join(WEIGHTS)} or None.")
        self.keep, self.top, self.weight, self.loops = keep, top, weight, loops
        self.weights = attention(model, "refine a graph with")
        self.index = model.tensors_["edge.index"]
        self.loop_weights = {name: model.tensors_[f"loop.{name}"] for name in WEIGHTS}
        self.num_nodes = len(model.probabilities_)
        self.chosen = chosen_entries(self.index, self.weights, self.num_nodes, keep, top)

    def forward(self, data: Data) -> Data:
        """The Data with other edges."""
        self.check(data)
        nodes = np.arange(self.num_nodes if self.loops else 0)
        index = np.concatenate([self.index[:, self.chosen], np.stack([nodes, nodes])], axis=1)
        for name in WEIGHTS:
            values = [self.weights[name][self.chosen], self.loop_weights[name][nodes]]
            data[name] = torch.as_tensor(np.concatenate(values))
        data.edge_index = torch.as_tensor(index.astype(np.int64))
        for name in ("edge_weight", "edge_attr"):
            if name in data:
                del data[name]
        if self.weight is not None:
            data.edge_weight = data[self.weight].clone()
        return data

    def check(self, data: Data) -> None:
        """Refuse another graph than the one of the fit."""
        graph = as_graph(data)
        if graph.num_nodes != self.num_nodes:
            raise GraphError(f"The model knows {self.num_nodes} nodes, but the data have {graph.num_nodes}.")
        if not np.array_equal(np.stack([graph.indices, graph.rows]), self.index):
            raise GraphError("The data have other edges than the graph that the model was fitted on.")

    def __repr__(self) -> str:
        return f"RefineGraph(keep={self.keep!r}, top={self.top!r}, weight={self.weight!r}, loops={self.loops!r})"
