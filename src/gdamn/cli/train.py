"""The command ``gdamn train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from ..fit.domains.ranks import environment
from ..runs.spec import data_name
from . import display
from . import file_options as files
from .options import DataRoot
from .parsing import parse_pairs
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
    dataset: Annotated[
        str | None, typer.Argument(help="Data set to train on (see: gdamn data list), or a file with your own graph.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="Method to train; see: gdamn methods. Default: gdamn.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds, one model each. Default: 1.")] = None,
    first_seed: Annotated[int | None, typer.Option(help="The first seed; the others follow. Default: 0.")] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Processes that train seeds side by side; the results stay the same.")
    ] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads per process. Default: the cores over the jobs.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that train one model together; torchrun does it over machines.")
    ] = 1,
    timeout: Annotated[float, typer.Option(help="Seconds that such a process waits for another one.")] = 60.0,
    noise: Annotated[
        float | None, typer.Option(min=0, help="Plant this many false edges per true edge. Default: 0.")
    ] = None,
    split: Annotated[int | None, typer.Option(min=0, help="Split for all seeds, where there are several.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the data set; may be repeated.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Device to train on, such as cpu or cuda.")] = None,
    data_root: DataRoot = None,
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
    out: Annotated[Path | None, typer.Option(help="Folder of the results. Default: runs/DATASET-METHOD.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Repeat the run of this config.toml; options given here count before it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a finished run of another configuration in --out.")
    ] = False,
) -> None:
    """Train a method on a data set with one or more seeds and write models, predictions and a summary."""
    changed = parse_pairs("--set", settings or [])
    if device is not None:
        changed["device"] = device
    options = parse_pairs("--option", option or [])
    if split is not None:
        options["split"] = split
    reading = files.chosen_options(
        edges=edges,
        label=label,
        id=node_id,
        features=features,
        text=text,
        weight=weight,
        source=source,
        target=target,
        split_column=split_column,
        val_share=val_share,
        test_share=test_share,
        directed=directed,
    )
    spec = make_spec(config, dataset, method, seed_range(seeds, first_seed, config), noise, options, changed)
    spec = files.settle(spec, reading, fresh=dataset is not None)
    folder = out or Path("runs") / f"{data_name(spec.dataset)}-{spec.method}"

    from ..runs import run as runs
    from ..runs.ranks import launch, team
    from ..system import folders
    from ..system.io import to_json
    from .report import report_of_training

    if workers > 1 and not environment.is_rank():
        team.check(spec, jobs, timeout)
        raise typer.Exit(launch.start(workers))
    each = threads or environment.threads()

    def lead() -> None:
        folders.check(folder, "run")
        with runs.working_in(folder, "run"):
            with display.ProgressView() as view:
                summary = runs.run(
                    spec,
                    folder,
                    jobs=jobs,
                    threads=each,
                    data_root=data_root,
                    force=force,
                    progress=view.update,
                    read_progress=view.reading,
                )
            if as_json:
                display.print_json(to_json(summary, indent=2))
            else:
                display.show_summary(summary, str(folder))
            report_of_training(folder, data_root, quiet=as_json)

    team.train(lead, spec, data_root, jobs, timeout)


def make_spec(
    config: Path | None,
    dataset: str | None,
    method: str | None,
    seeds: tuple[int, ...] | None,
    noise: float | None,
    options: dict[str, Any],
    settings: dict[str, Any],
) -> RunSpec:
    """The run that is asked for: the file's, with what the command line gives in its place.

    The file's settings are those of its method; they are left out when the command line names another one.
    """
    from ..runs.spec import RunSpec, read_toml

    given: dict[str, Any] = {} if config is None else read_toml(config)
    where = "the command line" if config is None else str(config)
    if method is not None and method != given.get("method", method):
        given["settings"] = {}
    for key, value in (("dataset", dataset), ("method", method), ("noise", noise)):
        if value is not None:
            given[key] = value
    if seeds is not None:
        given["seeds"] = list(seeds)
    if "dataset" not in given and config is None:
        raise ConfigError("No data set is named; try: gdamn train cora, or see: gdamn data list.")
    spec = RunSpec.from_dict(given, where)
    return spec.changed(options, settings)


def seed_range(count: int | None, first: int | None, config: Path | None) -> tuple[int, ...] | None:
    """The seeds that the command line asks for; None where it leaves them to the file or the default."""
    if count is None and first is None:
        return None
    if count is None and config is not None:
        from ..runs.spec import RunSpec

        count = len(RunSpec.from_toml(config).seeds)
    return tuple(range(first or 0, (first or 0) + (count or 1)))
