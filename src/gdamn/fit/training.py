"""What every phase of training shares: optimiser, epoch loop, evaluation, and the choice of the best epoch."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numba
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import TrainingError
from ..kernels import Key, set_threads
from ..kernels.memory import kept_arrays
from ..kernels.place import Place
from ..kernels.threads import one_at_a_time
from ..model.confusion import confusion, score
from ..model.metrics import score_key
from ..model.problem import Labelled
from .adam import Adam
from .allocator import kept_memory, returned_memory
from .budget import Budget, Phase
from .callbacks import Listeners
from .callbacks import Progress as Progress
from .callbacks import Record as Record
from .checkpoint import Checkpoint, Part

SMOOTHED = 20
"""Epochs of a phase whose mean validation score chooses the epoch where ``selection`` is smoothed."""


@contextmanager
def reproducible_threads(threads: int, *, sparing: bool = False) -> Iterator[None]:
    """Within the block the kernels use ``threads`` cores (0: as many as before) and torch one.

    What is freed is kept for use again, which is faster, unless the block is to be ``sparing`` with memory.

    Torch splits sums and products by the number of its threads, so its last bits depend on it; our kernels
    don't. One torch thread makes the same seed give the same bits on any number of cores. All of this belongs to the
    process, so another thread waits until the block has ended.
    """
    with one_at_a_time():
        torch_before, numba_before = torch.get_num_threads(), numba.get_num_threads()
        limit_before = set_threads(0)
        set_threads(threads or limit_before)
        torch.set_num_threads(1)
        try:
            with returned_memory() if sparing else kept_memory(), nullcontext() if sparing else kept_arrays():
                yield
        finally:
            torch.set_num_threads(torch_before)
            set_threads(limit_before)
            numba.set_num_threads(numba_before)


@dataclass
class Watch:
    """History of a fit, and the state of the epoch that validation chooses.

    By ``accuracy`` a tie goes to the lower validation loss, by ``loss`` to the higher accuracy, then to the earlier
    epoch; by ``smoothed`` the mean accuracy of an epoch and those before it, :data:`SMOOTHED` at most and of the same
    phase, stands for its own. A ``metric`` other than accuracy takes the place of accuracy and loss. By ``last``, and
    without validation nodes, the last epoch is kept. Only epochs recorded with a ``state`` are candidates.

    Where ``progress`` is what callbacks listen to (callbacks.py), these can end a phase or the fit.
    """

    progress: Progress | None = None
    history: list[Record] = field(default_factory=list)
    timings: list[float] = field(default_factory=list)
    best: Record | None = None
    best_state: dict[str, Any] | None = None
    selection: str = "accuracy"
    metric: str = "accuracy"
    budget: Budget = field(default_factory=Budget)

    def record(
        self, record: Record, epochs: int, started: float, state: Callable[[], dict[str, Any]] | None = None
    ) -> bool:
        """Add one epoch; ``state`` makes a copy of what is needed to come back to it.

        Times stand apart from the history, so that the history of a repeated run is the same.

        Returns:
            Whether a callback ends the phase here.
        """
        if not math.isfinite(record["loss"]):
            raise TrainingError(
                f"The loss is {record['loss']} in epoch {record['epoch']} of {record['phase']}; "
                "lower learning_rate, or check the features for extreme values."
            )
        self.history.append(record)
        if self.selection == "smoothed" and record.get("val_accuracy") is not None:
            record["val_smoothed"] = self._smoothed(record["phase"])
        self.timings.append(time.perf_counter() - started)
        if state is not None and self._better(record):
            self.best, self.best_state = record, state()
            _check_predictions(self.best_state, record)
        if self.progress is not None:
            self.progress(record["phase"], record["epoch"], epochs, record)
        return isinstance(self.progress, Listeners) and self.progress.end_phase

    def phase(
        self, name: str, network: str, epochs: int, fewest: int = 1, later: dict[str, int] | None = None
    ) -> Phase:
        """A phase begins: its place in the budget (:class:`gdamn.fit.budget.Phase`)."""
        self.begin(name, epochs)
        return Phase(self.budget, name, network, epochs, fewest, later or {})

    def begin(self, phase: str, epochs: int) -> None:
        """Tell callbacks that a phase begins."""
        if isinstance(self.progress, Listeners):
            self.progress.phase_begins(phase, epochs)

    @property
    def stopped(self) -> bool:
        """Whether a callback has ended the fit."""
        return isinstance(self.progress, Listeners) and self.progress.stopped

    @property
    def may_stop(self) -> bool:
        """Whether a callback could end the fit, so that every epoch must be one to come back to."""
        return isinstance(self.progress, Listeners) and self.progress.may_stop

    def part(self) -> Part:
        """The watch as a part of a checkpoint; the best record stays the very one that the history has."""

        def save() -> dict[str, Any]:
            best = next((at for at, record in enumerate(self.history) if record is self.best), None)
            return {"history": self.history, "timings": self.timings, "best": best, "best_state": self.best_state}

        def load(state: dict[str, Any]) -> None:
            best, history = state["best"], state["history"]
            if len(history) != len(state["timings"]) or (best is not None and not 0 <= best < len(history)):
                raise ValueError("a history of other epochs")
            self.history[:], self.timings[:] = history, state["timings"]
            self.best = None if best is None else self.history[best]
            self.best_state = state["best_state"]

        return Part(save, load)

    def _better(self, record: Record) -> bool:
        if self.best is None or record.get("val_accuracy") is None or self.selection == "last":
            return True
        return self._rank(record) > self._rank(self.best)

    def _smoothed(self, phase: str) -> float:
        """The mean score of the last epochs of a phase; an exact sum, so that equal means are equal."""
        last = [record for record in self.history[-SMOOTHED:] if record["phase"] == phase]
        return statistics.fmean(record[score_key(self.metric)] for record in last)

    def _rank(self, record: Record) -> tuple[float, float]:
        chosen_by = "val_smoothed" if self.selection == "smoothed" else score_key(self.metric)
        score, loss = record[chosen_by], record["val_loss"]
        by_loss = self.selection == "loss" and self.metric == "accuracy"
        return (-loss, score) if by_loss else (score, -loss)


def _check_predictions(state: dict[str, Any], record: Record) -> None:
    """Refuse an epoch whose last step of Adam spoiled the weights: its loss, taken before the step, can't tell."""
    predicted = state.get("logits", state.get("probabilities"))
    if predicted is not None and not torch.isfinite(predicted).all():
        raise TrainingError(
            f"The predictions are not finite after epoch {record['epoch']} of {record['phase']}; "
            "lower learning_rate, or check the features for extreme values."
        )


def evaluate(problem: Labelled, logits: Tensor, metric: str = "accuracy") -> Record:
    """Accuracy on training nodes; accuracy and loss on validation nodes (None where there are none).

    A ``metric`` other than accuracy has a key of its own beside them.
    """
    extra = {} if metric == "accuracy" else {score_key(metric): _validation_score(problem, logits, metric)}
    if not problem.place.whole:
        return {**_evaluate_all_parts(problem, logits), **extra}
    train = (logits[problem.train].argmax(1) == problem.train_labels).float().mean().item()
    if len(problem.val) == 0:
        return {"train_accuracy": train, "val_accuracy": None, "val_loss": None, **extra}
    val = logits[problem.val]
    correct = (val.argmax(1) == problem.val_labels).sum().item() / len(problem.val)
    return {
        "train_accuracy": train,
        "val_accuracy": correct,
        "val_loss": F.cross_entropy(val, problem.val_labels).item(),
        **extra,
    }


def _validation_score(problem: Labelled, logits: Tensor, metric: str) -> float | None:
    """A score on the validation nodes of all processes; None where there are none."""
    predicted = logits[problem.val].argmax(1).cpu().numpy()
    table = confusion(problem.val_labels.cpu().numpy(), predicted, problem.num_classes)
    if not problem.place.whole:
        counts = torch.as_tensor(table, dtype=torch.float64).to(logits.device)
        table = problem.place.sum(counts).cpu().numpy()
    return score(table, metric) if table.any() else None


def _evaluate_all_parts(problem: Labelled, logits: Tensor) -> Record:
    """The same where each process has some of the nodes."""
    train = (logits[problem.train].argmax(1) == problem.train_labels).sum(), len(problem.train)
    val = logits[problem.val]
    right = (val.argmax(1) == problem.val_labels).sum(), len(problem.val)
    lost = F.cross_entropy(val, problem.val_labels, reduction="sum"), (~torch.isfinite(logits)).sum()
    mine = torch.tensor([*train, *right, *lost], dtype=torch.float64, device=logits.device)
    train_right, trained, val_right, validated, loss, spoiled = problem.place.sum(mine).tolist()
    if spoiled:
        raise TrainingError(
            "The predictions are not finite; lower learning_rate, or check the features for extreme values."
        )
    validation = (val_right / validated, loss / validated) if validated else (None, None)
    return {"train_accuracy": train_right / trained, "val_accuracy": validation[0], "val_loss": validation[1]}


def decayed(module: nn.Module, decay: float, which: str, never: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Adam's parameter groups: weight matrices decay (all, or only the first layer's), or every parameter does."""
    on: list[nn.Parameter] = []
    off: list[nn.Parameter] = []
    for name, parameter in module.named_parameters():
        allowed = (parameter.ndim == 2 or which == "every") and name.split(".")[-1] not in never
        chosen = allowed and (which != "first" or ".first." in f".{name}")
        (on if chosen else off).append(parameter)
    return [{"params": on, "weight_decay": decay}, {"params": off, "weight_decay": 0.0}]


@dataclass(frozen=True)
class Steps:
    """What a phase of training does.

    Attributes:
        count: number of steps of Adam.
        loss: the loss and its parts, from the noise of a step.
        after: gets each step's number, the values of the loss's parts, and the time at which the step started; where it
            returns True, the phase ends.
        part: what the steps change, for a checkpoint.
        clip: length that the gradient of all parameters together is cut to; 0: as it is.
    """

    count: int
    loss: Callable[[Key], dict[str, Tensor]]
    after: Callable[[int, Record, float], bool | None]
    part: Part
    clip: float = 0.0


def run_epochs(
    groups: list[dict[str, Any]], learning_rate: float, steps: Steps, key: Key, checkpoint: Checkpoint | None
) -> None:
    """Minimise a loss with a fresh Adam. Steps that a checkpoint has done are not done again."""
    optimiser = Adam(groups, learning_rate)
    first = 0 if checkpoint is None else checkpoint.enter(key, steps.count, optimiser, steps.part)
    for epoch in range(first, steps.count):
        start = time.perf_counter()
        optimiser.zero_grad()
        parts = steps.loss(key.fold(epoch))
        parts["loss"].backward()  # type: ignore[no-untyped-call]
        values = over_all_parts(optimiser, parts, key.place)
        if steps.clip > 0:
            nn.utils.clip_grad_norm_([parameter for parameter, *_ in optimiser.slots], steps.clip)
        optimiser.step()
        ended = steps.after(epoch, values, start)
        if checkpoint is not None:
            checkpoint.reached(epoch + 1)
        if ended:
            break


def over_all_parts(optimiser: Adam, parts: dict[str, Tensor], place: Place) -> Record:
    """The values of the loss's parts; where several processes train, they and the gradients are summed over all."""
    if place.whole:
        return {name: value.item() for name, value in parts.items()}
    grads = [parameter.grad for parameter, *_ in optimiser.slots if parameter.grad is not None]
    losses = torch.stack([value.detach() for value in parts.values()])
    flat = place.sum(torch.cat([*(grad.reshape(-1) for grad in grads), losses]))
    *summed, losses = torch.split(flat, [*(grad.numel() for grad in grads), len(losses)])
    for grad, total in zip(grads, summed, strict=True):
        grad.copy_(total.view_as(grad))
    return dict(zip(parts, losses.tolist(), strict=True))


def copy_state(module: nn.Module) -> dict[str, Tensor]:
    """A copy of a module's state that later training won't change."""
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


@torch.no_grad()
def follow(mean: nn.Module, network: nn.Module, keep: float) -> None:
    """Move an average of weights towards a network's, keeping this share of what it was."""
    for average, value in zip(mean.state_dict().values(), network.state_dict().values(), strict=True):
        if average.is_floating_point():
            average.lerp_(value, 1 - keep)
        else:
            average.copy_(value)


def make_generator(key: Key) -> torch.Generator:
    """A torch generator for initial weights, from a key."""
    return torch.Generator().manual_seed(key.value & ((1 << 63) - 1))
