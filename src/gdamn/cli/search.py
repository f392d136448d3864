"""The commands that run many fits: ``gdamn tune`` and ``gdamn replicate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..data.files import TABLES
from ..errors import ConfigError
from ..estimators import accuracy
from ..runs.spec import RunSpec, data_name
from . import display
from .root import DataRoot, app, reporting


@app.command(epilog="Example: gdamn tune cora --trials 50 --seeds 4 --out runs/tune-cora")
@reporting()
def tune(
    dataset: Annotated[str, typer.Argument(help="Data set to search on; see: gdamn data list.")],
    method: Annotated[str, typer.Option(help="Method whose settings are searched.")] = "gdamn",
    trials: Annotated[int, typer.Option(help="Finished trials that the search should have in the end.")] = 50,
    seeds: Annotated[int, typer.Option(help="Seeds of every trial.")] = 4,
    noise: Annotated[float, typer.Option(help="Plant this many false edges per true edge.")] = 0.0,
    space: Annotated[Path | None, typer.Option(help="TOML file with a list of values per setting.")] = None,
    data_root: DataRoot = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the search. Default: runs/tune-DATASET-METHOD.")] = None,
) -> None:
    """Search a method's settings on validation accuracy; a search that was stopped goes on. Test labels stay unread.

    The winner is in best.toml (gdamn train --config takes it), every trial in trials.jsonl. A folder has one search
    at a time.
    """
    from ..runs import tune as tuning

    if trials < 1 or seeds < 1:
        raise ConfigError("--trials and --seeds must be 1 or more.")
    if Path(dataset).suffix.lower() in TABLES:
        raise ConfigError(f"gdamn tune reads no tables such as '{dataset}'; save the graph as npz, or name a data set.")
    folder = out or Path("runs") / f"tune-{data_name(dataset)}-{method}"
    with display.CountView("trials", trials) as view:
        best = tuning.tune(
            RunSpec(dataset, method, tuple(range(seeds)), noise),
            folder,
            trials=trials,
            space=tuning.read_space(space) if space else None,
            data_root=data_root,
            report=lambda done, _, value: view.count(done, f"best {100 * value:.2f} %"),
        )
    rows = [(name, value) for name, value in best["settings"].items()]
    nodes = accuracy.count_text(best["val_nodes"])
    title = f"Best of {best['trials']} trials: validation {100 * best['val_accuracy']:.2f} %, mean over {seeds} seeds"
    title += f" of {nodes}" if nodes else ""
    display.show_rows(title, ("setting", "value"), rows)
    display.note(f"Written to {folder}; train it: gdamn train --config {folder / 'best.toml'} --seeds 20")


@app.command(epilog="Example: gdamn replicate results/cora-gdamn.json --seeds 2")
@reporting()
def replicate(
    result: Annotated[
        Path, typer.Argument(help="A file of results/, the summary.json of a run, a compare.json or a table's JSON.")
    ],
    method: Annotated[str | None, typer.Option(help="The method, where the file has several.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The data set, where the file has several.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Only the first so many seeds.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes that train seeds side by side.")] = 1,
    data_root: DataRoot = None,
) -> None:
    """Run a published result again from its own settings and compare every seed; exit code 1 where they differ."""
    from ..runs.replicate import replicate as again

    with display.ProgressView() as view:
        rows = again(
            result,
            method=method,
            dataset=dataset,
            most_seeds=seeds,
            jobs=jobs,
            data_root=data_root,
            progress=view.update,
        )
    shown = []
    for row in rows:
        values = (accuracy.short(row[when], row["nodes"]) for when in ("published", "now"))
        shown.append((row["seed"], *values, "yes" if row["same"] else "no"))
    nodes = accuracy.count_text([row["nodes"] for row in rows])
    title = f"Test accuracy{f' on {nodes}' if nodes else ''} (95 % interval), published and now"
    display.show_rows(title, ("seed", "published", "now", "same"), shown)
    if not all(row["same"] for row in rows):
        raise typer.Exit(1)


@app.command(epilog="Example: gdamn results results --write README.md")
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
