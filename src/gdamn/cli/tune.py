"""The command ``gdamn tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError
from ..estimators import accuracy
from ..model.metrics import NAMES, score_key
from ..runs.spec import RunSpec, folder_name
from . import display, options, progress
from . import file_options as files
from .parsing import parse_noise, parse_pairs
from .root import app, reporting


@app.command(
    epilog="Example: gdamn tune cora --trials 50 --seeds 4 --jobs 2 --out runs/tune-cora\n\n"
    "gdamn tune nodes.csv --edges edges.csv --label topic --method gcn --range learning_rate=0.001:0.1:log\n\n"
    "gdamn tune cora --space space.toml --time-budget 3600"
)
@reporting()
def tune(
    dataset: options.Graph,
    method: Annotated[str, typer.Option(help="Method whose settings are searched.")] = "gdamn",
    trials: Annotated[int, typer.Option(min=1, help="Finished trials that the search should have in the end.")] = 50,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of every trial.")] = 4,
    jobs: options.TuneJobs = 1,
    threads: options.Threads = None,
    time_budget: options.TimeBudget = None,
    noise: options.Noise = None,
    split: options.Split = None,
    option: options.DataOptions = None,
    space: options.Space = None,
    ranges: options.Ranges = None,
    metric: options.Metric = "accuracy",
    data_root: options.DataRoot = None,
    edges: files.Edges = None,
    label: files.Label = None,
    node_id: files.NodeId = None,
    features: files.Features = None,
    text: files.Text = None,
    weight: files.Weight = None,
    source: files.Source = None,
    target: files.Target = None,
    split_column: files.SplitColumn = None,
    val_share: files.ValShare = None,
    test_share: files.TestShare = None,
    directed: files.Directed = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the search. Default: runs/tune-DATASET-METHOD.")] = None,
) -> None:
    """Search a method's settings on a validation score; a search that was stopped goes on. Test labels stay unread.

    The winner is in best.toml (gdamn train --config takes it), every trial in trials.jsonl. A folder has one search
    at a time.
    """
    from ..runs import tune as tuning
    from ..runs.execution import Execution

    columns = {"label": label, "id": node_id, "features": features, "text": text, "split_column": split_column}
    links = {"edges": edges, "weight": weight, "source": source, "target": target, "directed": directed}
    reading = files.chosen_options(**columns, **links, val_share=val_share, test_share=test_share)
    data_options = parse_pairs("--option", option or []) | files.chosen_options(split=split)
    spec = files.settle(spec_of(dataset, method, seeds, noise, data_options, metric), reading, fresh=True)
    folder = out or Path("runs") / f"tune-{folder_name(dataset)}-{method.replace(':', '-')}"
    execution = Execution(jobs, threads, data_root, time_budget=time_budget)
    with progress.CountView("trials", trials) as view:
        best = tuning.tune(
            *(spec, folder, execution),
            trials=trials,
            space=searched(space, ranges or []),
            report=lambda done, _, value: view.count(done, f"best {100 * value:.2f} %"),
        )
    show_best(best, metric, seeds)
    if best["trials"] < trials:
        display.note(f"The time was over after {best['trials']} of {trials} trials; the same command goes on.")
    display.show_written(folder)
    display.note(f"Train it: gdamn train --config {folder / 'best.toml'} --seeds 20")


def spec_of(
    dataset: str, method: str, seeds: int, noise: str | None, data_options: dict[str, Any], metric: str
) -> RunSpec:
    """The run that every trial is, but for the settings that are searched."""
    values: dict[str, Any] = {"dataset": dataset, "method": method, "seeds": list(range(seeds))}
    values |= {"noise": parse_noise(noise) or 0.0, "options": data_options}
    values |= {"settings": {} if metric == "accuracy" else {"metric": metric}}
    return RunSpec.from_dict(values, "the command line")


def searched(path: Path | None, ranges: list[str]) -> dict[str, Any] | None:
    """The settings that the file and the ranges name; None where neither is given."""
    from ..runs.tune_space import read_range, read_space

    space: dict[str, Any] = {} if path is None else dict(read_space(path))
    for pair in ranges:
        name, values = read_range(pair)
        if name in space:
            raise ConfigError(f"'{name}' is searched twice; give one list or one --range of it.")
        space[name] = values
    return space or None


def show_best(best: dict[str, Any], metric: str, seeds: int) -> None:
    """The settings of the best trial in the terminal."""
    rows = [(name, value) for name, value in best["settings"].items()]
    nodes = accuracy.count_text(best["val_nodes"])
    name = "validation" if metric == "accuracy" else f"validation {NAMES[metric]}"
    title = f"Best of {best['trials']} trials: {name} {100 * best[score_key(metric)]:.2f} %, mean over {seeds} seeds"
    title += f" of {nodes}" if nodes else ""
    display.show_rows(title, ("setting", "value"), rows)
