"""The full batch with the least memory: per entry of A + I two numbers for the graph, and a few while a step lasts.

The same steps and noise as the whole domain's; what differs are the loops that make the weights (kernels/fused.py):
they hold neither logits nor scores nor samples, and a structure without what they don't need. For undirected graphs
with both attentions, on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ...errors import ConfigError
from ...graph.graph import Graph
from ...graph.loops import mirrored, with_loops
from ...graph.read_only import as_tensor, sealed
from ...graph.structure import Structure
from ...kernels import Key, Pattern
from ...kernels.fused import Inputs, SampledAttention, draw
from ...model.adjacency import normalized
from ...model.attention import stable
from ...model.fitted_state import edge_arrays
from ...model.inputs import feature_block
from ...model.label_network import LabelNetwork
from ...model.problem import Problem, check_learnable, known_labels, without_isolated
from ...model.settings import Settings
from ..em import EM
from ..training import Watch
from .domain import WholeDomain
from .memory import edges_fit


def why_not(graph: Graph, s: Settings, device: torch.device) -> str | None:
    """What stands against this mode; None where nothing does."""
    wrong = {
        "a directed graph": graph.directed,
        "a GPU": device.type != "cpu",
        f"start={s.start}": s.start in ("similar", "evidence"),
        "hard=False": not s.hard,
        "soft=False": not s.soft,
        "reweight_samples": s.reweight_samples > 0,
        "beta=auto": s.beta == "auto",
    }
    return next((what for what, there in wrong.items() if there), None)


@dataclass(frozen=True, eq=False)
class LeanStructure(Structure):
    """A structure that holds the positions [N] of its loops; ``loop`` is empty, and ``pair`` too if it is symmetric."""

    loops: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """[E] True where the entry may be cut; made when it is asked for."""
        free = np.ones(self.pattern.num_entries, bool)
        free[self.loops] = False
        return sealed(free)


def lean_structure(graph: Graph) -> LeanStructure:
    """A + I of an undirected graph, which is its own transpose; weights of 1 take no room."""
    n, looped = graph.num_nodes, with_loops(graph.indptr, graph.indices)
    indptr, indices, is_loop = looped.indptr, looped.indices, looped.entries < 0
    del looped  # eight bytes an entry
    weights: NDArray[np.float32] = torch.ones(1).expand(len(indices)).numpy()
    if graph.weights is not None:
        weights = np.ones(len(indices), np.float32)
        weights[~is_loop] = graph.weights
    pattern = Pattern((n, n), indptr, indices, indptr, indices, mirrored(indptr, indices))
    loops = np.flatnonzero(is_loop)
    return LeanStructure(pattern, weights, np.empty(0, bool), np.empty(0, np.int32), loops=loops)


class FusedLabelNetwork(LabelNetwork):
    """p, whose weights on the edges are made in one loop."""

    def inputs(self, labels: Tensor) -> Inputs:
        """What is constant while Ŷ is, from :meth:`attention_labels`."""
        assert self.hard is not None
        structure = self.problem.structure
        weights = as_tensor(structure.weights) if self.weighted else torch.empty(0)
        labels = structure.pattern.extended(labels)
        known = F.normalize(labels, dim=1, eps=1e-12)
        numbers = -1.0, self.hard.temperature, self.s.prior_clamp
        return Inputs(structure.pattern, structure.pair, weights, labels, known, *numbers)

    def ends(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Ŷ Q [N, C], from :meth:`attention_labels`, and h / |h| [K, m]: a hard logit's and a soft score's factors."""
        assert self.hard is not None
        assert self.soft is not None
        units = self.soft.units(self.problem.x)
        return self.hard.turned(labels), self.problem.structure.pattern.extended(units)

    def learner(self, labels: Tensor) -> Callable[[object, Key], tuple[Tensor, Tensor | None]]:
        """Weights of a draw and the KL to the prior."""
        labels = self.attention_labels(labels)
        inputs, counts = self.inputs(labels), self.problem.counts
        count = counts.edges if self.s.kl_per == "edge" else self.problem.place.rows_of(labels)

        def draw_one(_: object, key: Key) -> tuple[Tensor, Tensor | None]:
            weights, kl = SampledAttention.apply(*self.ends(labels), inputs, key)  # type: ignore[no-untyped-call]
            return weights, kl / max(count, 1)

        return draw_one

    def drawer(self, labels: Tensor) -> Callable[[Key], Tensor]:
        """The weights of one draw after the other."""
        labels = self.attention_labels(labels)
        inputs, (turned, unit) = self.inputs(labels), self.ends(labels)
        return lambda key: draw(inputs, turned, unit, key)[0]

    @torch.no_grad()
    def reweighting(self, labels: Tensor, key: Key) -> dict[str, Tensor]:
        """Line 14: the weights that q propagates on, and nothing else per edge."""
        structure = self.problem.structure
        hard, soft = self.attentions(labels)
        fused = stable(hard, soft, as_tensor(structure.weights), self.s.reweight)
        del hard, soft
        return {"used": normalized(structure, fused, self.s.stable_norm)}

    @torch.no_grad()
    def attentions(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Hard and soft attention of every entry: [E] both.

        The soft one by the loop of the M-step, which divides by the sum of a row where :func:`edge_softmax` multiplies
        by its inverse and shifts the scores: their last bits differ.
        """
        assert self.hard is not None
        structure, labels = self.problem.structure, self.attention_labels(labels)
        hard = self.hard.probabilities(structure, self.hard.logits(structure, labels))
        return hard, draw(self.inputs(labels), *self.ends(labels), None)[0]


class LeanDomain(WholeDomain):
    """The whole graph in every step, with the least memory."""

    starts = ("graph", "features")  # similarity of features would be a weight per edge

    def new_p(self, s: Settings, generator: torch.Generator) -> LabelNetwork:
        """p with the loops that hold nothing."""
        return FusedLabelNetwork(self.problem, s, generator).to(self.problem.device)


def fit_lean(graph: Graph, s: Settings, watch: Watch, device: torch.device) -> dict[str, NDArray[Any]]:
    """Fit q and p; the watch keeps the history and the state of q's best epoch.

    Returns:
        Weights per edge, as a fitted model keeps them; nothing where they would not fit into memory.
    """
    reason = why_not(graph, s, device)
    if reason:
        raise ConfigError(f"batch=fused can't be used with {reason}; set batch=full or partition.")
    check_learnable(graph)
    x = feature_block(graph.features, s.normalize, s.dropout_input, device)
    known = known_labels(graph, device, str(s.class_weight))
    problem = Problem(structure=lean_structure(graph), x=x, device=device, **known)
    problem = without_isolated(problem, s.start, s.isolated)
    em = EM(LeanDomain(problem), s, watch).run()
    best = watch.best_state
    if best is None or "posterior" not in best or not edges_fit(len(graph.indices)):
        return {}
    assert isinstance(em.p, FusedLabelNetwork)
    em.p.load_state_dict(best["p"])
    structure, used = problem.structure, best["weights"]["used"]
    hard, soft = em.p.attentions(best["labels"])
    fused = stable(hard, soft, as_tensor(structure.weights), s.reweight)
    weights = {"hard": hard, "soft": soft, "stable": fused, "used": used}
    return edge_arrays(graph, {name: value.numpy() for name, value in weights.items()}, structure)
