"""The command ``gdamn report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import display
from .finished_run import check_written
from .options import DataRoot, Force
from .root import app, reporting


@app.command(
    epilog="Example: gdamn report runs/cora-gdamn\n\n"
    "gdamn report runs/cora-gdamn -o cora.html --seed 3\n\n"
    "gdamn report runs/arxiv --node 1017 --node 4711\n\n"
    "gdamn report runs/nodes-gdamn --name title --map map.png",
)
@reporting()
def report(
    run: Annotated[Path, typer.Argument(help="Folder that gdamn train wrote.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The page. Default: RUN/report.html.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed whose graph is shown. Default: that of the highest validation accuracy.")
    ] = None,
    node: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A node that the explorer must have; may be repeated.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of your table of nodes with their names or texts.")
    ] = None,
    picture: Annotated[
        list[Path] | None,
        typer.Option("--map", metavar="FILE", help="Also draw the map, as PNG or SVG; may be repeated."),
    ] = None,
    data_root: DataRoot = None,
    force: Force = False,
) -> None:
    """Make the page of a finished run again: one HTML file with findings, a map, lists to check and charts."""
    from ..report import write_run
    from ..report.map_picture import SUFFIXES
    from ..system.folders import is_page

    if output is not None and output.absolute() != (run / "report.html").absolute():
        check_written(output, (), force or is_page(output), run)
    for path in picture or ():
        check_written(path, SUFFIXES, force, run)
    with display.console(stderr=True).status(f"reading {run}") as status:
        page = write_run(
            run,
            output,
            data_root=data_root,
            seed=seed,
            nodes=node or [],
            name=name,
            pictures=picture or [],
            watch=lambda done, seeds: status.update(f"seed {done} of {seeds}"),
        )
    display.note(f"Written to {', '.join(map(str, [page, *(picture or [])]))}")


def report_of_training(run: Path, data_root: Path | None, quiet: bool) -> None:
    """Write the page of a run that has just ended; whatever goes wrong with it, the run itself is whole."""
    from ..report import write_run

    page = run / "report.html"
    try:
        page.unlink(missing_ok=True)  # one of an earlier run would tell of other numbers
        with display.console(stderr=True).status("writing report.html"):
            write_run(run, page, data_root=data_root)
    except Exception as problem:
        what = " ".join(str(problem).split()) or type(problem).__name__
        display.warning(f"The run is whole, but its report.html could not be made: {what}", stderr=True)
    else:
        if not quiet:
            display.note(f"Open {page} in a browser to see them.")
