"""Epoch time, peak memory and accuracy of every mode of training on sbm graphs of 1, 10 and 100 million edges.

    python benchmarks/scale.py [--edges 1000000,10000000] [--modes full,fused] [--out benchmarks/scale.json]

A graph has a tenth as many nodes as edges, 64 features and five classes; 70 % of the edges stay within a class. It is
written once as a folder (gdamn/scale/folder.py) and each fit is a process of its own that maps it, so that the peak
is that of training. What is measured already is kept.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FEATURES, CLASSES, DEGREE = 64, 5, 20.0
MODES: dict[str, dict[str, Any]] = {
    "full": {"batch": "full"},
    "fused": {"batch": "fused"},
    "partition, halo 1": {"batch": "partition", "halo": 1, "batch_nodes": 10_000},
    "neighbour, 5": {"batch": "neighbour", "fanout": 5, "batch_nodes": 10_000},
}
SETTINGS = {"hidden": 16, "projection": 16, "normalize": "none", "start": "graph", "seed": 0, "em_iterations": 1}
SETTINGS |= {"dropout_input": 0.0, "dropout_attention": 0.0}  # whose copies would be the largest arrays of all


def make(edges: int, folder: Path) -> None:
    """Write the graph; the features are drawn a part at a time."""
    from dataclasses import replace

    import numpy as np

    from gdamn.data.files.folder import write_folder
    from gdamn.data.named.synthetic import BlockModel, sbm

    nodes = edges // 10
    graph = sbm(BlockModel(nodes, CLASSES, DEGREE, 0.7, 0, train_per_class=200, val_per_class=500))
    rng = np.random.default_rng(0)
    means = rng.standard_normal((CLASSES, FEATURES), dtype=np.float32)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    with tempfile.NamedTemporaryFile(dir=folder.parent) as file:
        x: Any = np.memmap(file.name, np.float32, "w+", shape=(nodes, FEATURES))
        for begin in range(0, nodes, 1 << 18):
            part = graph.labels[begin : begin + (1 << 18)]
            x[begin : begin + len(part)] = means[part] + rng.standard_normal((len(part), FEATURES), dtype=np.float32)
        write_folder(replace(graph, features=x), folder)


def fit(folder: Path, settings: dict[str, Any], epochs: int) -> dict[str, Any]:
    """Train for a few epochs of each phase."""
    import gdamn
    from gdamn.data import load

    begun = time.perf_counter()
    graph = load(str(folder))
    loaded = time.perf_counter() - begun
    few = {"pretrain_epochs": epochs, "epochs": epochs, "annotate_epochs": 1}
    model = gdamn.GDAMN(**{**SETTINGS, **few, **settings}).fit(graph)
    seconds: dict[str, list[float]] = {}
    for record, took in zip(model.history_, model.timings_, strict=True):
        seconds.setdefault(record["phase"], []).append(took)
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "load_seconds": loaded,
        "fit_seconds": model.seconds_,
        "epoch_seconds": {phase: min(took) for phase, took in seconds.items()},
        "epochs": epochs,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "validation": model.best_epoch_["val_accuracy"],
        "test": model.score("test"),
    }


def apart(*arguments: str) -> str:
    """This file in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", default="1000000,10000000")
    parser.add_argument("--modes", default=";".join(MODES), help="separated by ;")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("scale.json"))
    parser.add_argument("--folder", type=Path, help="where the graphs are kept; a temporary one without it")
    parser.add_argument("--step", nargs="*", default=[], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step[:1] == ["make"]:
        return make(int(given.step[1]), Path(given.step[2]))
    if given.step[:1] == ["fit"]:
        print(json.dumps(fit(Path(given.step[1]), json.loads(given.step[2]), given.epochs)))
        return None
    kept = json.loads(given.out.read_text()) if given.out.exists() else {}
    with tempfile.TemporaryDirectory() as temporary:
        place = given.folder or Path(temporary)
        for edges in map(int, given.edges.split(",")):
            folder = place / f"sbm-{edges}.graph"
            for mode in given.modes.split(";"):
                name = f"{edges}, {mode}"
                if name in kept:
                    continue
                if not (folder / "graph.json").exists():
                    apart("--step", "make", str(edges), str(folder))
                settings = json.dumps(MODES[mode])
                kept[name] = json.loads(apart("--epochs", str(given.epochs), "--step", "fit", str(folder), settings))
                given.out.write_text(json.dumps(kept, indent=2) + "\n")
                print(name, kept[name], flush=True)
    return None


if __name__ == "__main__":
    main()
