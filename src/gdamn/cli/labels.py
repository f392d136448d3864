"""The command ``gdamn labels``."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import ConfigError
from . import display
from .finished_run import check_written, echo_json, run_folder, working
from .options import AsJson, DataRoot, Force, Run, Seed, TableOut
from .root import app, reporting


@app.command(epilog="Example: gdamn labels runs/digits-gdamn --suspicious 10 -o check.csv")
@reporting()
def labels(
    run: Run,
    suspicious: Annotated[int, typer.Option(metavar="N", help="How many labels, at most.")] = 20,
    split: Annotated[str, typer.Option(help="Whose labels: train or val. Test labels are never read.")] = "train",
    out: TableOut = None,
    seed: Seed = None,
    data_root: DataRoot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """List the labels most likely to be wrong, for a person to check: the most suspicious first."""
    from ..runs.tables import TABLES, write_table

    if suspicious < 1:
        raise ConfigError(f"--suspicious must be 1 or more; got {suspicious}.")
    check_written(out, TABLES, force, run)
    with working("judging labels"):
        folder = run_folder(run, data_root)
        chosen = folder.choose_seed(seed)
        judged = folder.model(chosen).judged_labels(split, folder.graph(chosen))
        table = judged.table(suspicious)
        if out is not None:
            write_table(out, table)
    from .results_view import as_rows, show_labels

    if as_json:
        noise = {"rate": judged.noise.rate, "gain": judged.noise.gain, "claimed": judged.noise.claimed}
        facts = {"split": split, "judged": len(judged.nodes), "contradicted": len(judged.contradicted())}
        echo_json({"run": str(run), "seed": chosen, **facts, "label_noise": noise, "labels": as_rows(table)})
        return
    show_labels(table, judged.summary())
    if out is not None:
        display.note(f"Written to {out}")
