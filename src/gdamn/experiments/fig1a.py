"""Figure 1a: how the accuracy of a vanilla GCN depends on the share of edges between classes. An oracle experiment."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..runs import pool
from ..runs import run as runs
from ..runs.text import spread_text
from .experiment import Ask, Content, Results, claim, load, spread
from .units import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = ("cora",)
METHODS = ("gcn",)
LABELS = (
    "An oracle experiment: the labels of all nodes decide which edges join two classes, so that these accuracies are "
    "not those of a method; test labels are read again for the final score"
)
SEEDS = 20
SERIAL = False

SHARES = (0.0, 0.05, 0.1, 0.15, 0.25, 0.3, 0.4, 0.5, 0.6)
ORIGINAL = "original"
MONOTONE = -0.9
"""Spearman's rank correlation that still is "almost monotonically" falling."""


def name_of(dataset: str, share: float | str) -> str:
    """The name of a unit."""
    return f"{dataset}, {share if isinstance(share, str) else f'{share:.2f}'}"


def plan(ask: Ask) -> list[Unit]:
    """A fit per share and seed, and one on the graph as it is; the first seed of all before the second of any."""
    specs = {dataset: ask.specs(dataset, METHODS)["gcn"] for dataset in ask.datasets}
    return [
        Unit(name_of(dataset, share), seed, specs[dataset], {"inter_class_share": share})
        for seed in ask.seeds
        for dataset in ask.datasets
        for share in (*SHARES, ORIGINAL)
    ]


def measure(unit: Unit, data_root: Path | None, progress: pool.SeedProgress | None) -> dict[str, Any]:
    """Change the edges, then fit."""
    from .edges import with_inter_class_share

    assert unit.spec is not None
    graph, share = load(unit, data_root), unit.extra["inter_class_share"]
    if share != ORIGINAL:
        graph = with_inter_class_share(graph, share, unit.seed)
    measured = runs.measure(graph, runs.make_estimator(unit.spec, unit.seed).fit(graph, progress=progress))
    return {**measured, "inter_class_share": graph.inter_class_share(), "edges": graph.num_edges}


def conclude(ask: Ask, results: Results) -> dict[str, Any]:
    """Accuracy by share, and whether it falls."""
    numbers = {dataset: points(dataset, ask.seeds, results) for dataset in ask.datasets}
    return {"numbers": numbers, "claims": [falls(dataset, points_of) for dataset, points_of in numbers.items()]}


def points(dataset: str, seeds: Sequence[int], results: Results) -> list[dict[str, Any]]:
    """A point per share, the lowest share first."""
    measured = []
    for share in (*SHARES, ORIGINAL):
        name = name_of(dataset, share)
        reached = statistics.fmean(results[name, seed]["inter_class_share"] for seed in seeds)
        point = {"share": reached, "original": share == ORIGINAL, "edges": results[name, seeds[0]]["edges"]}
        measured.append({**point, "test_accuracy": spread(results, name, seeds)})
    return sorted(measured, key=lambda point: point["share"])


def falls(dataset: str, measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The claim that accuracy falls almost monotonically."""
    from scipy.stats import spearmanr

    means = [100 * point["test_accuracy"]["mean"] for point in measured]
    shares = [point["share"] for point in measured]
    rank = float(spearmanr(shares, means).statistic)
    rises = sum(b > a for a, b in pairwise(means))
    original = next(point for point in measured if point["original"])
    return claim(
        "test accuracy decreases almost monotonically with the ratio of inter-class edges",
        rank <= MONOTONE,
        f"on {dataset} it goes from {means[0]:.1f} % without such edges over "
        f"{100 * original['test_accuracy']['mean']:.1f} % at the graph's own {100 * original['share']:.0f} % of them "
        f"to {means[-1]:.1f} % at {100 * shares[-1]:.0f} % (rank correlation {rank:.2f}; it rises in {rises} of "
        f"{len(means) - 1} steps)",
        dataset=dataset,
        rank_correlation=rank,
        rises=rises,
    )


def table(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per share."""
    rows = [
        [dataset, share_text(p), f"{p['edges']:,}", spread_text(p["test_accuracy"])]
        for dataset, measured in content["numbers"].items()
        for p in measured
    ]
    return ("data set", "edges between classes, %", "edges", "test accuracy, %"), rows


def share_text(point: Content) -> str:
    """The share in per cent, and whether it is the graph's own."""
    return f"{100 * point['share']:.1f}" + (" (as it is)" if point["original"] else "")


def draw(content: Content) -> Figure:
    """Accuracy over the share, the graph as it is marked."""
    from .style import BLUE, GREEN, INK, ORANGE, PINK, band, panels

    figure, (axes,) = panels()
    looks = zip((BLUE, ORANGE, GREEN, PINK), "osD^", strict=True)
    for (dataset, measured), (colour, marker) in zip(content["numbers"].items(), looks, strict=False):
        band(
            axes, [100 * p["share"] for p in measured], [p["test_accuracy"] for p in measured], colour, marker, dataset
        )
        original = next(p for p in measured if p["original"])
        x, y = 100 * original["share"], 100 * original["test_accuracy"]["mean"]
        axes.plot(x, y, marker=marker, ms=9, mfc="none", mec=INK, mew=1, ls="none")
        axes.annotate(f"{dataset} as it is", (x, y), (8, 6), textcoords="offset points", fontsize=7.5)
    axes.set_xlabel("edges between classes, %")
    axes.set_ylabel("test accuracy of a GCN, %")
    return figure
