"""From raw runs to numbers: best and median of repeats, ratios, the fitted exponent, and goals reached or missed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Results = dict[str, Any]

WEIGHTS = {
    "gdamn": {"pre-train": 200, "M-step": 400, "E-step": 400},
    "gmnn": {"pre-train": 200, "M-step": 200, "E-step": 200},
}
"""Epochs of each phase in the paper's schedule (two EM iterations) and in GMNN's (one)."""


@dataclass(frozen=True)
class Row:
    """A line of the table of results. ``reached`` is None where there is no goal or no measurement."""

    what: str
    ours: str
    theirs: str
    ratio: str
    goal: str
    reached: bool | None


def runs(results: Results, benchmark: str, label: str | None = None) -> list[dict[str, Any]]:
    """The runs of a job that ended well."""
    found = results.get(benchmark, {}).get("runs", [])
    return [r for r in found if "error" not in r and label in (None, r["label"])]


def phase_seconds(results: Results, benchmark: str, label: str, how: str = "best") -> dict[str, float]:
    """Seconds of an epoch by phase: the least mean of all repeats, or (``median``) the median of their medians."""
    found = [r["phases"] for r in runs(results, benchmark, label)]
    if not found:
        return {}
    if how == "median":
        return {phase: statistics.median(f[phase]["median"] for f in found) for phase in found[0]}
    return {phase: min(f[phase]["mean"] for f in found) for phase in found[0]}


def epoch_seconds(results: Results, benchmark: str, label: str, how: str = "best") -> float | None:
    """The mean epoch of the whole schedule, evaluation included."""
    phases = phase_seconds(results, benchmark, label, how)
    if not phases:
        return None
    weights = WEIGHTS.get(label, WEIGHTS["gdamn"])
    return sum(weights[p] * s for p, s in phases.items()) / sum(weights[p] for p in phases)


def step_seconds(results: Results, benchmark: str, label: str, how: str = "mean") -> float | None:
    """A training step of theirs: the least of all repeats' means (or bests); ``median`` is the median of medians."""
    found = [r["steps"][how] for r in runs(results, benchmark, label)]
    if not found:
        return None
    return statistics.median(found) if how == "median" else min(found)


def rest_seconds(results: Results, benchmark: str, label: str) -> float | None:
    """What a fit does outside of epochs: set-up, annotation, posterior, re-weighting, copies of the best state."""
    return min((r["outside_epochs_seconds"] for r in runs(results, benchmark, label)), default=None)


def peak(results: Results, benchmark: str, label: str) -> float | None:
    return min((r["peak_rss"] for r in runs(results, benchmark, label)), default=None)


def sbm_points(results: Results) -> list[tuple[int, float]]:
    """(undirected edges, seconds of the mean epoch), by size."""
    labels = sorted({r["label"] for r in runs(results, "sbm")}, key=int)
    points = [(runs(results, "sbm", x)[0]["graph"]["edges"], epoch_seconds(results, "sbm", x)) for x in labels]
    return [(edges, seconds) for edges, seconds in points if seconds is not None]


def power_law(points: list[tuple[int, float]]) -> tuple[float, float] | None:
    """Exponent b and factor a of seconds = a · edges^b by least squares on logarithms."""
    if len(points) < 2:
        return None
    line = statistics.linear_regression([math.log(x) for x, _ in points], [math.log(y) for _, y in points])
    return line.slope, math.exp(line.intercept)


def product_seconds(results: Results, name: str) -> float | None:
    return min((r["seconds"][name]["best"] for r in runs(results, "kernels")), default=None)


def copy_speed(results: Results) -> tuple[float, str] | None:
    """The fastest copy of all, in bytes read plus written per second, and how it was made."""
    found = [(s, how) for r in runs(results, "kernels") for how, s in r["copy_bytes_per_second"].items()]
    return max(found, default=None)


def startup_seconds(results: Results, name: str) -> float | None:
    return min((r["commands"][name]["best"] for r in runs(results, "startup")), default=None)


def time(seconds: float | None) -> str:
    """Seconds for people: three digits, in ms below one second."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{digits(seconds * 1e3)} ms"
    return f"{digits(seconds)} s"


def digits(value: float) -> str:
    """Three digits that count."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def size(count: float | None) -> str:
    """Bytes in GB of 10⁹, or MB below one."""
    return "–" if count is None else f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def compared(
    what: str,
    ours: float | None,
    theirs: float | None,
    goal: float | None = None,
    show: Callable[[float | None], str] = time,
    word: str = "faster",
) -> Row:
    """A row whose ratio is theirs over ours, with a goal that it must reach."""
    ratio = theirs / ours if ours and theirs else None
    return Row(
        what,
        show(ours),
        show(theirs),
        "–" if ratio is None else f"{digits(ratio)}× {word}",
        "" if goal is None else f"≥ {goal:g}×",
        None if goal is None or ratio is None else ratio >= goal,
    )


def bounded(what: str, value: float | None, most: float, show: Callable[[float | None], str], goal: str) -> Row:
    """A row that has nothing to be compared with but a bound."""
    reached = None if value is None else value < most if goal.startswith("<") else value <= most
    return Row(what, show(value), "", "", goal, reached)


def rows(results: Results) -> list[Row]:
    """The table of results: every goal, measured or not, and what belongs beside it."""
    found = []
    goals = {"cora": 15, "pubmed": 15, "coauthor-physics": 60}
    for name in ("cora", "citeseer", "pubmed", "coauthor-cs", "coauthor-physics"):
        ours = epoch_seconds(results, name, "gdamn")
        for label, goal in (("gat", goals.get(name)), ("gcn", None)):
            if goal or ours:
                theirs = step_seconds(results, name, f"pyg-{label}")
                found.append(compared(f"{name}: GDAMN epoch, PyG {label.upper()} step", ours, theirs, goal))
    ours = epoch_seconds(results, "arxiv", "gdamn")
    for label, how in (("pyg-gcn", "edge list"), ("pyg-gcn-csr", "torch CSR")):
        theirs = step_seconds(results, "arxiv", label)
        found.append(compared(f"arxiv: GDAMN epoch, PyG GCN step ({how})", ours, theirs, 10))
    return found + kernel_rows(results) + scale_rows(results)


def kernel_rows(results: Results) -> list[Row]:
    found = []
    names = {
        "spmm": ("A X", "index_add"),
        "spmm_t": ("gradient on X", "index_add"),
        "sddmm": ("gradient on A", "gather"),
    }
    for name, (title, other) in names.items():
        ours = product_seconds(results, name)
        for way in ("torch csr", other):
            if f"{name} {way}" in next((r["seconds"] for r in runs(results, "kernels")), {}):
                found.append(compared(f"{title}: {name}, {way}", ours, product_seconds(results, f"{name} {way}")))
        speed = copy_speed(results)
        for count in ("gathered", "compulsory"):
            moved = next((r["bytes"][name][count] for r in runs(results, "kernels")), None)
            bound = moved / speed[0] if moved and speed else None
            ratio = ours / bound if ours and bound else None
            found.append(
                Row(
                    f"{title}: {name}, {count} bytes at copy speed",
                    time(ours),
                    time(bound),
                    "–" if ratio is None else f"{digits(ratio)}× the copy",
                    "≤ 2×",
                    None if ratio is None else ratio <= 2,
                )
            )
    return found


def exponent_row(results: Results) -> Row:
    """The fitted exponent and the sizes it rests on; a size that failed leaves the goal open."""
    points = sbm_points(results)
    law = power_law(points)
    ended = {r["label"] for r in runs(results, "sbm")}
    lost = sorted({r["label"] for r in results.get("sbm", {}).get("runs", [])} - ended, key=int)
    over = f", {points[0][0]:,} to {points[-1][0]:,}" if law else ""
    goal = "≤ 1.1" + (f" (open: {', '.join(lost)} edges failed)" if lost else "")
    value = "–" if law is None else f"{law[0]:.3f}"
    reached = None if law is None or lost else law[0] <= 1.1
    return Row(f"sbm: exponent of epoch time over edges{over}", value, "", "", goal, reached)


def scale_rows(results: Results) -> list[Row]:
    physics = peak(results, "memory", "gdamn")
    name = next((r["parameters"]["dataset"] for r in runs(results, "memory")), "coauthor-physics")
    return [
        exponent_row(results),
        bounded(f"memory: peak of a GDAMN fit, {name}", physics, 1.2e9, size, "≤ 1.2 GB"),
        compared("memory: the same, PyG GCN step", physics, peak(results, "memory", "pyg-gcn"), None, size, "less"),
        compared("memory: the same, PyG GAT step", physics, peak(results, "memory", "pyg-gat"), None, size, "less"),
        bounded("start: python -c 'import gdamn'", startup_seconds(results, "import"), 1.0, time, "< 1 s"),
        bounded("start: python -m gdamn --help", startup_seconds(results, "help"), 1.0, time, "< 1 s"),
    ]
