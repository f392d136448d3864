"""The tables of the noise suite: accuracies by kind and rate, and the area under each curve with its rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..runs.text import spread_text
from .noise_curves import short

Rows = Sequence[Sequence[str]]


def kinds_of(content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every kind with its curves; the data set stands before its name where there are several."""
    numbers = content["numbers"]
    for dataset, kinds in numbers.items():
        for name, kind in kinds.items():
            yield (f"{short(dataset)}, {name}" if len(numbers) > 1 else name), kind


def accuracies(content: Mapping[str, Any]) -> tuple[Sequence[str], Rows]:
    """A row per kind and rate, a column per method: test accuracy in per cent, mean ± standard deviation."""
    methods = list(content["mean_ranks"])
    rows = []
    for name, kind in kinds_of(content):
        for at, rate in enumerate(kind["rates"]):
            cells = (spread_text(kind["methods"][method]["test_accuracy"][at]) for method in methods)
            rows.append([name, f"{rate:g}", *cells])
    return ("noise", "rate", *methods), rows


def areas(content: Mapping[str, Any]) -> tuple[Sequence[str], Rows]:
    """A row per method, the lowest mean rank first: the mean accuracy over the rates of each kind (rank)."""
    kinds = dict(kinds_of(content))
    ranks = content["mean_ranks"]
    order = sorted(ranks, key=lambda method: (ranks[method] is None, ranks[method] or 0))
    rows = []
    for method in order:
        cells = []
        for kind in kinds.values():
            found = kind["methods"][method]
            cells.append(spread_text(found["area"]) + (f" ({found['rank']})" if found["rank"] is not None else ""))
        rows.append([method, "–" if ranks[method] is None else f"{ranks[method]:.1f}", *cells])
    return ("method", "mean rank", *kinds), rows
