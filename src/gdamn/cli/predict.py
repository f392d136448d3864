"""The command ``gdamn predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from . import display
from .finished_run import check_written, echo_json, run_folder, working
from .options import AsJson, DataRoot, Force, Run, Seed
from .root import app, reporting


@app.command(
    epilog="Example: gdamn predict runs/digits-gdamn -o predictions.csv\n\n"
    "gdamn predict runs/mine --nodes new-nodes.csv --edges new-edges.csv -o predictions.parquet",
)
@reporting()
def predict(
    run: Run,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .csv or .parquet.", show_default=False)],
    nodes: Annotated[
        Path | None, typer.Option(help="Predict the nodes of this table instead, read as the run read its own.")
    ] = None,
    edges: Annotated[
        Path | None, typer.Option(help="Their edges, also to nodes of the run; or new edges of the run's own.")
    ] = None,
    seed: Seed = None,
    ensemble: Annotated[bool, typer.Option("--ensemble", help="The mean of all models of the run.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Leave the probabilities as they are, not calibrated.")] = False,
    data_root: DataRoot = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write labels by their names, a probability per class and a calibrated confidence, for old nodes or new ones.

    The temperature is fitted on validation nodes. Nodes of the training graph that are among the new ones are known
    again by their id and features.
    """
    from ..runs.tables import TABLES, write_table

    check_written(out, TABLES, force, run, nodes, edges)
    if ensemble and seed is not None:
        raise ConfigError("--ensemble takes all models and --seed one of them; give only one of the two.")
    with working("predicting"):
        from ..using import predict as prediction

        folder = run_folder(run, data_root)
        chosen = folder.choose_seed(seed)
        seeds = folder.seeds if ensemble else [chosen]
        predictions = prediction.predict(folder, seeds, nodes, edges, calibrate=not raw)
        write_table(out, predictions.columns())
    if as_json:
        echo_json({**predictions.report, "written": str(out)})
        return
    from .results_view import show_predictions

    show_predictions(predictions.report)
    display.note(f"Written to {out}")
