"""What the attention did to the edges: strength between classes, histogram, and how many were cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..runs.text import percent
from . import charts, measures
from .page import Cell, Chart, Table, cells
from .sections import most_frequent
from .text import visible, whole

if TYPE_CHECKING:
    from ..using.run_folder import RunFolder
    from .run import SeedResult
    from .seed_fit import SeedFit


def attention(run: RunFolder, results: Sequence[SeedResult], fit: SeedFit) -> dict[str, Any] | None:
    """Strength between classes, histogram and counts; None for a method without attention."""
    if fit.weights is None:
        return None
    graph = fit.graph
    counts = next(result.edges for result in results if result.seed == fit.seed)
    assert counts is not None
    chart_list: list[Chart] = []
    if counts.within + counts.between:
        for name, title, weights in (
            ("before", "Between classes, before", graph.weights),
            ("after", "Between classes, after", fit.weights["stable"]),
        ):
            chart_list.append(strength_chart(fit, name, title, weights))
        chart_list.append(hard_histogram(counts))
    between = [graph.inter_class_share(weights) for weights in (graph.weights, fit.weights["stable"])]
    return {
        "charts": chart_list,
        "table": cut_table(results),
        "totals": [whole(counts.edges), whole(counts.within), whole(counts.between)],
        "between": None if np.isnan(between[0]) else [percent(share) for share in between],
        "noise": run.summary.get("noise"),
        "uncut": counts.cut == 0,
    }


def strength_chart(fit: SeedFit, name: str, title: str, weights: Any) -> Chart:
    """How strongly classes are connected under some weights."""
    graph = fit.graph
    shares = measures.class_strength(graph, weights)
    at = most_frequent(np.bincount(graph.labels[graph.labels >= 0], minlength=graph.num_classes))
    names = [graph.class_names[c] for c in at]
    shares = shares[np.ix_(at, at)]
    own_class = float(np.nanmean(np.diag(shares)))
    text = (
        "Of the weight that reaches a class (row), the share from each class (column); from its own: "
        f"{percent(own_class)}."
    )
    if len(at) < graph.num_classes:
        text += f" The {len(at)} most frequent of {graph.num_classes} classes."
    label = f"{title}: a matrix of the share of weight between classes; {percent(own_class)} comes from the own class"
    svg = charts.matrix_chart(shares, names, f"strength-{name}", label, "receiving class", "sending class")
    short = [visible(n, 40) for n in names]
    rows: list[list[Cell]] = [
        [(n, n), *((percent(float(s)), float(s)) for s in row)] for n, row in zip(short, shares, strict=True)
    ]
    return Chart(title, svg, text, Table(title, ["receiving class", *short], rows, short, False))


def hard_histogram(counts: measures.EdgeCounts) -> Chart:
    """Hard attention of edges within and between classes."""
    text = (
        f"{percent(counts.between_cut / max(counts.between, 1))} of the edges between classes were cut, and "
        f"{percent(counts.within_cut / max(counts.within, 1))} of those within a class. Known labels only."
    )
    rows: list[list[Cell]] = []
    for at in range(measures.HARD_BINS):
        within, between = (int(n) for n in counts.histogram[:, at])
        if within + between:
            low, high = at / measures.HARD_BINS, (at + 1) / measures.HARD_BINS
            rows.append([*cells(f"{low:.2f} to {high:.2f}"), (whole(within), within), (whole(between), between)])
    columns = ("hard attention", "within a class", "between classes")
    numbers = Table("Edges by hard attention", columns, rows, columns[1:], False)
    return Chart("Hard attention", charts.hard_chart(counts.histogram), text, numbers)


def cut_table(results: Sequence[SeedResult]) -> Table:
    """What was cut, seed by seed."""
    rows: list[list[Cell]] = []
    for result in results:
        if result.edges is None:
            continue
        e = result.edges
        row: list[Cell] = [(str(result.seed), result.seed)]
        for cut, of in ((e.cut, e.edges), (e.within_cut, e.within), (e.between_cut, e.between)):
            share = cut / of if of else None
            row.append((f"{whole(cut)} ({percent(share)})", share))
        rows.append(row)
    columns = ("seed", "cut", "within a class", "between classes")
    return Table("Edges cut, by seed", columns, rows, columns)
