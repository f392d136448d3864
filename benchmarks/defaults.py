"""GDAMN() against a GCN with the settings of PyTorch Geometric's example, on every graph at hand, nothing tuned.

python benchmarks/defaults.py                     every graph, with GDAMN_DATA set to the data; goes on where it was
python benchmarks/defaults.py --only karate wine  these; the others stay as they are
python benchmarks/defaults.py --set start=graph --out other.json   another default, to compare
python benchmarks/defaults.py --method gdamn-plus --out defaults_plus.json

Writes defaults.json (every fit) and prints the table of docs/evidence/accuracy.md. Both methods have the same splits
and seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

EXAMPLE = {"hidden": 16, "dropout_input": 0.5, "dropout_hidden": 0.5, "learning_rate": 0.01, "weight_decay": 5e-4}
"""GCN of PyTorch Geometric's example: decay on the first layer alone, 200 epochs. Rows of X are divided by their sum,
but left as they are where X has negative values (wine, cancer, sbm), since such sums can be near 0."""

GRAPHS: dict[str, tuple[str, dict[str, Any], int]] = {
    "karate": ("karate", {}, 20),
    "wine": ("wine", {}, 20),
    "cancer": ("cancer", {}, 20),
    "digits": ("digits", {}, 10),
    "digits --noise 1": ("digits", {"noise": 1.0}, 10),
    "sbm": ("sbm", {}, 10),
    "cora": ("cora", {}, 10),
    "citeseer": ("citeseer", {}, 10),
    "pubmed": ("pubmed", {}, 5),
    "chameleon": ("chameleon", {}, 10),
    "actor": ("actor", {}, 10),
    "coauthor-cs": ("coauthor-cs", {}, 5),
    "coauthor-physics": ("coauthor-physics", {}, 3),
    "arxiv-2023": ("arxiv-2023", {}, 3),
}
"""Name in the table: data set, its options, and how many seeds (each with its own split where there are several)."""


def main() -> None:
    arguments = parse()
    found: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    settings = dict(pair.split("=", 1) for pair in arguments.set)
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        for name in arguments.only or GRAPHS:
            done = found.setdefault(name, {arguments.method: {}, "gcn": {}})
            tasks = {
                pool.submit(fit, name, method, seed, settings): (method, str(seed))
                for seed in range(GRAPHS[name][2])
                for method in done
                if str(seed) not in done[method]
            }
            for task in as_completed(tasks):
                method, seed = tasks[task]
                done[method][seed] = task.result()
                arguments.out.write_text(json.dumps(found, indent=1) + "\n")
            print(row(name, done, arguments.method), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=list(GRAPHS), metavar="GRAPH")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of GDAMN")
    parser.add_argument("--method", default="gdamn", choices=["gdamn", "gdamn-plus"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE / "defaults.json")
    return parser.parse_args()


def fit(name: str, method: str, seed: int, settings: dict[str, str]) -> dict[str, Any]:
    """One fit: validation and test accuracy, the phase that was chosen, seconds."""
    os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    from gdamn import GDAMN, GDAMNPlus, load
    from gdamn.baselines.gcn import GCNClassifier

    dataset, options, _ = GRAPHS[name]
    graph = load(dataset, seed=seed, **options)
    if method != "gcn":
        model = {"gdamn": GDAMN, "gdamn-plus": GDAMNPlus}[method](seed=seed, threads=1, **settings)
    else:
        rows = "row" if graph.features.min() >= 0 else "none"
        model = GCNClassifier(seed=seed, threads=1, normalize=rows, **EXAMPLE)
    model.fit(graph)
    best = model.best_epoch_
    return {
        "val": best["val_accuracy"],
        "test": model.score("test"),
        "phase": best["phase"],
        "seconds": round(model.seconds_, 1),
    }


def row(name: str, done: dict[str, dict[str, Any]], method: str) -> str:
    """A line of the table: means over the seeds, and the difference with its standard error."""
    both = [(one["test"], done["gcn"][seed]["test"]) for seed, one in done[method].items() if seed in done["gcn"]]
    ours, theirs = (100 * statistics.fmean(side) for side in zip(*both, strict=True))
    apart = [100 * (a - b) for a, b in both]
    error = statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else float("nan")
    return f"| {name} | {len(both)} | {ours:.1f} | {theirs:.1f} | {ours - theirs:+.1f} ± {error:.1f} |"


if __name__ == "__main__":
    main()
