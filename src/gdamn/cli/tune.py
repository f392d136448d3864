"""The command ``gdamn tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..data.files import TABLES
from ..errors import ConfigError
from ..estimators import accuracy
from ..model.metrics import NAMES, score_key
from ..runs.spec import RunSpec, folder_name
from . import display
from .options import DataRoot, Noise
from .parsing import parse_noise
from .root import app, reporting


@app.command(epilog="Example: gdamn tune cora --trials 50 --seeds 4 --out runs/tune-cora")
@reporting()
def tune(
    dataset: Annotated[str, typer.Argument(help="Data set to search on; see: gdamn data list.")],
    method: Annotated[str, typer.Option(help="Method whose settings are searched.")] = "gdamn",
    trials: Annotated[int, typer.Option(min=1, help="Finished trials that the search should have in the end.")] = 50,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of every trial.")] = 4,
    noise: Noise = None,
    space: Annotated[Path | None, typer.Option(help="TOML file with a list of values per setting.")] = None,
    metric: Annotated[
        str, typer.Option(help="Validation score to maximise: accuracy, balanced_accuracy or macro_f1.")
    ] = "accuracy",
    data_root: DataRoot = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the search. Default: runs/tune-DATASET-METHOD.")] = None,
) -> None:
    """Search a method's settings on a validation score; a search that was stopped goes on. Test labels stay unread.

    The winner is in best.toml (gdamn train --config takes it), every trial in trials.jsonl. A folder has one search
    at a time.
    """
    from ..runs import tune as tuning

    if Path(dataset).suffix.lower() in TABLES:
        raise ConfigError(f"gdamn tune reads no tables such as '{dataset}'; save the graph as npz, or name a data set.")
    folder = out or Path("runs") / f"tune-{folder_name(dataset)}-{method}"
    fixed = {} if metric == "accuracy" else {"metric": metric}
    with display.CountView("trials", trials) as view:
        best = tuning.tune(
            RunSpec(dataset, method, tuple(range(seeds)), parse_noise(noise) or 0.0, settings=fixed),
            folder,
            trials=trials,
            space=tuning.read_space(space) if space else None,
            data_root=data_root,
            report=lambda done, _, value: view.count(done, f"best {100 * value:.2f} %"),
        )
    rows = [(name, value) for name, value in best["settings"].items()]
    nodes = accuracy.count_text(best["val_nodes"])
    name = "validation" if metric == "accuracy" else f"validation {NAMES[metric]}"
    title = f"Best of {best['trials']} trials: {name} {100 * best[score_key(metric)]:.2f} %, mean over {seeds} seeds"
    title += f" of {nodes}" if nodes else ""
    display.show_rows(title, ("setting", "value"), rows)
    display.note(f"Written to {folder}; train it: gdamn train --config {folder / 'best.toml'} --seeds 20")
