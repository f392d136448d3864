"""GDAMN on a streamed graph: q on the graph of its chosen epoch, which p's attention may refine.

The steps are those of :mod:`gdamn.estimators.gdamn_inductive`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ...errors import ConfigError
from ...estimators.gdamn import GDAMN
from ...estimators.rebuild import graph_of_choice, load_state
from ...fit.training import make_generator
from ...kernels import Key, edge_softmax, sddmm
from ...model.attention import HardAttention, SoftAttention, keep_probabilities, stable, tempered
from ...model.propagators import make_propagator, start_norm
from ...model.settings import Settings
from .known import Known
from .networks import logits
from .streamed import Floats, PartRows, StreamedGraph, Weigh, loop_weights, plain_weights

if TYPE_CHECKING:
    from .folder import PartitionedRun

STARTS = ("graph", "features")
"""What q may have been pre-trained on; others weigh edges by what a partitioned fit doesn't have."""


class Attention:
    """p's attention on a part's entries, for label distributions Ŷ [N, C] in a mapped array.

    Args:
        tensors: parameters by their names in a file of networks.
    """

    def __init__(self, graph: StreamedGraph, s: Settings, tensors: dict[str, NDArray[Any]], labels: Floats) -> None:
        self.s, self.labels = s, labels
        self.hard = HardAttention(graph.graph.num_classes, symmetric=s.symmetric_q) if s.hard else None
        soft = SoftAttention(graph.graph.num_features, s.projection) if s.soft else None
        for name, module in (("hard", self.hard), ("soft", soft)):
            if module is not None:
                load_state(module, tensors, f"p.{name}", "gdamn")
        self.units = None if soft is None else graph.of_features("projecting features", soft.units, s.projection)

    def hard_probabilities(self, rows: PartRows) -> Tensor:
        """σ(ŷ_i Q ŷ_j), 1 on loops and without hard attention."""
        if self.hard is None:
            return torch.ones_like(rows.weights)
        labels = tempered(rows.gathered(self.labels), self.s.attention_temperature)
        turned = self.hard.turned(labels[: rows.part.num_nodes])
        return keep_probabilities(sddmm(rows.pattern, turned, labels), torch.from_numpy(rows.loops))

    def stable(self, rows: PartRows) -> Tensor:
        """A^stable, not normalised."""
        hard, soft = self.hard_probabilities(rows), rows.weights
        if self.s.reweight == "stable":
            scores = torch.zeros_like(rows.weights)
            if self.units is not None:
                units = rows.gathered(self.units)
                scores = sddmm(rows.pattern, -units[: rows.part.num_nodes], units)
            soft = edge_softmax(rows.pattern, scores, rows.weights)
        return stable(hard, soft, rows.weights, self.s.reweight)


def on_streamed(run: PartitionedRun, seed: int, model: GDAMN, graph: StreamedGraph, known: Known) -> Floats:
    """Logits [N, C] of a fitted GDAMN, in a mapped array.

    Args:
        model: with the settings, the chosen epoch and the history of the fit.
    """
    s, tensors = model.settings_, run.networks(seed)[1]
    q = make_propagator(s.propagator, [graph.graph.num_features], graph.graph.num_classes, s, make_generator(Key(0)))
    load_state(q, tensors, "q", model.method)
    where = graph_of_choice(model)
    if where != "refined" and where not in STARTS:
        raise ConfigError(f"A fit that started on '{where}' can't answer for another partitioned graph.")
    if s.reweight_samples > 0:
        raise ConfigError("reweight_samples > 0 draws structures of the fit's own graph alone; leave out --parts.")

    def answered(weigh: Weigh) -> Floats:
        return logits(q, graph, weigh, model.method)

    plain = graph.normalised(plain_weights, start_norm(s.propagator)) if where != "features" else loop_weights
    if where != "refined" or not (s.hard or s.soft):
        return answered(plain)
    labels = saved_labels(run, seed, graph, known)
    attention = Attention(graph, s, tensors, labels)
    if any(len(known.new_in(part)) for part in graph.graph.parts):
        first = graph.normalised(between_known(attention, known), start_norm(s.propagator))
        annotate(labels, answered(first), graph, known, s)
    return answered(graph.normalised(attention.stable, s.stable_norm))


def saved_labels(run: PartitionedRun, seed: int, graph: StreamedGraph, known: Known) -> Floats:
    """Ŷ [N, C]: the distribution of the fit for nodes that it knew, 0 for others."""
    classes = graph.graph.num_classes
    labels = graph.room.zeros(graph.graph.num_nodes, classes)
    for part in graph.parts("known labels"):
        own = slice(part.first_node, part.first_node + part.num_nodes)
        nothing = np.zeros((part.num_nodes, classes), np.float32)
        labels[own] = known.looked_up(part, lambda older: run.probabilities(seed, older, "pseudo_labels"), nothing)
    return labels


def between_known(attention: Attention, known: Known) -> Weigh:
    """A + I under the hard attention between nodes that the fit knew, and as it is at new ones."""

    def weigh(rows: PartRows) -> Tensor:
        if attention.hard is None:
            return rows.weights
        old = (rows.gathered(known.numbers) >= 0).float()[:, None]
        hard = attention.hard_probabilities(rows)
        between = sddmm(rows.pattern, old[: rows.part.num_nodes], old)
        return rows.weights * torch.lerp(torch.ones_like(hard), hard, between)

    return weigh


def annotate(labels: Floats, found: Floats, graph: StreamedGraph, known: Known, s: Settings) -> None:
    """Ŷ of new nodes: q's opinion, as the settings treat it in a fit, but that a drawn label is the likeliest one."""
    for part in graph.parts("labels of new nodes"):
        own = slice(part.first_node, part.first_node + part.num_nodes)
        new = known.new_in(part)
        opinion = F.softmax(torch.from_numpy(found[own][new]) / s.pseudo_temperature, dim=1)
        if s.pseudo_labels != "soft":
            opinion = F.one_hot(opinion.argmax(1), opinion.shape[1]).float()
        labels[part.first_node + new] = opinion.numpy()
    graph.room.free(found)
