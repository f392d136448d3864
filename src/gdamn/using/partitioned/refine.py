"""The cleaned graph as a table: the edges that stay, part after part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...data.progress import Progress, silent
from ...estimators.selection import own_choice
from ...graph.parts import Part
from ...model.fitted_state import ATTENTION
from ...runs.tables import write_blocks
from ...system.scratch import Scratch, scratch
from .spread import StreamedSpread

if TYPE_CHECKING:
    from .folder import PartitionedRun

PURPOSE = "refine a graph with"


def refine(
    run: PartitionedRun,
    seed: int,
    out: Path,
    keep: str | None = None,
    top: int | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the entries that stay, one row per direction, in the order of the parts; returns the report.

    The rule is that of :func:`gdamn.estimators.selection.chosen_entries`: an undirected edge stays where either end
    keeps it. A first pass marks the pairs that a row keeps, a second one writes.
    """
    with scratch(out.parent) as room:
        refining = _Refining(run, seed, keep, top, room)
        for part in run.each("judging edges", progress):
            refining.mark(part)
        write_blocks(out, refining.kept(progress))
        return refining.report()


class _Refining:
    """The two passes over the parts, and what they count."""

    def __init__(self, run: PartitionedRun, seed: int, keep: str | None, top: int | None, room: Scratch) -> None:
        self.run, self.seed, self.keep, self.top, self.room = run, seed, keep, top, room
        self.graph = run.parts
        pairs = 0 if self.graph.directed else self.graph.num_entries
        self.marked, self.counted = (room.zeros(pairs, dtype="|b1") for _ in range(2))
        self.had, self.touched = (room.zeros(self.graph.num_nodes, dtype="|b1") for _ in range(2))
        self.spreads = {name: StreamedSpread() for name in ATTENTION}
        self.edges_after = 0

    def _chosen(self, part: Part, weights: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """[e] the entries that their own row keeps."""
        rows = np.repeat(np.arange(part.num_nodes), np.diff(part.array("indptr")))
        return own_choice(rows, weights, self.keep, self.top)

    def mark(self, part: Part) -> None:
        """The first pass."""
        weights = self.run.edges(self.seed, part, PURPOSE)
        for name, spread in self.spreads.items():
            spread.count(weights[name])
        if not self.graph.directed:
            self.marked[part.array("pair")[self._chosen(part, weights)]] = True
        self.room.release()

    def kept(self, progress: Progress) -> Iterator[dict[str, NDArray[Any]]]:
        """The second pass: the rows of the table."""
        for part in self.run.each("writing edges", progress):
            table = self.run.edges(self.seed, part, PURPOSE, ("source", "target", *ATTENTION))
            weights = {name: table[name] for name in ATTENTION}
            for name, spread in self.spreads.items():
                spread.place(weights[name])
            pair = part.array("pair")
            chosen = self._chosen(part, weights) if self.graph.directed else self.marked[pair]
            chosen = chosen & (weights["stable"] > 0)  # readers take a weight of 0 for no edge, or for a mistake
            self._count(part, chosen, pair)
            ends = {name: table[name][chosen] for name in ("source", "target")}
            given = {"weight": np.array(part.array("weights")[chosen])} if self.graph.weighted else {}
            yield {**ends, **given, **{name: values[chosen] for name, values in weights.items()}}
            self.room.release()

    def _count(self, part: Part, chosen: NDArray[np.bool_], pair: NDArray[Any]) -> None:
        """Which nodes have edges, before and after, and how many edges are left."""
        own = slice(part.first_node, part.first_node + part.num_nodes)
        degrees, indices = np.diff(part.array("indptr")), np.array(part.array("indices"))
        rows = np.repeat(np.arange(part.num_nodes), degrees)
        self.had[own] |= degrees > 0
        self.had[part.columns(indices)] = True
        self.touched[part.first_node + rows[chosen]] = True
        self.touched[part.columns(indices[chosen])] = True
        if self.graph.directed:
            self.edges_after += int(chosen.sum())
        else:
            pairs = np.unique(pair[chosen])
            self.edges_after += int((~self.counted[pairs]).sum())
            self.counted[pairs] = True

    def report(self) -> dict[str, Any]:
        """How many edges stay, and how many nodes are left alone; plain data."""
        alone = 0
        for part in self.graph.parts:
            own = slice(part.first_node, part.first_node + part.num_nodes)
            alone += int((self.had[own] & ~self.touched[own]).sum())
        return {
            "nodes": self.graph.num_nodes,
            "edges_before": self.graph.num_edges,
            "edges_after": self.edges_after,
            "directed": self.graph.directed,
            "nodes_left_alone": alone,
            "weights": {name: spread.report() for name, spread in self.spreads.items()},
        }
