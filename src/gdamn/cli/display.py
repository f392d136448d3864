"""What the command line shows: progress on stderr, tables on stdout.

Only here is anything drawn, so that the rest of the package can be used without a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ..estimators import accuracy
from ..model.metrics import NAMES, score_key
from ..runs.confidence import confidence_warning
from ..runs.text import mean_std, percent, score_text
from ..text import safe

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID
    from typing_extensions import Self

    from ..graph.graph import Graph


INTERVAL = "In brackets: the 95 % interval of an accuracy on so many nodes (Wilson)."
"""What stands below a table with intervals."""


def console(stderr: bool = False) -> Console:
    """A console made when it is needed, so that it follows a redirected stream."""
    return Console(stderr=stderr, highlight=False, soft_wrap=not is_terminal(stderr))


def error(message: str) -> None:
    """One line on stderr."""
    stream = console(stderr=True)
    line = safe(" ".join(message.split()))
    stream.print("[bold red]error:[/bold red]", end=" ")
    stream.print(line, markup=False, soft_wrap=True)


def note(message: str, stderr: bool = False) -> None:
    """A line of plain text, never wrapped, so that paths and commands can be copied."""
    lines = "\n".join(map(safe, message.split("\n")))
    console(stderr).print(lines, markup=False, soft_wrap=True)


def print_json(text: str) -> None:
    """JSON on stdout; characters that its encoding doesn't know are spelled out, which means the same."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in text)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class ProgressView:
    """One bar per task on a terminal; elsewhere one line when a phase begins, so that logs stay short.

    ``update`` has the form of :data:`gdamn.runs.pool.Progress`, except that a task may have any name.
    """

    def __init__(self, label: str = "seed") -> None:
        self.label = label
        self._bars: Bars | None = None
        self._tasks: dict[object, TaskID] = {}
        self._phases: dict[object, str] = {}

    def __enter__(self) -> Self:
        if is_terminal(stderr=True):
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                TextColumn("{task.fields[detail]}"),
                TimeElapsedColumn(),
            )
            self._bars = Progress(*columns, console=console(stderr=True), transient=True)
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def update(self, task: object, phase: str, epoch: int, epochs: int, record: Mapping[str, Any]) -> None:
        """Show that an epoch of a phase is done; epochs count from 0."""
        begins = self._phases.get(task) != phase
        self._phases[task] = phase
        name = f"{self.label} {task}".strip()
        if self._bars is None:
            if begins:
                note(f"{name}: {phase}, {epochs} epochs", stderr=True)
            return
        if task not in self._tasks:
            self._tasks[task] = self._bars.add_task(name, total=epochs, detail="")
        bar, title = self._tasks[task], f"{name} · {phase}"
        self._bars.update(bar, total=epochs, completed=epoch + 1, description=title, detail=_detail(record))

    def reading(self, what: str, done: int, total: int) -> None:
        """Show how far a file is read; without a terminal nothing is shown, because no epoch has begun."""
        if self._bars is None:
            return
        key = ("reading", what)
        if key not in self._tasks:
            self._tasks[key] = self._bars.add_task(what, total=100, detail="%")
        self._bars.update(self._tasks[key], completed=round(100 * done / max(total, 1)), visible=done < total)


class CountView(ProgressView):
    """One bar that counts to a total, such as the trials of a search."""

    def __init__(self, what: str, total: int) -> None:
        super().__init__(label=what)
        self.total = total

    def count(self, done: int, detail: str) -> None:
        """Show that so many are done."""
        if self._bars is None:
            note(f"{self.label}: {done} of {self.total}, {detail}", stderr=True)
            return
        if None not in self._tasks:
            self._tasks[None] = self._bars.add_task(self.label, total=self.total, detail="")
        self._bars.update(self._tasks[None], completed=done, detail=detail)


def show_summary(summary: Mapping[str, Any], out: str) -> None:
    """The result of a run: one row per seed, the mean below, and where the files are."""
    from .display_reference import headline, show_reference

    first_line = headline(summary)
    if first_line is not None:
        note(first_line)
    protocol = summary["protocol"]
    data = Path(summary["dataset"]).name  # own files have a whole path
    table = Table(title=f"{summary['method']} on {data}", title_justify="left", box=SIMPLE_HEAD)
    parts = measured_parts(summary)
    heads = (f"{name} accuracy\n{accuracy.spread_nodes(part)}".strip() for name, part in parts)
    for column in ("seed", *heads, "epochs", "seconds"):
        table.add_column(column, justify="left" if column == "seed" else "right")
    for at, seed in enumerate(protocol["seeds"]):
        seconds = f"{summary['seconds_per_seed'][at]:.1f}"
        cells = (accuracy.short(part["per_seed"][at], accuracy.nodes_at(part, at)) for _, part in parts)
        table.add_row(str(seed), *cells, str(summary["epochs_per_seed"][at]), seconds)
    if len(protocol["seeds"]) > 1:
        table.add_section()
        means = (mean_std(part["mean"], part["std"]) for _, part in parts)
        table.add_row("mean ± std", *means, "", "", style="bold")
    console().print(table)
    show_scores(summary)
    if any(part.get("nodes") for _, part in parts):
        note(INTERVAL)
    show_reference(summary.get("reference", {}), first_line is not None)
    show_remarks(summary)
    noise = summary.get("noise")
    if noise:
        note(noise_line(noise))
    for line in summary.get("notes", ()):
        note(line)
    note(f"Results are in {out}; repeat the run with: gdamn train --config {out}/config.toml")


def measured_parts(summary: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The accuracies of a run that were measured, by name: test, and validation or what stands in its place."""
    names = {"test": "test_accuracy", "val": "val_accuracy"}
    if summary["val_accuracy"]["mean"] is None:
        names = {"test": "test_accuracy", "cross-fitted": "cross_fitted_accuracy"}
    parts = ((name, summary.get(key)) for name, key in names.items())
    return [(name, part) for name, part in parts if part is not None and part["mean"] is not None]


def show_scores(summary: Mapping[str, Any]) -> None:
    """Accuracy beside the scores that count every class alike; nothing for runs of earlier versions."""
    from ..runs.class_scores import lowest_recall

    parts = {"test": "test", "val": "validation"}
    parts = {part: name for part, name in parts.items() if summary.get("recall", {}).get(part)}
    if not parts:
        return
    lowest = {part: lowest_recall(summary["recall"][part]) for part in parts}
    rows = [
        *(
            (name, *(score_text(summary.get(score_key(metric, part))) for part in parts))
            for metric, name in NAMES.items()
        ),
        ("lowest recall", *(score_text(lowest[part]) for part in parts)),
        ("of class", *(safe((lowest[part] or {}).get("class", "–"))[:24] for part in parts)),
    ]
    columns = ("score", *parts.values())
    show_rows("Scores", columns, rows, right=columns[1:])


def show_remarks(summary: Mapping[str, Any]) -> None:
    """What people should know before they trust a run: too few validation nodes, and labels from before EM."""
    from ..estimators.chosen_epoch import before_em_sentence

    calibration_warning = confidence_warning(summary)
    if calibration_warning is not None:
        note(calibration_warning)
    early = before_em_sentence(summary.get("labels_before_em", ()), len(summary["protocol"]["seeds"]))
    if early is not None:
        note(early)
    for text in summary.get("remarks", ()):
        note(text)
    for seed, judged in zip(summary["protocol"]["seeds"], summary.get("label_noise", ()), strict=False):
        if isinstance(judged, dict):
            note(f"Seed {seed}: {label_noise_line(judged)}")


def label_noise_line(judged: Mapping[str, Any]) -> str:
    """What a fit did about wrong labels, in one sentence."""
    if judged.get("rate") is None:
        return "labels are taken as they are; they are too few to tell wrong ones from hard ones."
    if not judged.get("corrected"):
        return "no evidence of wrong training labels; they are taken as they are."
    return f"about {percent(judged['rate'])} of the training labels seem to be wrong; contradicted ones count less."


def noise_line(noise: Mapping[str, float]) -> str:
    """What became of the planted edges, in one sentence."""
    return (
        f"Of {noise['planted']:.0f} planted edges {percent(noise['cut_share'])} were cut, "
        f"of the true ones {percent(noise['true_kept_share'])} were kept "
        f"(ROC-AUC of the hard attention {noise['hard_auc']:.3f}); edge weight between classes: "
        f"{percent(noise['inter_class_weight_before'])} before, {percent(noise['inter_class_weight_after'])} after."
    )


def width() -> int:
    """Characters in a line of the terminal."""
    return console().width


def show_rows(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: Sequence[str] = (),
    wrap: bool = True,
) -> None:
    """A table of plain cells; the columns named in ``right`` are numbers. Cells may ``wrap`` onto further lines."""
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for at, column in enumerate(columns):
        table.add_column(column, justify="right" if column in right else "left", no_wrap=at == 0 or not wrap)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console().print(table)


def show_graph(graph: Graph, split: str) -> None:
    """The facts of a loaded graph."""
    splits = " / ".join(f"{int(graph.mask(name).sum()):,}" for name in ("train", "val", "test"))
    between = graph.inter_class_share()
    rows = [
        ("nodes", f"{graph.num_nodes:,}"),
        ("edges", f"{graph.num_edges:,} {'directed' if graph.directed else 'undirected'}"),
        ("features", f"{graph.num_features:,} ({'sparse' if graph.is_sparse else 'dense'})"),
        ("classes", f"{graph.num_classes}: {_shortened(graph.class_names)}"),
        ("train / val / test", splits),
        ("edges between classes", percent(between)),
        ("split", split),
    ]
    show_rows(graph.name, ("what", "value"), rows)


def _detail(record: Mapping[str, Any]) -> str:
    """The loss and the validation accuracy of an epoch, where the record has them."""
    loss, right = record.get("loss"), record.get("val_accuracy")
    parts = [f"loss {loss:.3f}" if isinstance(loss, float) else "", f"val {percent(right)}" if right else ""]
    return "  ".join(part for part in parts if part)


def _shortened(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def is_terminal(stderr: bool) -> bool:
    """Whether a person looks at the stream."""
    stream = sys.stderr if stderr else sys.stdout
    return bool(stream is not None and stream.isatty())
