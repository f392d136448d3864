"""The page of a table of the paper, run again: ``table2.html`` and the like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..report.page import Cell, Table, render
from ..report.text import link, visible
from ..system import io
from . import table_report
from .paper import elsewhere


def write(table: Mapping[str, Any], out: Path) -> Path:
    """Write the page beside the table's other files."""
    name = str(table["table"])
    page = out / f"{name}.html"
    others: list[str] = table["not_in_the_paper"]
    shared = [dataset for dataset in table["rows"][0]["cells"] if dataset not in others]
    groups: list[tuple[str, str, list[str]]] = [("", "", shared)] if shared else []
    groups += [(f"On {visible(d)}, which is not the paper's graph", elsewhere(d), [d]) for d in others]
    changed = ", ".join(f"{visible(key)} = {visible(value)}" for key, value in table["changed_settings"].items())
    text = render(
        "table.html",
        {
            "title": visible(table_report.title(table), 200),
            "legend": table_report.LEGEND,
            "changed": changed,
            "groups": [
                {
                    "heading": heading,
                    "remark": remark,
                    "table": cells_table(table, datasets),
                    "protocols": lines(table_report.protocols(table, datasets)),
                }
                for heading, remark, datasets in groups
            ],
            "notes": [
                ("Empty cells", lines(table_report.empty_cells(table))),
                ("Where the paper's numbers come from", lines(table_report.sources(table))),
            ],
            "files": files(table, out, page),
        },
    )
    io.write_text(page, text)
    return page


def cells_table(table: Mapping[str, Any], datasets: Sequence[str]) -> Table:
    """Ours, the paper's and the difference, a column per data set; sorted by ours."""
    parts = ("val", "test") if table_report.has_validation(table) else ("test",)
    names = {"val": " (validation)", "test": " (test)" if len(parts) > 1 else ""}
    columns = ["method", *(visible(dataset) + names[part] for dataset in datasets for part in parts)]
    rows: list[list[Cell]] = []
    for row in table["rows"]:
        cells: list[Cell] = [(visible(row["name"]), visible(row["name"]))]
        for dataset in datasets:
            cell = row["cells"][dataset]
            cells += [(table_report.cell_text(cell, part), (cell.get(part) or [None])[0]) for part in parts]
        rows.append(cells)
    return Table("Accuracy in per cent: ours (the paper's, difference)", columns, rows, columns[1:])


def lines(markdown: Sequence[str]) -> list[str]:
    """The items of a Markdown list as plain text."""
    return [visible(line.removeprefix("- "), 2000) for line in markdown]


def files(table: Mapping[str, Any], out: Path, page: Path) -> list[tuple[str, str, str]]:
    """The table's own files, and the comparison of each data set that is there."""
    name = table["table"]
    of_table = [
        (f"{name}.json", "everything"),
        (f"{name}.csv", "a row per cell"),
        (f"{name}.md", "this table as Markdown"),
    ]
    comparisons = [(f"{dataset}/compare.html", f"the methods on {dataset}") for dataset in table["comparisons"]]
    comparisons = [(path, meaning) for path, meaning in comparisons if (out / path).is_file()]
    return [(link(out / path, page), path, meaning) for path, meaning in [*of_table, *comparisons]]
