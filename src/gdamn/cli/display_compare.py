"""The live table of a comparison: a row per method that fills as fits end; plain lines where there is no terminal."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..estimators import accuracy
from . import display
from .tables import make_table

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..runs.compare.engine import Fit, Watch
    from ..runs.spec import RunSpec


class CompareView:
    """The progress of a comparison; :meth:`watch` is what the engine calls."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._seeds: dict[str, int] = {}
        self._fits: dict[Fit, Mapping[str, Any]] = {}
        self._now: dict[Fit, str] = {}
        self._failed: dict[str, str] = {}
        self._title = ""
        self._began = time.monotonic()
        self._lock = threading.Lock()  # the table is drawn by a thread of its own

    def __enter__(self) -> Self:
        if display.is_terminal(stderr=True):
            self._live = Live(
                console=display.console(stderr=True), get_renderable=self.table, refresh_per_second=4, transient=True
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def watch(self) -> Watch:
        """The calls that the engine makes."""
        from ..runs.compare.engine import Watch

        return Watch(self.start, self.progress if self._live is not None else None, self.finished)

    def start(self, specs: Sequence[RunSpec], finished_fits: Mapping[Fit, dict[str, Any]]) -> None:
        """Begin a data set with the fits that were finished before."""
        with self._lock:
            self._seeds = {spec.method: len(spec.seeds) for spec in specs}
            self._fits, self._now, self._failed = dict(finished_fits), {}, {}
            self._title, self._began = specs[0].dataset, time.monotonic()
        if finished_fits and self._live is None:
            display.note(f"{self._title}: {len(finished_fits)} of {self.total} fits were finished before", stderr=True)

    @property
    def total(self) -> int:
        """The fits that are asked for."""
        return sum(self._seeds.values())

    def progress(self, fit: Fit, phase: str, epoch: int, epochs: int, record: Mapping[str, Any]) -> None:
        """An epoch of a fit is done; only a terminal shows it."""
        with self._lock:
            self._now[fit] = f"seed {fit[1]} · {phase} {epoch + 1}/{epochs}"

    def finished(self, fit: Fit, result: Mapping[str, Any]) -> None:
        """A fit is done, or can't be."""
        method, seed = fit
        with self._lock:
            self._now.pop(fit, None)
            if "failed" in result:
                self._failed[method] = result["failed"]
            else:
                self._fits[fit] = result
        if self._live is None:
            text = result.get("failed") or fit_text(result)
            count = f"{len(self._fits)} of {self.total}"
            display.note(f"{self._title}: {method} seed {seed}: {text} ({count})", stderr=True)

    def table(self) -> Table:
        """The table as it stands."""
        with self._lock:
            return self._table()

    def _table(self) -> Table:
        clock = time.strftime("%H:%M:%S", time.gmtime(time.monotonic() - self._began))
        nodes = accuracy.count_text([fit.get("test_nodes") for fit in self._fits.values()])
        nodes = nodes.replace(" node", " test node")
        parts = (self._title, f"{len(self._fits)} of {self.total} fits", clock, nodes)
        title = " · ".join(filter(None, parts)) if self._title else "preparing"
        names = ("method", "seeds", "test accuracy", "validation", "seconds", "now")
        rows: list[tuple[str | Text, ...]] = []
        for method in sorted(self._seeds, key=lambda method: -(self._mean(method, "test_accuracy") or -1)):
            done = sum(name == method for name, _ in self._fits)
            seconds = self._mean(method, "seconds")
            now = Text("; ".join(text for fit, text in self._now.items() if fit[0] == method))
            now = display.bad(self._failed[method]) if method in self._failed else now
            cells = (
                method,
                f"{done}/{self._seeds[method]}",
                self._spread(method, "test_accuracy"),
                self._spread(method, "val_accuracy"),
                "" if seconds is None else f"{seconds:.1f}",
                now,
            )
            rows.append(cells)
        return make_table(title, names, rows, names[1:5], False, display.width())

    def _values(self, method: str, key: str) -> list[float]:
        return [fit[key] for (name, _), fit in self._fits.items() if name == method and fit[key] is not None]

    def _mean(self, method: str, key: str) -> float | None:
        values = self._values(method, key)
        return statistics.fmean(values) if values else None

    def _spread(self, method: str, key: str) -> str:
        values = self._values(method, key)
        if not values:
            return ""
        if len(values) == 1:
            nodes = key.replace("accuracy", "nodes")
            return next(
                accuracy.short(values[0], fit.get(nodes)) for (name, _), fit in self._fits.items() if name == method
            )
        return f"{100 * statistics.fmean(values):.1f} ± {100 * statistics.stdev(values):.1f} %"


def fit_text(result: Mapping[str, Any]) -> str:
    """The accuracies of a fit, each with its nodes and interval, and its time."""
    test, validation = (accuracy.full(result[f"{p}_accuracy"], result.get(f"{p}_nodes")) for p in ("test", "val"))
    return f"test {test}, validation {validation}, {result['seconds']:.1f} s"
