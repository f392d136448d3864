"""The cost of an epoch over edges, classes and hidden units, on made-up graphs, against the complexity of the paper.

The paper: a layer of p costs O(|V| F F' + |E| C C + |E_z| F' F''). So, with all else fixed, the time of an epoch of the
M-step should grow at most linearly with the edges, at most with the square of the classes, and at most linearly with
the hidden units F'. A power law is fitted to the larger half of each sweep, where the constant part matters least.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..runs import pool
from ..runs import run as runs
from .experiment import Ask, Content, Results, claim
from .units import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS: tuple[str, ...] = ("sbm",)
METHODS = ("gdamn",)
LABELS = (
    "Made-up graphs (stochastic block models), settings of no preset; times are processor time, medians over the "
    "epochs of a phase and then over the seeds, one fit at a time"
)
SEEDS = 3
SERIAL = True

NODES, DEGREE, CLASSES, HIDDEN, FEATURES = 4000, 8, 8, 32, 64
"""The graph in the middle: one of these is changed at a time."""
SHORT = {"pretrain_epochs": 1, "start": "graph", "em_iterations": 1, "epochs": 12}
"""What a fit that is only timed needs, where nothing else is asked for."""
WARM = 1
"""Epochs at the start of a phase that aren't counted."""
SWEEPS: dict[str, tuple[int, ...]] = {
    "edges": (16000, 32000, 64000, 128000, 256000, 512000),
    "classes": (4, 8, 16, 32, 64, 128),
    "hidden": (32, 64, 128, 256, 512, 1024),
}
BOUNDS = {"edges": 1.0, "classes": 2.0, "hidden": 1.0}
"""The exponents that the paper's complexity allows."""
SLACK = 0.1
"""How far above its bound a measured exponent may be."""
AXES = {"edges": "edges |E|", "classes": "classes C", "hidden": "hidden units F'"}
NOUNS = {"edges": "edges", "classes": "classes", "hidden": "hidden units"}
PHASES = {"M-step": "M-step (p)", "E-step": "E-step (q)"}


def name_of(axis: str, value: int) -> str:
    """The name of a unit."""
    return f"{axis} {value}"


def plan(ask: Ask) -> list[Unit]:
    """A short fit per value and seed; sizes are part of the configuration."""
    ask = replace(ask, datasets=("sbm",))
    spec = ask.specs("sbm", METHODS)["gdamn"]
    names = {key.rpartition(".")[2] for key in ask.settings}
    short = {key: value for key, value in SHORT.items() if key not in names}
    if spec.changed({}, short).settings["epochs"] < 3:
        raise ConfigError("time needs 3 epochs or more, because the first ones aren't counted; raise epochs.")
    units = []
    for seed in ask.seeds:
        for axis, values in SWEEPS.items():
            for value in values:
                edges = value if axis == "edges" else NODES * DEGREE // 2
                classes = value if axis == "classes" else CLASSES
                options = {"num_nodes": NODES, "num_classes": classes, "degree": 2 * edges / NODES}
                options |= {"num_features": FEATURES, "train_per_class": 5, "val_per_class": 5}
                hidden = value if axis == "hidden" else HIDDEN
                changed = spec.changed(options, {**short, "hidden": hidden})
                units.append(Unit(name_of(axis, value), seed, changed, {"measures": "seconds"}))
    return units


def measure(unit: Unit, data_root: Path | None, progress: pool.SeedProgress | None) -> dict[str, Any]:
    """Median processor seconds of an epoch of each phase."""
    assert unit.spec is not None
    clock = EpochClock(progress)
    graph = runs.load_graph(unit.spec, data_root, unit.seed)
    runs.make_estimator(unit.spec, unit.seed).fit(graph, progress=clock)
    return {"seconds": {phase: statistics.median(clock.seconds[phase][WARM:]) for phase in PHASES}}


class EpochClock:
    """Processor time between the ends of two epochs of a phase; other work on the machine doesn't count."""

    def __init__(self, progress: pool.SeedProgress | None) -> None:
        self.progress = progress
        self.seconds: dict[str, list[float]] = {phase: [] for phase in PHASES}
        self.last = time.process_time()

    def __call__(self, phase: str, epoch: int, epochs: int, record: dict[str, Any]) -> None:
        """An epoch has ended; the time before the first one of a phase isn't the epoch's alone."""
        kind, now = phase.partition(" ")[0], time.process_time()
        if kind in self.seconds and epoch > 0:
            self.seconds[kind].append(now - self.last)
        if self.progress is not None:
            self.progress(phase, epoch, epochs, record)
        self.last = time.process_time()


def conclude(ask: Ask, results: Results) -> dict[str, Any]:
    """Times by size, the exponent of each sweep, and the paper's bound on it."""
    numbers: dict[str, Any] = {}
    for axis, values in SWEEPS.items():
        seconds = {
            phase: [
                statistics.median(results[name_of(axis, value), seed]["seconds"][phase] for seed in ask.seeds)
                for value in values
            ]
            for phase in PHASES
        }
        per_seed = {
            phase: [[results[name_of(axis, v), seed]["seconds"][phase] for seed in ask.seeds] for v in values]
            for phase in PHASES
        }
        exponents = {phase: exponent(values, seconds[phase]) for phase in PHASES}
        numbers[axis] = {"values": list(values), "seconds": seconds, "exponents": exponents, "per_seed": per_seed}
    fixed = {"nodes": NODES, "edges": NODES * DEGREE // 2, "classes": CLASSES, "hidden": HIDDEN, "features": FEATURES}
    claims = [bounded(axis, numbers[axis]) for axis in SWEEPS]
    return {"numbers": {"fixed": fixed, "sweeps": numbers}, "claims": claims}


def exponent(values: Sequence[int], seconds: Sequence[float]) -> float:
    """b of a · size^b, fitted to the logarithms of the larger half."""
    import numpy as np

    half = len(values) // 2
    x, y = np.log(values[half:]), np.log(seconds[half:])
    return float(np.polyfit(x, y, 1)[0])


def bounded(axis: str, sweep: Content) -> dict[str, Any]:
    """The claim on one size."""
    bound, exponent = BOUNDS[axis], sweep["exponents"]["M-step"]
    times = [1000 * second for second in sweep["seconds"]["M-step"]]
    values = sweep["values"]
    growth = f"linearly with the {NOUNS[axis]}" if bound == 1 else f"with the square of the {NOUNS[axis]}"
    return claim(
        f"a layer of p costs O(|V|FF' + |E|CC + |E_z|F'F''), so that an epoch should grow at most {growth}",
        exponent <= bound + SLACK,
        f"an epoch of the M-step takes {times[0]:.1f} ms of processor time at {values[0]:,} {NOUNS[axis]} "
        f"and {times[-1]:.1f} ms at {values[-1]:,}; over the larger half of the sweep it grows with the power "
        f"{exponent:.2f}, where the bound is {bound:g}",
        exponent=exponent,
        bound=bound,
    )


def table(content: Content) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """A row per size."""
    rows = []
    for axis, sweep in content["numbers"]["sweeps"].items():
        for at, value in enumerate(sweep["values"]):
            times = [f"{1000 * sweep['seconds'][phase][at]:.2f}" for phase in PHASES]
            rows.append([axis, f"{value:,}", *times])
        powers = [f"power {sweep['exponents'][phase]:.2f}" for phase in PHASES]
        rows.append([axis, f"bound {BOUNDS[axis]:g}", *powers])
    return ("changed", "size", *(f"{name}, ms an epoch" for name in PHASES.values())), rows


def draw(content: Content) -> Figure:
    """A panel per size, both axes logarithmic, with the slope that the paper allows."""
    from .style import BLUE, ORANGE, PAGE, SOFT, panels

    looks = {"M-step": (ORANGE, "D"), "E-step": (BLUE, "o")}
    sweeps = content["numbers"]["sweeps"]
    figure, all_axes = panels(len(sweeps), PAGE, 2.5, sharey=True)
    for axes, (axis, sweep) in zip(all_axes, sweeps.items(), strict=True):
        values = sweep["values"]
        for phase, (colour, marker) in looks.items():
            times = [1000 * second for second in sweep["seconds"][phase]]
            axes.plot(values, times, color=colour, marker=marker, label=PHASES[phase])
            row = list(looks).index(phase)
            power = f"{PHASES[phase]}: power {sweep['exponents'][phase]:.2f}"
            axes.text(0.04, 0.96 - 0.09 * row, power, transform=axes.transAxes, color=colour, va="top", fontsize=7.5)
        half = len(values) // 2
        start = 1000 * sweep["seconds"]["M-step"][half]
        allowed = [start * math.pow(value / values[half], BOUNDS[axis]) for value in values[half:]]
        label = "growth that the paper's complexity allows"
        axes.plot(values[half:], allowed, color=SOFT, ls=(0, (4, 3)), lw=1, label=label, zorder=1)
        axes.text(
            0.04, 0.78, f"allowed: {BOUNDS[axis]:g}", transform=axes.transAxes, color=SOFT, va="top", fontsize=7.5
        )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(values, [f"{v // 1000}k" if v % 1000 == 0 else str(v) for v in values], minor=False)
        axes.set_xticks([], minor=True)
        axes.set_xlabel(AXES[axis])
        axes.margins(y=0.3)
    all_axes[0].set_ylabel("processor time of an epoch, ms")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
