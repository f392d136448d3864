"""Figure 5: connectivity strength between the classes, as each method aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..runs import pool
from ..runs import run as runs
from .experiment import Ask, Content, Results, ahead, claim, compared, load
from .units import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = ("cora",)
NAMES = {
    "gcn": "GCN, GMNN",
    "gat": "GAT",
    "gmnn-gat": "GMNN with GAT",
    "gdamn-no-ent": "GDAMN w/o ENT",
    "gdamn": "GDAMN",
}
METHODS = tuple(NAMES)
LABELS = (
    "The labels of all nodes are read after training, to sum the weights by class. Cells are shares of the weight that "
    "a class receives from its neighbours, without the nodes' own messages; GATs are the mean over heads and layers"
)
SEEDS = 20
SERIAL = False

SIMILAR = 0.1
"""A ratio within this share of another one is similar to it."""


def name_of(dataset: str, method: str) -> str:
    """The name of a unit."""
    return f"{dataset}, {method}"


def plan(ask: Ask) -> list[Unit]:
    """A fit per method and seed; the weights of a GCN are those of the graph, whatever the seed."""
    specs = {dataset: ask.specs(dataset, METHODS) for dataset in ask.datasets}
    return [
        Unit(name_of(dataset, method), seed, specs[dataset][method], {"measures": "connectivity"})
        for seed in ask.seeds
        for dataset in ask.datasets
        for method in METHODS
    ]


def measure(unit: Unit, data_root: Path | None, progress: pool.SeedProgress | None) -> dict[str, Any]:
    """Fit, then sum the aggregation weights by class."""
    from .connectivity import diagonal_ratio, gcn_weights, learned_weights, predicted_alike, strength

    assert unit.spec is not None
    graph = load(unit, data_root)
    if unit.spec.method == "gcn":
        weights, fitted = gcn_weights(graph), {}
    else:
        model = runs.make_estimator(unit.spec, unit.seed).fit(graph, progress=progress)
        weights = learned_weights(graph, model)
        fitted = {"test_accuracy": model.score("test"), "predicted_alike": predicted_alike(graph, model)}
    matrix = strength(graph, weights)
    strengths = {"strength": matrix.round(6).tolist(), "ratio": diagonal_ratio(matrix)}
    return {**strengths, **fitted, "class_names": list(graph.class_names)}


def conclude(ask: Ask, results: Results) -> dict[str, Any]:
    """The mean matrix and ratio of each method, and the order of the ratios."""
    import numpy as np

    numbers = {}
    for dataset in ask.datasets:
        by_method = {}
        for method in METHODS:
            of_method = [results[name_of(dataset, method), seed] for seed in ask.seeds]
            mean = np.mean([result["strength"] for result in of_method], axis=0)
            ratios = runs.spread([result["ratio"] for result in of_method])
            by_method[method] = {"strength": mean.tolist(), "ratio": ratios}
            if method != "gcn":
                by_method[method]["predicted_alike"] = runs.spread([result["predicted_alike"] for result in of_method])
        classes = results[name_of(dataset, METHODS[0]), ask.seeds[0]]["class_names"]
        numbers[dataset] = {"class_names": classes, "methods": by_method}
    claims = [one for d in ask.datasets for one in claims_of(d, numbers[d]["methods"], ask.seeds, results)]
    return {
        "numbers": numbers,
        "claims": claims,
        "remarks": [why(d, of_dataset["methods"]) for d, of_dataset in numbers.items()],
    }


def why(dataset: str, methods: Content) -> str:
    """What limits an attention on labels."""
    alike = 100 * methods["gdamn"]["predicted_alike"]["mean"]
    return (
        f"What limits an attention on labels: of the edges between two classes of {dataset}, {alike:.0f} % join nodes "
        "that GDAMN predicts alike, and those it can't tell from edges within a class."
    )


def claims_of(dataset: str, methods: Content, seeds: Sequence[int], results: Results) -> list[dict[str, Any]]:
    """What the paper says of the ratios."""
    ratio = {method: methods[method]["ratio"]["mean"] for method in METHODS}
    texts = {method: f"{NAMES[method]} {ratio[method]:.2f}" for method in METHODS}
    best = max((method for method in METHODS if method != "gdamn"), key=lambda method: ratio[method])
    common = {"dataset": dataset, "ratios": ratio}

    def test(first: str, second: str) -> bool | None:
        return ahead(compared(results, name_of(dataset, first), name_of(dataset, second), seeds, "ratio", 1))

    def ratio_claim(paper: str, agrees: bool | None, *named: str) -> dict[str, Any]:
        ours = f"the ratio of diagonal to off-diagonal on {dataset} is {', '.join(texts[m] for m in named)}"
        return claim(paper, agrees, ours, **common)

    return [
        ratio_claim("GAT is similar to GCN", abs(ratio["gat"] / ratio["gcn"] - 1) <= SIMILAR, "gcn", "gat"),
        ratio_claim("attention on labels (GMNN with GAT) is better", test("gmnn-gat", "gat"), "gat", "gmnn-gat"),
        ratio_claim("GDAMN has the highest intra-class strength", test("gdamn", best), *METHODS),
        ratio_claim("ENT helps to reduce inter-class weights", test("gdamn", "gdamn-no-ent"), "gdamn-no-ent", "gdamn"),
    ]


def table(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per method."""
    rows = []
    for dataset, of_dataset in content["numbers"].items():
        for method, entry in of_dataset["methods"].items():
            ratio = entry["ratio"]
            within = 100 * sum(row[at] for at, row in enumerate(entry["strength"])) / len(entry["strength"])
            rows.append([dataset, NAMES[method], f"{ratio['mean']:.2f} ± {ratio['std']:.2f}", f"{within:.1f}"])
    return ("data set", "method", "diagonal to off-diagonal", "weight within the class, % (mean over classes)"), rows


def draw(content: Content) -> Figure:
    """A heat map per method on one scale; the scale is of square roots, so that weak links between classes show."""
    from matplotlib.colors import PowerNorm

    from .style import PAGE, panels

    _, of_dataset = next(iter(content["numbers"].items()))
    classes = len(of_dataset["class_names"])
    figure, all_axes = panels(len(METHODS), PAGE, 1.8, sharey=True)
    image = None
    numbers = [str(at) for at in range(1, classes + 1)]
    for axes, method in zip(all_axes, METHODS, strict=True):
        entry = of_dataset["methods"][method]
        percent = [[100 * share for share in row] for row in entry["strength"]]
        image = axes.imshow(percent, cmap="Blues", norm=PowerNorm(0.5, 0, 100))
        for i, row in enumerate(percent) if classes <= 8 else ():
            for j, value in enumerate(row):
                if value >= 0.5:
                    ink = "white" if value > 45 else "#222222"
                    axes.text(j, i, f"{value:.0f}", ha="center", va="center", fontsize=5, color=ink)
        ratio = entry["ratio"]["mean"]
        axes.set_title(f"{NAMES[method]} ({ratio:.1f})", fontsize=7.5)
        axes.set_xticks(range(classes), numbers)
        axes.set_yticks(range(classes), numbers)
        axes.tick_params(length=0, labelsize=6.5)
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(True)
    all_axes[0].set_ylabel("class of the node")
    figure.supxlabel("class of its neighbour (in brackets: diagonal sum / off-diagonal sum)", fontsize=8)
    assert image is not None
    bar = figure.colorbar(image, ax=all_axes, shrink=0.62, aspect=16, pad=0.01, ticks=[0, 10, 25, 50, 100])
    bar.set_label("weight, %", fontsize=7)
    bar.ax.tick_params(labelsize=6.5)
    bar.outline.set_visible(False)
    return figure
