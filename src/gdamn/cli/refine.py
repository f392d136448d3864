"""The command ``gdamn refine``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from .finished_run import check_written, echo_json, run_folder, working
from .options import AsJson, DataRoot, Force, Run, Seed
from .root import app, reporting


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
    asked = {"run": str(run), "seed": chosen, "keep": keep, "top": top, "add": add}
    report = {**asked, **refined.report(), "written": str(out), "labels_before_em": sentence_of(model)}
    if as_json:
        echo_json(report)
        return
    from .results_view import show_refined

    show_refined(report)
