"""The command that sets methods beside each other: ``gdamn compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..system.extras import need
from . import display
from . import file_options as files
from .options import Changes, DataOptions, DataRoot, Jobs, Refit, Split, Threads
from .parsing import parse_pairs
from .root import app, reporting

if TYPE_CHECKING:
    from ..runs.compare.engine import Outcome


@app.command(
    epilog="Example: gdamn compare cora --methods gcn,gat,gdamn --seeds 10 --jobs 2 --out runs/cora\n\n"
    "gdamn compare digits --methods all --noise 1 --seeds 5 --out runs/noisy\n\n"
    "gdamn compare cora --methods gcn,my_module:MyMethod --set epochs=100 --set gcn.hidden=32 --out runs/mine",
)
@reporting()
def compare(
    dataset: Annotated[
        str, typer.Argument(help="Data set; see: gdamn data list. Own files: nodes.csv --option edges=edges.csv …")
    ],
    methods: Annotated[
        str, typer.Option(help="Names with commas between them (see: gdamn methods), all, or module:Class of your own.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the comparison; what is finished in it isn't fitted again.")],
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds, the same for all methods.")] = 10,
    first_seed: Annotated[int, typer.Option(help="The first seed; the others follow.")] = 0,
    jobs: Jobs = 1,
    threads: Threads = None,
    noise: Annotated[float, typer.Option(min=0, help="Plant this many false edges per true edge.")] = 0.0,
    split: Split = None,
    option: DataOptions = None,
    settings: Changes = None,
    data_root: DataRoot = None,
    force: Refit = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print compare.json, and nothing else.")] = False,
) -> None:
    """Compare methods on a data set: the same splits and seeds for all, and paired tests against the highest mean.

    Writes compare.html, compare.json, compare.md, compare.csv and compare.png. A comparison that was stopped goes on
    with the same command; more methods or seeds may be added in the same folder.
    """
    changed, options = parse_pairs("--set", settings or []), parse_pairs("--option", option or [])
    if split is not None:
        options["split"] = split

    from ..report import comparison_files as report
    from ..runs import run as runs
    from ..runs.compare import engine
    from ..runs.execution import Execution
    from .display_compare import CompareView

    need("gdamn compare", "matplotlib")  # before the fits, not after them
    names = engine.method_names(methods)
    seed_range = range(first_seed, first_seed + seeds)
    specs = engine.make_specs(dataset, names, seed_range, noise=noise, options=options, settings=changed)
    specs = [files.settle(spec, {}, fresh=True) for spec in specs]
    with runs.working_in(out, "comparison"):
        with CompareView() as view:
            outcome = engine.compare(specs, out, Execution(jobs, threads, data_root, force), watch=view.watch())
        report.write_all(outcome, out)
    if as_json:
        display.print_json(report.compact_json(outcome.result).rstrip("\n"))
        return
    show_outcome(outcome)
    display.note(f"Written to {out}: compare.html, compare.md, compare.png, compare.csv, compare.json")


def show_outcome(outcome: Outcome) -> None:
    """A finished comparison in the terminal."""
    from ..report import comparison_files as report
    from ..runs import text
    from ..runs.compare import fits
    from ..runs.compare.verdict import wilcoxon_note

    nodes = text.nodes_text(outcome.result)
    title = f"Methods on {fits.data_name(outcome.result)}" + (f", {nodes}" if nodes else "")
    columns = {at: name for at, name in report.SHORT.items() if outcome.result["tests"] or at not in report.TESTED}
    names = tuple(columns.values())
    rows = [[row[at] for at in columns] for row in report.table_rows(outcome)]
    display.show_rows(title, names, rows, right=names[1:], wrap=False)
    if any("test_macro_f1" in r for r in outcome.result["results"]):
        scores = tuple(report.SCORES.values())
        rows = [[row[at] for at in report.SCORES] for row in report.table_rows(outcome)]
        display.show_rows("Scores on test nodes, in per cent", scores, rows, right=scores[1:], wrap=False)
    display.note(outcome.result["verdict"])
    footnote = wilcoxon_note(outcome.result["tests"])
    if footnote is not None:
        display.note(footnote)
    for failure in outcome.result["failed"]:
        display.note(f"{failure['method']} seed {failure['seed']} is not finished: {failure['reason']}")
