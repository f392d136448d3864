"""Memory per rank and time per epoch of training on a partitioned graph, for 1, 2 and 4 ranks.

    python benchmarks/ranks.py --edges 10000000 --kinds local,sbm --ranks 1,2,4 --modes full,fused --work FOLDER
    python benchmarks/ranks.py --kinds coauthor-physics --ranks 1,2 --modes full --epochs 6 --repeats 3 --work FOLDER

``local`` has neighbours near each other (a thousand numbers on either side, as a graph has after a good partition), sbm
has none: almost every node is in every halo. Both have a tenth as many nodes as edges, 64 features, five classes.
Any other kind is a data set, in METIS' parts. Ranks take turns (1 2 4 1 2 4), and the fastest of each counts. The
peak is the resident memory of a rank, with the pages of the files that it maps. What is measured is kept in ranks.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

FEATURES, CLASSES, PARTS = 64, 5, 64
SETTINGS = {"hidden": 16, "projection": 16, "normalize": "none", "start": "graph", "em_iterations": 1}
SETTINGS |= {"dropout_input": 0.0, "dropout_attention": 0.0, "annotate_epochs": 1}


def make_local(edges: int, folder: Path) -> None:
    """Write a graph whose edges lead to one of the nearest thousand numbers, mostly within a class."""
    import numpy as np

    from gdamn.data.files.folder import write_folder
    from gdamn.graph.graph import Graph

    nodes, rng = edges // 10, np.random.default_rng(0)
    labels = rng.permutation(-(-nodes // 500)).repeat(500)[:nodes] % CLASSES
    source = rng.integers(0, nodes, edges + edges // 100)
    target = source + rng.integers(1, 1000, len(source)) * rng.choice([-1, 1], len(source))
    inside = (target >= 0) & (target < nodes)
    means = rng.standard_normal((CLASSES, FEATURES), dtype=np.float32)
    x = means[labels] / 2 + rng.standard_normal((nodes, FEATURES), dtype=np.float32)
    split = rng.random(nodes)
    masks = {"train_mask": split < 0.01, "val_mask": (split >= 0.01) & (split < 0.02), "test_mask": split >= 0.9}
    pairs = np.stack([source[inside], target[inside]])
    del source, target, inside
    write_folder(Graph.build(pairs, x, labels, name="local", **masks), folder)


def make(kind: str, edges: int, work: Path) -> Path:
    """The parts of a graph; what is there is not made again."""
    if kind not in ("local", "sbm"):
        parts = work / f"{kind}-parts"
        if not (parts / "parts.json").exists():
            command = ["data", "partition", kind, str(parts), "--parts", "16", "--partitioner", "metis"]
            subprocess.run([sys.executable, "-m", "gdamn", *command], check=True)
        return parts
    folder, parts = work / f"{kind}-{edges}.graph", work / f"{kind}-{edges}-parts"
    if not (parts / "parts.json").exists():
        if not (folder / "graph.json").exists():
            if kind == "local":
                make_local(edges, folder)
            else:
                from scale import make as make_sbm

                make_sbm(edges, folder)
        command = ["data", "partition", str(folder), str(parts), "--parts", str(PARTS), "--partitioner", "order"]
        subprocess.run([sys.executable, "-m", "gdamn", *command], check=True)
    return parts


def train(parts: Path, ranks: int, threads: int, mode: str, epochs: int, out: Path) -> dict[str, Any]:
    """One run as a command; its summary's figures, and the seconds of an epoch."""
    chosen = {**SETTINGS, "batch": mode, "epochs": epochs, "pretrain_epochs": epochs}
    settings = [word for name, value in chosen.items() for word in ("--set", f"{name}={str(value).lower()}")]
    command = ["train", str(parts), "--workers", str(ranks), "--threads", str(threads), "--out", str(out), "--force"]
    started = [sys.executable, "-m", "gdamn", *command, *settings, "--json"]
    subprocess.run(started, check=True, stdout=subprocess.DEVNULL)
    summary = json.loads((out / "summary.json").read_text())
    losses = [json.loads(line)["loss"] for line in (out / "seed-0" / "history.jsonl").read_text().splitlines()]
    return {
        "peak_gb": [rank["peak_rss_mb"] * 2**20 / 1e9 for rank in summary["ranks"]],
        "seconds": summary["seconds_per_seed"][0],
        "epoch_seconds": summary["epoch_seconds"],
        "test": summary["test_accuracy"]["mean"],
        "losses": losses,
        "threads": threads,
        "epochs": epochs,
    }


def faster(found: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """A run with the fastest epochs of both."""
    phases = {phase: min(seconds, before["epoch_seconds"][phase]) for phase, seconds in found["epoch_seconds"].items()}
    return {**found, "epoch_seconds": phases}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--kinds", default="local,sbm")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--modes", default="full,fused")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="cores that the ranks share")
    parser.add_argument("--work", type=Path, required=True, help="folder for graphs and runs")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "ranks.json")
    arguments = parser.parse_args()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for kind in arguments.kinds.split(","):
        parts = make(kind, arguments.edges, arguments.work)
        size = f"{kind} {arguments.edges}" if kind in ("local", "sbm") else kind
        for mode in arguments.modes.split(","):
            counts = [int(ranks) for ranks in arguments.ranks.split(",")]
            missing = [ranks for ranks in counts if f"{size} {mode} {ranks}" not in kept]
            for ranks in missing * arguments.repeats:
                threads = max(1, arguments.cores // ranks)
                found = train(parts, ranks, threads, mode, arguments.epochs, arguments.work / "run")
                name = f"{size} {mode} {ranks}"
                kept[name] = faster(found, kept.get(name, found))
                arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
            for ranks in counts:
                name = f"{size} {mode} {ranks}"
                print(name, {key: kept[name][key] for key in ("peak_gb", "epoch_seconds", "test")}, flush=True)


if __name__ == "__main__":
    main()
