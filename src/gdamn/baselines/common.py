"""What the baselines share: settings of a plain supervised fit, and the fit itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ..estimators.base import NodeClassifier
from ..estimators.inductive import Answer
from ..estimators.rebuild import load_state, make_view
from ..fit import checkpoint
from ..fit.checkpoint import Checkpoint, Part, part_of
from ..fit.domains.ranks.fitting import laid_out, whole_state
from ..fit.domains.ranks.group import Group, joined
from ..fit.domains.ranks.parts import PartsFit, laid_out_parts
from ..fit.training import (
    Progress,
    Record,
    Steps,
    Watch,
    copy_state,
    decayed,
    evaluate,
    make_generator,
    reproducible_threads,
    run_epochs,
)
from ..graph.graph import Graph
from ..graph.parts import PartitionedGraph
from ..kernels import Key, first_use
from ..model.objectives import pretrain_target, q_loss
from ..model.problem import Problem, choose_device
from ..model.settings import SELECTIONS, TrainedSettings, setting

NORMALIZATIONS = ("auto", "row", "unit", "binary", "idf", "standard", "none")
NORMALIZE = "Features: row, binary, idf, standard, none, auto, or unit: auto with rows divided by length, not sum."


@dataclass(frozen=True)
class SupervisedSettings(TrainedSettings):
    """Settings of everything that learns the known labels by gradient."""

    epochs: int = setting(200, "Epochs.", low=1)
    learning_rate: float = setting(0.01, "Adam's learning rate.", low=0)
    weight_decay: float = setting(5e-4, "L2 on the weight matrices.", low=0)
    decay: str = setting(
        "first", "Which weight matrices decay: all, or only those of the first layer.", ("all", "first")
    )
    dropout_input: float = setting(0.5, "Dropout of the features.", low=0, high=0.99)
    normalize: str = setting("auto", NORMALIZE, NORMALIZATIONS)


@dataclass(frozen=True)
class NetworkSettings(SupervisedSettings):
    """Settings of a network with hidden layers that learns the known labels alone."""

    hidden: int = setting(16, "Hidden units.", low=1)
    layers: int = setting(2, "Layers.", low=1, high=64)
    dropout_hidden: float = setting(0.5, "Dropout of hidden layers.", low=0, high=0.99)


@dataclass(frozen=True)
class LossSelected(NetworkSettings):
    """Settings of methods whose publications choose the epoch by validation loss."""

    selection: str = setting(
        "loss",
        "The epoch of the lowest validation loss, as in the publication, of the highest accuracy, or where the mean "
        "accuracy of the last 20 epochs is highest (smoothed), or the last one (last).",
        SELECTIONS,
    )


Forward = Callable[[Key | None], Tensor]
Loss = Callable[[Key], dict[str, Tensor]]
State = dict[str, Any]


class NetworkClassifier(NodeClassifier):
    """A network trained on the known labels alone; the epoch is chosen on validation nodes."""

    settings_class = cast(type[SupervisedSettings], NetworkSettings)  # so that a type checker allows fewer settings
    settings: SupervisedSettings
    settings_: SupervisedSettings
    weighs_labels = True
    over_ranks = False
    """Whether several ranks can train it: every operation on nodes of other ranks is one of kernels/ops.py."""

    def build(self, problem: Problem, generator: torch.Generator) -> tuple[nn.Module, Forward]:
        """The network, and its forward pass to logits [N, C]."""
        raise AssertionError(f"{type(self).__name__} must define build")

    def objective(self, problem: Problem, network: nn.Module, forward: Forward) -> Loss:
        """What an epoch minimises; unless a method says otherwise, the cross-entropy of the known labels."""
        target = pretrain_target(problem)
        return lambda step: q_loss(forward(step), target, 0.0, problem.counts.nodes)

    def groups(self, network: nn.Module) -> list[dict[str, Any]]:
        """Adam's parameter groups; unless a method says otherwise, weight matrices decay and nothing else does."""
        return decayed(network, self.settings.weight_decay, self.settings.decay)

    def adam_steps(self, problem: Problem, network: nn.Module, whole: Steps, key: Key) -> Steps:
        """The steps of Adam; unless a method says otherwise, one in each epoch, on the whole graph."""
        return whole

    def prepare(self, problem: Problem, network: nn.Module, watch: Watch, key: Key, kept: Checkpoint | None) -> None:
        """What a method learns before these steps, kept by the same checkpoint; most learn nothing."""

    def stepped(self, network: nn.Module) -> None:
        """What a method does to its weights after each step of Adam; most do nothing."""

    def memory(self) -> Part | None:
        """What a method remembers of its epochs beside its weights, for a checkpoint; most remember nothing."""
        return None

    def finish(self, problem: Problem, watch: Watch) -> None:
        """What a method does with the chosen epoch (``watch.best_state``); most do nothing."""

    def _fit(self, graph: Graph, progress: Progress | None, group: Group | None = None) -> None:
        """On the whole graph, alone or with the other ranks of a group."""
        s, watch = self.settings, self.watch(progress)
        device = choose_device(s.device)
        if group is None and device.type == "cpu":
            first_use.prepare(s.threads)
        with reproducible_threads(s.threads), laid_out(graph, s, device, group, self.method) as problem:
            self.learn(problem, watch)
            state = whole_state(problem, watch.best_state)
        assert watch.best is not None
        self.history_, self.best_epoch_, self.timings_ = watch.history, watch.best, watch.timings
        if state is not None:  # rank 0 has the result
            self.tensors_ = {name: value.cpu().numpy() for name, value in state.items()}

    def _fit_together(self, graph: Graph, progress: Progress | None, group: Any) -> None:
        """By all ranks of torch's default group, where the method's operations know of other ranks' rows."""
        if not self.over_ranks:
            super()._fit_together(graph, progress, group)
        self._fit(graph, progress, joined(group))

    @contextmanager
    def fit_parts(self, graph: PartitionedGraph, progress: Progress | None, group: Group | None) -> Iterator[PartsFit]:
        """On the parts of a graph, each rank with its own."""
        if not self.over_ranks:
            super().fit_parts(graph, progress, group)
        watch = self.watch(progress)
        with laid_out_parts(graph, self.settings, group, self.method) as (problem, mode):
            self.learn(problem, watch)
            yield PartsFit(problem, watch, mode)

    def watch(self, progress: Progress | None) -> Watch:
        """The history of a fit, and how it chooses its epoch."""
        s = self.settings
        return Watch(progress, selection=getattr(s, "selection", "accuracy"), metric=s.metric)

    def _answer(self, graph: Graph, fitted_on: Graph, known: NDArray[np.int64], rounds: int) -> Answer:
        """The network rebuilt over another graph."""
        problem = make_view(graph, fitted_on, self)
        network, forward = self.as_trained().build(problem, make_generator(Key(0)))
        load_state(network, self.tensors_, "network", self.method)
        network.to(problem.device).eval()
        return Answer(F.softmax(forward(None), dim=1).cpu().numpy(), {})

    def learn(self, problem: Problem, watch: Watch) -> None:
        """Minimise the objective; every epoch is evaluated, and the watch keeps the state of the best."""
        s, root = self.settings, Key(self.settings.seed, problem.place).fold(self.method)
        network, forward = self.build(problem, make_generator(root.fold("start")))
        network.to(problem.device)
        key, objective = root.fold("train"), self.objective(problem, network, forward)

        def loss(step: Key) -> dict[str, Tensor]:
            network.train()
            return objective(step)

        def after(epoch: int, values: Record, started: float) -> bool:
            self.stepped(network)
            network.eval()
            with torch.no_grad():
                logits = forward(None)

            def state() -> State:
                weights = {f"network.{name}": value for name, value in copy_state(network).items()}
                return {"probabilities": F.softmax(logits, dim=1), **weights}

            record = {"phase": "train", "epoch": epoch, **values, **evaluate(problem, logits, s.metric)}
            return watch.record(record, s.epochs, started, state)

        watch.begin("train", s.epochs)
        kept = checkpoint.of_fit(self.method, s, problem)
        if kept is not None:
            kept.keep("watch", watch.part())
            if (memory := self.memory()) is not None:
                kept.keep("memory", memory)
        self.prepare(problem, network, watch, key.fold("prepare"), kept)
        whole = Steps(s.epochs, loss, after, part_of(network))
        steps = self.adam_steps(problem, network, whole, key.fold("batches"))
        run_epochs(self.groups(network), s.learning_rate, steps, key, kept)
        self.finish(problem, watch)
