"""Figure 4: q's graph in the E-step as A_stable, or as the mean of S sampled structures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..runs.compare.paired import SURE
from ..runs.text import spread_text
from .experiment import Ask, Content, Results, ahead, claim, compared, fit, significance, spread
from .units import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = ("cora", "citeseer")
METHODS = ("gdamn",)
LABELS = "Test labels are read once, for the final score"
SEEDS = 20
SERIAL = False

STABLE = 0
SAMPLES = range(11)
"""Values of ``reweight_samples``; 0 is A_stable."""


def name_of(dataset: str, samples: int) -> str:
    """The name of a unit."""
    return f"{dataset}, S = {samples}"


measure = fit
"""Every unit is a plain fit."""


def plan(ask: Ask) -> list[Unit]:
    """A fit per number of samples and seed."""
    units = []
    specs = {dataset: ask.specs(dataset, METHODS)["gdamn"] for dataset in ask.datasets}
    for seed in ask.seeds:
        for dataset, spec in specs.items():
            for samples in SAMPLES:
                changed = replace(spec, settings={**spec.settings, "reweight_samples": samples})
                units.append(Unit(name_of(dataset, samples), seed, changed))
    return units


def conclude(ask: Ask, results: Results) -> dict[str, Any]:
    """Accuracy by number of samples; the stable weights against each of them, and the trend."""
    numbers = {
        dataset: {str(samples): spread(results, name_of(dataset, samples), ask.seeds) for samples in SAMPLES}
        for dataset in ask.datasets
    }
    claims = [one for dataset in ask.datasets for one in claims_of(dataset, numbers[dataset], ask.seeds, results)]
    return {"numbers": numbers, "claims": claims}


def claims_of(dataset: str, spreads: Content, seeds: Sequence[int], results: Results) -> list[dict[str, Any]]:
    """The two claims of the paper on a data set."""
    import numpy as np
    from scipy.stats import linregress

    means = [100 * spreads[str(samples)]["mean"] for samples in SAMPLES]
    sampled = means[1:]
    best = 1 + int(np.argmax(sampled))
    test = compared(results, name_of(dataset, STABLE), name_of(dataset, best), seeds)
    below = sum(mean < means[STABLE] for mean in sampled)
    points = [(s, 100 * value) for s in SAMPLES[1:] for value in spreads[str(s)]["per_seed"]]
    line = linregress([s for s, _ in points], [value for _, value in points])
    slope, p = float(line.slope), float(line.pvalue)
    return [
        claim(
            "the stable re-weighting is consistently more accurate than sampled structures, whatever their number",
            ahead(test),
            f"on {dataset} A_stable has {means[STABLE]:.1f} % and is ahead of {below} of {len(sampled)} values of S; "
            f"against the best of them, S = {best} with {means[best]:.1f} %, it is {test['difference']:+.1f} points "
            f"({significance(test)})",
            dataset=dataset,
            ahead_of=below,
            best_samples=best,
            **test,
        ),
        claim(
            "accuracy increases slowly with the number of samples",
            slope > 0 if p < SURE else None,
            f"on {dataset} it goes from {sampled[0]:.1f} % at S = 1 to {sampled[-1]:.1f} % at S = {len(sampled)}, "
            f"{slope:+.2f} points for each sample more (p = {p:.3f} over all seeds), where the deviation over seeds "
            f"is {100 * spreads['1']['std']:.1f} points",
            dataset=dataset,
            points_per_sample=slope,
            p=p,
        ),
    ]


def table(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per number of samples."""
    numbers = content["numbers"]
    rows = [
        ["0 (A_stable)" if samples == STABLE else str(samples)]
        + [spread_text(spreads[str(samples)]) for spreads in numbers.values()]
        for samples in SAMPLES
    ]
    return ("S", *(f"{dataset}, test accuracy in %" for dataset in numbers)), rows


def draw(content: Content) -> Figure:
    """A panel per data set: the stable weights apart at 0, then the samples."""
    from .style import BLUE, COLUMN, ORANGE, PAGE, band, panels

    numbers = content["numbers"]
    figure, all_axes = panels(len(numbers), PAGE if len(numbers) > 1 else COLUMN, 2.4)
    for axes, (dataset, spreads) in zip(all_axes, numbers.items(), strict=True):
        stable = spreads[str(STABLE)]
        band(axes, SAMPLES[1:], [spreads[str(s)] for s in SAMPLES[1:]], BLUE, "o", "mean of S sampled structures")
        axes.axhline(100 * stable["mean"], color=ORANGE, lw=0.9, ls=(0, (4, 3)), zorder=1)
        bar: dict[str, Any] = {"fmt": "D", "ms": 5, "color": ORANGE, "capsize": 2.5, "label": "0: stable weights"}
        axes.errorbar(STABLE, 100 * stable["mean"], yerr=100 * stable["std"], **bar)
        axes.set_title(dataset)
        axes.set_xticks(list(SAMPLES))
        axes.set_xlabel("sampled structures S in the E-step")
        axes.margins(y=0.12)
    all_axes[0].set_ylabel("test accuracy, %")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
