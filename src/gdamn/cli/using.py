"""The commands that use a finished run: ``gdamn predict``, ``refine``, ``explain`` and ``edges``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from ..text import safe_json
from . import display
from .root import DataRoot, app, reporting

if TYPE_CHECKING:
    from ..using.run_folder import RunFolder

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that gdamn train wrote.", show_default=False)]
Seed = Annotated[int | None, typer.Option(help="Which of the run's models. Default: the first.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]


@contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life on a terminal while something takes its time."""
    if not display.is_terminal(stderr=True):
        yield
        return
    with display.console(stderr=True).status(what):
        yield


def run_folder(run: Path, data_root: Path | None = None) -> RunFolder:
    """The folder, not yet read: what reads it is imported late."""
    from ..using.run_folder import RunFolder

    return RunFolder(run, data_root)


def check_written(out: Path | None, suffixes: Sequence[str], force: bool, run: Path, *given: Path | None) -> None:
    """Refuse a file to write that stands there, or that the command reads: those given, and those of the run."""
    from ..runs.outputs import check_output, files_of

    if out is not None:
        check_output(out, suffixes, force, inputs=[*given, *files_of(run_folder(run).spec)], run=run)


def echo_json(content: Any) -> None:
    """Print JSON that a terminal can't be steered by."""
    from ..system.io import to_json

    display.print_json(safe_json(to_json(content, indent=2)))


@app.command(
    epilog="Example: gdamn predict runs/digits-gdamn -o predictions.csv\n\n"
    "gdamn predict runs/mine --nodes new-nodes.csv --edges new-edges.csv -o predictions.parquet",
)
@reporting()
def predict(
    run: Run,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .csv or .parquet.", show_default=False)],
    nodes: Annotated[
        Path | None, typer.Option(help="Predict the nodes of this table instead, read as the run read its own.")
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="The edges between them, or new ones of the run's nodes.")] = None,
    seed: Seed = None,
    ensemble: Annotated[bool, typer.Option("--ensemble", help="The mean of all models of the run.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Leave the probabilities as they are, not calibrated.")] = False,
    data_root: DataRoot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write labels by their names, a probability per class and a calibrated confidence, for old nodes or new ones.

    The temperature is fitted on validation nodes. Nodes of the training graph that are among the new ones are known
    again by their id and features.
    """
    from ..using.tables import TABLES, write_table

    check_written(out, TABLES, force, run, nodes, edges)
    if ensemble and seed is not None:
        raise ConfigError("--ensemble takes all models and --seed one of them; give only one of the two.")
    with working("predicting"):
        from ..using import predict as predictions

        folder = run_folder(run, data_root)
        chosen = folder.choose_seed(seed)
        seeds = folder.seeds if ensemble else [chosen]
        found = predictions.predict(folder, seeds, nodes, edges, calibrate=not raw)
        write_table(out, found.columns())
    if as_json:
        echo_json({**found.report, "written": str(out)})
        return
    from .results_view import show_predictions

    show_predictions(found.report)
    display.note(f"Written to {out}")


@app.command(
    epilog="Example: gdamn refine runs/digits-gdamn --keep 'hard>0.5' -o refined.csv\n\n"
    "gdamn refine runs/digits-gdamn --top 10 -o refined.pt",
)
@reporting()
def refine(
    run: Run,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File: .csv, .parquet, .npz, .pt or .graphml.", show_default=False)
    ],
    keep: Annotated[
        str | None, typer.Option(metavar="CONDITION", help="Keep edges where hard, soft or stable is so: 'hard>0.5'.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Each node keeps this many edges: those of the highest stable weight.")
    ] = None,
    seed: Seed = None,
    data_root: DataRoot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the cleaned graph with hard, soft and stable weights; an undirected edge stays where either end keeps it.

    Tables have one row per direction. The weight in .npz, .pt and .graphml is the stable one.
    """
    if keep is not None and top is not None:
        raise ConfigError("Give --keep or --top, not both.")
    if top is not None and top < 1:
        raise ConfigError(f"--top must be 1 or more; got {top}.")
    if keep is not None:
        from ..estimators.selection import Condition

        Condition.parse(keep)
    with working("refining"):
        from ..estimators.chosen_epoch import sentence_of
        from ..using import refine as refined

        check_written(out, refined.SUFFIXES, force, run)
        folder = run_folder(run, data_root)
        chosen = folder.choose_seed(seed)
        model, graph = folder.model(chosen), folder.graph(chosen)
        found = refined.refine(model, graph, keep, top)
        refined.write_refined(out, found, folder.predictions(chosen))
    report = {"run": str(run), "seed": chosen, "keep": keep, "top": top, **found.report(), "written": str(out)}
    report["labels_before_em"] = sentence_of(model)
    if as_json:
        echo_json(report)
        return
    from .results_view import show_refined

    show_refined(report)


@app.command(epilog="Example: gdamn explain runs/digits-gdamn 17 --plot node-17.png")
@reporting()
def explain(
    run: Run,
    node: Annotated[str, typer.Argument(metavar="NODE", help="Id of the node.", show_default=False)],
    plot: Annotated[Path | None, typer.Option(help="Draw it, too: .png or .svg.")] = None,
    most: Annotated[int, typer.Option(help="Rows of each table.")] = 15,
    seed: Seed = None,
    data_root: DataRoot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Tell why a node has its label: the neighbours that counted, the edges that were cut, p's and q's opinions."""
    if most < 1:
        raise ConfigError(f"--most must be 1 or more; got {most}.")
    check_written(plot, (".png", ".svg"), force, run)
    with working("explaining"):
        from ..using import explain as reasons

        folder = run_folder(run, data_root)
        chosen = folder.choose_seed(seed)
        model, graph = folder.model(chosen), folder.graph(chosen)
        at = reasons.find_node(graph, node)
        found = reasons.explain(model, graph, folder.predictions(chosen), at)
        if plot is not None:
            from ..using.explain_plot import draw

            draw(found, plot)
    if as_json:
        echo_json({"run": str(run), "seed": chosen, **found})
        return
    from .results_view import show_explanation

    show_explanation(found, most)
    if plot is not None:
        display.note(f"Drawn to {plot}")


@app.command(epilog="Example: gdamn edges runs/digits-gdamn --suspicious 50 -o check.csv")
@reporting()
def edges(
    run: Run,
    suspicious: Annotated[int, typer.Option(metavar="N", help="How many edges.")] = 20,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write them, too: .csv or .parquet.")] = None,
    seed: Seed = None,
    data_root: DataRoot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """List the edges most likely to be wrong, for a person to check: the most suspicious first."""
    from ..using.tables import TABLES, write_table

    if suspicious < 1:
        raise ConfigError(f"--suspicious must be 1 or more; got {suspicious}.")
    check_written(out, TABLES, force, run)
    with working("judging edges"):
        from ..estimators.chosen_epoch import sentence_of
        from ..using.suspicious import suspicious as judged

        folder = run_folder(run, data_root)
        chosen = folder.choose_seed(seed)
        model, graph = folder.model(chosen), folder.graph(chosen)
        predicted = folder.predictions(chosen)
        found = judged(model, graph, predicted, suspicious)
        remarks = {"warning": predicted.temperature.warning, "labels_before_em": sentence_of(model)}
        if out is not None:
            write_table(out, found)
    from .results_view import as_rows, show_suspicious

    if as_json:
        echo_json({"run": str(run), "seed": chosen, **remarks, "edges": as_rows(found)})
        return
    show_suspicious(found, *remarks.values())
    if out is not None:
        display.note(f"Written to {out}")
