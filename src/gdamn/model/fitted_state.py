"""What a fitted model holds: the axes of every array by its name, and the arrays by their meaning.

All that a fit leaves behind is a dictionary of arrays (``tensors_``), as a model file has it. :data:`HELD` describes
the arrays that belong to the graph, and :class:`FittedState` reads and writes them; every other one is a parameter of a
network (``q.…``, ``p.…``, ``network.…``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.graph import Graph
from ..graph.structure import Structure

Arrays = dict[str, NDArray[Any]]


class Axis(Enum):
    """What one step along an axis of an array is."""

    NODE = "a node of the graph"
    LOOP = "the self-loop of a node"
    EDGE = "an entry of the graph's CSR, which has no self-loops"
    CLASS = "a class"
    END = "the source or the target of an edge"


ATTENTION = ("hard", "soft", "stable")
"""What a model with attention says of every edge and loop."""

WEIGHTS = (*ATTENTION, "used")
"""The same, and what q propagated on in the chosen epoch."""

JUDGED = ("evidence", "reliability")
"""The probability that an edge joins nodes of one class: by evidence alone, and by the beliefs about its ends, too."""

LINKS = ("lot", "kept")
"""The probability that an edge was drawn by lot, above 1 where that is beyond doubt, and what the edge then weighs."""

OF_EDGES = (*WEIGHTS, *JUDGED, *LINKS)
"""All that a model may say of an edge."""

HELD: dict[str, tuple[Axis, ...]] = {
    "probabilities": (Axis.NODE, Axis.CLASS),
    "p_probabilities": (Axis.NODE, Axis.CLASS),
    "pseudo_labels": (Axis.NODE, Axis.CLASS),
    "base_probabilities": (Axis.NODE, Axis.CLASS),
    "edge.index": (Axis.END, Axis.EDGE),
    **{f"loop.{name}": (Axis.LOOP,) for name in WEIGHTS},
    **{f"edge.{name}": (Axis.EDGE,) for name in OF_EDGES},
}
"""The arrays that belong to the graph: float32, except for ``edge.index`` (sources and targets)."""

PER_NODE = tuple(name for name, axes in HELD.items() if axes[0] is Axis.NODE)
"""The arrays with one row per node."""

STATE_PER_NODE = ("opinion", "logits", "labels", "posterior", "probabilities")
"""What has one row per node in the state of a running fit; what stands below ``weights`` there is per edge or loop."""


def shapes(nodes: int, classes: int, edges: int) -> dict[str, tuple[int, ...]]:
    """The shape of every array that belongs to a graph of this size."""
    sizes = {Axis.NODE: nodes, Axis.LOOP: nodes, Axis.EDGE: edges, Axis.CLASS: classes, Axis.END: 2}
    return {name: tuple(sizes[axis] for axis in axes) for name, axes in HELD.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedState:
    """The arrays of a fitted model that belong to the graph, by their meaning; None where there are none.

    Attributes:
        probabilities: [N, C] by q, or by the one network of a baseline.
        p_probabilities: [N, C] by p.
        pseudo_labels: [N, C] what p was given for labels in the chosen epoch.
        base_probabilities: [N, C] before they were corrected and smoothed.
        edge_index: [2, E] sources and targets, in the order of the graph's CSR.
        edge_weights: those of :data:`WEIGHTS`, :data:`JUDGED` and :data:`LINKS` that there are, [E] each.
        loop_weights: the same of the self-loops, [N] each.
    """

    probabilities: NDArray[np.float32] | None = None
    p_probabilities: NDArray[np.float32] | None = None
    pseudo_labels: NDArray[np.float32] | None = None
    base_probabilities: NDArray[np.float32] | None = None
    edge_index: NDArray[Any] | None = None
    edge_weights: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    loop_weights: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> FittedState:
        """From the arrays by their names."""

        def weights(kind: str) -> Arrays:
            return {name: arrays[f"{kind}.{name}"] for name in OF_EDGES if f"{kind}.{name}" in arrays}

        per_node = {name: arrays.get(name) for name in PER_NODE}
        return cls(
            **per_node, edge_index=arrays.get("edge.index"), edge_weights=weights("edge"), loop_weights=weights("loop")
        )

    def named(self) -> Arrays:
        """The arrays that there are, by their names in ``tensors_`` and in model files."""
        arrays = {name: getattr(self, name) for name in PER_NODE}
        for name in OF_EDGES:
            arrays[f"edge.{name}"] = self.edge_weights.get(name)
            arrays[f"loop.{name}"] = self.loop_weights.get(name)
        arrays["edge.index"] = self.edge_index
        return {name: array for name, array in arrays.items() if array is not None}

    @property
    def attention(self) -> Arrays | None:
        """``hard``, ``soft`` and ``stable`` [E]; None for a model without attention."""
        return {name: self.edge_weights[name] for name in ATTENTION} if "hard" in self.edge_weights else None

    @property
    def judged(self) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """``evidence`` and ``reliability`` [E]; None where the fit has not judged the edges."""
        have = all(name in self.edge_weights for name in JUDGED)
        return (self.edge_weights["evidence"], self.edge_weights["reliability"]) if have else None

    @property
    def lot(self) -> NDArray[np.float32] | None:
        """[E] how likely an edge was drawn by lot; None where the fit has not asked."""
        return self.edge_weights.get("lot")

    @property
    def kept(self) -> NDArray[np.float32] | None:
        """[E] what an edge weighs, 0 where it was cut as drawn by lot; None where none was."""
        return self.edge_weights.get("kept")

    @property
    def loop_attention(self) -> Arrays | None:
        """``hard``, ``soft`` and ``stable`` [N] of the self-loops; None where one is missing, as in old model files."""
        known = all(name in self.loop_weights for name in ATTENTION)
        return {name: self.loop_weights[name] for name in ATTENTION} if known else None


def edge_index(graph: Graph) -> NDArray[np.int32]:
    """[2, E] sources and targets of a graph's entries, in the order of its CSR."""
    return np.stack([graph.indices, graph.rows])


def edge_arrays(graph: Graph, weights: Mapping[str, NDArray[Any]], structure: Structure) -> Arrays:
    """Weights [E + N] on the entries of A + I as a fitted model holds them: those of edges and of loops apart."""
    arrays: Arrays = {"edge.index": edge_index(graph)}
    for name, values in weights.items():
        arrays[f"edge.{name}"], arrays[f"loop.{name}"] = values[structure.free], values[structure.loops]
    return arrays


def put_back(arrays: Arrays, graph: Graph, order: NDArray[np.int64], entries: NDArray[np.int64]) -> Arrays:
    """What a fit on the renumbered graph left behind, in the order of the graph's own nodes and entries.

    Args:
        arrays: what was left behind, by name.
        graph: the graph as the caller has it.
        order: [N] its nodes in the order of the fit.
        entries: [E] its entries in the order of the fit (:func:`gdamn.graph.order.renumbered`).
    """
    places = {Axis.NODE: order, Axis.LOOP: order, Axis.EDGE: entries}
    moved = dict(arrays)
    for name in HELD.keys() & arrays.keys():
        if name == "edge.index":
            moved[name] = edge_index(graph)
        else:
            moved[name] = np.empty_like(arrays[name])
            moved[name][places[HELD[name][0]]] = arrays[name]
    return moved
