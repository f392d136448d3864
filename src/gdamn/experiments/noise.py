"""The noise suite: kinds of noise, rates, methods and seeds, and how much accuracy each method keeps.

The paper has no such experiment; it says that a GCN suffers from edges between classes (Figure 1a), and that hard
attention cuts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.named.poisoned import RATES as FILE_RATES
from ..data.noise import KINDS, Noise
from ..data.noise.kinds import FILES, find_kind
from ..errors import ConfigError, DataError, GraphError
from ..runs import pool
from ..runs import run as runs
from ..runs.compare import engine
from ..runs.spec import RunSpec, folder_name
from .experiment import Ask, Content, Results, load
from .noise_curves import claims_of, curves_of, mean_ranks
from .noise_tables import accuracies, areas
from .units import Task, Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = ("cora",)
METHODS: tuple[str, ...] = (
    *("gcn", "gat", "mlp", "gcn-jaccard", "gcn-svd", "gnnguard", "simp-gcn", "elastic-gnn"),
    *("gmnn", "gdamn", "gdamn-plus"),
)
LABELS = (
    "Noise between classes reads all labels, test labels too, since it is between classes by definition; flipped "
    "labels and the attack read training labels, the other kinds none. Settings are those for the clean graph. Test "
    "labels, which are never changed, are read for the final score"
)
SEEDS = 5
SERIAL = False
CHOICES = True
"""Methods, kinds and rates may be chosen."""

POISONED = {"cora": "cora-meta"}
"""The files of a data set under metattack."""

RATES: dict[str, tuple[float, ...]] = {
    "inter": (0, 0.25, 0.5, 0.75, 1),
    "random": (0, 0.25, 0.5, 0.75, 1),
    "remove": (0, 0.2, 0.4, 0.6, 0.8),
    "rewire": (0, 0.2, 0.4, 0.6, 0.8),
    "mask": (0, 0.2, 0.4, 0.6, 0.8),
    "features": (0, 0.2, 0.4, 0.6, 0.8),
    "labels": (0, 0.1, 0.2, 0.3, 0.4),
    "attack": (0, 0.05, 0.1, 0.15, 0.2),
    FILES: FILE_RATES,
}
"""Every kind, and its rates where none are asked for."""

Level = tuple[str, str, float]
"""A data set, a kind and a rate."""


def levels(ask: Ask) -> list[Level]:
    """What is asked for, kind by kind; refuses what can't be."""
    asked: list[Level] = []
    for dataset in ask.datasets:
        for kind in ask.kinds or RATES:
            rates = ask.rates or RATES.get(kind, ())
            if kind != FILES:
                find_kind(kind)
                asked += [(dataset, kind, Noise(kind, rate).rate) for rate in rates]
            elif dataset in POISONED and any(rate in FILE_RATES for rate in rates if rate):
                asked += [(dataset, kind, rate) for rate in rates if rate in FILE_RATES]
            elif ask.kinds:
                listed = ", ".join(f"{rate:g}" for rate in FILE_RATES)
                raise ConfigError(f"{FILES} is there for {', '.join(POISONED)} alone, with the rates {listed}.")
    return asked


def name_of(level: Level, method: str) -> str:
    """The name of a unit; without noise a fit is the same for every kind."""
    dataset, kind, rate = level
    return f"{folder_name(dataset)}, {'clean' if rate == 0 and kind != FILES else f'{kind} {rate:g}'}, {method}"


def plan(ask: Ask) -> list[Unit]:
    """A fit per level, method and seed; the first seed of all before the second of any, a graph's fits together."""
    methods = ask.methods or METHODS
    asked = levels(ask)
    of_data = {dataset: ask.specs(dataset, methods) for dataset in ask.datasets}
    files = replace(ask, options={})  # those of another data set
    of_files = {d: files.specs(POISONED[d], methods) for d in {d for d, kind, _ in asked if kind == FILES}}
    units: dict[Task, Unit] = {}
    for seed in ask.seeds:
        for level in asked:
            for method in methods:
                clean = (of_files if level[1] == FILES else of_data)[level[0]][method]
                unit = Unit(name_of(level, method), seed, disturbed(clean, level))
                units.setdefault(unit.task, unit)
    return list(units.values())


def typical(units: Sequence[Unit]) -> list[Unit]:
    """A unit per data set and method: what the others differ in, their names tell."""
    first: dict[tuple[str, str], Unit] = {}
    for unit in units:
        assert unit.spec is not None
        first.setdefault((unit.spec.dataset, unit.spec.method), unit)
    return list(first.values())


def disturbed(spec: RunSpec, level: Level) -> RunSpec:
    """The fit under the noise of a level."""
    _, kind, rate = level
    if kind == FILES:
        return replace(spec, options={**spec.options, "rate": float(rate)})
    return replace(spec, noise=Noise(kind, rate).value)


def measure(unit: Unit, data_root: Path | None, progress: pool.SeedProgress | None) -> dict[str, Any]:
    """Fit on the noisy graph; the reason as ``missing`` where that can't be done, which stops no other unit."""
    assert unit.spec is not None
    try:
        graph = load(unit, data_root)
    except GraphError as problem:
        return {"missing": str(problem)}
    except DataError:
        if unit.spec.dataset not in POISONED.values():
            raise
        return {"missing": f"its files are not here; gdamn data info {unit.spec.dataset} says what is needed"}
    if not graph.test_mask.any():
        raise ConfigError(f"'{unit.spec.dataset}' has no test nodes to score; pass --test-share 0.2, or mark some.")
    try:
        return runs.measure(graph, runs.make_estimator(unit.spec, unit.seed).fit(graph, progress=progress))
    except Exception as problem:
        return {"missing": engine.failure(unit.spec.method, problem)}


def conclude(ask: Ask, results: Results) -> dict[str, Any]:
    """Curves, the area under each, ranks, and what they say."""
    methods = list(ask.methods or METHODS)
    rates: dict[tuple[str, str], list[float]] = {}
    for dataset, kind, rate in levels(ask):
        rates.setdefault((dataset, kind), []).append(rate)
    numbers: dict[str, dict[str, Any]] = {dataset: {} for dataset in ask.datasets}
    for (dataset, kind), of_kind in rates.items():
        values = {
            method: [
                [results[name_of((dataset, kind, rate), method), seed].get("test_accuracy") for seed in ask.seeds]
                for rate in of_kind
            ]
            for method in methods
        }
        numbers[dataset][kind] = curves_of(of_kind, values)
    return {
        "captions": ["Mean test accuracy over the rates, % (rank)", "Test accuracy, %"],
        "numbers": numbers,
        "mean_ranks": mean_ranks(numbers, methods),
        "seconds": seconds_of(methods, results),
        "claims": claims_of(numbers, ask.seeds),
        "remarks": [*split_notes(results), *(f"{kind}: {meaning(kind)}." for kind in {kind: 0 for _, kind in rates})],
        "left_out": left_out(results),
    }


def split_notes(results: Results) -> list[str]:
    """How own files were split, as their reader says it of the first seed."""
    notes: list[str] = next((result["notes"] for result in results.values() if "notes" in result), [])
    return [note for note in notes if note.startswith("Split")]


def meaning(kind: str) -> str:
    """What a kind of noise is, the rate being r."""
    return KINDS[kind].summary if kind in KINDS else "r changed edges per edge of Cora's largest component, from files"


def seconds_of(methods: Sequence[str], results: Results) -> dict[str, dict[str, Any]]:
    """The seconds of a fit of each method, over all of its fits."""
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    for (name, _), result in results.items():
        if "seconds" in result:
            seconds[name.rpartition(", ")[2]].append(result["seconds"])
    spreads = {method: runs.spread(values) for method, values in seconds.items()}
    return {method: {"mean": spread["mean"], "std": spread["std"]} for method, spread in spreads.items()}


def left_out(results: Results) -> list[str]:
    """The units that couldn't be done, with the reason; of the same reason only their number."""
    reasons: dict[str, list[str]] = {}
    for (name, seed), result in results.items():
        if "missing" in result:
            reasons.setdefault(result["missing"].rstrip("."), []).append(f"{name}, seed {seed}")
    return [
        f"Left out: {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {reason}."
        for reason, names in reasons.items()
    ]


def summary(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per method: its mean accuracy over the rates of each kind, and its rank."""
    return areas(content)


def table(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per kind and rate, a column per method."""
    return accuracies(content)


def draw(content: Content) -> Figure:
    """A panel per kind, a line per method."""
    from .noise_figure import draw as draw_curves

    return draw_curves(content)
