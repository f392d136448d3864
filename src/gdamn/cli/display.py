"""What the command line shows: progress on stderr, tables on stdout.

Only here is anything drawn, so that the rest of the package can be used without a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..estimators import accuracy
from ..model.metrics import NAMES, score_key
from ..runs.confidence import confidence_warning
from ..runs.text import mean_std, percent, score_text
from ..text import safe
from .tables import make_table

if TYPE_CHECKING:
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


def sentence(message: str, style: str = "") -> None:
    """A sentence without paths or commands: on a terminal it is broken between words."""
    for line in message.split("\n"):
        console().print(Text(safe(line), style=style))


def warning(message: str, stderr: bool = False) -> None:
    """What people should know before they trust a result; yellow where there is colour."""
    text = Text.assemble(("Warning: ", "bold yellow"), safe(" ".join(message.split())))
    console(stderr).print(text)


def good(text: str) -> Text:
    """A cell that says that something is well."""
    return Text(text, style="green")


def look(text: str) -> Text:
    """A cell that says that somebody should look at something."""
    return Text(text, style="yellow")


def bad(text: str) -> Text:
    """A cell that says that something isn't well."""
    return Text(text, style="bold red")


def print_json(text: str) -> None:
    """JSON on stdout; characters that its encoding doesn't know are spelled out, which means the same."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = "".join(each if each.isascii() else json.dumps(each)[1:-1] for each in text)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def show_summary(summary: Mapping[str, Any], out: str) -> None:
    """The result of a run: one row per seed, the mean below, and where the files are."""
    from .display_reference import headline, show_reference

    first_line = headline(summary)
    if first_line is not None:
        warning(first_line)
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
        sentence(INTERVAL)
    show_reference(summary.get("reference", {}), first_line is not None)
    show_remarks(summary)
    noise = summary.get("noise")
    if noise:
        sentence(noise_line(noise))
    for line in summary.get("notes", ()):
        sentence(line)
    note(f"Results are in {out}; repeat the run with: gdamn train --config {out}/config.toml")


def show_written(folder: Path) -> None:
    """Name every file of a folder and of the first of its seeds, whose files the others have too."""
    seeds = sorted((path for path in folder.glob("seed-*") if path.is_dir()), key=lambda path: (len(path.name), path))
    names = [path.name for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")]
    inside = [path.name for path in sorted(seeds[0].iterdir())] if seeds else []
    note(f"Written to {folder}: {', '.join(names)}")
    if inside:
        others = f" (and for {len(seeds) - 1} more)" if len(seeds) > 1 else ""
        note(f"Written to {seeds[0]}{others}: {', '.join(inside)}")


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
        warning(calibration_warning)
    early = before_em_sentence(summary.get("labels_before_em", ()), len(summary["protocol"]["seeds"]))
    if early is not None:
        sentence(early)
    for text in summary.get("remarks", ()):
        sentence(text)
    for seed, judged in zip(summary["protocol"]["seeds"], summary.get("label_noise", ()), strict=False):
        if isinstance(judged, dict):
            sentence(f"Seed {seed}: {label_noise_line(judged)}")


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
        f"Of {noise['planted']:,.0f} planted edges {percent(noise['cut_share'])} were cut, "
        f"of the true ones {percent(noise['true_kept_share'])} were kept "
        f"(ROC-AUC of the hard attention, how likely an edge should be there: {noise['hard_auc']:.3f}); "
        f"edge weight between classes: "
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
    """A table of plain or coloured cells; the columns named in ``right`` are numbers. Text may ``wrap``."""
    console().print(make_table(title, columns, rows, right, wrap, width()))


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


def _shortened(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def is_terminal(stderr: bool) -> bool:
    """Whether a person looks at the stream."""
    stream = sys.stderr if stderr else sys.stdout
    return bool(stream is not None and stream.isatty())
