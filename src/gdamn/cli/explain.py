"""The command ``gdamn explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from . import display
from .finished_run import check_written, echo_json, run_folder, working
from .options import AsJson, DataRoot, Force, Run, Seed
from .root import app, reporting


@app.command(epilog="Example: gdamn explain runs/digits-gdamn 17 --plot node-17.png")
@reporting()
def explain(
    run: Run,
    node: Annotated[str, typer.Argument(metavar="NODE", help="Id of the node.", show_default=False)],
    plot: Annotated[Path | None, typer.Option(help="Draw it, too: .png or .svg.")] = None,
    most: Annotated[int, typer.Option(help="Rows of each table.")] = 15,
    seed: Seed = None,
    data_root: DataRoot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Tell why a node has its label: the neighbours that counted, the edges that were cut, p's and q's opinions."""
    if most < 1:
        raise ConfigError(f"--most must be 1 or more; got {most}.")
    check_written(plot, (".png", ".svg"), force, run)
    with working("explaining"):
        from ..using import explain as reasons

        folder = run_folder(run, data_root)
        chosen = folder.choose_seed(seed)
        model, graph = folder.model(chosen), folder.graph(chosen)
        at = reasons.find_node(graph, node)
        explanation = reasons.explain(model, graph, folder.predictions(chosen), at)
        if plot is not None:
            from ..using.explain_plot import draw

            draw(explanation, plot)
    if as_json:
        echo_json({"run": str(run), "seed": chosen, **explanation})
        return
    from .results_view import show_explanation

    show_explanation(explanation, most)
    if plot is not None:
        display.note(f"Drawn to {plot}")
