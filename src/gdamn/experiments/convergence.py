"""How many EM iterations are enough: accuracy after each of them, from one fit per seed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..fit.checkpoint import Part
from ..fit.training import Record, Watch
from ..runs import pool
from ..runs import run as runs
from ..runs.text import spread_text
from .experiment import Ask, Content, Results, claim, load
from .units import Unit

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ..graph.graph import Graph
    from ..model.settings import Settings

DATASETS = ("cora", "citeseer")
METHODS = ("gdamn",)
LABELS = "Test labels are read after training, once for each iteration; they choose nothing"
SEEDS = 20
SERIAL = False

ITERATIONS = 5
ENOUGH = 3
"""The iterations after which the paper sees convergence."""
NEAR = 0.5
"""Points of accuracy that still count as converged."""


def plan(ask: Ask) -> list[Unit]:
    """A fit of all iterations per seed: the first k of them are those of a fit with k (tests/test_experiments.py)."""
    specs = {dataset: ask.specs(dataset, METHODS)["gdamn"] for dataset in ask.datasets}
    return [
        Unit(
            dataset, seed, spec.changed({}, {"em_iterations": ITERATIONS, "tolerance": 0.0}), {"measures": "iterations"}
        )
        for seed in ask.seeds
        for dataset, spec in specs.items()
    ]


@dataclass
class IterationWatch(Watch):
    """Keeps, for every EM iteration (0: pre-training), what its best epoch on validation and its last one predict."""

    ranks: dict[int, tuple[float, float]] = field(default_factory=dict)
    chosen: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    last: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    def record(
        self, record: Record, epochs: int, started: float, state: Callable[[], dict[str, Any]] | None = None
    ) -> bool:
        """As for every fit, and the predictions."""
        ended = super().record(record, epochs, started, state)
        if state is None:  # an epoch of p
            return ended
        iteration = record["iteration"]
        rank = self._rank(record) if record["val_accuracy"] is not None else (float(record["epoch"]), 0.0)
        better = iteration not in self.ranks or rank > self.ranks[iteration]
        if better or record["epoch"] == epochs - 1:
            predicted = state()["logits"].argmax(1).cpu().numpy()
            self.last[iteration] = predicted
            if better:
                self.ranks[iteration], self.chosen[iteration] = rank, predicted
        return ended

    def part(self) -> Part:
        """As for every fit, and the predictions; JSON has no whole numbers as keys, so they become a list."""
        import torch

        whole = super().part()

        def save() -> dict[str, Any]:
            iterations = [
                [at, list(self.ranks[at]), torch.from_numpy(self.chosen[at]), torch.from_numpy(self.last[at])]
                for at in self.ranks
            ]
            return {**whole.save(), "iterations": iterations}

        def load(state: dict[str, Any]) -> None:
            whole.load(state)
            for at, rank, chosen, last in state["iterations"]:
                self.ranks[at] = (rank[0], rank[1])
                self.chosen[at], self.last[at] = chosen.numpy(), last.numpy()

        return Part(save, load)


def watched_fit(graph: Graph, s: Settings, progress: pool.SeedProgress | None) -> IterationWatch:
    """A fit of GDAMN as the estimator does it, with an eye on every iteration."""
    from ..fit.domains.domain import WholeDomain
    from ..fit.em import EM
    from ..fit.training import reproducible_threads
    from ..model.problem import choose_device, make_problem

    watch = IterationWatch(progress)
    every = dataclasses.replace(s, candidates="all")  # so that pre-training is seen, too; it changes no training
    with reproducible_threads(s.threads):
        problem = make_problem(graph, s.normalize, s.dropout_input, choose_device(s.device))
        EM(WholeDomain(problem), every, watch).run()
    return watch


def measure(unit: Unit, data_root: Path | None, progress: pool.SeedProgress | None) -> dict[str, Any]:
    """Fit, then score every iteration: by itself, and as a fit that ends with it would choose."""
    from ..estimators.gdamn import GDAMN

    assert unit.spec is not None
    graph = load(unit, data_root)
    model = runs.make_estimator(unit.spec, unit.seed)
    assert isinstance(model, GDAMN)
    s = model.settings
    if s.beta == "auto":
        raise ConfigError("convergence follows one fit, so beta must be a number, not auto.")
    watch = watched_fit(graph, s, progress)
    test = graph.mask("test") & (graph.labels >= 0)

    def score(predicted: NDArray[np.int64]) -> float:
        return float((predicted[test] == graph.labels[test]).mean())

    first = 0 if s.candidates == "all" else 1
    reached = [max(range(min(first, k), k + 1), key=lambda i: (watch.ranks[i], -i)) for k in sorted(watch.ranks)]
    steps = sorted(watch.last)
    return {
        "of_iteration": [score(watch.chosen[k]) for k in steps],
        "if_stopped": [score(watch.chosen[k]) for k in reached],
        "val_of_iteration": [watch.ranks[k][0] for k in steps],
        "changed": [float((watch.last[k] != watch.last[k - 1]).mean()) for k in steps[1:]],
        "seconds": sum(watch.timings),
    }


def conclude(ask: Ask, results: Results) -> dict[str, Any]:
    """Accuracy and changed labels after each iteration."""
    numbers = {}
    for dataset in ask.datasets:
        by_seed = [results[dataset, seed] for seed in ask.seeds]
        numbers[dataset] = {
            key: [runs.spread(list(values)) for values in zip(*(result[key] for result in by_seed), strict=True)]
            for key in ("of_iteration", "if_stopped", "val_of_iteration", "changed")
        }
    return {"numbers": numbers, "claims": [converges(dataset, of_dataset) for dataset, of_dataset in numbers.items()]}


def converges(dataset: str, of_dataset: Content) -> dict[str, Any]:
    """The claim that three iterations are enough: neither the fit nor an iteration by itself changes after them.

    A fit keeps its best epoch, so it stands still even where EM itself falls apart: that alone would prove nothing.
    """
    means = [100 * s["mean"] for s in of_dataset["if_stopped"]]
    alone = [100 * s["mean"] for s in of_dataset["of_iteration"]]
    changed = [100 * s["mean"] for s in of_dataset["changed"]]
    later = max(abs(mean - means[ENOUGH]) for mean in means[ENOUGH:])
    drift = max(abs(mean - alone[ENOUGH]) for mean in alone[ENOUGH:])
    first = next(k for k in range(1, len(means)) if all(abs(m - means[-1]) <= NEAR for m in means[k:]))
    return claim(
        f"GDAMN converges in {ENOUGH} EM iterations",
        later <= NEAR and drift <= NEAR,
        f"on {dataset} a fit that ends after 1, 2, … iterations has {', '.join(f'{m:.1f}' for m in means[1:])} % (each "
        f"iteration by itself {', '.join(f'{m:.1f}' for m in alone[1:])} %, pre-training {alone[0]:.1f} %); after the "
        f"{ENOUGH}rd it changes by {later:.1f} points at most, an iteration by itself by {drift:.1f}; it stays within "
        f"{NEAR:g} points of its end from "
        f"iteration {first} on. The iterations change the label of {', '.join(f'{c:.1f}' for c in changed)} % of the "
        "nodes",
        dataset=dataset,
        largest_change_later=later,
        largest_change_alone=drift,
        within_half_a_point_from=first,
    )


def table(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per data set and iteration."""
    rows = []
    for dataset, of_dataset in content["numbers"].items():
        for k, (alone, stopped) in enumerate(zip(of_dataset["of_iteration"], of_dataset["if_stopped"], strict=True)):
            changed = f"{100 * of_dataset['changed'][k - 1]['mean']:.1f}" if k else "–"
            name = str(k) if k else "0 (pre-training)"
            rows.append([dataset, name, spread_text(stopped) if k else "–", spread_text(alone), changed])
    columns = ("data set", "EM iterations", "test accuracy of a fit that ends here, %")
    return (*columns, "of this iteration alone, %", "nodes with a new label, %"), rows


def draw(content: Content) -> Figure:
    """A panel of accuracy per data set, then the share of labels that change, over the iterations."""
    from matplotlib.ticker import MaxNLocator

    from .style import BLUE, GREEN, ORANGE, PAGE, PINK, SOFT, band, panels

    numbers = content["numbers"]
    figure, (*left, right) = panels(len(numbers) + 1, PAGE, 2.3)
    looks = zip((BLUE, ORANGE, GREEN, PINK), "osD^", strict=True)
    for axes, (dataset, of_dataset), (colour, marker) in zip(left, numbers.items(), looks, strict=False):
        steps = range(1, len(of_dataset["if_stopped"]))
        band(axes, steps, of_dataset["if_stopped"][1:], colour, marker, dataset)
        alone = [100 * one["mean"] for one in of_dataset["of_iteration"]]
        axes.plot(range(len(alone)), alone, color=colour, marker=marker, mfc="white", lw=1, ls=":")
        axes.set_title(f"{dataset}: test accuracy, %\n(open: an iteration by itself)")
        axes.set_xlabel("EM iterations (0: pre-training)")
        band(right, steps, of_dataset["changed"], colour, marker, dataset)
    right.set_title("nodes with a new label, %")
    right.set_xlabel("EM iteration")
    right.set_ylim(bottom=0)
    right.legend()
    for axes in (*left, right):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.axvline(ENOUGH, color=SOFT, lw=0.8, ls=(0, (4, 3)), zorder=1)
    return figure
