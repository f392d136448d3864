"""Published results: the files of ``results/`` as a table, in the terminal or between the markers of a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..report.comparison_files import markdown_table
from ..runs.compare.engine import by_seed
from ..runs.compare.fits import data_name
from ..runs.compare.paired import paired
from ..runs.replicate import is_single, read_results_of
from ..runs.text import p_text, signed, spread_text
from ..system import io
from ..system.folders import MARKER
from ..system.reading import is_folder, read_text
from .paper import printed

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"

COLUMNS = (
    *("data set", "method", "test accuracy", "validation", "seeds", "split", "paper", "seconds a fit"),
    "against the next best",
)

SHORT = (0, 1, 2, 4, 6, 8)
"""The columns that fit into a terminal."""

Result = dict[str, Any]


def read_results(folder: Path) -> list[Result]:
    """Every single run of a folder, by the names of the files; each is a row of the table."""
    return [result for path in _files(folder) for result in read_results_of(path) if is_single(path)]


def read_peers(folder: Path) -> list[Result]:
    """Every result of a folder, those inside comparisons and tables too: what a row is compared with."""
    files = sorted(_files(folder), key=lambda path: not is_single(path))
    return [result for path in files for result in read_results_of(path)]


def _files(folder: Path) -> list[Path]:
    if not is_folder(folder):
        raise DataError(f"There is no folder '{folder}' with results.")
    paths = sorted(path for path in folder.glob("*.json") if path.name != MARKER)
    if not paths:
        raise DataError(f"'{folder}' holds no results (*.json).")
    for path in paths:
        read_results_of(path)  # refuse what isn't a result before anything is shown
    return paths


def table_rows(results: Sequence[Result], peers: Sequence[Result] | None = None) -> list[tuple[str, ...]]:
    """One row per result, in the order of :data:`COLUMNS`; a result is compared with its peers (the results alone)."""
    return [_row(result, results if peers is None else peers) for result in results]


def _row(r: Result, peers: Sequence[Result]) -> tuple[str, ...]:
    name = data_name({**r["config"], "dataset": r["dataset"]})
    paper_number = printed(r["dataset"], r["method"]) if name == r["dataset"] else None
    seconds = r.get("seconds_per_seed")
    return (
        name,
        r["method"],
        spread_text(r["test_accuracy"]),
        spread_text(r["val_accuracy"]),
        str(len(r["test_accuracy"]["per_seed"])),
        _short(r["protocol"]["split"]),
        f"{paper_number.test[0]:g}" if paper_number is not None and paper_number.comparable else "–",
        f"{sum(seconds) / len(seconds):.1f}" if seconds else "–",
        against_next(r, peers),
    )


def against_next(r: Result, peers: Sequence[Result]) -> str:
    """The difference to the next best method and its p-values; a dash where no peer is behind.

    A peer has the same data, split and seeds. The next best is the one with the highest mean that isn't above this one.
    """
    behind = [p for p in peers if is_peer(r, p) and p["test_accuracy"]["mean"] <= r["test_accuracy"]["mean"]]
    if not behind:
        return "–"
    next_best = max(behind, key=lambda p: p["test_accuracy"]["mean"])
    test = paired(by_seed(r), by_seed(next_best))
    if test is None:
        return "–"
    difference = f"{signed(100 * test['difference'])} to {next_best['method']}"
    return f"{difference}, p {p_text(test['t_p'])} (t), {p_text(test['wilcoxon_p'])} (W)"


def is_peer(r: Result, other: Result) -> bool:
    """Whether another method was run on the same data, split and seeds."""

    def where(result: Result) -> tuple[Any, ...]:
        config = result["config"]
        data = (result["dataset"], config.get("noise", 0), config.get("options") or {})
        return (*data, result["protocol"]["split"], result["protocol"]["seeds"])

    comparable = None not in (r["test_accuracy"]["mean"], other["test_accuracy"]["mean"])
    return comparable and other["method"] != r["method"] and where(other) == where(r)


def _short(split: str) -> str:
    return "random, one per seed" if split.startswith("random") else split


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a Markdown table."""
    return markdown_table(COLUMNS, rows)


def write_into(document: Path, table: str) -> None:
    """Replace what stands between the markers of a document by the table."""
    text = read_text(document)
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise DataError(f"'{document}' needs one line '{BEGIN}' and, after it, one line '{END}'.")
    head, tail = text.split(BEGIN)
    io.write_text(document, f"{head}{BEGIN}\n{table}\n{END}{tail.split(END)[1]}")
