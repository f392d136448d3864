"""Hear of every phase and epoch of a fit, and end it early; the model is the best epoch so far."""

from __future__ import annotations

import time

from gdamn import GDAMN, Callback, EarlyStopping, load
from gdamn.fit.callbacks import Event


class Clock(Callback):
    """How long each phase takes."""

    def on_phase_begin(self, event: Event) -> None:
        """Look at the clock."""
        self.began = time.perf_counter()

    def on_phase_end(self, event: Event) -> None:
        """Look again."""
        seconds = time.perf_counter() - self.began
        print(f"{event.phase}: {event.epoch + 1} of {event.epochs} epochs, {seconds:.2f} s")


def good_enough(event: Event) -> None:
    """End the fit where validation is content."""
    if (event.record.get("val_accuracy") or 0) >= 0.9:
        event.stop()


graph = load("karate")
model = GDAMN(pretrain_epochs=60, epochs=40, em_iterations=2, start="graph", seed=1)
model.fit(graph, callbacks=[Clock(), EarlyStopping(patience=15), good_enough])
best = model.best_epoch_
print(f"chosen: {best['phase']}, epoch {best['epoch'] + 1}, validation accuracy {best['val_accuracy']:.2f}")
