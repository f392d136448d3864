"""The command ``gdamn edges``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from . import display
from .finished_run import check_written, echo_json, partitioned_run, run_folder, working
from .options import AsJson, DataRoot, Force, Run, Seed, TableOut
from .progress import ProgressView
from .root import app, reporting

if TYPE_CHECKING:
    from ..using.partitioned.folder import PartitionedRun


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
    in_parts = partitioned_run(run, data_root)
    if in_parts is not None:
        chosen, table, remarks = judge_parts(in_parts, seed, suspicious)
    else:
        chosen, table, remarks = judge_whole(run, data_root, seed, suspicious)
    if out is not None:
        write_table(out, table)
    from .results_view import as_rows, show_suspicious

    if as_json:
        echo_json({"run": str(run), "seed": chosen, **remarks, "edges": as_rows(table)})
        return
    show_suspicious(table, *remarks.values())
    if out is not None:
        display.note(f"Written to {out}")


Judged = tuple[int, dict[str, Any], dict[str, str | None]]
"""The seed, the table of edges, and what should be known of them."""


def judge_whole(run: Path, data_root: Path | None, seed: int | None, most: int) -> Judged:
    """The most suspicious edges of a graph that is in memory."""
    with working("judging edges"):
        from ..estimators.chosen_epoch import sentence_of
        from ..using.suspicious import suspicious as judged

        folder = run_folder(run, data_root)
        chosen = folder.choose_seed(seed)
        model, graph = folder.model(chosen), folder.graph(chosen)
        predicted = folder.predictions(chosen)
        table = judged(model, graph, predicted, most)
        return chosen, table, {"warning": predicted.temperature.warning, "labels_before_em": sentence_of(model)}


def judge_parts(run: PartitionedRun, seed: int | None, most: int) -> Judged:
    """The most suspicious edges of a partitioned graph, a part at a time."""
    with ProgressView(first="judging edges") as view:
        from ..using.partitioned.suspicious import suspicious as judged

        chosen = run.choose_seed(seed)
        table = judged(run, chosen, most, view.parts)
        remarks = {"warning": run.temperature(chosen).warning, "labels_before_em": run.labels_before_em(chosen)}
        return chosen, table, remarks
