"""What could be gained by fitting several seeds at once in one process: an upper bound, by graph.

python benchmarks/seeds_together.py cora citeseer pubmed coauthor-cs

Seeds that are fitted together share the calls of Python and the reading of the graph's structure. What calls cost is
an epoch on karate, whose 34 nodes need no time; what sharing the structure saves is measured on the product with A + I:
SEEDS times the columns at once against one seed's columns SEEDS times. The bound lets every other loop gain as much as
that product. One thread; the least of all epochs; presets, short. Writes seeds_together.json, prints the table.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import torch

from gdamn import GDAMN, Graph, load
from gdamn.fit.training import reproducible_threads
from gdamn.kernels import set_threads, spmm

HERE = Path(__file__).resolve().parent
SEEDS = 4
EPOCHS = 40
REPEATS = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--out", type=Path, default=HERE / "seeds_together.json")
    arguments = parser.parse_args()
    set_threads(1)
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for name in arguments.datasets:
        graph, settings = load(name), GDAMN.preset(name).get_params()
        kept[name] = {
            "epoch": epochs(graph, settings),
            "calls": epochs(load("karate"), {**settings, "normalize": "none"}),
            "columns": settings["hidden"],
            "product": product(graph, settings["hidden"]),
        }
        arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
    print(f"| graph | epoch of q / p | of it calls | product, {SEEDS} at once | bound of the gain: q / p |")
    print("|---|---:|---:|---:|---:|")
    for name, one in kept.items():
        print(row(name, one))


def epochs(graph: Graph, settings: dict[str, Any]) -> dict[str, float]:
    """Seconds of the least epoch of pre-training (q) and of the M-step (p)."""
    clock: dict[str, list[float]] = {"pre-train": [], "M-step 1": []}

    def progress(phase: str, epoch: int, epochs: int, record: dict[str, Any]) -> None:
        clock.setdefault(phase, []).append(time.thread_time())

    short = {"threads": 1, "pretrain_epochs": EPOCHS, "epochs": EPOCHS, "em_iterations": 1, "start": "graph"}
    GDAMN(**{**settings, **short}).fit(graph, progress=progress)
    q, p = (min(end - start for start, end in itertools.pairwise(clock[phase])) for phase in ("pre-train", "M-step 1"))
    return {"q": q, "p": p}


def product(graph: Graph, columns: int) -> float:
    """Seconds of SEEDS products at once over those of SEEDS single ones."""
    structure = graph.structure
    values = structure.tensor("weights", torch.device("cpu"))

    def seconds(width: int) -> float:
        x = torch.ones(graph.num_nodes, width)
        times = []
        for _ in range(REPEATS):
            start = time.thread_time()
            spmm(structure.pattern, values, x)
            times.append(time.thread_time() - start)
        return min(times[1:])

    with reproducible_threads(1):  # as in a fit, which keeps memory that it has used
        return seconds(SEEDS * columns) / (SEEDS * seconds(columns))


def row(name: str, one: dict[str, Any]) -> str:
    """A line of the table."""
    bounds = []
    for network in ("q", "p"):
        epoch, calls = one["epoch"][network], min(one["calls"][network], one["epoch"][network])
        bounds.append(max(1.0, epoch / (calls / SEEDS + (epoch - calls) * one["product"])))
    shown = [f"{1e3 * one[what]['q']:.2f} / {1e3 * one[what]['p']:.2f} ms" for what in ("epoch", "calls")]
    return f"| {name} | {' | '.join(shown)} | {one['product']:.2f} | {bounds[0]:.1f} / {bounds[1]:.1f}× |"


if __name__ == "__main__":
    main()
