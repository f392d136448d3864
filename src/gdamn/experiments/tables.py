"""``gdamn reproduce``: a table of the paper, run again cell by cell, ours beside the printed numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import ConfigError, NothingFinishedError
from ..report import comparison_files as report
from ..runs import run as runs
from ..runs.compare import engine
from ..runs.compare.published import read_published, take_over
from ..runs.execution import DEFAULT, Execution
from ..runs.spec import RunSpec
from ..runs.store import Store
from ..system import folders
from .paper import PaperTable, Row

SEEDS = 20
"""Seeds of the paper."""

NEAR = 1.0
"""A difference of more points than this is marked."""

KINDS = ("html", "md", "csv", "json")
"""The files of a table."""

MAIN = "gdamn"
"""The method that has all seeds everywhere."""


@dataclass(frozen=True)
class Plan:
    """What is run for a table: its rows, the data sets, how many seeds each cell has, and changed settings.

    Fits of the same settings that the files ``published`` have are not run again.
    """

    table: PaperTable
    rows: tuple[Row, ...]
    datasets: tuple[str, ...]
    seeds: int = SEEDS
    coauthor_seeds: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    published: tuple[Path, ...] = ()

    def seeds_of(self, method: str, dataset: str) -> range:
        """The seeds of a cell: fewer on the co-author graphs, where that is asked for, except for GDAMN."""
        fewer = self.coauthor_seeds is not None and dataset.startswith("coauthor-") and method != MAIN
        return range(self.coauthor_seeds if fewer and self.coauthor_seeds else self.seeds)

    def empty(self, row: Row, dataset: str) -> str | None:
        """Why a cell is not run; None where it is."""
        from ..estimators.registry import METHODS

        if row.method not in METHODS:
            return f"this version has no method '{row.method}'"
        if row in self.table.rows and dataset in self.table.datasets and dataset not in row.cells:
            return "the paper prints no number here"
        return None


def make_plan(
    table: PaperTable,
    datasets: Sequence[str],
    methods: Sequence[str],
    seeds: int = SEEDS,
    coauthor_seeds: int | None = None,
) -> Plan:
    """Check what is asked for. ``paper`` among the methods stands for all rows of the table; others are added below.

    Data sets that the paper's table doesn't have may be named: their numbers are shown apart, without the paper's.
    """
    from ..estimators.registry import METHODS

    if seeds < 1 or (coauthor_seeds is not None and coauthor_seeds < 1):
        raise ConfigError("--seeds and --coauthor-seeds must be 1 or more.")
    dataset_names = tuple(dict.fromkeys(name.strip().lower().replace("_", "-") for name in datasets)) or table.datasets
    known = {row.method: row for row in table.rows}
    names = [m for name in methods or ["paper"] for m in (known if name == "paper" else [name])]
    for name in dict.fromkeys(names):
        if name not in known:
            engine.method_names(name)
    chosen = set(names)
    rows = [row for row in table.rows if row.method in chosen]
    rows += [Row(name, name, {}) for name in dict.fromkeys(names) if name not in known]
    plan = Plan(table, tuple(rows), dataset_names, seeds, coauthor_seeds)
    if all(plan.empty(row, dataset) for row in rows for dataset in dataset_names):
        lacking = sorted(chosen - set(METHODS))
        raise ConfigError(f"There is nothing to run: this version has no method {', '.join(lacking) or names[0]}.")
    return plan


def reproduce(
    plan: Plan,
    out: Path,
    execution: Execution = DEFAULT,
    *,
    finished: bool = False,
    watch: Callable[[], engine.Watch] | None = None,
) -> dict[str, Any]:
    """Compare the rows on each data set in a folder of its own, and write the table after each of them.

    With ``finished`` nothing is run: the table has the seeds that are finished, cell by cell.
    """
    from .table_report import write_all

    folders.check(out, "reproduction")
    specs = {dataset: make_specs(plan, dataset) for dataset in plan.datasets}
    if plan.published:
        take_over_published(plan.published, specs, out)
    if finished:
        specs = {dataset: finished_of(dataset_specs, out / dataset) for dataset, dataset_specs in specs.items()}
        if not any(specs.values()):
            raise NothingFinishedError(f"No fit of these in '{out}' is finished; leave --finished out to run them.")
    elif len(plan.datasets) > 1:
        check_data(plan.datasets, execution.data_root)
    comparisons: dict[str, dict[str, Any]] = {}
    table: dict[str, Any] = {}
    with runs.working_in(out, "reproduction"):
        Store(out).remove_leftovers(f"{plan.table.name}.{kind}" for kind in KINDS)
        for dataset, dataset_specs in specs.items():
            if dataset_specs:
                comparisons[dataset] = compared(dataset_specs, out / dataset, execution, watch() if watch else None)
            table = assemble(plan, comparisons)
            write_all(table, out)
    return table


def take_over_published(paths: Sequence[Path], specs: Mapping[str, Sequence[RunSpec]], out: Path) -> None:
    """Keep published fits in the folder of each data set's comparison."""
    results = read_published(paths)
    with runs.working_in(out, "reproduction"):
        for dataset, dataset_specs in specs.items():
            known = [result for result in results if result["dataset"] == dataset]
            if known and dataset_specs:
                with runs.working_in(out / dataset, "comparison"):
                    take_over(known, dataset_specs, out / dataset)


def compared(specs: Sequence[RunSpec], out: Path, execution: Execution, watch: engine.Watch | None) -> dict[str, Any]:
    """The rows on one data set, with the files of their comparison; the reason where none could be fitted."""
    with runs.working_in(out, "comparison"):
        try:
            outcome = engine.compare(specs, out, execution, watch=watch)
        except NothingFinishedError as problem:
            return {"results": [], "tests": {}, "failed": [], "reason": str(problem)}
        report.write_all(outcome, out)
        return outcome.result


def make_specs(plan: Plan, dataset: str) -> list[RunSpec]:
    """The runs of a data set."""
    names = [row.method for row in plan.rows if plan.empty(row, dataset) is None]
    if not names:
        return []
    specs = engine.make_specs(dataset, names, range(plan.seeds), settings=plan.settings)
    return [replace(spec, seeds=tuple(plan.seeds_of(spec.method, dataset))) for spec in specs]


def finished_of(specs: Sequence[RunSpec], folder: Path) -> list[RunSpec]:
    """The runs that have finished seeds, with these; fits of other settings don't count."""
    specs = [spec.resolved() for spec in specs]
    records = engine.find_finished(Store(folder), specs, force=True)
    seeds = [tuple(seed for seed in spec.seeds if (spec.method, seed) in records) for spec in specs]
    return [replace(spec, seeds=chosen) for spec, chosen in zip(specs, seeds, strict=True) if chosen]


def check_data(datasets: Sequence[str], data_root: Path | None) -> None:
    """Load every data set once: a missing file should be an error now, not after hours of fits."""
    from .. import data

    for dataset in datasets:
        data.load(dataset, data_root=data_root)


def assemble(plan: Plan, comparisons: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The content of ``table2.json``: a cell per row and data set, and the comparisons behind them."""
    rows = [
        {
            "name": row.name,
            "method": row.method,
            "cells": {dataset: cell(plan, row, dataset, comparisons.get(dataset)) for dataset in plan.datasets},
        }
        for row in plan.rows
    ]
    return {
        "kind": "table",
        "table": plan.table.name,
        "title": plan.table.title,
        "unit": "per cent; differences in points, ours minus the paper's",
        "changed_settings": dict(plan.settings),
        "not_in_the_paper": [dataset for dataset in plan.datasets if dataset not in plan.table.datasets],
        "rows": rows,
        "comparisons": {dataset: dict(result) for dataset, result in comparisons.items()},
    }


def cell(plan: Plan, row: Row, dataset: str, compared: Mapping[str, Any] | None) -> dict[str, Any]:
    """Our number, the paper's and the difference; or the reason why there is none of ours."""
    content: dict[str, Any] = {}
    printed = row.cells.get(dataset)
    if printed is not None:
        content["paper"] = {
            "test": list(printed.test),
            "val": list(printed.val),
            "source": printed.source,
            "comparable": printed.comparable,
            "note": printed.note,
        }
    reason = plan.empty(row, dataset) or ("not run yet" if compared is None else None)
    if reason is not None or compared is None:
        return {**content, "empty": reason}
    result = next((r for r in compared["results"] if r["method"] == row.method), None)
    if result is None or result["test_accuracy"]["mean"] is None:
        why = next((f["reason"] for f in compared["failed"] if f["method"] == row.method), compared.get("reason"))
        return {**content, "empty": why or ("the data set has no test nodes" if result else "not run yet")}
    content["test"], content["val"] = (
        [round(100 * a["mean"], 3), round(100 * a["std"], 3)] if a["mean"] is not None else []
        for a in (result["test_accuracy"], result["val_accuracy"])
    )
    content["seeds"] = len(result["protocol"]["seeds"])
    if printed is not None:
        content["difference"] = round(content["test"][0] - printed.test[0], 3)
        content["near"] = abs(content["difference"]) <= NEAR
    return content
