"""Figure 1b: attention to similar (PR) or dissimilar (NR) neighbours in a GCN, with and without a perfect cut."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..runs import pool
from ..runs import run as runs
from ..runs.text import spread_text
from .experiment import Ask, Content, Results, ahead, claim, compared, load, significance, spread
from .units import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = ("cora",)
METHODS = ("gcn",)
LABELS = (
    "An oracle experiment: the labels of all nodes decide which edges are taken out of the oracle graph, so that its "
    "accuracies are not those of a method; test labels are read again for the final score"
)
SEEDS = 20
SERIAL = False

GRAPHS = ("oracle", "original")
WEIGHTS = {
    "PR": {"sign": 1, "own": True},
    "uniform": {"sign": 0, "own": True},
    "NR": {"sign": -1, "own": True},
    "PR, neighbours only": {"sign": 1, "own": False},
    "NR, neighbours only": {"sign": -1, "own": False},
}
"""Attention proportional to exp(sign · cos); ``own``: the node's own message is scored too (cos = 1)."""


def name_of(dataset: str, graph: str, weights: str) -> str:
    """The name of a unit."""
    return f"{dataset}, {graph}, {weights}"


def plan(ask: Ask) -> list[Unit]:
    """A fit per graph, kind of weights and seed."""
    specs = {dataset: ask.specs(dataset, METHODS)["gcn"] for dataset in ask.datasets}
    return [
        Unit(name_of(dataset, graph, name), seed, specs[dataset], {"graph": graph, **weights})
        for seed in ask.seeds
        for dataset in ask.datasets
        for graph in GRAPHS
        for name, weights in WEIGHTS.items()
    ]


def measure(unit: Unit, data_root: Path | None, progress: pool.SeedProgress | None) -> dict[str, Any]:
    """Cut where asked, weigh the edges, fit."""
    from .edges import oracle, relativity
    from .weighted_gcn import WeightedGCN

    assert unit.spec is not None
    graph = load(unit, data_root)
    graph = oracle(graph) if unit.extra["graph"] == "oracle" else graph
    weights = relativity(graph, unit.extra["sign"], unit.extra["own"])
    model = WeightedGCN(weights, **unit.spec.settings, seed=unit.seed).fit(graph, progress=progress)
    loops = float(weights[graph.structure.loop].mean())
    return {**runs.measure(graph, model), "weight_of_own_message": loops}


def conclude(ask: Ask, results: Results) -> dict[str, Any]:
    """Accuracy by graph and weights, and who is ahead on each graph."""
    numbers = {
        dataset: {
            graph: {
                name: {
                    "test_accuracy": spread(results, name_of(dataset, graph, name), ask.seeds),
                    "weight_of_own_message": results[name_of(dataset, graph, name), ask.seeds[0]][
                        "weight_of_own_message"
                    ],
                }
                for name in WEIGHTS
            }
            for graph in GRAPHS
        }
        for dataset in ask.datasets
    }
    claims = [
        better_on(dataset, graph, better, worse, ask.seeds, results)
        for dataset in ask.datasets
        for graph, better, worse in (("oracle", "NR", "PR"), ("original", "PR", "NR"))
    ]
    remarks = [remark(dataset, numbers[dataset], ask.seeds, results) for dataset in ask.datasets]
    return {"numbers": numbers, "claims": claims, "remarks": remarks}


def better_on(
    dataset: str, graph: str, better: str, worse: str, seeds: Sequence[int], results: Results
) -> dict[str, Any]:
    """The claim that one kind of attention is ahead on a graph."""
    test = compared(results, name_of(dataset, graph, better), name_of(dataset, graph, worse), seeds)
    first, second = (100 * spread(results, name_of(dataset, graph, n), seeds)["mean"] for n in (better, worse))
    adverb = "evidently" if graph == "oracle" else "obviously"
    return claim(
        f"{better} is {adverb} better than {worse} on the {graph} graph",
        ahead(test),
        f"on {dataset} {better} has {first:.1f} % and {worse} {second:.1f} % ({test['difference']:+.1f} points, "
        f"{significance(test)})",
        dataset=dataset,
        **test,
    )


def remark(dataset: str, numbers: Content, seeds: Sequence[int], results: Results) -> str:
    """What is left of the effect when the sign acts on the neighbours alone."""
    parts = []
    for graph in GRAPHS:
        both = [numbers[graph][f"{name}, neighbours only"]["test_accuracy"]["mean"] for name in ("PR", "NR")]
        first, second = (name_of(dataset, graph, f"{name}, neighbours only") for name in ("PR", "NR"))
        test = compared(results, first, second, seeds)
        parts.append(
            f"{100 * both[0]:.1f} % (PR) and {100 * both[1]:.1f} % (NR) on the {graph} graph ({significance(test)})"
        )
    self_weight = [100 * numbers["original"][name]["weight_of_own_message"] for name in ("PR", "NR")]
    return (
        f"What lies behind it: a node's cosine with itself is 1, far above that of any neighbour, so that PR gives "
        f"{self_weight[0]:.0f} % of the weight to the node's own message and NR {self_weight[1]:.0f} % "
        f"({dataset}, original graph). With the own message at its uniform score, and the sign on the neighbours "
        f"alone, there remain "
        f"{' and '.join(parts)}."
    )


def table(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per kind of weights, a column per graph."""
    rows = [
        [dataset, name, *(spread_text(graphs[graph][name]["test_accuracy"]) for graph in GRAPHS)]
        for dataset, graphs in content["numbers"].items()
        for name in WEIGHTS
    ]
    return ("data set", "attention", *(f"{graph} graph, test accuracy in %" for graph in GRAPHS)), rows


def spelled(name: str) -> str:
    """A kind of attention without letters that only the paper's readers know."""
    whole = {"PR": "like neighbours (PR)", "NR": "unlike neighbours (NR)"}
    return name.replace(name[:2], whole[name[:2]]).replace(", ", ",\n") if name[:2] in whole else name


def draw(content: Content) -> Figure:
    """A panel per graph, a row per kind of attention: points of the seeds, mean and deviation."""
    from .style import BLUE, GREEN, ORANGE, PAGE, SOFT, panels

    colours = {"PR": BLUE, "NR": ORANGE}
    names = list(WEIGHTS)
    dataset, graphs = next(iter(content["numbers"].items()))
    figure, all_axes = panels(2, PAGE, 2.3, sharey=True)
    for axes, graph in zip(all_axes, GRAPHS, strict=True):
        for row, name in enumerate(names):
            accuracy, only = graphs[graph][name]["test_accuracy"], name.endswith("only")
            colour = colours.get(name[:2], GREEN)
            values = [100 * value for value in accuracy["per_seed"]]
            axes.scatter(values, [row + 0.22] * len(values), s=7, color=colour, alpha=0.4, linewidths=0)
            marker: dict[str, Any] = {"fmt": "D", "ms": 5, "color": colour, "mfc": "white" if only else colour}
            axes.errorbar(100 * accuracy["mean"], row, xerr=100 * accuracy["std"], capsize=2.5, **marker)
            axes.annotate(
                f"{100 * accuracy['mean']:.1f}", (1.0, row), (2, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", fontsize=7.5, color=SOFT,
            )  # fmt: skip
        axes.set_title(f"{dataset}, {graph} graph")
        axes.set_xlabel("test accuracy of a GCN, %")
        axes.set_yticks(range(len(names)), [spelled(name) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.margins(x=0.08)
    return figure
