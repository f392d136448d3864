"""Callbacks: what a person's code hears of a fit, and how it ends one.

>>> model.fit(graph, callbacks=[EarlyStopping(patience=30), lambda event: print(event.phase, event.epoch)])

A callback is a :class:`Callback`, or a function that takes the event of every epoch. ``event.stop()`` ends the fit and
``event.stop_phase()`` the phase; either way the model is the best epoch so far, chosen as ever.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError

Record = dict[str, Any]
Progress = Callable[[str, int, int, Record], None]

log = logging.getLogger("gdamn")


@dataclass
class Event:
    """Where a fit is.

    Attributes:
        phase: such as ``pre-train``, ``M-step 1`` or ``train``; empty where a fit begins or ends.
        epoch: the epoch that has ended, from 0; -1 before the first of a phase.
        epochs: how many the phase may have.
        record: what is known of the epoch: its losses, ``train_accuracy``, ``val_accuracy`` and so on.
        history: the records of all epochs so far; not to be changed.
        stopped: None, or what ends now: ``phase`` or ``fit``.
    """

    phase: str
    epoch: int
    epochs: int
    record: Record
    history: Sequence[Record]
    stopped: str | None = None

    def stop(self) -> None:
        """End the fit with this epoch."""
        self.stopped = "fit"

    def stop_phase(self) -> None:
        """End the phase with this epoch, and go on with the next."""
        self.stopped = self.stopped or "phase"


class Callback:
    """Override what you want to hear."""

    only_hears = False
    """Whether it never ends anything, so that a fit needn't be ready for that."""

    def on_fit_begin(self, event: Event) -> None:
        """A fit begins."""

    def on_phase_begin(self, event: Event) -> None:
        """A phase begins."""

    def on_epoch_end(self, event: Event) -> None:
        """An epoch has ended; the only event that can end more."""

    def on_phase_end(self, event: Event) -> None:
        """A phase has ended; the event is that of its last epoch."""

    def on_fit_end(self, event: Event) -> None:
        """All epochs have ended."""


class EarlyStopping(Callback):
    """Ends a phase where a score has not improved for ``patience`` epochs in a row.

    Epochs that don't measure the score, those of an M-step, don't count. GDAMN goes on with the next phase, since EM
    would else never begin; with ``whole_fit`` the fit ends, and the best epoch of all phases is what counts.

    Args:
        patience: epochs without improvement.
        monitor: a number of the records; one with ``loss`` in its name is better where it is lower.
        min_delta: what counts as an improvement.
        whole_fit: end the fit, not the phase.
    """

    def __init__(
        self, patience: int = 20, monitor: str = "val_loss", *, min_delta: float = 0.0, whole_fit: bool = False
    ) -> None:
        if isinstance(patience, bool) or not isinstance(patience, int) or patience < 1:
            raise ConfigError(f"The patience of EarlyStopping is a number of epochs, 1 or more; got {patience!r}.")
        self.patience, self.monitor, self.min_delta, self.whole_fit = patience, monitor, min_delta, whole_fit
        self._best, self._waited = float("inf"), 0

    def on_fit_begin(self, event: Event) -> None:
        """Nothing is known yet."""
        self._best, self._waited = float("inf"), 0

    def on_phase_begin(self, event: Event) -> None:
        """Each phase begins anew, unless the whole fit is watched."""
        if not self.whole_fit:
            self.on_fit_begin(event)

    def on_epoch_end(self, event: Event) -> None:
        """Compare the epoch with the best."""
        value = event.record.get(self.monitor)
        if value is None:
            if "val_loss" in event.record:
                raise ConfigError(self._missing(event.record))
            return
        value = float(value) if "loss" in self.monitor else -float(value)
        if value < self._best - self.min_delta:
            self._best, self._waited = value, 0
            return
        self._waited += 1
        if self._waited >= self.patience:
            event.stop() if self.whole_fit else event.stop_phase()

    def _missing(self, record: Record) -> str:
        if self.monitor in record:
            return f"EarlyStopping watches '{self.monitor}', but the graph has no validation nodes; watch 'loss'."
        numbers = ", ".join(name for name, value in record.items() if isinstance(value, float))
        return f"EarlyStopping watches '{self.monitor}', which no epoch has; there are {numbers}."


class Lines(Callback):
    """A line for each phase, and for each epoch where that is wanted.

    Args:
        of_phase: takes the line of a phase.
        of_epoch: takes the line of an epoch.
    """

    only_hears = True

    def __init__(self, of_phase: Callable[[str], Any], of_epoch: Callable[[str], Any] | None = None) -> None:
        self.of_phase, self.of_epoch = of_phase, of_epoch

    def on_epoch_end(self, event: Event) -> None:
        """The numbers of an epoch."""
        if self.of_epoch is not None:
            self.of_epoch(f"{event.phase}, epoch {event.epoch + 1} of {event.epochs}: {numbers_of(event.record)}")

    def on_phase_end(self, event: Event) -> None:
        """How many epochs the phase had, and the numbers of the last."""
        done = f"{event.epoch + 1} of {event.epochs} epochs"
        self.of_phase(f"{event.phase}: {done}; at the end {numbers_of(event.record)}")


def numbers_of(record: Record) -> str:
    """``loss 0.412, val_accuracy 0.794`` of a record."""
    wanted = ("loss", "train_accuracy", "val_accuracy", "val_loss")
    return ", ".join(f"{name} {record[name]:.3f}" for name in wanted if isinstance(record.get(name), float))


class Listeners:
    """All who hear of a fit, as the ``progress`` that a method calls after each epoch.

    Args:
        callbacks: in the order in which they are told.
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = callbacks
        self.may_stop = not all(callback.only_hears for callback in callbacks)
        self.history: list[Record] = []
        self.event = Event("", -1, 0, {}, self.history)
        self.stopped = False
        self.ended: list[str] = []  # what callbacks ended early, in words

    def fit_begins(self) -> None:
        """Before anything is read."""
        self._tell("on_fit_begin")

    def phase_begins(self, phase: str, epochs: int) -> None:
        """Before the first epoch of a phase."""
        self._end_phase()
        self.event = Event(phase, -1, epochs, {}, self.history)
        self._tell("on_phase_begin")

    def __call__(self, phase: str, epoch: int, epochs: int, record: Record) -> None:
        """After an epoch; a phase that nobody announced begins with it."""
        if phase != self.event.phase:
            self.phase_begins(phase, epochs)
        self.history.append(record)
        self.event = Event(phase, epoch, epochs, record, self.history)
        self._tell("on_epoch_end")
        self.stopped = self.stopped or self.event.stopped == "fit"
        if self.event.stopped:
            self.ended.append(f"the {self.event.stopped}, {phase} after {epoch + 1} of {epochs} epochs")

    @property
    def end_phase(self) -> bool:
        """Whether the phase ends with the epoch that was told last."""
        return self.stopped or self.event.stopped == "phase"

    def fit_ends(self) -> None:
        """After the last epoch."""
        self._end_phase()
        self.event = Event("", -1, 0, {}, self.history)
        self._tell("on_fit_end")

    def _end_phase(self) -> None:
        if self.event.epoch >= 0:
            self._tell("on_phase_end")

    def _tell(self, what: str) -> None:
        for callback in self.callbacks:
            getattr(callback, what)(self.event)


class _Function(Callback):
    """A function that takes the event of every epoch."""

    def __init__(self, function: Callable[[Event], Any]) -> None:
        self.function = function

    def on_epoch_end(self, event: Event) -> None:
        """Call it."""
        self.function(event)


class _Reported(Callback):
    """What takes the four arguments of a Progress."""

    only_hears = True

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def on_epoch_end(self, event: Event) -> None:
        """Call it."""
        self.progress(event.phase, event.epoch, event.epochs, event.record)


def listeners(callbacks: Iterable[Any] = (), verbose: int = 0, progress: Progress | None = None) -> Listeners | None:
    """All who want to hear of a fit; None where nobody does.

    Args:
        callbacks: callbacks and functions.
        verbose: 1 writes a line per phase to stderr, 2 one per epoch. The same lines go to the logger ``gdamn``, those
            of phases at level INFO and those of epochs at DEBUG.
        progress: called as ``progress(phase, epoch, epochs, record)``.
    """
    if isinstance(callbacks, Callback) or callable(callbacks):
        raise ConfigError("callbacks is a list; write callbacks=[...] around it.")
    every: list[Callback] = [] if progress is None else [_Reported(progress)]
    for each in callbacks or ():
        if not isinstance(each, Callback) and (isinstance(each, type) or not callable(each)):
            raise ConfigError(f"A callback is a gdamn Callback or a function of an event, not {each!r}.")
        every.append(each if isinstance(each, Callback) else _Function(each))
    if verbose:
        every.append(Lines(_to_stderr, _to_stderr if verbose > 1 else None))
    if log.isEnabledFor(logging.INFO):
        every.append(Lines(log.info, log.debug if log.isEnabledFor(logging.DEBUG) else None))
    return Listeners(every) if every else None


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
