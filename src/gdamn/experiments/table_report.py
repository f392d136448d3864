"""A reproduced table for people: Markdown with ours, the paper's and the difference, and a CSV with a row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..report.comparison_files import compact_json, markdown_table, ranges
from ..runs.text import signed
from ..system import io
from .paper import elsewhere

CSV_COLUMNS = (
    *("row", "method", "dataset", "seeds", "test", "test_std", "val", "val_std"),
    *("paper_test", "paper_test_std", "paper_val", "paper_val_std", "difference", "comparable", "source", "empty"),
)

LEGEND = (
    "A cell is our mean ± standard deviation over seeds, then in brackets the paper's mean and the difference in "
    "points. ▲ and ▼ mark a difference of more than one point. † marks a number of the paper that was measured under "
    "another protocol than ours, so that its difference says nothing about the implementation."
)


def write_all(table: Mapping[str, Any], out: Path) -> None:
    """Write the files of a table; the JSON comes last."""
    from .table_page import write as write_table

    name = table["table"]
    io.write_text(out / f"{name}.md", markdown(table))
    write_csv(out / f"{name}.csv", table)
    write_table(table, out)
    io.write_text(out / f"{name}.json", compact_json(table))


def markdown(table: Mapping[str, Any]) -> str:
    """The page of a table; data sets that the paper doesn't have stand apart, without its numbers."""
    others: list[str] = table["not_in_the_paper"]
    shared = [dataset for dataset in table["rows"][0]["cells"] if dataset not in others]
    lines = [f"# {title(table)}", ""]
    if table["changed_settings"]:
        changed = ", ".join(f"{name} = {value}" for name, value in table["changed_settings"].items())
        lines += [f"**Not with the presets: {changed}.**", ""]
    if shared:
        lines += [LEGEND, "", markdown_cells(table, shared), "", *protocols(table, shared), ""]
    for dataset in others:
        lines += [f"## On {dataset}, which is not the paper's graph", ""]
        lines += [f"{elsewhere(dataset)} None of the paper's numbers belongs here.", ""]
        lines += [markdown_cells(table, [dataset]), "", *protocols(table, [dataset]), ""]
    lines += section("Empty cells", empty_cells(table)) + section("Where the paper's numbers come from", sources(table))
    return "\n".join(lines).rstrip() + "\n"


def title(table: Mapping[str, Any]) -> str:
    """The paper's title, unless none of its graphs is there."""
    others = table["not_in_the_paper"]
    if len(others) < len(table["rows"][0]["cells"]):
        return str(table["title"])
    return f"The methods of the paper's {table['table']} on {' and '.join(others)}, not on the paper's data"


def markdown_cells(table: Mapping[str, Any], datasets: Sequence[str]) -> str:
    """The cells of some data sets; validation stands beside test where the paper's table has it."""
    parts = ("val", "test") if has_validation(table) else ("test",)
    names = {"val": " (validation)", "test": " (test)" if len(parts) > 1 else ""}
    columns = ["method", *(dataset + names[part] for dataset in datasets for part in parts)]
    rows = [
        [row["name"], *(cell_text(row["cells"][dataset], part) for dataset in datasets for part in parts)]
        for row in table["rows"]
    ]
    return markdown_table(columns, rows)


def has_validation(table: Mapping[str, Any]) -> bool:
    """Whether the table shows validation accuracy too: where the paper does, and on a graph in its stead."""
    return str(table["table"]) == "table3"


def cell_text(cell: Mapping[str, Any], part: str = "test") -> str:
    """``84.0 ± 0.5 (85.4, -1.4 ▼)``; the bracket alone where ours is missing, and no spread of a single seed."""
    ours, paper = cell.get(part) or [], cell.get("paper")
    digits = 2 if paper and paper["val"] else 1
    spread = f" ± {ours[1]:.{digits}f}" if ours and cell["seeds"] > 1 else ""
    mine = f"{ours[0]:.{digits}f}{spread}" if ours else "–"
    if paper is None or not paper[part]:
        return mine
    paper_text = f"{paper[part][0]:.{digits}f}{'' if paper['comparable'] else ' †'}"
    if not ours:
        return f"{mine} ({paper_text})"
    difference = signed(ours[0] - paper[part][0], digits)
    return f"{mine} ({paper_text}, {difference}{mark(cell['difference']) if part == 'test' else ''})"


def mark(difference: float) -> str:
    """An arrow for a difference of more than a point."""
    from .tables import NEAR

    if abs(difference) <= NEAR:
        return ""
    return " ▲" if difference > 0 else " ▼"


def short_text(cell: Mapping[str, Any], brief: bool = False) -> str:
    """Our mean and the difference, for a terminal; ``brief``: the mean and the arrow alone."""
    if not cell.get("test"):
        return "–"
    difference = cell.get("difference")
    if difference is None:
        return f"{cell['test'][0]:.1f}"
    return f"{cell['test'][0]:.1f}{'' if brief else ' ' + signed(difference)}{mark(difference)}"


def protocols(table: Mapping[str, Any], datasets: Sequence[str]) -> list[str]:
    """A line per data set: its split, the seeds of the methods, and the fits that could not be done."""
    lines = []
    for dataset in datasets:
        compared = table["comparisons"].get(dataset, {})
        results = compared.get("results", [])
        groups: dict[str, list[str]] = {}
        for r in results:
            groups.setdefault(ranges(r["protocol"]["seeds"]), []).append(r["method"])
        if not groups:
            continue
        seeds = [
            f"seeds {span}" + (f" ({', '.join(names)})" if len(groups) > 1 else "") for span, names in groups.items()
        ]
        split = results[0]["protocol"]["split"].partition(":")[0]
        lines.append(f"- {dataset}: {split} split, {'; '.join(seeds)}")
        lines += [f"- {dataset}, {f['method']} seed {f['seed']} failed: {f['reason']}" for f in compared["failed"]]
    return lines


def empty_cells(table: Mapping[str, Any]) -> list[str]:
    """A line per reason, with the cells that it left empty."""
    reasons: dict[str, list[str]] = {}
    for row in table["rows"]:
        for dataset, cell in row["cells"].items():
            if "empty" in cell:
                reasons.setdefault(cell["empty"], []).append(f"{row['name']} on {dataset}")
    return [f"- {'; '.join(cells)}: {reason}" for reason, cells in reasons.items()]


def sources(table: Mapping[str, Any]) -> list[str]:
    """A line per presumed source, with its rows; then the notes on single numbers."""
    rows_of_source: dict[str, dict[str, list[str]]] = {}
    notes = []
    for row in table["rows"]:
        for dataset, cell in row["cells"].items():
            if "paper" in cell:
                paper = cell["paper"]
                sign = "" if paper["comparable"] else "† "
                rows_of_source.setdefault(sign + paper["source"], {}).setdefault(row["name"], []).append(dataset)
                if paper["note"]:
                    notes.append(f"- {row['name']} on {dataset}: {paper['note']}")
    lines = [
        f"- {source}: " + "; ".join(f"{name} ({', '.join(sets)})" for name, sets in rows.items())
        for source, rows in rows_of_source.items()
    ]
    return lines + notes


def section(heading: str, lines: list[str]) -> list[str]:
    """A section, or nothing where it would be empty."""
    return [f"## {heading}", "", *lines, ""] if lines else []


def write_csv(path: Path, table: Mapping[str, Any]) -> None:
    """One row per cell, in per cent."""
    import numpy as np

    rows = [csv_row(row, dataset, cell) for row in table["rows"] for dataset, cell in row["cells"].items()]
    columns = {name: np.array([row[name] for row in rows], dtype=object) for name in CSV_COLUMNS}
    io.write_csv(path, columns)


def csv_row(row: Mapping[str, Any], dataset: str, cell: Mapping[str, Any]) -> dict[str, Any]:
    """A cell by column; what is missing is empty."""
    paper = cell.get("paper") or {}
    values: dict[str, Any] = {"row": row["name"], "method": row["method"], "dataset": dataset}
    values |= {"seeds": cell.get("seeds", ""), "difference": cell.get("difference", "")}
    values |= {"comparable": paper.get("comparable", ""), "source": paper.get("source", "")}
    values["empty"] = cell.get("empty", "")
    for prefix, numbers in (("", cell), ("paper_", paper)):
        for part in ("test", "val"):
            mean, std, *_ = [*list(numbers.get(part) or ()), "", ""]
            values |= {f"{prefix}{part}": mean, f"{prefix}{part}_std": std}
    return values
