"""The table of few_labels.json: a row for each graph and number of labels, a column for each method."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Cells = dict[tuple[str, int], dict[str, dict[int, dict[str, Any]]]]
"""Graph and labels a class: method: seed: fit."""

FULL = 10
"""Seeds of a full cell; fewer are named."""


def table(fits: list[dict[str, Any]], graphs: Sequence[str], methods: Sequence[str], ours: Sequence[str]) -> str:
    """Markdown: accuracy in per cent, its standard error over the seeds, and our lead over the best rival."""
    cells = grouped(fits, graphs)
    shown = [method for method in methods if any(method in cell for cell in cells.values())]
    if not shown:
        return "nothing was run yet"
    complete = [cell for cell in cells.values() if all(method in cell for method in shown)]
    lines = [["graph", "labels a class", *shown, "best rival", *(f"lead of {one}" for one in ours)]]
    lines += [
        [graph, str(labels), *(number(cell.get(method)) for method in shown), *verdict(cell, shown, ours)]
        for (graph, labels), cell in cells.items()
    ]
    blank = [""] * (1 + len(ours))
    rows = f"of {len(complete)} rows"
    averages = [statistics.fmean(mean(cell[method]) for cell in complete) if complete else None for method in shown]
    ranks = [statistics.fmean(rank(cell, method, shown) for cell in complete) if complete else None for method in shown]
    lines.append(["mean", rows, *(text(value) for value in averages), *blank])
    lines.append(["mean rank", rows, *(text(value) for value in ranks), *blank])
    lines.append(["median seconds", "all fits", *(f"{seconds(cells, method):.2f}" for method in shown), *blank])
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def grouped(fits: list[dict[str, Any]], graphs: Sequence[str]) -> Cells:
    """The fits by graph and labels, then method, then seed."""
    cells: Cells = {}
    for one in sorted(fits, key=lambda one: (graphs.index(one["graph"]), one["labels"], one["seed"])):
        cell = cells.setdefault((one["graph"], one["labels"]), {})
        cell.setdefault(one["method"], {})[one["seed"]] = one
    return cells


def mean(seeds: dict[int, dict[str, Any]]) -> float:
    """Mean accuracy in per cent."""
    return 100 * statistics.fmean(one["accuracy"] for one in seeds.values())


def with_error(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error, which one value doesn't have."""
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return statistics.fmean(values), error


def number(seeds: dict[int, dict[str, Any]] | None) -> str:
    """A cell; seeds are counted where there are fewer than of a full one."""
    if not seeds:
        return "–"
    average, error = with_error([100 * one["accuracy"] for one in seeds.values()])
    count = f" ({len(seeds)})" if len(seeds) < FULL else ""
    return f"{average:.1f} ± {error:.1f}{count}" if len(seeds) > 1 else f"{average:.1f}{count}"


def verdict(cell: dict[str, dict[int, dict[str, Any]]], shown: list[str], ours: Sequence[str]) -> list[str]:
    """The best rival, and how far each of ours is ahead of it on the seeds that both have."""
    rivals = [method for method in shown if method in cell and method not in ours]
    if not rivals:
        return ["–", *("–" for _ in ours)]
    best = max(rivals, key=lambda method: mean(cell[method]))
    return [best, *(lead(cell.get(one, {}), cell[best]) for one in ours)]


def lead(mine: dict[int, dict[str, Any]], theirs: dict[int, dict[str, Any]]) -> str:
    """Mean difference on the same seeds, with its standard error."""
    apart = [100 * (mine[seed]["accuracy"] - theirs[seed]["accuracy"]) for seed in mine if seed in theirs]
    if not apart:
        return "–"
    average, error = with_error(apart)
    return f"{average:+.1f} ± {error:.1f}" if len(apart) > 1 else f"{average:+.1f}"


def rank(cell: dict[str, dict[int, dict[str, Any]]], method: str, shown: list[str]) -> float:
    """1 for the best of a row; ties share the mean of their ranks."""
    values = [mean(cell[one]) for one in shown]
    mine = mean(cell[method])
    return 1 + sum(value > mine for value in values) + (sum(value == mine for value in values) - 1) / 2


def seconds(cells: Cells, method: str) -> float:
    """Median processor time of a fit."""
    return statistics.median(one["seconds"] for cell in cells.values() for one in cell.get(method, {}).values())


def text(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
