"""The commands that set methods beside each other: ``gdamn compare`` and ``gdamn reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import display
from .cli import DataRoot, app, parse_pairs, reporting, seed_range
from .errors import ConfigError

if TYPE_CHECKING:
    from .compare.engine import Outcome

Jobs = Annotated[int, typer.Option(help="Processes that fit side by side; the results stay the same.")]
Threads = Annotated[int | None, typer.Option(help="Threads per process. Default: the cores over the jobs.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting of every method that has it, or METHOD.KEY=VALUE of one; may be repeated.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Fit again what --out holds with other settings.")]


@app.command(
    epilog="Example: gdamn compare cora --methods gcn,gat,gdamn --seeds 10 --jobs 2 --out runs/cora\n\n"
    "gdamn compare digits --methods all --noise 1 --seeds 5 --out runs/noisy\n\n"
    "gdamn compare cora --methods gcn,my_module:MyMethod --set epochs=100 --set gcn.hidden=32 --out runs/mine",
)
@reporting()
def compare(
    dataset: Annotated[str, typer.Argument(help="Data set; see: gdamn data list.")],
    methods: Annotated[
        str, typer.Option(help="Names with commas between them (see: gdamn methods), all, or module:Class of your own.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the comparison; what is finished in it isn't fitted again.")],
    seeds: Annotated[int, typer.Option(help="Number of seeds, the same for all methods.")] = 10,
    first_seed: Annotated[int, typer.Option(help="The first seed; the others follow.")] = 0,
    jobs: Jobs = 1,
    threads: Threads = None,
    noise: Annotated[float, typer.Option(help="Plant this many false edges per true edge.")] = 0.0,
    split: Annotated[int | None, typer.Option(help="Split for all seeds, where there are several.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of the data set; may be repeated.")
    ] = None,
    settings: Changes = None,
    data_root: DataRoot = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print compare.json, and nothing else.")] = False,
) -> None:
    """Compare methods on a data set: the same splits and seeds for all, and paired tests against the best.

    Writes compare.json, compare.md, compare.csv and compare.png. A comparison that was stopped goes on with the same
    command; more methods or seeds may be added in the same folder.
    """
    chosen = seed_range(seeds, first_seed, None)
    changed, options = parse_pairs("--set", settings or []), parse_pairs("--option", option or [])
    if split is not None:
        options["split"] = split
    if jobs < 1 or (threads is not None and threads < 1):
        raise ConfigError("--jobs and --threads must be 1 or more.")

    from .compare import engine, report
    from .display_compare import CompareView

    names = engine.method_names(methods)
    specs = engine.make_specs(dataset, names, chosen or (0,), noise=noise, options=options, settings=changed)
    with CompareView() as view:
        outcome = engine.compare(
            specs, out, jobs=jobs, threads=threads, data_root=data_root, force=force, watch=view.watch()
        )
    report.write_all(outcome, out)
    if as_json:
        typer.echo(report.compact_json(outcome.result), nl=False)
        return
    show_outcome(outcome)
    display.note(f"Written to {out}: compare.md, compare.png, compare.csv, compare.json")


def show_outcome(outcome: Outcome) -> None:
    """A finished comparison in the terminal."""
    from .compare import fits, report

    title = f"Methods on {fits.data_name(outcome.result)}"
    names = tuple(report.SHORT.values())
    rows = [[row[at] for at in report.SHORT] for row in report.table_rows(outcome)]
    display.show_rows(title, names, rows, right=names[1:], wrap=False)
    for failure in outcome.result["failed"]:
        display.note(f"{failure['method']} seed {failure['seed']} is not finished: {failure['reason']}")


@app.command(
    epilog="Example: gdamn reproduce table2 --jobs 2 --out runs/table2\n\n"
    "gdamn reproduce table2 --datasets cora,citeseer --methods paper,grand --seeds 5 --out runs/small\n\n"
    "gdamn reproduce table3 --dataset arxiv-2023 --seeds 3 --out runs/table3",
)
@reporting()
def reproduce(
    table: Annotated[str, typer.Argument(help="table2 (five graphs) or table3 (ogbn-arxiv).")],
    out: Annotated[Path, typer.Option(help="Folder of the table; what is finished in it isn't fitted again.")],
    datasets: Annotated[
        str,
        typer.Option(
            "--datasets",
            "--dataset",
            help="Data sets with commas between them. Default: the paper's. Others are shown apart from its numbers.",
        ),
    ] = "",
    methods: Annotated[
        str, typer.Option(help="Methods with commas between them; paper means all rows of the table.")
    ] = "paper",
    seeds: Annotated[int, typer.Option(help="Seeds of every cell.")] = 20,
    coauthor_seeds: Annotated[
        int | None, typer.Option(help="Seeds on the co-author graphs of all but gdamn. Default: as --seeds.")
    ] = None,
    jobs: Jobs = 1,
    threads: Threads = None,
    settings: Changes = None,
    data_root: DataRoot = None,
    force: Force = False,
) -> None:
    """Run a table of the paper again and set our numbers beside the printed ones.

    Writes TABLE.json, TABLE.md and TABLE.csv, and a comparison per data set in a folder of its own. A run that was
    stopped goes on with the same command.
    """
    changed = parse_pairs("--set", settings or [])
    if jobs < 1 or (threads is not None and threads < 1):
        raise ConfigError("--jobs and --threads must be 1 or more.")

    from .experiments import paper, table_report, tables

    chosen = paper.table(table)
    plan = tables.make_plan(chosen, listed(datasets), listed(methods), seeds, coauthor_seeds)

    from .display_compare import CompareView

    with CompareView() as view:
        done = tables.reproduce(
            plan,
            out,
            jobs=jobs,
            threads=threads,
            data_root=data_root,
            settings=changed,
            force=force,
            watch=view.watch,
        )
    rows = [(row["name"], *(table_report.short_text(c) for c in row["cells"].values())) for row in done["rows"]]
    display.show_rows(table_report.title(done), ("method", *plan.datasets), rows, right=plan.datasets, wrap=False)
    display.note(f"Written to {out}: {table}.md, {table}.csv, {table}.json")


def listed(text: str) -> list[str]:
    """The names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
