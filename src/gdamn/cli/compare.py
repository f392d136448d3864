"""The command that sets methods beside each other: ``gdamn compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ConfigError
from ..system.extras import need
from . import display, progress
from . import file_options as files
from .options import Changes, DataOptions, DataRoot, Jobs, Noise, Refit, Split, Threads, TimeBudget
from .parsing import parse_noise, parse_pairs
from .root import app, reporting

if TYPE_CHECKING:
    from ..runs.compare.engine import Outcome
    from ..runs.execution import Execution
    from ..runs.spec import RunSpec


Methods = Annotated[
    str, typer.Option(help="Names with commas between them (see: gdamn methods), all, or module:Class of your own.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder; what is finished in it isn't fitted again. Default: runs/DATASET-compare, under noise -noise."
    ),
]
Seeds = Annotated[int, typer.Option(min=1, help="Number of seeds, the same for all methods.")]
FirstSeed = Annotated[int, typer.Option(help="The first seed; the others follow.")]
NoiseKinds = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help="Compare under noise: these kinds, or all, at several rates (docs/noise.md)."),
]
Rates = Annotated[
    str, typer.Option(metavar="0,0.2,…", help="Of --noise-kinds: rates, the same for all kinds. Default: each kind's.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print compare.json (noise.json), and nothing else.")]


@app.command(
    epilog="Example: gdamn compare cora --methods gcn,gat,gdamn --seeds 10 --jobs 2 --out runs/cora\n\n"
    "gdamn compare digits --methods all --noise 1 --seeds 5 --out runs/noisy\n\n"
    "gdamn compare nodes.csv --edges edges.csv --label topic --test-share 0.2 --methods gcn,gdamn --out runs/files\n\n"
    "gdamn compare nodes.csv --edges edges.csv --label topic --methods gcn,gdamn --noise-kinds inter,remove\n\n"
    "gdamn compare cora --methods gcn,my_module:MyMethod --set epochs=100 --set gcn.hidden=32 --out runs/mine",
)
@reporting()
def compare(
    dataset: Annotated[str, typer.Argument(help="Data set (see: gdamn data list), or a file with your own graph.")],
    methods: Methods,
    out: Out = None,
    seeds: Seeds = 10,
    first_seed: FirstSeed = 0,
    jobs: Jobs = 1,
    threads: Threads = None,
    time_budget: TimeBudget = None,
    noise: Noise = None,
    noise_kinds: NoiseKinds = None,
    rates: Rates = "",
    split: Split = None,
    option: DataOptions = None,
    settings: Changes = None,
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
    force: Refit = False,
    as_json: AsJson = False,
) -> None:
    """Compare methods on a data set: the same splits and seeds for all, and paired tests against the highest mean.

    Writes compare.html, compare.json, compare.md, compare.csv and compare.png; with --noise-kinds noise.html and the
    like. A comparison that was stopped goes on with the same command; more methods or seeds may be added in the same
    folder.
    """
    columns = {"label": label, "id": node_id, "features": features, "text": text, "split_column": split_column}
    links = {"edges": edges, "weight": weight, "source": source, "target": target, "directed": directed}
    reading = files.chosen_options(**columns, **links, val_share=val_share, test_share=test_share)
    options = parse_pairs("--option", option or []) | files.chosen_options(split=split)
    changed = parse_pairs("--set", settings or [])
    check_noise(noise, noise_kinds, rates)

    with progress.starting():
        from ..runs.compare import engine
        from ..runs.execution import Execution
        from .compare_noise import compare_under_noise, with_test_nodes

    need("gdamn compare", "matplotlib")  # before the fits, not after them
    names, execution = engine.method_names(methods), Execution(jobs, threads, data_root, force, time_budget)
    seed_range = range(first_seed, first_seed + seeds)
    disturbed = parse_noise(noise) or 0.0
    specs = engine.make_specs(dataset, names, seed_range, noise=disturbed, options=options, settings=changed)
    if noise_kinds is not None:
        spec = files.settle(specs[0], with_test_nodes(specs[0], reading), fresh=True)
        compare_under_noise(spec, names, (noise_kinds, rates), changed, out, execution, as_json)
        return
    compare_once([files.settle(spec, reading, fresh=True) for spec in specs], out, execution, as_json)


def check_noise(noise: str | None, noise_kinds: str | None, rates: str) -> None:
    """Refuse options that don't go together."""
    if noise_kinds is None and rates:
        raise ConfigError("--rates belongs to --noise-kinds; name the kinds, or give --noise KIND:RATE.")
    if noise_kinds is not None and noise is not None:
        raise ConfigError("--noise is one noise, --noise-kinds are several; give one of them.")


def compare_once(specs: list[RunSpec], out: Path | None, execution: Execution, as_json: bool) -> None:
    """Compare methods on one graph per seed, write the files and show them."""
    from ..report.comparison_files import compact_json
    from ..runs.spec import folder_name

    folder = out or Path("runs") / f"{folder_name(specs[0].dataset)}-compare"
    outcome = fitted_and_written(specs, folder, execution)
    if as_json:
        display.print_json(compact_json(outcome.result).rstrip("\n"))
        return
    show_outcome(outcome)
    display.note(f"Written to {folder}: compare.html, compare.md, compare.png, compare.csv, compare.json")


def fitted_and_written(specs: list[RunSpec], out: Path, execution: Execution) -> Outcome:
    """The comparison, with a table that fills as fits end, and its files in the folder."""
    from ..report.comparison_files import write_all
    from ..runs import run as runs
    from ..runs.compare import engine
    from .display_compare import CompareView

    with runs.working_in(out, "comparison"):
        with CompareView() as view:
            outcome = engine.compare(specs, out, execution, watch=view.watch())
        write_all(outcome, out)
    return outcome


def show_outcome(outcome: Outcome) -> None:
    """A finished comparison in the terminal."""
    from ..report import comparison_files as report
    from ..runs import text
    from ..runs.compare import fits
    from ..runs.compare.verdict import left_note, wilcoxon_note

    nodes = text.nodes_text(outcome.result)
    title = f"Methods on {fits.data_name(outcome.result)}" + (f", {nodes}" if nodes else "")
    columns = {at: name for at, name in report.SHORT.items() if outcome.result["tests"] or at not in report.TESTED}
    names = tuple(columns.values())
    rows = [[row[at] for at in columns] for row in report.table_rows(outcome)]
    best = [[display.good(cell) if row[0] == outcome.result["best"] else cell for cell in row] for row in rows]
    display.show_rows(title, names, best, right=names[1:], wrap=False)
    if any("test_macro_f1" in r for r in outcome.result["results"]):
        scores = tuple(report.SCORES.values())
        rows = [[row[at] for at in report.SCORES] for row in report.table_rows(outcome)]
        display.show_rows("Scores on test nodes, in per cent", scores, rows, right=scores[1:], wrap=False)
    display.sentence(outcome.result["verdict"])
    for footnote in (wilcoxon_note(outcome.result["tests"]), left_note(outcome.result)):
        if footnote is not None:
            display.sentence(footnote)
    for failure in outcome.result["failed"]:
        display.warning(f"{failure['method']} seed {failure['seed']} is not finished: {failure['reason']}")
