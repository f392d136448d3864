"""The command ``gdamn refine``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .finished_run import check_written, echo_json, partitioned_run, run_folder, working
from .options import AsJson, DataRoot, Force, Run, Seed
from .progress import ProgressView
from .root import app, reporting

if TYPE_CHECKING:
    from ..using.partitioned.folder import PartitionedRun


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
    add: Annotated[
        int | None,
        typer.Option(metavar="K", help="Each node proposes K new edges to nodes like it; hard attention decides."),
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
    for name, number in (("top", top), ("add", add)):
        if number is not None and number < 1:
            raise ConfigError(f"--{name} must be 1 or more; got {number}.")
    if keep is not None:
        from ..estimators.selection import Condition

        Condition.parse(keep)
    in_parts = partitioned_run(run, data_root)
    asked: dict[str, Any] = {"run": str(run), "keep": keep, "top": top, "add": add}
    if in_parts is not None:
        report = {**asked, **refine_parts(in_parts, seed, out, asked, force), "written": str(out)}
    else:
        report = {**asked, **refine_whole(run, seed, out, asked, data_root, force), "written": str(out)}
    if as_json:
        echo_json(report)
        return
    from .results_view import show_refined

    show_refined(report)


def refine_whole(
    run: Path, seed: int | None, out: Path, asked: dict[str, Any], data_root: Path | None, force: bool
) -> dict[str, Any]:
    """Refine the graph of a run, which is in memory."""
    keep, top, add = (asked[name] for name in ("keep", "top", "add"))
    with working("refining"):
        from ..estimators.chosen_epoch import sentence_of
        from ..using import refine as refinement

        check_written(out, refinement.SUFFIXES, force, run)
        folder = run_folder(run, data_root)
        chosen = folder.choose_seed(seed)
        model, graph = folder.model(chosen), folder.graph(chosen)
        if add:
            refined = refinement.refine_and_add(model, graph, add, keep, top)
        else:
            refined = refinement.refine(model, graph, keep, top)
        refinement.write_refined(out, refined, folder.predictions(chosen))
        return {"seed": chosen, **refined.report(), "labels_before_em": sentence_of(model)}


def refine_parts(
    run: PartitionedRun, seed: int | None, out: Path, asked: dict[str, Any], force: bool
) -> dict[str, Any]:
    """Refine a partitioned graph, a part at a time."""
    from ..runs.tables import TABLES

    if asked["add"] is not None:
        raise ConfigError(
            f"'{run.path}' was trained on a partitioned graph, to which no edges are added; leave out --add."
        )
    if out.suffix.lower() not in TABLES:
        raise ConfigError(
            f"'{run.path}' was trained on a partitioned graph, which is refined as a table: .csv or .parquet."
        )
    check_written(out, TABLES, force, run.path)
    with ProgressView(first="refining") as view:
        from ..using.partitioned.refine import refine as refined

        chosen = run.choose_seed(seed)
        found = refined(run, chosen, out, asked["keep"], asked["top"], view.parts)
        return {"seed": chosen, **found, "labels_before_em": run.labels_before_em(chosen)}
