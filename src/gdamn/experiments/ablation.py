"""The ablation study: GDAMN, its parts left out one by one, and the GMNNs it grew from, under the same presets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..runs.text import spread_text
from .experiment import Ask, Content, Results, ahead, claim, compared, fit, significance, spread
from .paper import printed
from .units import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = ("cora", "citeseer", "pubmed", "coauthor-cs", "coauthor-physics")
NAMES = {
    "gdamn": "GDAMN",
    "gdamn-no-ent": "w/o ENT",
    "gdamn-no-hard": "w/o Hard",
    "gdamn-no-soft": "w/o Soft",
    "gmnn-gat": "GMNN (with GAT)",
    "gmnn": "GMNN",
}
METHODS = tuple(NAMES)
LABELS = "Test labels are read once, for the final score"
SEEDS = 20
SERIAL = False

PARTS = ("gdamn-no-ent", "gdamn-no-hard", "gdamn-no-soft")


def name_of(dataset: str, method: str) -> str:
    """The name of a unit."""
    return f"{dataset}, {method}"


measure = fit
"""Every unit is a plain fit."""


def plan(ask: Ask) -> list[Unit]:
    """A fit per data set, seed and method; one data set after the other, because the last ones take long."""
    specs = {dataset: ask.specs(dataset, METHODS) for dataset in ask.datasets}
    return [
        Unit(name_of(dataset, method), seed, specs[dataset][method])
        for dataset in ask.datasets
        for seed in ask.seeds
        for method in METHODS
    ]


def conclude(ask: Ask, results: Results) -> dict[str, Any]:
    """Accuracy of each variant beside the paper's, and the paper's claims on each data set."""
    numbers: dict[str, dict[str, Any]] = {}
    for dataset in ask.datasets:
        numbers[dataset] = {}
        for method in METHODS:
            paper = printed(dataset, method)
            numbers[dataset][method] = {
                "test_accuracy": spread(results, name_of(dataset, method), ask.seeds),
                "paper": None if paper is None else list(paper.test),
                "to_gdamn": compared(results, name_of(dataset, method), name_of(dataset, "gdamn"), ask.seeds),
            }
    claims = [one for dataset in ask.datasets for one in claims_of(dataset, ask.seeds, results)]
    return {"numbers": numbers, "claims": claims}


def claims_of(dataset: str, seeds: Sequence[int], results: Results) -> list[dict[str, Any]]:
    """What the paper says of the variants, on a data set."""
    tests = {m: compared(results, name_of(dataset, m), name_of(dataset, "gdamn"), seeds) for m in METHODS}
    differences = "; ".join(
        f"{NAMES[m]} {tests[m]['difference']:+.1f} points ({significance(tests[m])})" for m in PARTS
    )
    signs = [ahead(tests[method]) for method in PARTS]  # False: worse than GDAMN
    worse = True if all(sign is False for sign in signs) else False if True in signs else None
    pairs = (
        ("GMNN (with GAT) is slightly better than GMNN", "gmnn-gat", "gmnn"),
        ("GDAMN w/o ENT outperforms GMNN (with GAT)", "gdamn-no-ent", "gmnn-gat"),
        ("GDAMN outperforms GMNN", "gdamn", "gmnn"),
    )
    first = claim(
        "leaving out ENT, the hard or the soft attention makes GDAMN worse",
        worse,
        f"on {dataset}, against GDAMN: {differences}",
        dataset=dataset,
        tests={method: tests[method] for method in PARTS},
    )
    return [first, *(pair(dataset, *one, seeds, results) for one in pairs)]


def pair(dataset: str, paper: str, better: str, worse: str, seeds: Sequence[int], results: Results) -> dict[str, Any]:
    """The claim that one method is ahead of another."""
    test = compared(results, name_of(dataset, better), name_of(dataset, worse), seeds)
    a, b = (100 * spread(results, name_of(dataset, method), seeds)["mean"] for method in (better, worse))
    ours = f"on {dataset} {a:.1f} % against {b:.1f} % ({test['difference']:+.1f} points, {significance(test)})"
    return claim(paper, ahead(test), ours, dataset=dataset, **test)


def table(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per variant; the paper's number in brackets."""
    numbers = content["numbers"]
    rows = [[NAMES[method], *(cell(numbers[d][method]) for d in numbers)] for method in METHODS]
    return ("variant", *(f"{dataset}, % (paper)" for dataset in numbers)), rows


def cell(entry: Content) -> str:
    """Our mean and deviation, and the paper's mean where it has one."""
    return spread_text(entry["test_accuracy"]) + (f" ({entry['paper'][0]:.1f})" if entry["paper"] else "")


def draw(content: Content) -> Figure:
    """A panel per data set, a row per variant: ours with its deviation, the paper's as a ring."""
    from .style import BLUE, INK, ORANGE, PAGE, panels

    numbers = content["numbers"]
    figure, all_axes = panels(len(numbers), PAGE if len(numbers) > 2 else 5.0, 2.3, sharey=True)
    for axes, (dataset, variants) in zip(all_axes, numbers.items(), strict=True):
        for row, method in enumerate(METHODS):
            entry, colour = variants[method], ORANGE if method == "gdamn" else BLUE
            ours = entry["test_accuracy"]
            bar: dict[str, Any] = {"fmt": "D", "ms": 4, "color": colour, "capsize": 2, "zorder": 3}
            axes.errorbar(100 * ours["mean"], row, xerr=100 * ours["std"], **bar)
            if entry["paper"]:
                ring: dict[str, Any] = {"marker": "o", "ms": 6, "mfc": "none", "mec": INK, "mew": 0.9, "ls": "none"}
                axes.plot(entry["paper"][0], row, **ring)
        axes.axvline(100 * variants["gdamn"]["test_accuracy"]["mean"], color=ORANGE, lw=0.8, ls=(0, (4, 3)), zorder=1)
        axes.set_title(dataset)
        axes.set_yticks(range(len(METHODS)), [NAMES[method] for method in METHODS])
        axes.set_ylim(len(METHODS) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.margins(x=0.12)
    figure.supxlabel("test accuracy, % (diamonds: ours, mean ± standard deviation; rings: the paper's)", fontsize=8)
    return figure
