"""The command ``gdamn``: reads options, calls the package, shows results.

Nothing heavy is imported before a command needs it, so that ``gdamn --help`` answers at once. An error that the
package raises on purpose becomes one line on stderr and exit code 2; Ctrl-C becomes one line and exit code 130.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..data import progress
from ..errors import ConfigError, GdamnError
from ..fit.domains.ranks import environment
from ..runs.spec import data_name
from ..system.reading import has_raw_bytes
from ..system.versions import __version__
from . import display, streams
from . import file_options as files
from .parsing import App, parse_pairs

if TYPE_CHECKING:
    from ..runs.spec import RunSpec

app = App(
    help="Node classification on noisy graphs with Graph Decoupling Attention Markov Networks.",
    epilog="Example: gdamn train cora --seeds 5",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = App(help="List, describe and fetch data sets.", epilog="Example: gdamn data list", no_args_is_help=True)
app.add_typer(data_app, name="data")

DataRoot = Annotated[
    Path | None,
    typer.Option(help="Folder of the data files; without it the environment variable GDAMN_DATA, then a cache."),
]


@contextmanager
def reporting() -> Iterator[None]:
    """Turn what may go wrong into one line and an exit code; used as a decorator of every command."""
    try:
        yield
    except GdamnError as problem:
        display.error(str(problem))
        raise typer.Exit(2) from None
    except KeyboardInterrupt as problem:
        display.note(str(problem) or "stopped", stderr=True)
        raise typer.Exit(130) from None
    except Exception as problem:
        from ..system.memory import shortage

        told = shortage(problem) or unusable(problem)
        if told is None:
            raise
        display.error(str(told))
        raise typer.Exit(2) from None


def unusable(problem: Exception) -> str | None:
    """The sentence for a file or folder that the system refuses, or can't name; None for every other problem."""
    if isinstance(problem, UnicodeEncodeError) and has_raw_bytes(str(problem.object)):
        return "A name has characters that this locale doesn't know; set PYTHONUTF8=1, or rename the file."
    if not isinstance(problem, OSError) or problem.filename is None:
        return None
    return f"Can't use '{os.fsdecode(problem.filename)}': {problem.strerror or problem}."


def show_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        typer.echo(f"gdamn {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Node classification on noisy graphs with Graph Decoupling Attention Markov Networks."""


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
    reading = files.given(
        edges, label, node_id, features, text, weight, source, target, split_column, val_share, test_share, directed
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
            with display.ProgressView() as view, progress.listening(view.reading):
                summary = runs.run(
                    spec, folder, jobs=jobs, threads=each, data_root=data_root, force=force, progress=view.update
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


@app.command(epilog="Example: gdamn methods")
@reporting()
def methods() -> None:
    """List the methods that can be trained."""
    from ..estimators.registry import METHODS

    rows = [(method.name, method.summary, method.reference) for method in METHODS.values()]
    display.show_rows("Methods", ("method", "what it is", "reference"), rows)


@app.command(epilog="Example: gdamn demo")
@reporting()
def demo() -> None:
    """Show in a minute how a noisy graph is cleaned; needs no download and writes no files."""
    from .demo import run_demo

    run_demo()


@data_app.command("list", epilog="Example: gdamn data list")
@reporting()
def data_list() -> None:
    """List the data sets."""
    from ..data import DATASETS

    rows = [
        (info.name, _count(info.nodes), _count(info.edges), info.split, info.description) for info in DATASETS.values()
    ]
    columns = ("name", "nodes", "edges", "split", "description")
    display.show_rows("Data sets", columns, rows, right=("nodes", "edges"))


def _count(number: int | None) -> str:
    return "any" if number is None else f"{number:,}"


@data_app.command("info", epilog="Example: gdamn data info digits")
@reporting()
def data_info(
    name: Annotated[str, typer.Argument(help="Data set; see: gdamn data list.")], data_root: DataRoot = None
) -> None:
    """Load a data set and show its facts."""
    from ..data import load
    from ..runs.run import split_text

    graph = load(name, data_root=data_root)
    display.show_graph(graph, split_text(graph.meta["dataset"], [graph.meta.get("split")]))


@data_app.command("get", epilog="Example: gdamn data get cora")
@reporting()
def data_get(
    name: Annotated[str, typer.Argument(help="Data set; see: gdamn data list.")], data_root: DataRoot = None
) -> None:
    """Fetch and check the files of a data set, so that later runs need no network."""
    from ..data import load

    graph = load(name, data_root=data_root)
    display.note(f"{graph.name} is ready: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges.")


def main() -> None:
    """Entry of the command."""
    from . import compare, convert, doctor, inspect, report, reproduce, search, using  # noqa: F401 - their commands

    streams.prepare()
    try:
        with streams.told():
            app(prog_name="gdamn")
    except SystemExit as ended:
        from ..runs.ranks import launch

        if ended.code == 130 or environment.is_rank():
            # All that was open is put away. After Ctrl-C the libraries' own farewell would take seconds, and where
            # ranks are connected torch's threads may still run, which would end a good run with SIGABRT.
            launch.end_at_once(ended.code if isinstance(ended.code, int) else bool(ended.code))
        raise
