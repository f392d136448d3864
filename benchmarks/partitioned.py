"""Test accuracy of partitioned training against the full batch, on real graphs, the same splits and seeds for both.

    python benchmarks/partitioned.py [--graphs arxiv-2023,coauthor-physics] [--seeds 3] [--parts 4] [--schedule 1.0]

The settings are the preset of the data set, or the defaults where it has none. Partitioned training makes one step of
Adam per part, so it gets its epochs divided by the number of parts: both make about the same number of steps. Every
fit is kept in ``--out`` with its settings, and what is there already is not run again.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any


def settings_of(name: str, mode: str, parts: int, halo: int, schedule: float, nodes: int) -> dict[str, Any]:
    """The settings in which the two kinds of training differ, and the share of the schedule that both get."""
    from gdamn.estimators.registry import make

    base = make("gdamn", name).settings
    scale = schedule / (parts if mode == "partition" else 1)
    counts = ("pretrain_epochs", "epochs", "annotate_epochs")
    few: dict[str, Any] = {key: max(1, round(getattr(base, key) * scale)) for key in counts}
    if mode == "full":
        return {**few, "batch": "full", "start": "graph"}
    return {**few, "batch": "partition", "halo": halo, "batch_nodes": -(-nodes // parts), "start": "graph"}


def fit(name: str, seed: int, mode: str, parts: int, halo: int, schedule: float) -> dict[str, Any]:
    """One fit; the split is that of the seed where the data set has no public one."""
    from gdamn.data import load
    from gdamn.estimators.registry import make

    graph = load(name, seed=seed)
    changed = settings_of(name, mode, parts, halo, schedule, graph.num_nodes)
    model = make("gdamn", name, seed=seed, overrides={**changed, "threads": 1}).fit(graph)
    return {
        "settings": changed,
        "test": model.score("test"),
        "validation": model.best_epoch_["val_accuracy"],
        "phase": model.best_epoch_["phase"],
        "seconds": model.seconds_,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", default="arxiv-2023,coauthor-physics")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--halo", type=int, default=1)
    parser.add_argument("--schedule", type=float, default=1.0, help="share of the preset's epochs that both get")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("partitioned.json"))
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        name, seed, mode = given.fit
        print(json.dumps(fit(name, int(seed), mode, given.parts, given.halo, given.schedule)))
        return
    kept = json.loads(given.out.read_text()) if given.out.exists() else {}
    same = ["--parts", str(given.parts), "--halo", str(given.halo), "--schedule", str(given.schedule)]
    for name in given.graphs.split(","):
        for seed in range(given.seeds):
            for mode in ("full", "partition"):
                how = f"partition, {given.parts} parts, halo {given.halo}" if mode == "partition" else "full"
                key = f"{name}, {how}, schedule {given.schedule:g}, seed {seed}"
                if key in kept:
                    continue
                command = [sys.executable, __file__, *same, "--fit", name, str(seed), mode]
                kept[key] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                given.out.write_text(json.dumps(kept, indent=2) + "\n")
                print(key, {k: v for k, v in kept[key].items() if k != "settings"}, flush=True)


if __name__ == "__main__":
    main()
