"""Progress on stderr: one bar for the whole run, with its phases, how much is done, and how long it will take."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..fit.domains.ranks import environment
from ..runs.text import percent
from . import display

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID
    from typing_extensions import Self

    from ..runs.spec import RunSpec


@dataclass(frozen=True)
class Plan:
    """The epochs that a fit will have, as far as its settings tell; it may end earlier."""

    pretrainings: int = 1
    pretrain_epochs: int = 0
    iterations: int = 0
    epochs: int = 0

    @classmethod
    def of(cls, settings: Any) -> Plan:
        """The plan of settings; an empty one for methods with a single phase."""
        if not hasattr(settings, "em_iterations"):
            return cls()
        starts = (5 if settings.judge_edges else 3) if settings.start == "auto" else 1
        return cls(starts, settings.pretrain_epochs, settings.em_iterations, settings.epochs)

    def later(self, phase: str, begun: int) -> int:
        """Epochs after a phase, which is the ``begun``-th of its fit."""
        name, _, number = phase.partition(" ")
        if name in ("M-step", "E-step") and number.isdigit():
            left = 2 * (self.iterations - int(number)) + (name == "M-step")
            return max(0, left) * self.epochs
        if name != "pre-train":
            return 0
        more = 0 if begun == 1 and "multihop" in phase else max(0, self.pretrainings - begun)  # few labels start so
        return more * self.pretrain_epochs + 2 * self.iterations * self.epochs


@dataclass
class Task:
    """How far a fit is: epochs done in earlier phases and in this one, and those that are expected in all."""

    phases: list[str] = field(default_factory=list)
    before: int = 0
    done: int = 0
    total: int = 0


class ProgressView:
    """One bar on a terminal, there at once; elsewhere one line when a phase begins, so that logs stay short.

    ``update`` has the form of :data:`gdamn.runs.pool.Progress`, except that a task may have any name.
    """

    def __init__(self, label: str = "seed", first: str = "reading") -> None:
        self.label, self.first = label, first
        self.expect(1)
        self._bars: Bars | None = None
        self._bar: TaskID | None = None

    def expect(self, tasks: int, plan: Plan | None = None, jobs: int = 1) -> None:
        """What is to come: so many fits, ``jobs`` at a time, each with this plan."""
        self.expected, self.plan, self.jobs = tasks, plan or Plan(), jobs
        self._tasks: dict[object, Task] = {}
        self._active: list[object] = []

    def __enter__(self) -> Self:
        if display.is_terminal(stderr=True):
            from rich import progress as shown

            columns: list[Any] = [shown.TextColumn("{task.description}"), shown.BarColumn(bar_width=14)]
            columns += [shown.TaskProgressColumn(), shown.TimeElapsedColumn(), shown.TimeRemainingColumn()]
            if display.width() >= 100:
                columns.append(shown.TextColumn("{task.fields[detail]}"))
            self._bars = shown.Progress(*columns, console=display.console(stderr=True), transient=True)
            self._bars.start()
            self._bar = self._bars.add_task(self.first, total=None, detail="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def show(self, text: str, done: float | None = None, total: float | None = None, detail: str = "") -> None:
        """Draw the bar, where there is one; without numbers it stays as it is."""
        if self._bars is not None and self._bar is not None:
            room = max(20, display.width() - 42)
            text = text if len(text) <= room else f"{text[: room - 1]}…"
            self._bars.update(self._bar, description=text, completed=done, total=total, detail=detail)

    def update(self, task: object, phase: str, epoch: int, epochs: int, record: Mapping[str, Any]) -> None:
        """Show that an epoch of a phase is done; epochs count from 0."""
        name, now = f"{self.label} {task}".strip(), self._task(task)
        if now.phases[-1:] != [phase]:
            now.phases.append(phase)
            now.before = now.done
            if self._bars is None:
                display.note(f"{name}: {phase}, {epochs} epochs", stderr=True)
        now.done = now.before + epoch + 1
        now.total = now.done + epochs - epoch - 1 + self.plan.later(phase, len(now.phases))
        self.show(f"{name} · {phase} {epoch + 1}/{epochs}", *self.whole(), _detail(record))

    def whole(self) -> tuple[float, float]:
        """Epochs that are done, and those that are expected of all fits."""
        known = [task.total for task in self._tasks.values()]
        to_come = max(0, self.expected - len(known)) * sum(known) / len(known)
        return sum(task.done for task in self._tasks.values()), sum(known) + to_come

    def _task(self, name: object) -> Task:
        """The fit of this name; where it is a new one, the oldest of those that ran in its place has ended."""
        if name not in self._tasks:
            self._tasks[name] = Task()
            self._active.append(name)
            if len(self._active) > self.jobs:
                ended = self._tasks[self._active.pop(0)]
                ended.total = ended.done
        return self._tasks[name]

    def parts(self, what: str, done: int, total: int) -> None:
        """Show how many parts of a graph are gone through."""
        self.show(f"{what} {done}/{total}", done, total)

    def reading(self, what: str, done: int, total: int) -> None:
        """Show how far a file is read; without a terminal nothing is shown, because no epoch has begun."""
        self.show(f"{what} {percent(done / max(total, 1))}")


def starting() -> AbstractContextManager[Any]:
    """Something to see while packages are imported; nothing where other processes show the same."""
    return nullcontext() if environment.is_rank() else ProgressView(first="starting")


def of_run(spec: RunSpec, jobs: int) -> ProgressView:
    """The bar of a run: its seeds, and the epochs that its settings plan."""
    from ..runs.run import make_estimator

    view = ProgressView()
    view.expect(len(spec.seeds), Plan.of(make_estimator(spec, spec.seeds[0]).settings), jobs)
    return view


def compiling(view: ProgressView) -> AbstractContextManager[None]:
    """Show that kernels are compiled, which the first fit after an installation waits for; on a terminal alone."""
    if not display.is_terminal(stderr=True):
        return nullcontext()
    from ..kernels.compilation import on_compilation

    return on_compilation(lambda: view.show("compiling kernels, once"))


class CountView(ProgressView):
    """One bar that counts to a total, such as the trials of a search."""

    def __init__(self, what: str, total: int) -> None:
        super().__init__(label=what, first=what)
        self.total = total

    def count(self, done: int, detail: str) -> None:
        """Show that so many are done."""
        if self._bars is None:
            display.note(f"{self.label}: {done} of {self.total}, {detail}", stderr=True)
        self.show(f"{self.label} {done}/{self.total} · {detail}", done, self.total or None)


def _detail(record: Mapping[str, Any]) -> str:
    """The loss and the validation accuracy of an epoch, where the record has them."""
    loss, right = record.get("loss"), record.get("val_accuracy")
    parts = [f"loss {loss:.3f}" if isinstance(loss, float) else "", f"val {percent(right)}" if right else ""]
    return "  ".join(part for part in parts if part)
