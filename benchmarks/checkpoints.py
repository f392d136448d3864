"""What checkpoints cost a fit: GDAMN on a data set with and without them, in turn, the best of several of each.

    python benchmarks/checkpoints.py --dataset cora --repeats 3

Beside the ratio of the two stands the share of a fit that was spent in the code of checkpoints: on a machine with other
work the ratio has the luck of the moment in it, and the share hasn't.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from gdamn import data
from gdamn.estimators import registry as methods
from gdamn.fit import checkpoint
from gdamn.kernels import set_threads

inside = 0.0
"""Processor seconds in the code of checkpoints."""


def timed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, its processor time added up."""

    def call(*args: Any) -> Any:
        global inside
        begun = time.process_time()
        try:
            return function(*args)
        finally:
            inside += time.process_time() - begun

    return call


def measured(dataset: str, kept: bool) -> dict[str, float]:
    """Processor and wall seconds of a fit, and how much of them checkpoints took."""
    global inside
    graph, inside = data.load(dataset), 0.0
    with tempfile.TemporaryDirectory() as folder, checkpoint.keeping(Path(folder)) if kept else nullcontext():
        cpu, wall = time.process_time(), time.perf_counter()
        methods.make("gdamn", dataset, seed=0).fit(graph)
        seconds = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    return {**seconds, "inside": inside}


def main() -> None:
    """Print the best of each, the ratio and the share."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--dataset", default="cora")
    reader.add_argument("--repeats", type=int, default=3)
    asked = reader.parse_args()
    torch.set_num_threads(1)
    set_threads(1)
    checkpoint.of_fit = timed(checkpoint.of_fit)
    for name in ("keep", "enter", "reached"):
        setattr(checkpoint.Checkpoint, name, timed(getattr(checkpoint.Checkpoint, name)))
    found: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    measured(asked.dataset, kept=True)  # compiles what isn't compiled
    for _ in range(asked.repeats):
        for kept, runs in found.items():
            runs.append(measured(asked.dataset, kept))
    best = {key: [min(run[key] for run in runs) for runs in found.values()] for key in ("cpu", "wall")}
    ratios = {f"{key}_ratio": kept / without for key, (without, kept) in best.items()}
    shares = [run["inside"] / run["cpu"] for run in found[True]]
    print(json.dumps({"dataset": asked.dataset, **best, **ratios, "share_inside": shares}, indent=2))


if __name__ == "__main__":
    main()
