"""Does a lead on validation nodes hold on other nodes? The nodes of a public split that are in none of its sets.

python benchmarks/unused_nodes.py citeseer --method gdamn-plus --changes '[{"dropout_input": 0.7}]' --seeds 8

Fresh seeds share the validation nodes, so they can't show what a setting owes to these. A public split leaves most
nodes out of training, validation and test (1,692 labelled ones on Citeseer). Each fit chooses its epoch on validation
nodes, as ever, and is scored on those nodes as well. No test label is read. Fits are kept in --out.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from gdamn import load
from gdamn.estimators.registry import make

HERE = Path(__file__).resolve().parent


def main() -> None:
    arguments = parse()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    trials = kept.setdefault(f"{arguments.dataset} {arguments.method}", {})
    print("| change | seeds | validation | lead | other nodes | lead |\n|---|---|---|---|---|---|")
    for change in [{}, *json.loads(arguments.changes)]:
        done = trials.setdefault(json.dumps(change, sort_keys=True), {})
        for seed in map(str, range(arguments.first, arguments.first + arguments.seeds)):
            if seed not in done:
                done[seed] = fit(arguments.dataset, arguments.method, change, int(seed))
                arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
        print(row(change, done, trials["{}"]), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--method", default="gdamn-plus")
    parser.add_argument("--changes", default="[]", help="a JSON list of settings")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=360)
    parser.add_argument("--out", type=Path, default=HERE / "unused_nodes.json")
    return parser.parse_args()


def fit(dataset: str, method: str, change: dict[str, Any], seed: int) -> dict[str, float]:
    """Accuracy at the chosen epoch on validation nodes, and on labelled nodes of no set."""
    graph = load(dataset, seed=seed)
    model = make(method, dataset, seed=seed, overrides={**change, "threads": 1}).fit(graph)
    others = ~(graph.train_mask | graph.val_mask | graph.test_mask) & (graph.labels >= 0)
    right = model.probabilities_.argmax(1) == graph.labels
    return {"val": float(right[graph.val_mask].mean()), "others": float(right[others].mean())}


def row(change: dict[str, Any], done: dict[str, Any], base: dict[str, Any]) -> str:
    """A line of the table."""
    cells = []
    for part in ("val", "others"):
        apart = [100 * (done[seed][part] - base[seed][part]) for seed in done if seed in base]
        error = statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else float("nan")
        mean = 100 * statistics.fmean(one[part] for one in done.values())
        cells.append(f"{mean:.2f} | {statistics.fmean(apart):+.2f} ± {error:.2f}")
    shown = ", ".join(f"{name}={value}" for name, value in change.items()) or "the preset"
    return f"| {shown} | {len(done)} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
