"""Seconds of processor per epoch of the slowest baselines, before and after.

python benchmarks/baselines_speed.py --before /path/to/an/older/checkout --data-root /path/to/data

Both sides run in turn (A B A B), each in a process of its own on one thread, with the data set's preset and few epochs;
an epoch is a whole one, with its evaluation. The least epoch of all rounds counts, by the clock of the thread: others
may use the machine. The first epochs are left out, in which memory is asked for. The losses of the last epoch are kept:
both sides draw the same noise, so they are equal but for rounding. The older checkout comes from git worktree.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import machine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EPOCHS = {"gat": 14, "alagat": 10, "grand": 8, "cs-gnn": 14, "grand-plus": 8}
FIRST = 4
"""Epochs that are not counted."""


def main() -> None:
    arguments = parse()
    if arguments.worker:
        print(json.dumps(measure(arguments.worker, arguments.dataset, arguments.data_root)))
        return
    sides = {"before": arguments.before, "after": ROOT}
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for method in arguments.methods.split(","):
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
        for _ in range(arguments.rounds):
            for name, checkout in sides.items():
                runs[name].append(in_process(checkout, method, arguments))
        seconds = {name: min(run["seconds"] for run in each) for name, each in runs.items()}
        losses = {name: each[0]["loss"] for name, each in runs.items()}
        kept[f"{method} {arguments.dataset}"] = {
            **{name: round(value, 5) for name, value in seconds.items()},
            "ratio": round(seconds["before"] / seconds["after"], 2),
            "losses": losses,
            "commits": {name: machine.commit(checkout) for name, checkout in sides.items()},
        }
        print(method, kept[f"{method} {arguments.dataset}"], flush=True)
        arguments.out.write_text(json.dumps(kept, indent=1) + "\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, default=ROOT)
    parser.add_argument("--data-root", type=Path, default=None)
    parser.add_argument("--dataset", default="pubmed")
    parser.add_argument("--methods", default=",".join(EPOCHS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=HERE / "baselines_speed.json")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def in_process(checkout: Path, method: str, arguments: argparse.Namespace) -> dict[str, float]:
    """One measurement with the sources of a checkout."""
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", method, "--dataset", arguments.dataset]
    if arguments.data_root is not None:
        command += ["--data-root", str(arguments.data_root)]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(method: str, dataset: str, data_root: Path | None) -> dict[str, float]:
    """The least epoch of one fit, in seconds of its thread, and its last loss."""
    from gdamn.data import load
    from gdamn.estimators.registry import METHODS

    graph, kind = load(dataset, data_root=data_root), METHODS[method]
    settings = {**kind.settings(dataset), "epochs": EPOCHS[method], "threads": 1, "seed": 0}
    clock: list[float] = []
    losses: list[float] = []

    def progress(phase: str, epoch: int, epochs: int, record: dict[str, Any]) -> None:
        clock.append(time.thread_time())
        losses.append(record["loss"])

    kind.estimator()(**settings).fit(graph, progress=progress)
    epochs = [end - start for start, end in itertools.pairwise(clock)][FIRST - 1 :]
    return {"seconds": min(epochs), "loss": losses[-1]}


if __name__ == "__main__":
    main()
