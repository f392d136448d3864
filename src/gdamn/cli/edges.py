"""The command ``gdamn edges``."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import ConfigError
from . import display
from .finished_run import check_written, echo_json, run_folder, working
from .options import AsJson, DataRoot, Force, Run, Seed, TableOut
from .root import app, reporting


@app.command(epilog="Example: gdamn edges runs/digits-gdamn --suspicious 50 -o check.csv")
@reporting()
def edges(
    run: Run,
    suspicious: Annotated[int, typer.Option(metavar="N", help="How many edges.")] = 20,
    out: TableOut = None,
    seed: Seed = None,
    data_root: DataRoot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """List the edges most likely to be wrong, for a person to check: the most suspicious first."""
    from ..runs.tables import TABLES, write_table

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
        table = judged(model, graph, predicted, suspicious)
        remarks = {"warning": predicted.temperature.warning, "labels_before_em": sentence_of(model)}
        if out is not None:
            write_table(out, table)
    from .results_view import as_rows, show_suspicious

    if as_json:
        echo_json({"run": str(run), "seed": chosen, **remarks, "edges": as_rows(table)})
        return
    show_suspicious(table, *remarks.values())
    if out is not None:
        display.note(f"Written to {out}")
