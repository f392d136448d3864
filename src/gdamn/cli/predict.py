"""The command ``gdamn predict``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from . import display
from .finished_run import check_written, echo_json, partitioned_run, run_folder, working
from .options import AsJson, DataRoot, Force, Run, Seed
from .progress import ProgressView
from .root import app, reporting

if TYPE_CHECKING:
    from ..using.partitioned.folder import PartitionedRun


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
    parts: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Predict this partitioned graph instead, with a run on such a graph."),
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

    check_written(out, TABLES, force, run, nodes, edges, parts)
    if ensemble and seed is not None:
        raise ConfigError("--ensemble takes all models and --seed one of them; give only one of the two.")
    in_parts = partitioned_run(run, data_root)
    if in_parts is not None:
        for name, given in (("--nodes", nodes), ("--edges", edges), ("--ensemble", ensemble)):
            if given:
                raise ConfigError(f"'{run}' was trained on a partitioned graph: {name} can't be used; see --parts.")
        report = predict_parts(in_parts, in_parts.choose_seed(seed), out, parts, not raw)
    elif parts is not None:
        raise ConfigError(f"--parts is for runs on partitioned graphs, and '{run}' is none; use --nodes and --edges.")
    else:
        with working("predicting"):
            from ..using import predict as prediction

            folder = run_folder(run, data_root)
            chosen = folder.choose_seed(seed)
            seeds = folder.seeds if ensemble else [chosen]
            predictions = prediction.predict(folder, seeds, nodes, edges, calibrate=not raw)
            write_table(out, predictions.columns())
            report = predictions.report
    if as_json:
        echo_json({**report, "written": str(out)})
        return
    from .results_view import show_predictions

    show_predictions(report)
    display.note(f"Written to {out}")


def predict_parts(run: PartitionedRun, seed: int, out: Path, parts: Path | None, calibrate: bool) -> dict[str, Any]:
    """Predict the nodes of a run on a partitioned graph, or those of another such graph; a part at a time."""
    with ProgressView(first="predicting") as view:
        if parts is None:
            from ..using.partitioned.predict import predict as predicted

            return predicted(run, seed, out, calibrate, view.parts)
        from ..using.partitioned.infer import infer

        return infer(run, seed, out, parts, calibrate, view.parts)
