"""Domain: where a fit runs. EM (em.py) is the same on each; a domain says how an epoch goes over the graph.

:class:`WholeDomain` takes the whole graph in every step, alone or as one of several processes. ``lean.py`` does that
with less memory, ``batched/`` goes over mini-batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...errors import ConfigError
from ...kernels import Key
from ...model.adjacency import Adjacency, gcn_adjacency, loops_only
from ...model.label_network import LabelNetwork
from ...model.problem import Labelled, Problem
from ...model.propagators import start_norm
from ...model.settings import Settings
from ..checkpoint import Part
from ..field import MOST_MESSAGES, Field, edge_field, edge_links
from ..field.links import Links
from ..field.pairs import Pairs
from ..multihop import Opinion, features_opinion, multihop_opinion
from ..training import Record, Steps

STARTS = ("graph", "similar", "features")
"""What ``start=auto`` tries, in the order of preference where validation can't tell them apart."""

MOST_NODES = 2_000_000
"""Nodes up to which a fit can start from multi-hop features, of which several hundred bytes a node are kept."""


class View(Protocol):
    """The nodes that one step sees, and which of them its loss counts."""

    @property
    def problem(self) -> Problem:
        """The nodes with their edges and features, as a problem of its own."""

    def rows(self, x: Tensor) -> Tensor:
        """Of an array [N, …] of the whole graph, the rows of the view's nodes."""

    def own_only(self, x: Tensor) -> Tensor:
        """Of an array of the view's nodes, the rows that the loss counts."""

    def own_rows(self, x: Tensor) -> Tensor:
        """Of an array [N, …] of the whole graph, the rows that the loss counts."""


Losses = Callable[[View, Key], dict[str, Tensor]]
"""A view's share of the losses of the whole graph."""

Structures = Callable[[View, Key], tuple[Tensor, Tensor | None]]
"""A sampled structure's weights on a view's entries, and the view's share of the KL to the prior."""


class QGraph(ABC):
    """The weighted graph that q propagates on."""

    kept: dict[str, Any]
    """What a chosen epoch keeps of it."""

    @abstractmethod
    def on(self, view: View) -> Adjacency:
        """Its part on a view, with dropout."""

    @abstractmethod
    def predict(self, q: nn.Module) -> Tensor:
        """q's logits [N, C] without dropout."""


@dataclass(frozen=True)
class Epochs:
    """A phase of training.

    Attributes:
        count: number of epochs.
        losses: the loss of a view.
        after: gets each epoch's number, the values of the loss's parts, and the time at which the epoch started; where
            it returns True, the phase ends.
        key: noise of the phase.
        part: what a checkpoint keeps of the phase.
    """

    count: int
    losses: Losses
    after: Callable[[int, Record, float], bool | None]
    key: Key
    part: Part


class Domain(ABC):
    """Where a fit runs; ``problem`` is what it may see of the whole graph."""

    problem: Labelled
    starts: tuple[str, ...] = STARTS
    has_multihop: bool = False
    """Whether a fit can start from multi-hop features."""
    has_field: bool = False
    """Whether edges can be judged by belief propagation."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @abstractmethod
    def new_p(self, s: Settings, generator: torch.Generator) -> LabelNetwork:
        """A fresh label propagator p_φ with its attention."""

    @abstractmethod
    def start_graph(self, name: str, s: Settings) -> QGraph:
        """The graph of pre-training: the plain one, or every node alone (``features``)."""

    @abstractmethod
    def structures(self, p: LabelNetwork, labels: Tensor) -> Structures:
        """Lines 7 to 9 and the KL of line 11, for the label distributions Ŷ [N, C] of one M-step."""

    @abstractmethod
    def infer(self, p: LabelNetwork, labels: Tensor, s: Settings, key: Key) -> tuple[Tensor, QGraph]:
        """Lines 13 and 14: p's posterior [N, C], and the graph of A^stable."""

    @abstractmethod
    def steps(self, epochs: Epochs, s: Settings) -> Steps:
        """The steps of Adam that go over the graph in every epoch of a phase."""

    def multihop_opinion(self, seed: int) -> Opinion:
        """What cross-fitted regressions on multi-hop features say of every node."""
        raise ConfigError(
            f"start=multihop needs one process, batch=full or fused, and at most {MOST_NODES:,} nodes; set start=graph."
        )

    def edge_field(self, seed: int, known: Tensor | None = None) -> Field:
        """How far each edge is to be trusted; ``known`` [N, C] is what is known of the nodes without their edges."""
        raise ConfigError(
            "start=evidence needs one process, batch=full, and at most "
            f"{MOST_MESSAGES:,} edges times classes; set start=graph."
        )

    def edge_links(self, seed: int) -> tuple[Pairs, Links]:
        """Which edges look as if they were drawn by lot."""
        raise AssertionError(f"{type(self).__name__} can't judge edges")

    def weighed_by(self, factors: NDArray[np.float32]) -> Domain:
        """The same on the graph with each edge's weight times its factor [E]."""
        raise AssertionError(f"{type(self).__name__} has no start=evidence")

    def weighed_by_features(self) -> Domain:
        """The same on the graph whose edges weigh as their ends' features agree."""
        raise AssertionError(f"{type(self).__name__} has no start=similar")


@dataclass(frozen=True)
class WholeView:
    """Every node; all of them count, but for those that the problem leaves out."""

    problem: Problem

    def rows(self, x: Tensor) -> Tensor:
        """All rows."""
        return x

    def own_rows(self, x: Tensor) -> Tensor:
        """The rows that the loss counts."""
        return x if self.problem.counted is None else x[self.problem.counted]

    own_only = own_rows


class WholeQGraph(QGraph):
    """Weights on the entries of A + I."""

    def __init__(self, adjacency: Adjacency, problem: Problem, kept: dict[str, Any] | None = None) -> None:
        self.adjacency, self.problem, self.kept = adjacency, problem, kept or {}

    def on(self, view: View) -> Adjacency:
        """All of it."""
        return self.adjacency

    @torch.no_grad()
    def predict(self, q: nn.Module) -> Tensor:
        """q's logits [N, C] without dropout."""
        q.eval()
        logits: Tensor = q(self.adjacency, [self.problem.x], None)
        q.train()
        return logits


class WholeDomain(Domain):
    """The whole graph in every step."""

    problem: Problem

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.has_multihop = problem.place.whole and problem.num_nodes <= MOST_NODES
        few = problem.num_edges * problem.num_classes <= 2 * MOST_MESSAGES
        self.has_field = few and problem.place.whole and len(problem.structure.pair) > 0

    def multihop_opinion(self, seed: int) -> Opinion:
        """What cross-fitted regressions on multi-hop features say of every node."""
        return multihop_opinion(self.problem, seed=seed) if self.has_multihop else super().multihop_opinion(seed)

    @property
    def width(self) -> int:
        """Number of features."""
        return self.problem.x.width

    def new_p(self, s: Settings, generator: torch.Generator) -> LabelNetwork:
        """A fresh label propagator p_φ with its attention."""
        return LabelNetwork(self.problem, s, generator).to(self.problem.device)

    def start_graph(self, name: str, s: Settings) -> QGraph:
        """The graph of pre-training: the plain one, or every node alone (``features``)."""
        structure, device = self.problem.structure, self.problem.device
        if name == "features":
            adjacency = loops_only(structure, device)
        else:
            adjacency = gcn_adjacency(structure, device, start_norm(s.propagator))
        return WholeQGraph(adjacency, self.problem, {"weights": {"used": adjacency.values}})

    def structures(self, p: LabelNetwork, labels: Tensor) -> Structures:
        """Lines 7 to 9 and the KL of line 11."""
        return p.learner(labels)

    def infer(self, p: LabelNetwork, labels: Tensor, s: Settings, key: Key) -> tuple[Tensor, QGraph]:
        """Lines 13 and 14: p's posterior [N, C], and the graph of A^stable."""
        posterior = p.posterior(labels, s.samples, key.fold("posterior"))  # line 13
        weights = p.reweighting(labels, key.fold("reweight"))  # line 14
        adjacency = Adjacency(self.problem.structure, weights["used"], s.dropout_attention)
        return posterior, WholeQGraph(adjacency, self.problem, {"weights": weights})

    def steps(self, epochs: Epochs, s: Settings) -> Steps:
        """One step an epoch."""
        return Steps(epochs.count, partial(epochs.losses, WholeView(self.problem)), epochs.after, epochs.part)

    def edge_field(self, seed: int, known: Tensor | None = None) -> Field:
        """How far each edge is to be trusted; without ``known`` from what the features alone say of the nodes."""
        if not self.has_field:
            return super().edge_field(seed)
        return edge_field(self.problem, features_opinion(self.problem, seed) if known is None else known, seed)

    def edge_links(self, seed: int) -> tuple[Pairs, Links]:
        """Which edges look as if they were drawn by lot."""
        return edge_links(self.problem.structure, self.problem.x, self.problem.device, seed)

    def weighed_by(self, factors: NDArray[np.float32]) -> WholeDomain:
        """The same on the graph with each edge's weight times its factor [E]."""
        return WholeDomain(replace(self.problem, structure=self.problem.structure.weighed(factors)))

    def weighed_by_features(self) -> WholeDomain:
        """The same on the graph whose edges weigh as their ends' features agree."""
        return WholeDomain(self.problem.weighed_by_features())
