"""Figure 6: a vanilla GCN retrained on the original graph, on the oracle graph and on GDAMN's weights."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..graph.read_only import as_tensor
from ..runs import pool
from ..runs import run as runs
from ..runs.spec import RunSpec
from ..runs.text import spread_text
from .experiment import Ask, Content, Results, ahead, claim, compared, load, significance, spread
from .units import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ..graph.graph import Graph

DATASETS = ("cora",)
METHODS = ("gcn", "gdamn")
LABELS = (
    "The curves of test accuracy are made after training and choose nothing. The oracle graph needs the labels of all "
    "nodes, so that its accuracies are not those of a method"
)
SEEDS = 20
SERIAL = False

GRAPHS = {
    "original": "original graph",
    "control": "original, GDAMN's normalisation",
    "oracle": "oracle graph",
    "learned": "GDAMN's weights",
}
"""The control shows what of an effect is the normalisation alone: a preset may have another one than a GCN."""
LAST = 20
"""Epochs at the end over which a loss is averaged."""
SMOOTH = 5
"""Epochs over which a loss is averaged before it is compared, because dropout makes it jump."""


def name_of(dataset: str, graph: str) -> str:
    """The name of a unit."""
    return f"{dataset}, {graph}"


def plan(ask: Ask) -> list[Unit]:
    """A GCN per graph and seed; for the learned weights a GDAMN of the same seed is fitted before it."""
    units = []
    specs = {dataset: ask.specs(dataset, METHODS) for dataset in ask.datasets}
    for seed in ask.seeds:
        for dataset, of_methods in specs.items():
            for graph in GRAPHS:
                more = {
                    "learned": {"gdamn": dict(of_methods["gdamn"].settings)},
                    "control": {"normalisation": of_methods["gdamn"].settings["stable_norm"]},
                }.get(graph, {})
                units.append(Unit(name_of(dataset, graph), seed, of_methods["gcn"], {"graph": graph, **more}))
    return units


def measure(unit: Unit, data_root: Path | None, progress: pool.SeedProgress | None) -> dict[str, Any]:
    """Fit, and keep the curves."""
    from .connectivity import gcn_weights
    from .edges import oracle
    from .weighted_gcn import WeightedGCN

    assert unit.spec is not None
    graph, weights = load(unit, data_root), None
    limits: dict[str, Any] = {}
    if unit.extra["graph"] == "oracle":
        graph = oracle(graph)
    elif unit.extra["graph"] == "control":
        weights = normalised(graph, graph.structure.weights, unit.extra["normalisation"])
    elif unit.extra["graph"] == "learned":
        weights, limits = learned(graph, unit, progress)
    model = WeightedGCN(weights, **unit.spec.settings, seed=unit.seed).fit(graph, progress=progress)
    used = gcn_weights(graph) if weights is None else weights
    curves = {
        "train_loss": [round(record["loss"], 5) for record in model.history_],
        "test_accuracies": [round(value, 5) for value in model.accuracies(graph, "test")],
    }
    between = graph.inter_class_share(used[graph.structure.off_loop])
    return {**runs.measure(graph, model), **curves, **limits, "inter_class_weight": between}


def learned(graph: Graph, unit: Unit, progress: pool.SeedProgress | None) -> tuple[NDArray[Any], dict[str, Any]]:
    """[E + N] A_stable of a GDAMN, normalised as its own q has it, and what limits it."""
    from ..estimators.gdamn import GDAMN
    from .connectivity import learned_weights, predicted_alike

    assert unit.spec is not None
    spec = RunSpec(unit.spec.dataset, "gdamn", (unit.seed,), settings=unit.extra["gdamn"])
    model = runs.make_estimator(spec, unit.seed).fit(graph, progress=progress)
    assert isinstance(model, GDAMN)
    weights = normalised(graph, learned_weights(graph, model), model.settings_.stable_norm)
    return weights, {"predicted_alike": predicted_alike(graph, model)}


def normalised(graph: Graph, weights: NDArray[Any], norm: str) -> NDArray[Any]:
    """[E + N] weights normalised as the setting ``stable_norm`` says."""

    from ..model.adjacency import normalized

    return normalized(graph.structure, as_tensor(weights), norm).numpy()


def conclude(ask: Ask, results: Results) -> dict[str, Any]:
    """Mean curves, the accuracy of the chosen epoch, and how soon each graph has the original's final loss."""
    import numpy as np

    numbers: dict[str, Any] = {}
    for dataset in ask.datasets:
        curves = {}
        for graph in GRAPHS:
            of_graph = [results[name_of(dataset, graph), seed] for seed in ask.seeds]
            mean = {key: np.mean([result[key] for result in of_graph], axis=0) for key in CURVES}
            accuracy = spread(results, name_of(dataset, graph), ask.seeds)
            between = runs.spread([result["inter_class_weight"] for result in of_graph])
            common = {"test_accuracy": accuracy, "inter_class_weight": between}
            if graph == "learned":
                common["predicted_alike"] = runs.spread([result["predicted_alike"] for result in of_graph])
            curves[graph] = {**common, **{key: mean[key].round(5).tolist() for key in CURVES}}
        for graph in GRAPHS:
            counts = [reached(dataset, graph, seed, results) for seed in ask.seeds]
            curves[graph]["epochs_to_final_loss"] = {"mean": statistics.fmean(counts), "per_seed": counts}
        numbers[dataset] = {"graphs": curves}
    claims = [one for dataset in ask.datasets for one in claims_of(dataset, numbers[dataset], ask.seeds, results)]
    return {
        "numbers": numbers,
        "claims": claims,
        "remarks": [
            one for d in ask.datasets for one in (why(d, numbers[d]["graphs"]), control(d, ask.seeds, results))
        ],
    }


def reached(dataset: str, graph: str, seed: int, results: Results) -> int:
    """Epochs until the training loss, smoothed, is as low as the original graph's at its end; one more than all: never.

    The same seed has the same initial weights on every graph.
    """
    import numpy as np

    level = float(np.mean(results[name_of(dataset, "original"), seed]["train_loss"][-LAST:]))
    loss = results[name_of(dataset, graph), seed]["train_loss"]
    smooth = np.convolve(loss, np.ones(SMOOTH) / SMOOTH, "valid") if len(loss) >= SMOOTH else np.asarray(loss)
    below = np.flatnonzero(smooth <= level)
    return int(below[0]) + len(loss) - len(smooth) + 1 if len(below) else len(loss) + 1


def why(dataset: str, graphs: Content) -> str:
    """How far the learned weights go from the original graph towards the oracle."""
    original, learned_share = (100 * graphs[g]["inter_class_weight"]["mean"] for g in ("original", "learned"))
    alike = 100 * graphs["learned"]["predicted_alike"]["mean"]
    peak = {graph: 100 * max(entry["test_accuracies"]) for graph, entry in graphs.items()}
    return (
        f"How far the weights go: on {dataset} {original:.1f} % of the GCN's edge weight lies between classes, "
        f"{learned_share:.1f} % of GDAMN's, and none of the oracle's; {alike:.0f} % of the edges between classes "
        "join nodes that GDAMN predicts alike, which an attention on labels can't see. Over all epochs the mean test "
        f"accuracy is at most {peak['original']:.1f}, {peak['learned']:.1f} and {peak['oracle']:.1f} %; this looks "
        "at test labels and is told for the curves alone."
    )


CURVES = ("train_loss", "test_accuracies")


def control(dataset: str, seeds: Sequence[int], results: Results) -> str:
    """What remains when the original graph has the same normalisation."""
    test = compared(results, name_of(dataset, "learned"), name_of(dataset, "control"), seeds)
    counts = [
        statistics.fmean(reached(dataset, graph, seed, results) for seed in seeds) for graph in ("control", "learned")
    ]
    return (
        f"What is the normalisation alone: with the normalisation of GDAMN's weights the original graph of {dataset} "
        f"reaches that loss after {counts[0]:.0f} epochs (GDAMN's weights: {counts[1]:.0f}), and GDAMN's weights are "
        f"{test['difference']:+.1f} points of test accuracy against it ({significance(test)})."
    )


def claims_of(dataset: str, numbers: Content, seeds: Sequence[int], results: Results) -> list[dict[str, Any]]:
    """The two claims of the paper."""
    graphs = numbers["graphs"]
    epochs = {graph: graphs[graph]["epochs_to_final_loss"]["mean"] for graph in GRAPHS}
    counts = {
        (graph, seed): {"epochs": count}
        for graph in GRAPHS
        for seed, count in zip(seeds, graphs[graph]["epochs_to_final_loss"]["per_seed"], strict=True)
    }
    sooner = compared(counts, "original", "learned", seeds, "epochs", 1)
    near_oracle = abs(epochs["learned"] - epochs["oracle"]) < abs(epochs["learned"] - epochs["original"])
    faster = ahead(sooner)
    test = compared(results, name_of(dataset, "learned"), name_of(dataset, "original"), seeds)
    mean = {graph: 100 * graphs[graph]["test_accuracy"]["mean"] for graph in GRAPHS}
    return [
        claim(
            "on GDAMN's weights a GCN converges about as fast as on the oracle graph, and significantly faster than on "
            "the original one",
            near_oracle if faster else faster,
            f"on {dataset} the training loss that the original graph ends with is reached after "
            f"{epochs['learned']:.0f} epochs on GDAMN's weights, {epochs['oracle']:.0f} on the oracle graph and "
            f"{epochs['original']:.0f} on the original one (original against GDAMN's: {significance(sooner)})",
            dataset=dataset,
            epochs_to_final_loss=epochs,
        ),
        claim(
            "on GDAMN's weights test accuracy is significantly higher than on the original graph",
            ahead(test),
            f"on {dataset} {mean['learned']:.1f} % against {mean['original']:.1f} % ({test['difference']:+.1f} points, "
            f"{significance(test)}); the oracle graph has {mean['oracle']:.1f} %",
            dataset=dataset,
            **test,
        ),
    ]


def table(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per graph."""
    rows = []
    for dataset, numbers in content["numbers"].items():
        for graph, entry in numbers["graphs"].items():
            loss = sum(entry["train_loss"][-LAST:]) / len(entry["train_loss"][-LAST:])
            sooner = f"{entry['epochs_to_final_loss']['mean']:.0f}"
            rows.append([dataset, GRAPHS[graph], spread_text(entry["test_accuracy"]), f"{loss:.3f}", sooner])
    last = f"training loss, mean of the last {LAST} epochs"
    return ("data set", "graph", "test accuracy, %", last, "epochs to the original's last loss"), rows


def draw(content: Content) -> Figure:
    """Training loss and test accuracy over the epochs, the mean over seeds."""
    from .style import BLUE, GREEN, ORANGE, PAGE, PINK, panels

    looks = {
        "original": (BLUE, (0, (1, 1))),
        "control": (PINK, (0, (3, 1, 1, 1))),
        "oracle": (GREEN, (0, (5, 2))),
        "learned": (ORANGE, "-"),
    }
    dataset, numbers = next(iter(content["numbers"].items()))
    figure, (left, right) = panels(2, PAGE, 2.5)
    graphs = numbers["graphs"]
    same = graphs["control"]["train_loss"] == graphs["original"]["train_loss"]  # one curve would hide the other
    for graph, entry in graphs.items():
        if graph == "control" and same:
            continue
        colour, dashes = looks[graph]
        epochs = range(1, len(entry["train_loss"]) + 1)
        left.plot(epochs, entry["train_loss"], color=colour, ls=dashes, label=GRAPHS[graph])
        right.plot(epochs, [100 * value for value in entry["test_accuracies"]], color=colour, ls=dashes)
    left.set_ylabel("training loss")
    right.set_ylabel("test accuracy, %")
    top = max(max(entry["test_accuracies"]) for entry in graphs.values())
    ends = [entry["test_accuracies"][-1] for entry in graphs.values()]
    right.set_ylim(bottom=max(0.0, 100 * (min(ends) - 1.5 * (top - min(ends))) - 3))
    for axes, what in ((left, "training"), (right, "test")):
        axes.set_xlabel("epoch")
        axes.set_title(f"{dataset}, {what}")
        axes.set_xlim(0)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, handlelength=2.6)
    return figure
