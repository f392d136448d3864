"""Mini-batches over ranks: a batch is some of the parts, each without the edges that leave it.

Part j belongs to batch j mod B, so every rank has some of each batch, and a step sums the gradients of all ranks. Which
parts a batch has doesn't depend on the number of ranks, and neither does the result. Inference stays exact.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from ....errors import ConfigError
from ....graph.parts import Part, PartitionedGraph
from ....graph.structure import Structure
from ....kernels import Key, Pattern
from ....model.adjacency import Adjacency
from ....model.label_network import LabelNetwork
from ....model.objectives import structure_kl, structure_prior
from ....model.problem import Problem
from ....model.settings import Settings
from ...mini_batches import in_batches
from ...training import Steps, make_generator
from .. import domain
from ..batched.batches import ENTRIES
from ..domain import Epochs, QGraph, Structures, WholeDomain, WholeQGraph
from ..lean import LeanDomain
from .parts import PartsProblem
from .sharing import rows_of

FEWEST = 8
"""Parts of a batch, at least, where nobody says how many nodes one has."""


def batch_count(graph: PartitionedGraph, s: Settings, bounds: Any) -> int:
    """B, the same for any number of ranks; refused where a rank would have nothing of a batch.

    Args:
        bounds: [R + 1] the parts of each rank.
    """
    parts = len(graph.parts)
    if s.accumulate:
        return 1
    if s.batch_nodes:
        count = min(parts, max(1, round(graph.num_nodes / s.batch_nodes)))
    else:
        count = max(1, min(parts // FEWEST, round(graph.num_entries / ENTRIES)))
    fewest = int(np.diff(bounds).min())
    if fewest < count:
        raise ConfigError(
            f"A rank has {fewest} parts, and there are {count} batches, of which it needs a part each; partition the "
            f"graph into more parts, or set batch_nodes to {-(-graph.num_nodes // max(fewest, 1)):,} or more."
        )
    return count


class PartView:
    """The nodes of one part with the edges between them, as a problem of its own.

    Attributes:
        entries: [e] positions of its entries among those of the rank.
    """

    def __init__(self, whole: PartsProblem, part: Part) -> None:
        begin = part.first_node - whole.parts[0].first_node
        self.own = slice(begin, begin + part.num_nodes)
        pattern = whole.structure.pattern
        pointers = pattern.indptr[begin : begin + part.num_nodes + 1]
        columns = pattern.indices[pointers[0] : pointers[-1]]
        inside = (columns >= begin) & (columns < begin + part.num_nodes)
        reached = np.concatenate([[0], np.cumsum(inside)])
        indptr, indices = reached[pointers - pointers[0]], columns[inside] - np.int32(begin)
        places = pointers[0] + np.flatnonzero(inside)
        local = Pattern.from_csr(indptr, indices, (part.num_nodes, part.num_nodes))
        weights, pair = whole.structure.weights[places], whole.structure.pair[places]
        structure = Structure(local, weights, local.indices == local.rows, pair)
        self.entries = torch.from_numpy(places).to(whole.device)
        labels = whole.labels[self.own]
        known = labels.sum(1) > 0
        nothing = torch.empty(0, dtype=torch.int64, device=whole.device)
        self.problem = Problem(
            structure=structure,
            x=rows_of(whole.x, self.own),
            labels=labels,
            train=known.nonzero()[:, 0],
            rest=(~known).nonzero()[:, 0],
            val=nothing,
            val_labels=nothing,
            train_labels=labels[known].argmax(1),
            device=whole.device,
        )

    def rows(self, x: Tensor) -> Tensor:
        """The rows of the part."""
        return x[self.own]

    own_rows = rows

    def own_only(self, x: Tensor) -> Tensor:
        """All of them count."""
        return x


class PartQGraph(QGraph):
    """The weights that q propagates on, of which a batch sees those within its parts."""

    def __init__(self, whole: WholeQGraph) -> None:
        self.whole, self.kept = whole, whole.kept

    def on(self, view: domain.View) -> Adjacency:
        """The weights within a part."""
        seen, adjacency = cast(PartView, view), self.whole.adjacency
        return Adjacency(seen.problem.structure, adjacency.values[seen.entries], adjacency.rate)

    def predict(self, q: nn.Module) -> Tensor:
        """q's logits [n, C] without dropout, with every neighbour."""
        return self.whole.predict(q)


class PartBatches(WholeDomain):
    """The parts of a rank in batches, with exact inference."""

    starts = ("graph", "features")
    problem: PartsProblem

    def __init__(self, problem: PartsProblem, batches: int) -> None:
        super().__init__(problem)
        self.batches = batches

    def start_graph(self, name: str, s: Settings) -> QGraph:
        """The plain graph, or every node alone."""
        return PartQGraph(cast(WholeQGraph, super().start_graph(name, s)))

    def structures(self, p: LabelNetwork, labels: Tensor) -> Structures:
        """Lines 7 to 9 and the KL of line 11, on one part."""
        s, counts, attended = p.s, self.problem.counts, p.attention_labels(labels)
        count = counts.edges if s.kl_per == "edge" else counts.nodes

        def draw(view: domain.View, key: Key) -> tuple[Tensor, Tensor | None]:
            p.problem, known = view.problem, view.rows(attended)
            logits = p.hard_logits(known)
            weights = p.sampled_weights(logits, p.soft_scores(), key)
            if logits is None:
                return weights, None
            prior = structure_prior(view.problem.structure, known, s.prior_clamp)
            return weights, structure_kl(view.problem.structure, logits, prior, count)

        return draw

    def infer(self, p: LabelNetwork, labels: Tensor, s: Settings, key: Key) -> tuple[Tensor, QGraph]:
        """Lines 13 and 14 on all of the rank's rows."""
        p.problem = self.problem
        posterior, graph = super().infer(p, labels, s, key)
        return posterior, PartQGraph(cast(WholeQGraph, graph))

    def steps(self, epochs: Epochs, s: Settings) -> Steps:
        """A step for each batch, with the gradients of its parts on all ranks; losses are those of an epoch."""
        key = epochs.key.fold("batches")

        def loss(at: int, step: Key) -> dict[str, Tensor]:
            epoch, place = divmod(at, self.batches)
            order = torch.randperm(self.batches, generator=make_generator(key.fold(epoch)))
            chosen = [part for part in self.problem.parts if part.number % self.batches == int(order[place])]
            total: dict[str, Tensor] = {}
            for left, part in enumerate(reversed(chosen)):
                drawn = epochs.losses(PartView(self.problem, part), Key(step.fold(part.number).value))
                losses = {name: value * self.batches for name, value in drawn.items()}
                if left + 1 < len(chosen):
                    losses["loss"].backward()  # type: ignore[no-untyped-call]
                    losses = {name: value.detach() for name, value in losses.items()}
                total = {name: value + total.get(name, 0.0) for name, value in losses.items()}
            return total

        return in_batches(epochs.count, epochs.after, epochs.part, self.batches, loss)


class LeanPartBatches(PartBatches, LeanDomain):
    """The same, whose inference holds no more values per entry than it must."""
