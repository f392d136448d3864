"""The command ``gdamn results``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import display
from .root import app, reporting


@app.command(epilog="Example: gdamn results results --write docs/evidence/results.md")
@reporting()
def results(
    folder: Annotated[Path, typer.Argument(help="Folder with the summary.json of runs, under any name.")] = Path(
        "results"
    ),
    write: Annotated[Path | None, typer.Option(help="Put the table between the markers of this document.")] = None,
) -> None:
    """Show published results as a table, or write it into a document."""
    from ..experiments.published import COLUMNS, SHORT, markdown, read_peers, read_results, table_rows, write_into

    rows = table_rows(read_results(folder), read_peers(folder))
    display.show_rows("Results", [COLUMNS[at] for at in SHORT], [[row[at] for at in SHORT] for row in rows])
    if write is not None:
        write_into(write, markdown(rows))
