"""The command ``gdamn edges``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from . import display
from .finished_run import check_written, echo_json, opened_run, working
from .options import AsJson, DataRoot, Force, Run, Seed
from .root import app, reporting


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
        from ..estimators.predictions import of_fit
        from ..using.suspicious import suspicious as judged

        opened = opened_run(run, seed, data_root)
        graph = opened.graph()
        predicted = of_fit(opened.model, graph)
        found = judged(opened.model, graph, predicted, suspicious)
        remarks = {"warning": predicted.temperature.warning, "labels_before_em": sentence_of(opened.model)}
        if out is not None:
            write_table(out, found)
    from .results_view import as_rows, show_suspicious

    if as_json:
        echo_json({"run": str(run), "seed": opened.seed, **remarks, "edges": as_rows(found)})
        return
    show_suspicious(found, *remarks.values())
    if out is not None:
        display.note(f"Written to {out}")
