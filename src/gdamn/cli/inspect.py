"""The command ``gdamn inspect``: what a graph is before anything is trained on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..data.files import is_path
from ..data.progress import Progress, silent
from ..errors import ConfigError
from ..runs.outputs import check_output
from ..runs.text import percent
from ..system.folders import is_parts
from . import display, progress
from . import file_options as files
from .options import DataRoot
from .root import app, reporting

if TYPE_CHECKING:
    from ..inspect.facts import Facts

PICTURE, FACTS = "inspect.png", "inspect.json"
"""What ``--out`` writes."""


@app.command(
    epilog="Example: gdamn inspect nodes.csv --edges edges.csv --label topic --plot inspect.png\n\n"
    "gdamn inspect graph.npz --json\n\ngdamn inspect cora",
)
@reporting()
def inspect(
    graph: Annotated[
        list[str],
        typer.Argument(metavar="FILES...", help="Your graph: one file, or nodes and edges; or the name of a data set."),
    ],
    edges: files.Edges = None,
    label: files.Label = None,
    node_id: files.NodeId = None,
    features: files.Features = None,
    text: files.Text = None,
    weight: files.Weight = None,
    source: files.Source = None,
    target: files.Target = None,
    split_column: files.SplitColumn = None,
    directed: files.Directed = False,
    data_root: DataRoot = None,
    plot: Annotated[Path | None, typer.Option(help="Draw degrees, parts, classes and mixing into this PNG.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write inspect.json and inspect.png into this folder.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON, and nothing else.")] = False,
) -> None:
    """Show what a graph is, and warn of what will hurt, before anything is trained. Test labels stay unread."""
    if len(graph) > 2 or (len(graph) == 2 and edges is not None):
        raise ConfigError("Name one file with a whole graph, or two tables: nodes and edges.")
    reading = files.chosen_options(
        edges=edges or (graph[1] if len(graph) == 2 else None),
        label=label,
        id=node_id,
        features=features,
        text=text,
        weight=weight,
        source=source,
        target=target,
        split_column=split_column,
        directed=directed,
    )
    if plot is not None and plot.suffix.lower() != ".png":
        raise ConfigError(f"--plot writes PNG; name a file that ends in .png, not '{plot}'.")
    read = [Path(graph[0]), Path(reading["edges"]) if "edges" in reading else None] if is_path(graph[0]) else []
    for path in (plot, *(out / name for name in (PICTURE, FACTS) if out is not None)):
        check_output(path, (), force, inputs=read)
    with progress.ProgressView() as view:
        facts = inspected(graph[0], reading, data_root, view.reading)
    written = write(facts, plot, out)
    if as_json:
        from ..system.io import to_json

        display.print_json(to_json(facts.data, indent=2))
        return
    show(facts.data)
    for path in written:
        display.note(f"Written: {path}")


def inspected(name: str, reading: dict[str, Any], data_root: Path | None, progress: Progress = silent) -> Facts:
    """The facts of files or of a named data set, with their warnings."""
    from ..inspect.facts import collect
    from ..inspect.warnings import warnings

    if is_path(name) or is_parts(name):
        from ..inspect.files import file_facts

        facts = file_facts(Path(name), reading, progress)
    else:
        files.refuse_for_named(name, reading)
        from ..data import load

        facts = collect(load(name, data_root=data_root, progress=progress))
    facts.data["warnings"] = warnings(facts.data)
    return facts


def write(facts: Facts, plot: Path | None, out: Path | None) -> list[Path]:
    """Write the picture and the facts where they are asked for; the paths that were written."""
    from ..system import io

    written = []
    pictures = [path for path in (plot, None if out is None else out / PICTURE) if path is not None]
    for path in pictures:
        from ..inspect.plot import draw

        draw(facts, path)
        written.append(path)
    if out is not None:
        io.write_json(out / FACTS, facts.data)
        written.append(out / FACTS)
    return written


def show(data: Mapping[str, Any]) -> None:
    """The facts as a table, then the notes and warnings."""
    display.show_rows(data["name"], ("what", "value"), list(rows(data)))
    classes = data["labels"]["classes"]
    known = max(data["labels"]["known"], 1)
    if classes:
        most = sorted(classes.items(), key=lambda each: -each[1])[:20]
        cells = [(name, f"{count:,}", percent(count / known)) for name, count in most]
        display.show_rows("Classes", ("class", "labelled", "share"), cells, right=("labelled", "share"))
    for line in data.get("notes") or ():
        display.note(line)
    for line in data["warnings"]:
        display.warning(line)


def rows(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts as rows of a table: name and value."""
    degree, labels, between, features = (data[key] for key in ("degree", "labels", "between_classes", "features"))
    kind = "directed" if data["directed"] else "undirected"
    weights = data["weights"]
    parts = data["components"]
    table = [
        ("nodes", f"{data['nodes']:,}"),
        ("edges", f"{data['edges']:,} {kind}"),
        ("weights", "all 1" if weights is None else f"{weights['least']:g} to {weights['largest']:g}"),
        ("duplicate edges", _known(data["duplicate_edges"])),
        ("edges without nodes", f"{data['dangling_edges']:,}"),
        ("self-loops", f"{data['self_loops']:,}"),
        ("components", f"{parts['number']:,}, the largest with {parts['largest']:,} nodes"),
        ("isolated nodes", f"{data['isolated_nodes']:,}"),
        (
            "degree",
            f"{degree['least']:g} – {degree['median']:g} (median) – {degree['largest']:g}, mean {degree['mean']:.1f}",
        ),
        ("features", f"{features['number']:,}, {features['constant']:,} of them constant"),
        ("known labels", f"{labels['known']:,} ({percent(labels['rate'])} of the nodes)"),
        ("train / val / test", " / ".join(f"{data['splits'][name]:,}" for name in ("train", "val", "test"))),
    ]
    if labels["hidden_test"]:
        table.append(("test labels", f"{labels['hidden_test']:,}, not looked at here"))
    if between["share"] is not None:
        interval = f"{percent(between['low'])} to {percent(between['high'])}"
        table += [
            ("edge homophily", f"{percent(between['homophily'])} of {between['known_edges']:,} known edges"),
            ("between classes", f"{percent(between['share'])} of all edges, by estimate ({interval})"),
            ("by chance", f"{percent(between['by_chance'])} would be between classes"),
        ]
    return table


def _known(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"
