"""Mini-batches: several steps of Adam in an epoch, and what a step of a q that reads rows of a matrix minimises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..kernels import Key, Pattern
from ..kernels.place import WHOLE
from ..model.inputs import Block
from ..model.objectives import consistency, diverse, q_loss
from ..model.problem import Problem
from ..model.propagators import Pagerank
from ..model.settings import Settings
from .checkpoint import Part
from .checkpoint_file import Tree
from .domains.domain import Epochs, QGraph, WholeView
from .training import Record, Steps, make_generator

BatchLoss = Callable[[int, Key], dict[str, Tensor]]
"""The loss and its parts, from the number of the batch and the noise of its step."""


def in_batches(
    epochs: int, after: Callable[[int, Record, float], bool | None], part: Part, per_epoch: int, loss: BatchLoss
) -> Steps:
    """Epochs of several steps: ``after`` gets the mean values of each, and a checkpoint keeps how far one is."""
    sums: dict[str, float] = {}
    at, began = 0, 0.0

    def stepped(_: int, values: Record, started: float) -> bool | None:
        nonlocal at, sums, began
        began = began if at % per_epoch else started
        for name, value in values.items():
            sums[name] = sums.get(name, 0.0) + value / per_epoch
        at += 1
        if at % per_epoch:
            return False
        done, sums = sums, {}
        return after(at // per_epoch - 1, done, began)

    def save() -> Tree:
        return {"part": part.save(), "at": at, "sums": sums}

    def load(kept: Tree) -> None:
        nonlocal at, sums
        part.load(kept["part"])
        at, sums = int(kept["at"]), dict(kept["sums"])

    return Steps(epochs * per_epoch, lambda step: loss(at, step), stepped, Part(save, load))


class Shuffled:
    """Batches of nodes in random order: each node once, then all in another order; a pass's last few are left out.

    Args:
        nodes: [n] which nodes.
        size: of a batch; all nodes where there are fewer.
    """

    def __init__(self, nodes: NDArray[np.int64], size: int, key: Key) -> None:
        self.nodes, self.size, self.key = nodes, size, key
        self.per_pass = max(1, len(nodes) // size)
        self._order: tuple[int, NDArray[np.int64]] = -1, nodes

    def batch(self, at: int) -> NDArray[np.int64]:
        """The batch of this number, always the same."""
        number, place = divmod(at, self.per_pass)
        if self._order[0] != number:
            order = torch.randperm(len(self.nodes), generator=make_generator(self.key.fold(number)))
            self._order = number, self.nodes[order.numpy()]
        return self._order[1][place * self.size : (place + 1) * self.size]


@dataclass(frozen=True)
class Consistency:
    """How a step draws its noisy passes together (:func:`gdamn.model.objectives.consistency`).

    Attributes:
        weight: of the consistency, which rises to it over the first ``warmup`` batches.
    """

    draws: int
    weight: float
    temperature: float
    confidence: float
    warmup: int

    def weight_at(self, at: int) -> float:
        """The weight in the batch of this number."""
        return self.weight * min(1.0, (at + 1) / max(self.warmup, 1))


@dataclass(frozen=True, eq=False)
class RowsLoss:
    """The loss of q on some labelled and some other nodes, an estimate of that of all nodes.

    The likelihood is that of :func:`gdamn.model.objectives.q_loss`, each kind of nodes weighing what all of its kind
    do; the consistency and the mean prediction are means over the other nodes of the batch.

    Attributes:
        matrix: rows of Π (:meth:`gdamn.model.propagators.Walk.matrix`).
        target: [N, C] each row with its weight in the loss of all nodes.
        diversity: weight of the entropy of the mean prediction.
    """

    q: Pagerank
    matrix: tuple[Pattern, Tensor]
    x: Block
    target: Tensor
    known: Shuffled
    others: Shuffled
    agreement: Consistency
    beta: float = 0.0
    diversity: float = 0.0

    def __call__(self, at: int, step: Key) -> dict[str, Tensor]:
        """The loss of one batch."""
        self.q.train()
        known, others = self.known.batch(at), self.others.batch(at)
        rows, count = np.concatenate([known, others]), len(known)
        target = self.target[torch.from_numpy(rows).to(self.target.device)]
        target[:count] *= len(self.known.nodes) / max(count, 1)
        target[count:] *= len(self.others.nodes) / max(len(others), 1)
        passes = [self.q.rows(self.matrix, self.x, rows, step.fold(i)) for i in range(self.agreement.draws)]
        parts = [q_loss(logits, target, self.beta, len(rows)) for logits in passes]
        total = {name: torch.stack([part[name] for part in parts]).mean() for name in parts[0]}
        if self.diversity and len(others):
            total = diverse(total, [z[count:] for z in passes], self.diversity, len(others), WHOLE)
        if len(passes) == 1 or len(others) == 0:
            return total
        temperature, confidence = self.agreement.temperature, self.agreement.confidence
        apart = consistency([logits[count:] for logits in passes], temperature, confidence, len(others))
        return {**total, "loss": total["loss"] + self.agreement.weight_at(at) * apart, "consistency": apart}


def rows_steps(
    q: Pagerank,
    graph: QGraph,
    target: Tensor,
    beta: float,
    phase: Epochs,
    s: Settings,
    iteration: int,
    problem: Problem,
) -> Steps:
    """A phase of q's training in EM, in mini-batches of the rows of the graph's PageRank matrix.

    Args:
        target: [N, C] each row with its weight in the loss.
        iteration: of EM; 0 for pre-training, where the consistency's weight rises.
    """
    key = phase.key.fold("batches")
    known = Shuffled(problem.train.cpu().numpy(), s.labelled_batch, key.fold("known"))
    others = Shuffled(problem.rest.cpu().numpy(), s.unlabelled_batch, key.fold("others"))
    warmup = 0 if iteration else s.consistency_warmup * s.batches
    agreement = Consistency(s.draws, s.consistency, s.consistency_temperature, s.consistency_confidence, warmup)
    matrix = q.walk.matrix(graph.on(WholeView(problem)))
    loss = RowsLoss(q, matrix, problem.x, target, known, others, agreement, beta, beta * s.diversity)
    return replace(in_batches(phase.count, phase.after, phase.part, s.batches, loss), clip=s.clip)
