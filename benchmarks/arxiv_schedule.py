"""Time and memory of the paper's schedule for ogbn-arxiv: 3 layers of 128, 1000 epochs per phase, two EM iterations.

    python benchmarks/arxiv_schedule.py --data-root DATA [--share 0.1] [--threads 1]

Edges, labels and split are those of ogbn-arxiv. Its features could not be had: here a node has 128 random numbers
around the mean of its class, so that there is something to learn, and the accuracy says nothing of the real data set.
With ``--share`` every phase gets that share of its epochs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from graphs import ARXIV_FEATURES, arxiv_graph

SIGNAL = 2.0
"""Length of a class's mean; the noise has length √128."""


def simulated(data_root: str) -> Any:
    """ogbn-arxiv's graph with features around the means of the classes."""
    graph = arxiv_graph(data_root)
    rng = np.random.default_rng(0)
    means = rng.standard_normal((graph.num_classes, ARXIV_FEATURES), dtype=np.float32)
    means *= SIGNAL / np.linalg.norm(means, axis=1, keepdims=True)
    return replace(graph, features=graph.features + means[graph.labels])


def train(data_root: str, share: float, threads: int, changes: dict[str, Any]) -> dict[str, Any]:
    """The preset of ogbn-arxiv on that graph."""
    from gdamn.estimators.registry import make

    whole = make("gdamn", "ogbn-arxiv").settings
    few = {name: max(1, round(share * getattr(whole, name))) for name in ("pretrain_epochs", "epochs")}
    model = make("gdamn", "ogbn-arxiv", overrides={**few, "threads": threads, **changes}).fit(simulated(data_root))
    seconds: dict[str, list[float]] = {}
    for record, took in zip(model.history_, model.timings_, strict=True):
        seconds.setdefault(record["phase"], []).append(took)
    return {
        "share": share,
        "settings": {**few, **changes},
        "threads": threads,
        "load": os.getloadavg(),
        "epoch_seconds": {phase: round(statistics.median(took), 3) for phase, took in seconds.items()},
        "fit_seconds": model.seconds_,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "validation": model.best_epoch_["val_accuracy"],
        "phase": model.best_epoch_["phase"],
        "test": model.score("test"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", default=os.environ.get("GDAMN_DATA"))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], help="settings as NAME=JSON")
    parser.add_argument("--name", default="full", help="under which it is kept")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("arxiv_schedule.json"))
    given = parser.parse_args()
    changes = {name: json.loads(value) for name, value in (pair.split("=", 1) for pair in given.set)}
    found = train(given.data_root, given.share, given.threads, changes)
    kept = json.loads(given.out.read_text()) if given.out.exists() else {}
    given.out.write_text(json.dumps({**kept, given.name: found}, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
