"""The command ``gdamn train``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..data.files import is_path
from ..errors import ConfigError
from ..fit.domains.ranks import environment
from ..runs.reference import AUTO
from ..runs.spec import folder_name
from ..system.folders import is_parts
from . import display, options, progress
from . import file_options as files
from .parsing import parse_noise, parse_pairs
from .root import app, reporting

if TYPE_CHECKING:
    from ..runs.spec import RunSpec


@app.command(
    epilog="Example: gdamn train cora --seeds 5 --jobs 2 --set epochs=100  ·  "
    "gdamn train nodes.csv --edges edges.csv --label topic  ·  "
    "gdamn train --config runs/cora-gdamn/config.toml",
)
@reporting()
def train(
    dataset: options.Dataset = None,
    method: options.Method = None,
    seeds: options.Seeds = None,
    first_seed: options.FirstSeed = None,
    jobs: options.TrainJobs = 1,
    threads: options.Threads = None,
    workers: options.Workers = 1,
    timeout: options.Timeout = 60.0,
    checkpoint_every: options.CheckpointEvery = None,
    noise: options.Noise = None,
    split: options.Split = None,
    option: options.DataOptions = None,
    decisions: options.Decisions = None,
    device: options.Device = None,
    budget: options.Budget = None,
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
    val_share: files.TrainValShare = None,
    test_share: files.TestShare = None,
    directed: files.Directed = False,
    out: options.RunOut = None,
    settings: options.Settings = None,
    config: options.Config = None,
    reference: options.Reference = True,
    as_json: options.SummaryAsJson = False,
    force: options.ReplaceRun = False,
) -> None:
    """Train a method on a data set with one or more seeds and write models, predictions and a summary."""
    with progress.starting():
        from ..runs import run as runs
        from ..runs.execution import Execution
        from ..runs.ranks import team

    columns = {"label": label, "id": node_id, "features": features, "text": text, "split_column": split_column}
    links = {"edges": edges, "weight": weight, "source": source, "target": target, "directed": directed}
    held_out = {"val_share": val_share, "test_share": test_share}
    changed = parse_pairs("--set", settings or []) | files.chosen_options(device=device, budget=budget)
    data_options = parse_pairs("--option", option or []) | ({} if split is None else {"split": split})
    spec = make_spec(config, dataset, method, seed_range(seeds, first_seed, config), noise, data_options, changed)
    spec = settled(spec, {**columns, **links, **held_out}, dataset is not None, decisions)
    several, own_settings = workers > 1 or environment.is_rank(), bool(settings) or budget is not None
    spec, known = chosen_method(spec, several, own_settings, data_root)
    folder = out or Path("runs") / f"{folder_name(spec.dataset)}-{spec.method}"
    launch_ranks(spec, folder, workers, jobs, timeout)
    threads = threads or environment.threads()
    execution = Execution(jobs, threads, data_root, force, checkpoint_every=checkpoint_every)
    with team.leading(spec, execution, timeout, folder) as group, runs.working_in(folder, "run"):
        with progress.of_run(spec, jobs) as view, progress.compiling(view):
            run = partial(runs.run, spec, folder, execution, group=group, reference=reference and known)
            summary = run(progress=view.update, read_progress=view.reading)
        show_run(summary, folder, data_root, as_json)


def settled(spec: RunSpec, reading: dict[str, Any], fresh: bool, decisions: Path | None) -> RunSpec:
    """The run with the hashes of what it reads: files (:func:`gdamn.cli.file_options.settle`), a log of decisions."""
    from ..runs.decided import with_log

    reading = files.chosen_options(**reading)
    spec = files.settle(spec, reading, fresh=fresh, keep_few=spec.settings.get("beta") != "auto")
    return spec if decisions is None else with_log(spec, decisions)


def launch_ranks(spec: RunSpec, folder: Path, workers: int, jobs: int, timeout: float) -> None:
    """Where several processes are asked for, start this command once for each, and end with their exit code."""
    from ..runs.ranks import launch, team

    if workers > 1 and not environment.is_rank():
        team.check(spec, jobs, timeout)
        raise typer.Exit(launch.start(workers, folder))


def chosen_method(
    spec: RunSpec, several: bool, changed: bool, data_root: Path | None
) -> tuple[RunSpec, dict[str, Any] | bool]:
    """The run, and whether it is compared with simple methods: on a person's own files, in one process.

    With ``--method auto`` the run has the method that was taken, which is said, and the reference is what decided it.

    Args:
        several: several processes train one model.
        changed: settings were named, which not every method has.
    """
    if spec.method != AUTO:
        return spec, not several and is_path(spec.dataset) and not is_parts(spec.dataset)
    from ..runs.reference.of_run import choose_method
    from ..runs.run import load_graph

    if not is_path(spec.dataset):
        raise ConfigError(f"--method auto chooses by your own files; '{spec.dataset}' has a name, so name a method.")
    if several:
        raise ConfigError("--method auto chooses in one process; name a method to train it with several.")
    if changed:
        raise ConfigError("--method auto chooses the settings, too; name a method to change them with --set.")
    chosen, known = choose_method(spec, load_graph(spec, data_root, spec.seeds[0]))
    why = known["gdamn"]["sentence"] if "gdamn" in known else known["notes"][0]
    display.note(f"--method auto takes {chosen.method}. {why}", stderr=True)
    return chosen, known


def show_run(summary: dict[str, Any], folder: Path, data_root: Path | None, as_json: bool) -> None:
    """Print a finished run, and write its page."""
    from ..system.io import to_json
    from .report import report_of_training

    if as_json:
        display.print_json(to_json(summary, indent=2))
    else:
        display.show_summary(summary, str(folder))
    report_of_training(folder, data_root, quiet=as_json)
    if not as_json:
        display.show_written(folder)


def make_spec(
    config: Path | None,
    dataset: str | None,
    method: str | None,
    seeds: tuple[int, ...] | None,
    noise: str | None,
    options: dict[str, Any],
    settings: dict[str, Any],
) -> RunSpec:
    """The run that is asked for: the file's, with what the command line gives in its place.

    The file's settings are those of its method; they are left out when the command line names another one.
    """
    from ..runs.spec import RunSpec, read_toml

    values: dict[str, Any] = {} if config is None else read_toml(config)
    where = "the command line" if config is None else str(config)
    if method is not None and method != values.get("method", method):
        values["settings"] = {}
    for key, value in (("dataset", dataset), ("method", method), ("noise", parse_noise(noise))):
        if value is not None:
            values[key] = value
    if seeds is not None:
        values["seeds"] = list(seeds)
    if "dataset" not in values and config is None:
        raise ConfigError("No data set is named; try: gdamn train cora, or see: gdamn data list.")
    spec = RunSpec.from_dict(values, where)
    if "version" in values:
        spec = spec.as_written()
    return spec.changed(options, settings)


def seed_range(count: int | None, first: int | None, config: Path | None) -> tuple[int, ...] | None:
    """The seeds that the command line asks for; None where it leaves them to the file or the default."""
    if count is None and first is None:
        return None
    if count is None and config is not None:
        from ..runs.spec import RunSpec

        count = len(RunSpec.from_toml(config).seeds)
    return tuple(range(first or 0, (first or 0) + (count or 1)))
