"""Published results: the files of ``results/`` as a table, in the terminal or between the markers of a document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import io
from .errors import DataError
from .replicate import read_result

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"

PAPER = {"cora": "85.4", "citeseer": "74.4", "pubmed": "80.9", "coauthor-cs": "92.2", "coauthor-physics": "94.3"}
"""Test accuracy of GDAMN that the paper prints, in per cent."""

COLUMNS = ("data set", "method", "test accuracy", "validation", "seeds", "split", "paper", "seconds a fit")


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Every result of a folder, by data set and method."""
    if not folder.is_dir():
        raise DataError(f"There is no folder '{folder}' with results.")
    found = [read_result(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        raise DataError(f"'{folder}' holds no results (*.json).")
    return found


def table_rows(results: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """One row per result, in the order of :data:`COLUMNS`."""
    rows: list[tuple[str, ...]] = []
    for r in results:
        noise = r["config"].get("noise", 0)
        name = r["dataset"] + (f" --noise {noise:g}" if noise else "")
        paper = PAPER.get(name, "–") if r["method"] == "gdamn" else "–"
        seconds = sum(r["seconds_per_seed"]) / len(r["seconds_per_seed"])
        seeds = str(len(r["test_accuracy"]["per_seed"]))
        test, val = _spread(r["test_accuracy"]), _spread(r["val_accuracy"])
        rows.append((name, r["method"], test, val, seeds, _short(r["protocol"]["split"]), paper, f"{seconds:.1f}"))
    return rows


def _spread(accuracy: dict[str, Any]) -> str:
    return f"{100 * accuracy['mean']:.1f} ± {100 * accuracy['std']:.1f}"


def _short(split: str) -> str:
    return "random, one per seed" if split.startswith("random") else split


def markdown(rows: list[tuple[str, ...]]) -> str:
    """The rows as a Markdown table."""
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_into(document: Path, table: str) -> None:
    """Replace what stands between the markers of a document by the table."""
    try:
        text = document.read_text(encoding="utf-8")
    except OSError as cause:
        raise DataError(f"Can't read '{document}': {cause.strerror or cause}.") from None
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise DataError(f"'{document}' needs one line '{BEGIN}' and, after it, one line '{END}'.")
    head, rest = text.split(BEGIN)
    io.write_text(document, f"{head}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}")
