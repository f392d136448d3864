"""The page of a figure or table of the paper, measured again: ``fig4.html`` and the like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..report.page import Cell, Table, render
from ..report.svg import cleaned
from ..report.text import link, visible
from ..system import io

FILES = {"json": "everything", "md": "this page as Markdown", "png": "the figure", "svg": "the figure, to be scaled"}


CAPTIONS = ("Summary", "Table of the numbers")


def write(
    content: Mapping[str, Any],
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    out: Path,
    short: tuple[Sequence[str], Sequence[Sequence[object]]] | None = None,
) -> Path:
    """Write the page beside the other files of a target, whose figure is already there.

    Args:
        content: what the target's JSON holds.
        columns, rows: its table.
        short: columns and rows of a shorter table that comes before it.
    """
    from .writing import VERDICTS, how_measured, remarks, warnings, whose

    name = str(content["target"])
    page, figure = out / f"{name}.html", out / f"{name}.svg"
    title = visible(content["title"], 200)
    captions = content.get("captions", CAPTIONS)
    text = render(
        "experiment.html",
        {
            "title": title,
            "warnings": [visible(line, 500) for line in warnings(content)],
            "measured": visible(how_measured(content["protocol"]), 2000),
            "claims": [
                {"paper": visible(c["paper"], 2000), "verdict": VERDICTS[c["agrees"]], "ours": visible(c["ours"], 2000)}
                for c in content["claims"]
            ],
            "whose": whose(content),
            "remarks": [visible(remark, 2000) for remark in remarks(content)],
            "figure": cleaned(figure.read_bytes(), name, title),
            "summary": None if short is None else as_table(captions[0], *short),
            "table": as_table(captions[1], columns, rows),
            "files": [(link(out / f"{name}.{kind}", page), f"{name}.{kind}", what) for kind, what in FILES.items()],
        },
    )
    io.write_text(page, text)
    return page


def as_table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table for the page."""
    return Table(caption, columns, [[cell(value) for value in row] for row in rows], numeric(columns, rows))


def cell(value: object) -> Cell:
    """A cell, sorted by the number that it begins with, where it does."""
    first = leading_number(value)
    text = visible(value)
    return (text, text if first is None else first)


def numeric(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """The columns whose cells are all numbers or empty."""
    names = []
    for at, name in enumerate(columns):
        values = [row[at] for row in rows if str(row[at]).strip() not in {"", "–", "-"}]
        if at and values and all(leading_number(value) is not None for value in values):
            names.append(name)
    return names


def leading_number(value: object) -> float | None:
    """The number at the beginning of a text such as ``83.9 ± 0.6``."""
    first = str(value).replace(",", "").replace("−", "-").split(maxsplit=1)[:1]
    try:
        return float(first[0].rstrip("%")) if first else None
    except ValueError:
        return None
