"""A graph and the GCN on it that learn in turn: what Pro-GNN and RS-GNN share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from torch import Tensor, nn

from ..fit.checkpoint import Part
from ..fit.checkpoint_file import Tree
from ..fit.training import Record, Steps, decayed
from ..kernels import Key
from ..model.problem import Problem
from ..model.propagators import GCN
from .common import Forward, Loss, NetworkClassifier

GCN_STEPS = 2
"""Steps of Adam on the GCN after each step on the graph, as in both publications' code."""


class LearnedGraph(nn.Module):
    """A GCN, and the graph that it works on.

    Attributes:
        steps: how many steps on the GCN were taken.
    """

    def __init__(self, gcn: GCN) -> None:
        super().__init__()
        self.gcn, self.steps = gcn, 0

    def learn_graph(self, key: Key) -> None:
        """One step on the graph, the GCN being what it is."""
        raise AssertionError(f"{type(self).__name__} must define learn_graph")

    def gcn_loss(self, key: Key) -> dict[str, Tensor]:
        """What the GCN minimises, the graph being what it is."""
        raise AssertionError(f"{type(self).__name__} must define gcn_loss")

    def saved(self) -> Tree:
        """What the steps on the graph change beside the weights."""
        raise AssertionError(f"{type(self).__name__} must define saved")

    def restore(self, state: Tree) -> None:
        """Go on from what was saved."""
        raise AssertionError(f"{type(self).__name__} must define restore")

    def part(self) -> Part:
        """All of it for a checkpoint."""

        def load(state: Tree) -> None:
            self.steps = int(state["steps"])
            self.restore(state["graph"])

        return Part(lambda: {"steps": self.steps, "graph": self.saved()}, load)


class AlternatingClassifier(NetworkClassifier):
    """An epoch is a step on the graph and :data:`GCN_STEPS` on the GCN; ``build`` makes a :class:`LearnedGraph`."""

    _learned: LearnedGraph

    def learning(self, network: LearnedGraph) -> LearnedGraph:
        """Remember the network, for checkpoints."""
        self._learned = network
        return network

    def memory(self) -> Part:
        """The state of the graph."""
        return self._learned.part()

    def groups(self, network: nn.Module) -> list[dict[str, Any]]:
        """Adam's parameter groups: the GCN alone; the graph has steps of its own."""
        return decayed(cast(LearnedGraph, network).gcn, self.settings.weight_decay, self.settings.decay)

    def objective(self, problem: Problem, network: nn.Module, forward: Forward) -> Loss:
        """The GCN's loss; before the first of its steps in an epoch, a step on the graph."""
        learned = cast(LearnedGraph, network)

        def loss(step: Key) -> dict[str, Tensor]:
            if learned.steps % GCN_STEPS == 0:
                learned.learn_graph(step.fold("graph"))
            learned.steps += 1
            return learned.gcn_loss(step)

        return loss

    def adam_steps(self, problem: Problem, network: nn.Module, whole: Steps, key: Key) -> Steps:
        """The epoch is over after its last step on the GCN."""

        def after(step: int, values: Record, started: float) -> bool | None:
            last = step % GCN_STEPS == GCN_STEPS - 1
            return whole.after(step // GCN_STEPS, values, started) if last else None

        return replace(whole, count=GCN_STEPS * whole.count, after=after)
