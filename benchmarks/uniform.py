"""How uniform the soft attention is with the entropy term and without it, and its weight between classes.

    python benchmarks/uniform.py --seeds 5 --datasets cora,citeseer

For each node with two neighbours or more: the entropy of its neighbours' soft attention over that of a uniform one (1:
uniform), and the largest weight over the smallest. Presets; labels of all nodes are read after training, for the weight
between classes alone. What is found is kept in uniform.json, a fit at a time.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from gdamn import GDAMN, load

METHODS = {"gdamn": {}, "gdamn-no-ent": {"beta": 0.0}}


def uniformity(graph: Any, soft: np.ndarray) -> dict[str, float]:
    """Means over the nodes with at least two neighbours."""
    counts, rows = np.diff(graph.indptr), graph.rows
    total = np.bincount(rows, soft, minlength=graph.num_nodes)
    share = soft / total[rows]
    entropy = np.bincount(rows, -share * np.log(np.maximum(share, 1e-30)), minlength=graph.num_nodes)
    some = counts >= 2
    highest, lowest = np.zeros(graph.num_nodes), np.full(graph.num_nodes, np.inf)
    np.maximum.at(highest, rows, share)
    np.minimum.at(lowest, rows, share)
    return {
        "entropy": float((entropy[some] / np.log(counts[some])).mean()),
        "largest_over_smallest": float((highest[some] / lowest[some]).mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("uniform.json"))
    given = parser.parse_args()
    kept: dict[str, Any] = json.loads(given.out.read_text()) if given.out.exists() else {}
    for name in given.datasets.split(","):
        graph = load(name)
        for seed in range(given.seeds):
            for method, changed in METHODS.items():
                fit = f"{name} {method} {seed}"
                if fit in kept:
                    continue
                model = GDAMN.preset(name, seed=seed, threads=1, **changed).fit(graph)
                weights = model.edge_weights_
                kept[fit] = {
                    **uniformity(graph, weights["soft"]),
                    "between_soft": graph.inter_class_share(weights["soft"]),
                    "between_hard": graph.inter_class_share(weights["hard"]),
                    "between_stable": graph.inter_class_share(weights["stable"]),
                    "between_plain": graph.inter_class_share(graph.weights),
                    "test": model.score(),
                }
                given.out.write_text(json.dumps(kept, indent=1) + "\n")
                print(fit, kept[fit], flush=True)


if __name__ == "__main__":
    main()
