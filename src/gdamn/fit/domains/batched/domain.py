"""Mini-batches: each step takes a view of some nodes; what the phases exchange is of the nodes' size.

An epoch goes over all batches. A batch's loss is its own nodes' share of the whole graph's loss, so the losses of all
batches add up to it: one step per batch takes the share times the number of batches, and with ``accumulate`` one
step per epoch takes the sum. Predictions are exact (exact.py).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ....errors import ConfigError
from ....kernels import Key
from ....model.adjacency import Adjacency, scales
from ....model.label_network import LabelNetwork
from ....model.objectives import structure_prior, weighed_kl
from ....model.problem import Problem
from ....model.propagators.gcn import GCN
from ....model.settings import Settings
from ...em import EM
from ...mini_batches import in_batches
from ...training import Steps, Watch
from .. import domain
from ..domain import Domain, Epochs, QGraph, Structures
from ..memory import edges_fit
from . import exact
from .batches import Batches, make_batches
from .large import LargeProblem
from .views import View, Viewer


def check_supported(s: Settings) -> None:
    """Refuse what only the full batch can do."""
    wrong = {
        "propagator": s.propagator != "gcn" and s.propagator,
        "p_propagator": s.p_propagator != "gcn" and s.p_propagator,
        "draws": s.draws > 1 and s.draws,
        "reweight_samples": s.reweight_samples > 0 and s.reweight_samples,
        "start": s.start in ("similar", "evidence") and s.start,
    }
    for name, value in wrong.items():
        if value:
            raise ConfigError(f"batch={s.batch} can't be used with {name}={value}; set batch=full, or leave it out.")


class BatchedQGraph(QGraph):
    """Weights that are made for a view or for a block of rows, and dropped."""

    def __init__(self, large: LargeProblem, weigh: exact.BlockWeigh, on_view: exact.Weigh, rate: float = 0.0) -> None:
        self.large, self.weigh, self.on_view, self.rate = large, weigh, on_view, rate
        self.kept: dict[str, Any] = {}

    def on(self, view: domain.View) -> Adjacency:
        """Its part on a view, with dropout."""
        seen = cast(View, view)
        return Adjacency(seen.problem.structure, self.on_view(seen.entries), self.rate)

    def predict(self, q: nn.Module) -> Tensor:
        """q's logits [N, C] without dropout, with every neighbour."""
        return exact.logits(cast(GCN, q), self.large, self.weigh, [self.large.x])


class BatchedDomain(Domain):
    """A large graph in mini-batches."""

    starts = ("graph", "features")  # similarity of features is not weighed in batches

    def __init__(self, large: LargeProblem, s: Settings, mode: str) -> None:
        self.problem = self.large = large
        self.batches: Batches = make_batches(large, s, mode)

    @cached_property
    def viewer(self) -> Viewer:
        """Makes the views of the batches."""
        return Viewer(self.large)

    @property
    def width(self) -> int:
        """Number of features."""
        return self.large.x.width

    def new_p(self, s: Settings, generator: torch.Generator) -> LabelNetwork:
        """p without a structure: each view brings its own."""
        p = LabelNetwork(cast(Problem, self.large), s, generator)
        p.weighted = self.large.weighted or self.batches.weighs
        return p.to(self.large.device)

    def start_graph(self, name: str, s: Settings) -> QGraph:
        """The plain graph, or every node alone."""
        weigh = exact.loop_weights if name == "features" else exact.gcn_weights(self.large)
        return BatchedQGraph(self.large, weigh, weigh)

    def structures(self, p: LabelNetwork, labels: Tensor) -> Structures:
        """Lines 7 to 9 and the KL of line 11, on views."""
        s, counts, attended = p.s, self.large.counts, p.attention_labels(labels)
        count = counts.edges if s.kl_per == "edge" else counts.nodes

        def draw(view: domain.View, key: Key) -> tuple[Tensor, Tensor | None]:
            seen = cast(View, view)
            p.problem, known = seen.problem, seen.rows(attended)
            logits = p.hard_logits(known)
            weights = p.sampled_weights(logits, p.soft_scores(), key)
            if logits is None:
                return weights, None
            prior = structure_prior(seen.problem.structure, known, s.prior_clamp)
            return weights, weighed_kl(logits, prior, seen.counted, count)

        return draw

    def infer(self, p: LabelNetwork, labels: Tensor, s: Settings, key: Key) -> tuple[Tensor, QGraph]:
        """Lines 13 and 14: the posterior and the stable weights exactly."""
        p.problem = cast(Problem, self.large)
        attention = exact.Attention(p, self.large, s, labels)
        posterior = attention.posterior(s.samples, key.fold("posterior"))
        return posterior, BatchedQGraph(self.large, *self.stable_weights(attention, p, s), s.dropout_attention)

    def stable_weights(
        self, attention: exact.Attention, p: LabelNetwork, s: Settings
    ) -> tuple[exact.BlockWeigh, exact.Weigh]:
        """A^stable, normalised, on blocks and on views."""
        if p.hard is None and p.soft is None:
            plain = exact.gcn_weights(self.large)
            return plain, plain
        log_total, rows, columns = attention.sums()
        left, right = scales(rows, columns, s.stable_norm)
        return (
            lambda block: block.scaled(attention.stable(block), left, right),
            lambda entries: entries.scaled(attention.stable_of_some(entries, log_total), left, right),
        )

    def steps(self, epochs: Epochs, s: Settings) -> Steps:
        """Epochs over all batches: a step each, or one with the gradients of all (``accumulate``)."""
        per_epoch = 1 if s.accumulate else len(self.batches)
        key = epochs.key.fold("batches")

        def loss(at: int, step: Key) -> dict[str, Tensor]:
            epoch, place = divmod(at, per_epoch)
            if not s.accumulate:
                view = self.batches.view(self.viewer, epoch, place, key)
                return {name: value * per_epoch for name, value in epochs.losses(view, step).items()}
            total: dict[str, Tensor] = {}
            for batch in range(len(self.batches)):
                losses = epochs.losses(self.batches.view(self.viewer, epoch, batch, key), step)
                if batch + 1 < len(self.batches):
                    losses["loss"].backward()  # type: ignore[no-untyped-call]
                    losses = {name: value.detach() for name, value in losses.items()}
                total = {name: value + total.get(name, 0.0) for name, value in losses.items()}
            return total

        return in_batches(epochs.count, epochs.after, epochs.part, per_epoch, loss)


def fit_batched(problem: LargeProblem, s: Settings, watch: Watch, mode: str) -> dict[str, NDArray[Any]]:
    """Fit q and p on a graph in batches; the watch keeps the history and the state of q's best epoch.

    Returns:
        Weights per edge, as a fitted model keeps them; nothing where they would not fit into memory.
    """
    check_supported(s)
    em = EM(BatchedDomain(problem, s, mode), s, watch).run()
    best = watch.best_state
    if best is None or "posterior" not in best or (em.p.hard is None and em.p.soft is None):
        return {}
    if not edges_fit(problem.num_edges):
        return {}
    em.p.load_state_dict(best["p"])
    return exact.Attention(em.p, problem, s, best["labels"]).edge_weights()
