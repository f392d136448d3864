"""The edges that stay, with the model's weights: one body for ``model.refine``, RefineGraph and ``gdamn refine``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from ..model.fitted_state import ATTENTION, edge_index
from .base import NodeClassifier
from .selection import chosen_entries, reversed_entries

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..graph.graph import Graph


@dataclass(frozen=True, eq=False)
class Weighed:
    """The entries that stay, each with its weights.

    Attributes:
        chosen: [E] which CSR entries of the fit's graph stay.
        index: [2, K] sources and targets of those that stay, in the order of the CSR.
        weights: ``hard``, ``soft``, ``stable`` [K] of those that stay.
        loops: ``hard``, ``soft``, ``stable`` [N] of the self-loops, which no file has as edges.
        all_index: [2, E] sources and targets of all entries.
        all_weights: ``hard``, ``soft``, ``stable`` [E] of all entries.
    """

    chosen: NDArray[np.bool_]
    index: NDArray[np.int64]
    weights: dict[str, NDArray[np.float32]]
    loops: dict[str, NDArray[np.float32]]
    all_index: NDArray[Any]
    all_weights: dict[str, NDArray[np.float32]]

    @property
    def sources(self) -> NDArray[np.int64]:
        """Node numbers of the entries' sources."""
        source: NDArray[np.int64] = self.index[0]
        return source

    @property
    def targets(self) -> NDArray[np.int64]:
        """Node numbers of the entries' targets: those that hear."""
        target: NDArray[np.int64] = self.index[1]
        return target


def weigh(
    model: NodeClassifier,
    keep: str | None = None,
    top: int | None = None,
    *,
    directed: bool | None = None,
    zeros: bool = True,
) -> Weighed:
    """The edges that stay (see :func:`gdamn.estimators.selection.chosen_entries`).

    Args:
        model: fitted or loaded.
        keep, top: which edges stay; all without them.
        directed: whether each direction is judged by itself; by default where an edge of the fit has no other one.
        zeros: whether entries whose stable weight is 0 may stay. In a file they may not: readers take a weight of 0
            for no edge, or for a mistake.
    """
    weights, index = attention(model, "refine a graph with"), fitted_edges(model)
    nodes, loops = len(model.probabilities_), model.state_.loop_attention
    if loops is None:
        raise GraphError("The model lacks the weights of its self-loops, so it can't refine a graph; train it again.")
    if directed is None:
        directed = bool((reversed_entries(index, nodes) < 0).any())
    chosen = chosen_entries(index, weights, nodes, keep, top, directed)
    if (kept := model.state_.kept) is not None:
        chosen &= kept > 0  # what was cut as drawn by lot is no edge of the refined graph
    if not zeros:
        chosen &= weights["stable"] > 0
    return Weighed(
        chosen=chosen,
        index=index[:, chosen].astype(np.int64),
        weights={name: weights[name][chosen] for name in ATTENTION},
        loops=loops,
        all_index=index,
        all_weights=weights,
    )


def put_on(data: Data, edges: Weighed) -> Data:
    """The Data with these edges: their index, ``edge_weight`` (the stable one), all three weights, and the loops'."""
    import torch

    data.edge_index = torch.from_numpy(edges.index)
    data.edge_weight = torch.from_numpy(edges.weights["stable"].copy())
    for name in ATTENTION:
        data[name] = torch.from_numpy(edges.weights[name].copy())
    data.loop_weight = torch.from_numpy(edges.loops["stable"].copy())
    return data


def check_same_edges(model: NodeClassifier, graph: Graph) -> None:
    """Refuse a graph of other nodes or edges than those that the model has weighed."""
    known = len(model.probabilities_)
    if graph.num_nodes != known:
        raise GraphError(f"The model knows {known} nodes, but the graph has {graph.num_nodes}.")
    if not np.array_equal(fitted_edges(model), edge_index(graph)):
        raise GraphError("The graph has other edges than the graph that the model was fitted on.")


def fitted_edges(model: NodeClassifier) -> NDArray[Any]:
    """[2, E] sources and targets of the graph that a model with attention was fitted on."""
    return cast("NDArray[Any]", model.state_.edge_index)


def attention(model: NodeClassifier, purpose: str) -> dict[str, NDArray[np.float32]]:
    """The model's edge weights; an error that says why there are none."""
    weights = model.edge_weights_
    if weights is None:
        raise no_attention(model.method, purpose)
    return weights


def no_attention(method: str, purpose: str) -> GraphError:
    """What is wrong where a model's edge weights are asked for, and it has none."""
    return GraphError(
        f"This model of method '{method}' has no attention to {purpose}; train gdamn or gdamn-plus "
        "(with hard or soft attention, and not with em_iterations=0)."
    )


def differing(probabilities: NDArray[Any], a: NDArray[Any], b: NDArray[Any], block: int = 100_000) -> NDArray[Any]:
    """[P] 1 - Σ_c P(a is c) P(b is c), in double; in blocks, to spare the memory."""
    result = np.empty(len(a))
    for at in range(0, len(a), block):
        part = slice(at, at + block)
        ends = (probabilities[nodes[part]].astype(np.float64) for nodes in (a, b))
        result[part] = 1 - np.einsum("pc,pc->p", *ends)
    return np.maximum(result, 0.0)
