"""Transforms for PyTorch Geometric: a fitted model's graph, or one without spurious edges, for any network."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from ..errors import ConfigError, GraphError
from ..graph.pyg import not_a_graph
from ..graph.validation import merge_edges
from ..model.fitted_state import ATTENTION
from .base import NodeClassifier
from .weighted_edges import weigh

_OF_NODES = ("node_ids", "class_names")
"""Lists that :func:`gdamn.graph.convert.to_pyg` writes, which are of nodes and classes whatever their length is."""


class RefineGraph(BaseTransform):  # type: ignore[misc]  # PyTorch Geometric has no types here
    """Keeps those edges of the graph that a model was fitted on which the model keeps, with its weights.

    The edges that stay are the data's own, in their order, and every edge-level attribute (``data.is_edge_attr``) is
    filtered with them. The Data gets ``edge_weight``, and beside it ``hard``, ``soft`` and ``stable``; all else stays.
    An edge that is listed in one direction stays in that one (``T.ToUndirected()`` adds the other), one that is listed
    twice stays twice, and self-loops go. The data that are given stay as they are.

    >>> data = RefineGraph(model, keep="hard>0.5")(data)

    It stands in ``T.Compose`` after transforms that leave nodes and edges, and before all that change them, such as
    ``T.ToSparseTensor`` and loaders (docs/pyg.md). Where as many edges as nodes stay, PyTorch Geometric goes by the
    name and takes ``hard``, ``soft`` and ``stable`` for attributes of nodes; ``edge_weight`` is one of edges always.

    Args:
        model: a fitted model with attention.
        keep: only edges for which this holds, such as ``hard>0.5``.
        top: only the edges that are among so many of the highest stable weight of one of their ends.
        weight: what ``edge_weight`` is: hard, soft, stable, or None for no weights.
        loops: add a self-loop to every node, behind all edges, with its weight in the model. Its other attributes are
            those of the data's own self-loop, or 0 (None in lists) where they have none. Layers that add loops of
            weight 1, such as GCNConv, leave these as they are. Without it a node's own message outweighs its
            neighbours' where they are doubtful, which measured better (docs/evidence/after-training.md).
    """

    def __init__(
        self,
        model: NodeClassifier,
        keep: str | None = None,
        top: int | None = None,
        weight: str | None = "stable",
        loops: bool = False,
    ) -> None:
        if not isinstance(model, NodeClassifier):
            raise ConfigError(f"RefineGraph takes a fitted model such as GDAMN, not {type(model).__name__}.")
        if weight is not None and weight not in ATTENTION:
            raise ConfigError(f"The weight is {weight!r}; choose {', '.join(ATTENTION)} or None.")
        self.keep, self.top, self.weight, self.loops = keep, top, weight, loops
        self.edges = weigh(model, keep, top)
        self.index = self.edges.all_index
        self.num_nodes = len(model.probabilities_)

    def forward(self, data: Data) -> Data:
        """The Data with the edges that stay."""
        entries = self.entries(data)
        positions = np.flatnonzero(entries >= 0)
        positions = positions[self.edges.chosen[entries[positions]]]
        loops = self._loops_of(data) if self.loops else np.empty(0, np.int64)
        attributes = {key: edge_values(data, key, positions, loops) for key in data.keys() if is_per_edge(data, key)}  # noqa: SIM118
        device = data.edge_index.device
        refined = copy.copy(data)
        nodes = torch.arange(len(loops), device=device, dtype=data.edge_index.dtype)
        edge_index = plain(data.edge_index)[:, torch.from_numpy(positions).to(device)]
        refined.edge_index = torch.cat([edge_index, torch.stack([nodes, nodes])], dim=1)
        for key, value in attributes.items():
            refined[key] = value
        for name in ATTENTION:
            values = [self.edges.all_weights[name][entries[positions]], self.edges.loops[name][: len(loops)]]
            refined[name] = torch.from_numpy(np.concatenate(values)).to(device)
        if "edge_weight" in refined:
            del refined["edge_weight"]
        if self.weight is not None:
            refined.edge_weight = refined[self.weight].clone()
        return refined

    def entries(self, data: Data) -> NDArray[np.int64]:
        """[E] where each edge of the data stands in the fit's graph, -1 for self-loops; another graph is refused."""
        self.check(data)
        source, target = plain(data.edge_index).cpu().numpy().astype(np.int64)
        known = self.index[1].astype(np.int64) * self.num_nodes + self.index[0]
        positions = np.searchsorted(known, target * self.num_nodes + source)
        return np.where(source == target, -1, positions)

    def check(self, data: Data) -> None:
        """Refuse another graph than the one of the fit."""
        if not isinstance(data, Data):
            raise GraphError(not_a_graph(data, "a PyTorch Geometric Data"))
        if not isinstance(data.edge_index, Tensor):
            late = "; put RefineGraph before T.ToSparseTensor" if "adj_t" in data else ""
            raise GraphError(f"The PyTorch Geometric data have no edge_index that is a tensor of [2, edges]{late}.")
        double = next((key for key in ("adj", "adj_t") if key in data), None)
        if double is not None:
            raise GraphError(
                f"The data hold their edges twice, as edge_index and as {double}, which would keep the old ones; "
                f"remove {double}, and make it from the refined edges where it is needed (T.ToSparseTensor)."
            )
        if data.num_nodes != self.num_nodes:
            raise GraphError(f"The model knows {self.num_nodes} nodes, but the data have {data.num_nodes}.")
        for directed in (False, True):
            indptr, indices, *_ = merge_edges(plain(data.edge_index), None, self.num_nodes, directed)
            targets = np.repeat(np.arange(self.num_nodes), np.diff(indptr))
            if np.array_equal(np.stack([indices, targets]), self.index):
                return
        raise GraphError("The data have other edges than the graph that the model was fitted on.")

    def _loops_of(self, data: Data) -> NDArray[np.int64]:
        """[N] the first self-loop of each node among the data's edges, -1 where it has none."""
        source, target = plain(data.edge_index).cpu().numpy()
        loops = np.flatnonzero(source == target)[::-1]
        first = np.full(self.num_nodes, -1, np.int64)
        first[source[loops]] = loops
        return first

    def __repr__(self) -> str:
        return f"RefineGraph(keep={self.keep!r}, top={self.top!r}, weight={self.weight!r}, loops={self.loops!r})"


def plain(edge_index: Tensor) -> Tensor:
    """Without what PyTorch Geometric's EdgeIndex remembers of an order that may go."""
    return edge_index.as_subclass(Tensor)  # type: ignore[no-any-return,unused-ignore]


def is_per_edge(data: Data, key: str) -> bool:
    """Whether an attribute has one value per edge, as PyTorch Geometric decides it.

    It takes any list of the edges' number for one, even where the nodes are as many; there the name decides, as it
    does for tensors. Labels of other pairs (``edge_label_index``, as RandomLinkSplit makes them) are none.
    """
    if key in ("edge_index", "edge_weight", *ATTENTION, *_OF_NODES):
        return False
    if key.startswith("edge_label") and "edge_label_index" in data:
        return False
    if isinstance(data[key], (list, tuple)) and data.num_nodes == data.num_edges and "edge" not in key:
        return False
    return bool(data.is_edge_attr(key))


def edge_values(data: Data, key: str, positions: NDArray[np.int64], loops: NDArray[np.int64]) -> Any:
    """The values of the edges that stay, then those of the loops."""
    value = data[key]
    with_loop = np.flatnonzero(loops >= 0)
    if isinstance(value, (list, tuple)):
        added = [value[at] if at >= 0 else None for at in loops.tolist()]
        return type(value)([*(value[at] for at in positions.tolist()), *added])
    if not isinstance(value, (Tensor, np.ndarray)):
        raise GraphError(f"The edge attribute '{key}' is of type {type(value).__name__}, which can't be filtered.")
    dim = data.__cat_dim__(key, value)
    shape = list(value.shape)
    shape[dim] = len(loops)
    if isinstance(value, np.ndarray):
        empty = np.zeros(shape, value.dtype)
        np.moveaxis(empty, dim, 0)[with_loop] = np.moveaxis(value, dim, 0)[loops[with_loop]]
        return np.concatenate([np.take(value, positions, axis=dim), empty], axis=dim)

    def rows(numbers: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(numbers).to(value.device)

    values = value.index_select(dim, rows(positions))
    if not len(loops):
        return values
    filled = value.new_zeros(shape).index_copy(dim, rows(with_loop), value.index_select(dim, rows(loops[with_loop])))
    return torch.cat([values, filled], dim=dim)
