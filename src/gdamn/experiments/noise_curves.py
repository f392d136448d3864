"""Curves of accuracy over the rate of a noise: the area under them, ranks, and claims."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..data.noise import KINDS
from ..runs.spread import spread
from ..runs.text import signed
from .experiment import ahead, claim, compared, significance

OURS, PLAIN = "gdamn", "gcn"
"""The methods that the claims are about."""

Values = Sequence[Sequence[float | None]]
"""Test accuracies, [rates][seeds]; None where there is none."""


def area(rates: Sequence[float], accuracies: Sequence[float | None]) -> float | None:
    """∫ accuracy d rate / (highest - lowest rate), by trapezoids: the mean accuracy over the rates; None with a gap."""
    points = [(rate, value) for rate, value in zip(rates, accuracies, strict=True) if value is not None]
    if len(points) < len(rates) or not points:
        return None
    if len(points) == 1:
        return points[0][1]
    total = sum((b - a) * (x + y) / 2 for (a, x), (b, y) in pairwise(points))
    return total / (points[-1][0] - points[0][0])


def curves_of(rates: Sequence[float], values: Mapping[str, Values]) -> dict[str, Any]:
    """Each method's accuracy at every rate over the seeds, the area under its curves, and its rank by that."""
    methods: dict[str, dict[str, Any]] = {}
    for method, at_rates in values.items():
        by_seed = zip(*at_rates, strict=True)
        methods[method] = {
            "test_accuracy": [spread(of_rate) for of_rate in at_rates],
            "area": spread([area(rates, of_seed) for of_seed in by_seed]),
        }
    means = [found["area"]["mean"] for found in methods.values()]
    for found in methods.values():
        mean = found["area"]["mean"]
        higher = [other for other in means if other is not None and mean is not None and other > mean]
        found["rank"] = None if mean is None else 1 + len(higher)
    return {"rates": list(rates), "methods": methods}


def mean_ranks(numbers: Mapping[str, Mapping[str, Any]], methods: Sequence[str]) -> dict[str, float | None]:
    """The mean of a method's ranks over all kinds and data sets; None where it has none."""
    ranks = {
        method: [kind["methods"][method]["rank"] for kinds in numbers.values() for kind in kinds.values()]
        for method in methods
    }
    known = {method: [rank for rank in of if rank is not None] for method, of in ranks.items()}
    return {method: statistics.fmean(of) if of else None for method, of in known.items()}


def claims_of(numbers: Mapping[str, Mapping[str, Any]], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What is expected, data set by data set: noise hurts a GCN, and GDAMN keeps more than it does."""
    claims = []
    for dataset, kinds in numbers.items():
        claims += hurts(dataset, kinds, seeds)
        claims += [one for name, kind in kinds.items() for one in leads(dataset, name, kind, seeds)]
    return claims


def hurts(dataset: str, kinds: Mapping[str, Any], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """The claim that each kind lowers the accuracy of a GCN, or of the first method where there is none."""
    tests = {}
    for name, kind in kinds.items():
        method = PLAIN if PLAIN in kind["methods"] else next(iter(kind["methods"]))
        curve = kind["methods"][method]["test_accuracy"]
        test = tested(curve[-1]["per_seed"], curve[0]["per_seed"], seeds) if len(kind["rates"]) > 1 else None
        if test is not None:
            tests[name] = {**test, "rate": kind["rates"][-1], "method": method}
    if not tests:
        return []
    verdicts = [ahead(test) for test in tests.values()]
    agrees = False if True in verdicts else True if all(v is False for v in verdicts) else None
    method = next(iter(tests.values()))["method"]
    ours = ", ".join(f"{name} {test['rate']:g} {signed(test['difference'])}" for name, test in tests.items())
    statement = f"each kind of noise lowers the accuracy of {method} on {short(dataset)}"
    return [claim(statement, agrees, f"points at the highest rate: {ours}", dataset=dataset, tests=tests)]


def leads(dataset: str, name: str, kind: Mapping[str, Any], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """The claim that GDAMN is ahead of a GCN under a kind of noise, where both were fitted."""
    methods = kind["methods"]
    if not {OURS, PLAIN} <= set(methods):
        return []
    test = tested(methods[OURS]["area"]["per_seed"], methods[PLAIN]["area"]["per_seed"], seeds)
    if test is None:
        return []
    ours, plain = (100 * methods[method]["area"]["mean"] for method in (OURS, PLAIN))
    first = min((m for m in methods if methods[m]["rank"] is not None), key=lambda m: methods[m]["rank"])
    rank = methods[OURS]["rank"]
    leader = "" if rank == 1 else f", {first} with {100 * methods[first]['area']['mean']:.1f} being first"
    return [
        claim(
            f"under the noise '{name}' on {short(dataset)} GDAMN keeps more accuracy than a GCN",
            ahead(test),
            f"{ours:.1f} % against {plain:.1f} %, mean over the rates ({significance(test)}); "
            f"GDAMN is number {rank} of {len(methods)}{leader}",
            dataset=dataset,
            kind=name,
            test=test,
        )
    ]


def tested(
    first: Sequence[float | None], second: Sequence[float | None], seeds: Sequence[int]
) -> dict[str, Any] | None:
    """Two lists of accuracies, seed by seed: the difference in points, and p; None where no seed has both."""
    both = [s for s, a, b in zip(seeds, first, second, strict=True) if a is not None and b is not None]
    at = {seed: place for place, seed in enumerate(seeds)}
    results = {("first", s): {"accuracy": first[at[s]]} for s in both}
    results |= {("second", s): {"accuracy": second[at[s]]} for s in both}
    return compared(results, "first", "second", both, "accuracy") if both else None


def short(dataset: str) -> str:
    """A data set in a sentence; of own files the name without folders."""
    from ..runs.spec import folder_name

    return folder_name(dataset)


def axis_text(kind: str) -> str:
    """What the rate of a kind counts."""
    return KINDS[kind].what if kind in KINDS else "changed edges per edge"
