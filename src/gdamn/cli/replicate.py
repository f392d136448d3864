"""The command ``gdamn replicate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..estimators import accuracy
from . import display, progress
from .options import DataRoot
from .root import app, reporting


@app.command(epilog="Example: gdamn replicate results/cora-gdamn.json --seeds 2")
@reporting()
def replicate(
    result: Annotated[
        Path, typer.Argument(help="A file of results/, the summary.json of a run, a compare.json or a table's JSON.")
    ],
    method: Annotated[str | None, typer.Option(help="The method, where the file has several.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The data set, where the file has several.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Only the first so many seeds.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that train seeds side by side.")] = 1,
    data_root: DataRoot = None,
) -> None:
    """Run a published result again from its own settings and compare every seed; exit code 1 where one differs.

    Where some differ, as they do between kinds of processors, it says whether the means agree.
    """
    from ..runs import replicate as replication
    from ..runs.execution import Execution

    with progress.ProgressView() as view:
        rows = replication.replicate(
            result,
            method=method,
            dataset=dataset,
            most_seeds=seeds,
            execution=Execution(jobs, data_root=data_root),
            progress=view.update,
        )
    cells = []
    for row in rows:
        values = (accuracy.short(row[when], row["nodes"]) for when in ("published", "now"))
        cells.append((row["seed"], *values, "yes" if row["same"] else "no"))
    nodes = accuracy.count_text([row["nodes"] for row in rows])
    title = f"Test accuracy{f' on {nodes}' if nodes else ''} (95 % interval), published and now"
    display.show_rows(title, ("seed", "published", "now", "same"), cells)
    if not all(row["same"] for row in rows):
        published_on = replication.read_result(result, method, dataset).get("processors", [])
        display.sentence(replication.verdict(rows, published_on))
        raise typer.Exit(1)
