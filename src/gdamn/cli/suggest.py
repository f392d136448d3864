"""The command ``gdamn suggest``."""

from __future__ import annotations

from typing import Annotated

import typer

from . import display
from .finished_run import check_written, echo_json, run_folder, working
from .options import AsJson, DataRoot, Force, Run, Seed, TableOut
from .root import app, reporting


@app.command(epilog="Example: gdamn suggest runs/nodes-gdamn 20 -o label-next.csv")
@reporting()
def suggest(
    run: Run,
    count: Annotated[int, typer.Argument(metavar="N", help="How many nodes.")] = 10,
    rule: Annotated[str, typer.Option(help="diverse, coverage or uncertainty.")] = "diverse",
    out: TableOut = None,
    seed: Seed = None,
    data_root: DataRoot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Suggest the nodes to label next: uncertain ones that stand for many others, the most useful first."""
    from ..runs.tables import TABLES, write_table

    check_written(out, TABLES, force, run)
    with working("choosing nodes"):
        from ..estimators.suggestions import check
        from ..estimators.suggestions import suggest as suggested

        check(count, rule)
        folder = run_folder(run, data_root)
        chosen = folder.choose_seed(seed)
        predicted = folder.predictions(chosen)
        table = suggested(predicted, count, rule)
        warning = predicted.temperature.warning
        if out is not None:
            write_table(out, table)
    from .results_view import as_rows, show_suggested

    if as_json:
        echo_json({"run": str(run), "seed": chosen, "rule": rule, "warning": warning, "nodes": as_rows(table)})
        return
    show_suggested(table, rule, warning)
    if out is not None:
        display.note(f"Written to {out}")
