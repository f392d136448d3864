"""The map of a graph before and after: where nodes lie, and how strong each edge is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..using.ranking import both_ways
from .layout import layout
from .measures import CUT_BELOW

if TYPE_CHECKING:
    from .explorer import Selection
    from .seed_fit import SeedFit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAP_NODES = 5_000
"""Most nodes of a map; of a larger graph a sample is drawn, and the page says so."""

FAINT = 0.02
"""How much a cut edge still attracts, so that its ends aren't thrown to the rim."""

STRONG = 0.9
"""The kept edges' quantile of weight that is drawn at full strength."""

WEAKEST = 0.15
"""Strength that every kept edge has at least: it is there."""


@dataclass(frozen=True, eq=False)
class GraphMap:
    """A map.

    Attributes:
        nodes: [M] node numbers.
        place: [M, 2] from -1 to 1.
        edges: CSR entries of the edges between them, one per edge.
        before, after: how strong each is drawn, 0 to 1; ``after`` is None for a method without attention.
    """

    nodes: Ints
    place: Floats
    edges: Ints
    before: Floats
    after: Floats | None


def make_map(fit: SeedFit, chosen: Selection) -> GraphMap:
    """The map of the page's first nodes; laid out once, by the refined graph where there is one."""
    graph = fit.graph
    nodes = chosen.mapped
    at = np.full(graph.num_nodes, -1, np.int64)
    at[nodes] = np.arange(len(nodes))
    rows, columns = at[graph.rows[chosen.edges]], at[graph.indices[chosen.edges]]
    inside = (rows >= 0) & (columns >= 0)
    edges = chosen.edges[inside]
    before, after = strength_before(fit, edges), strength_after(fit, edges)
    pull = before
    if fit.weights is not None:
        hard = both_ways(graph, fit.weights["hard"], edges)
        pull = np.where(hard < CUT_BELOW, FAINT, hard)
    place = layout(len(nodes), rows[inside], columns[inside], pull)
    return GraphMap(nodes, place, edges, before, after)


def strength_before(fit: SeedFit, edges: Ints) -> Floats:
    """[P] the weight in the input graph, relative to its strong edges; 1 where it has no weights."""
    weights = fit.graph.weights
    if weights is None or not len(edges):
        return np.ones(len(edges))
    values = both_ways(fit.graph, weights, edges)
    return relative(values, np.ones(len(edges), bool))


def strength_after(fit: SeedFit, edges: Ints) -> Floats | None:
    """[P] the weight in the refined graph, relative to its strong edges; 0 for cut ones."""
    if fit.weights is None:
        return None
    kept = both_ways(fit.graph, fit.weights["hard"], edges) >= CUT_BELOW
    return np.where(kept, relative(both_ways(fit.graph, fit.weights["stable"], edges), kept), 0.0)


def relative(values: Floats, kept: NDArray[np.bool_]) -> Floats:
    """Roots of the weights, so that weak edges are seen, 1 for the strong ones."""
    strong = float(np.quantile(values[kept], STRONG)) if kept.any() else 1.0
    return np.clip(np.sqrt(np.maximum(values, 0) / max(strong, 1e-12)), WEAKEST, 1.0)
