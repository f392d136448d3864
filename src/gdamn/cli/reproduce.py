"""The command ``gdamn reproduce``: the tables, figures and statements of the paper, run again beside its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..estimators import accuracy
from ..system.extras import need
from . import display, progress
from .options import Changes, DataRoot, Jobs, Refit, Threads
from .parsing import listed, parse_pairs, parse_rates
from .root import app, reporting

if TYPE_CHECKING:
    from ..experiments.every import Options
    from ..experiments.experiment import Watch

OUT = Path("runs") / "reproduce"

TargetName = Annotated[
    str,
    typer.Argument(
        help="table1, table2, table3, fig1a, fig1b, fig4, fig5, fig6, ablation, time, convergence, or all of them; "
        "noise is an experiment of our own."
    ),
]
TargetOut = Annotated[
    Path | None,
    typer.Option(help="Folder of the target; what is finished in it isn't done again. Default: runs/reproduce/TARGET."),
]
Datasets = Annotated[
    str,
    typer.Option(
        "--datasets",
        "--dataset",
        help="Data sets with commas between them. Default: the paper's. Others are shown apart from its numbers.",
    ),
]
Methods = Annotated[
    str, typer.Option(help="Of table2, table3 and noise: methods with commas between them; paper means all rows.")
]
Kinds = Annotated[str, typer.Option(help="Of noise: kinds with commas between them. Default: all (docs/noise.md).")]
Rates = Annotated[
    str, typer.Option(help="Of noise: rates with commas between them, the same for all kinds. Default: each kind's.")
]
Seeds = Annotated[int | None, typer.Option(min=1, help="Seeds. Default: the paper's 20 (time: 3, noise: 5).")]
CoauthorSeeds = Annotated[
    int | None,
    typer.Option(min=1, help="Of table2: seeds on the co-author graphs of all but gdamn. Default: as --seeds."),
]
Finished = Annotated[
    bool, typer.Option("--finished", help="Of table2 and table3: run nothing, show what is finished by now.")
]

Published = Annotated[
    list[Path] | None,
    typer.Option(help="Of table2 and table3: published results whose fits aren't run again; may be repeated."),
]


@app.command(
    epilog="Example: gdamn reproduce fig1a --seeds 5\n\n"
    "gdamn reproduce table2 --datasets cora,citeseer --methods paper,grand --seeds 5 --out runs/small\n\n"
    "gdamn reproduce table3 --dataset arxiv-2023 --seeds 3\n\n"
    "gdamn reproduce noise --kinds inter,remove --rates 0,0.2,0.4 --methods gcn,gdamn --seeds 3\n\n"
    "gdamn reproduce all --jobs 2",
)
@reporting()
def reproduce(
    target: TargetName,
    out: TargetOut = None,
    datasets: Datasets = "",
    methods: Methods = "paper",
    seeds: Seeds = None,
    coauthor_seeds: CoauthorSeeds = None,
    kinds: Kinds = "",
    rates: Rates = "",
    finished: Finished = False,
    published: Published = None,
    jobs: Jobs = 1,
    threads: Threads = None,
    settings: Changes = None,
    data_root: DataRoot = None,
    force: Refit = False,
) -> None:
    """Run a table or figure of the paper again, and set ours beside it; all does everything that the paper has.

    Writes TARGET.json, TARGET.md, TARGET.png and TARGET.svg (tables: TARGET.html and TARGET.csv, and a comparison per
    data set). What was stopped goes on with the same command.
    """
    changed = parse_pairs("--set", settings or [])

    from ..experiments import every, targets
    from ..runs.execution import Execution

    need("gdamn reproduce", "matplotlib")  # before the fits, not after them
    options = every.Options(
        datasets=listed(datasets),
        methods=listed(methods),
        seeds=seeds,
        coauthor_seeds=coauthor_seeds,
        settings=changed,
        kinds=listed(kinds),
        rates=parse_rates(rates),
        finished=finished,
        published=tuple(published or ()),
        execution=Execution(jobs, threads, data_root, force),
    )
    if target.strip().lower() == targets.ALL:
        reproduce_all(options, out or OUT)
        return
    chosen = targets.find(target)
    folder = out or OUT / chosen.name
    show(reproduce_one(chosen, options, folder), folder)


def reproduce_one(target: Any, options: Options, folder: Path) -> dict[str, Any]:
    """Run a target with its progress."""
    from ..experiments import every, experiment

    if target.is_table:
        from .display_compare import CompareView

        with CompareView() as compare_view:
            return every.run_table(target, options, folder, compare_view.watch)
    ask = every.ask_for(target, options)
    with UnitView(target.name) as view:
        return experiment.run(target, ask, folder, options.execution, watch=view.watch())


def reproduce_all(options: Options, folder: Path) -> None:
    """Run every target that has its data, one after the other, and list what agrees with the paper."""
    from ..experiments import every
    from ..runs import run as runs
    from ..system import io

    todo, left_out = every.plan_all(options)
    done: dict[str, dict[str, Any]] = {}
    for name, reason in left_out.items():
        display.note(f"{name} is left out: {reason}", stderr=True)
    with runs.working_in(folder, "reproduction"):
        for kind in ("md", "json"):
            io.remove_leftovers(folder / f"all.{kind}")
        for at, (target, target_options) in enumerate(todo, 1):
            display.note(f"{at} of {len(todo)}: {target.name}, {target.title}", stderr=True)
            done[target.name] = reproduce_one(target, target_options, folder / target.name)
            every.write_overview(done, left_out, folder)
    rows = every.overview_rows(done)
    display.show_rows("The paper's statements", ("target", "our numbers", "what they say"), rows)
    display.note(f"Written to {folder}: all.md, all.json, and a folder per target")


def show(content: Mapping[str, Any], folder: Path) -> None:
    """A finished target in the terminal."""
    if content["kind"] == "table":
        from ..experiments import table_report

        names = tuple(name.replace("-", "-\n", 1) for name in content["rows"][0]["cells"])
        brief = display.width() < 30 + 14 * len(names)
        rows = [
            (row["name"], *(table_report.short_text(cell, brief) for cell in row["cells"].values()))
            for row in content["rows"]
        ]
        display.show_rows(table_report.title(content), ("method", *names), rows, right=names, wrap=False)
        if any("difference" in cell for row in content["rows"] for cell in row["cells"].values()):
            display.note("▲ and ▼: more than one point above or below the paper's number.")
        files = ("html", "md", "csv", "json")
        name = content["table"]
    else:
        from ..experiments import targets, writing

        name = content["target"]
        target = targets.find(name)
        columns, cells = target.experiment().table(content)
        short = writing.summary_of(target, content)
        if short is None:
            display.show_rows(content["title"], columns, cells, right=columns[1:])
        else:
            show_wide(content["captions"][1], columns, cells, keys=2)
            show_wide(content["captions"][0], short[0], short[1], keys=1)
        for line in (*writing.warnings(content), *content.get("left_out", ())):
            display.note(line)
        for claim in content["claims"]:
            verdict = writing.VERDICTS[claim["agrees"]]
            display.note(f"{writing.whose(content)} that {claim['paper']}. Our numbers {verdict}: {claim['ours']}.")
        files = ("md", "png", "svg", "json") if short is None else ("html", "md", "png", "json")
    display.note(f"Written to {folder}: {', '.join(f'{name}.{kind}' for kind in files)}")


def show_wide(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], keys: int) -> None:
    """A table of many columns: where the terminal is too narrow for them, without deviations, and in several parts.

    Args:
        keys: columns that each part has, the first ones.
    """

    def widths() -> list[int]:
        return [3 + max(map(len, column)) for column in zip(columns, *rows, strict=True)]

    if sum(widths()) > display.width():
        rows = [[re.sub(r" ± \d+\.\d+", "", cell) for cell in row] for row in rows]
    parts: list[list[int]] = [[]]
    room = display.width() - sum(widths()[:keys])
    for at, width in list(enumerate(widths()))[keys:]:
        if parts[-1] and sum(widths()[other] for other in parts[-1]) + width > room:
            parts.append([])
        parts[-1].append(at)
    for part in parts:
        shown = [*range(keys), *part]
        names = [columns[at] for at in shown]
        display.show_rows(title, names, [[row[at] for at in shown] for row in rows], right=names[1:], wrap=False)


class UnitView(progress.CountView):
    """One bar that counts the units of a target; on a terminal it tells what is being fitted, too."""

    def __init__(self, name: str) -> None:
        super().__init__(name, 0)
        self._done = 0

    def watch(self) -> Watch:
        """The calls that an experiment makes."""
        from ..experiments.experiment import Watch

        return Watch(self.begin, self.epoch if self._bars is not None else None, self.finished)

    def begin(self, done: int, total: int) -> None:
        """So many were finished before."""
        self._done, self.total = done, total
        if done or self._bars is not None:
            self.count(done, "finished before" if done else "begins")

    def epoch(self, task: Any, phase: str, epoch: int, epochs: int, record: Mapping[str, Any]) -> None:
        """An epoch of a unit is done; only a terminal shows it."""
        self.count(self._done, f"{task[0]}, seed {task[1]} · {phase} {epoch + 1}/{epochs}")

    def finished(self, task: Any, result: Mapping[str, Any]) -> None:
        """A unit is done."""
        self._done += 1
        value = result.get("test_accuracy")
        accuracy_text = f", test {accuracy.full(value, result.get('test_nodes'))}" if isinstance(value, float) else ""
        self.count(self._done, f"{task[0]}, seed {task[1]}{accuracy_text}")
