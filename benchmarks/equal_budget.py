"""The peers of gdamn-plus with its search budget: as many settings, the same judge, every trial kept.

python benchmarks/equal_budget.py citeseer --method grand --trials 22
python benchmarks/equal_budget.py --table     # what all searches found, and how to score each winner

The first trial is the peer's preset, the others are drawn from SPACES. The judge is cross-fitted validation accuracy
(cross_fitted.py), each setting by its own rule; no test label is read. A trial that is 1.5 points behind the preset
after one seed, or 0.8 after two, is given up. The best two that are left race the preset on fresh seeds, and the winner
has the highest mean over all seeds. Fits are kept in --out and not made again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from cross_fitted import fit, judged, lead

from gdamn.estimators.registry import make

HERE = Path(__file__).resolve().parent
BEHIND = (0.015, 0.008)
"""A trial that is so far behind the preset after one seed, or after two, is given up."""
FIRST, TRIED, RACED = 400, 2, 4
"""The first seed, how many a trial has, and how many fresh ones the race has."""
FINALISTS = 2

COMMON: dict[str, list[Any]] = {
    "learning_rate": [0.005, 0.01, 0.02, 0.05],
    "dropout_input": [0.2, 0.5, 0.8],
    "dropout_hidden": [0.2, 0.5, 0.8],
    "normalize": ["auto", "unit"],
}
SPACES: dict[str, dict[str, list[Any]]] = {
    "appnp": {
        **COMMON,
        "weight_decay": [5e-4, 2e-3, 5e-3, 0.02],
        "hidden": [32, 64, 128],
        "teleport": [0.05, 0.1, 0.2, 0.3],
        "steps": [5, 10, 20],
        "dropout_edges": [0.0, 0.5],
    },
    "dagnn": {
        **COMMON,
        "weight_decay": [0.0, 5e-4, 5e-3, 0.02],
        "hidden": [32, 64, 128],
        "steps": [3, 5, 10, 20],
        "selection": ["loss", "accuracy"],
    },
    "gcnii": {
        **COMMON,
        "weight_decay": [5e-4, 2e-3],
        "decay_hidden": [5e-4, 0.01],
        "layers": [8, 16],
        "alpha": [0.1, 0.2, 0.5],
        "theta": [0.4, 0.5, 0.6],
        "selection": ["loss", "accuracy"],
    },
    "grand": {
        "learning_rate": [0.005, 0.01, 0.02],
        "weight_decay": [1e-4, 5e-4, 1e-3],
        "dropout_input": [0.0, 0.2, 0.5],
        "dropout_hidden": [0.2, 0.5, 0.8],
        "steps": [2, 4, 8],
        "drop_node": [0.2, 0.3, 0.5],
        "lambda_": [0.3, 0.7, 1.0],
        "temperature": [0.3, 0.5],
        "samples": [2, 4],
        "selection": ["loss", "accuracy"],
    },
    "grand-plus": {
        "learning_rate": [0.002, 0.005, 0.01, 0.02],
        "weight_decay": [1e-3, 5e-3, 0.01],
        "dropout_input": [0.0, 0.2, 0.5],
        "dropout_hidden": [0.2, 0.5, 0.7],
        "drop_node": [0.1, 0.3, 0.5],
        "teleport": [0.1, 0.2, 0.4],
        "top_k": [16, 32],
        "layers": [1, 2],
        "batch_norm": [True, False],
        "lambda_": [0.8, 1.0, 1.5],
        "warmup": [100, 1000],
    },
}
"""What is drawn from, each value with the same chance; settings that a draw leaves out are the preset's."""
CHANGED = 4
"""Settings that a trial changes, at most."""


def main() -> None:
    arguments = parse()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    if arguments.table:
        print("| data set | method | trials | lead of the winner, all seeds | on fresh seeds | winner |")
        print("|---|---|---|---|---|---|")
        for name, trials in kept.items():
            print(row(name, trials))
        print(*(command(name, trials) for name, trials in kept.items()), sep="\n")
    else:
        search(arguments, kept)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="?")
    parser.add_argument("--method", default="grand", choices=list(SPACES))
    parser.add_argument("--trials", type=int, default=8, help="settings, the preset among them")
    parser.add_argument("--out", type=Path, default=HERE / "equal_budget.json")
    parser.add_argument("--table", action="store_true", help="print what was found")
    return parser.parse_args()


def search(arguments: argparse.Namespace, kept: dict[str, Any]) -> None:
    """The trials, then the race."""
    name, method = arguments.dataset, arguments.method
    trials = kept.setdefault(f"{name} {method}", {})

    def fitted(change: dict[str, Any], seeds: range) -> dict[str, Any]:
        done: dict[str, Any] = trials.setdefault(json.dumps(change, sort_keys=True), {})
        base = trials["{}"]
        for seed in map(str, seeds):
            if seed not in done:
                done[seed] = fit(name, method, change, int(seed))
                write(arguments.out, f"{name} {method}", trials)
            if change and len(done) <= len(BEHIND) and lead(done, base)[0] < -BEHIND[len(done) - 1]:
                break
        return done

    tried, raced = range(FIRST, FIRST + TRIED), range(FIRST + TRIED, FIRST + TRIED + RACED)
    for change in draw(name, method, arguments.trials):
        done = fitted(change, tried)
        print(f"{name} {method} {100 * lead(done, trials['{}'])[0]:+.2f} ({len(done)}) {change}", flush=True)
    fitted({}, raced)
    for change in finalists(trials):
        fitted(change, raced)
    print(row(f"{name} {method}", trials), flush=True)


def write(path: Path, name: str, trials: dict[str, Any]) -> None:
    """Keep the trials of one search; others may have been written meanwhile."""
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**kept, name: trials}, indent=1) + "\n")


def draw(dataset: str, method: str, count: int) -> list[dict[str, Any]]:
    """So many settings, the same whenever it is asked: the preset, then draws of the method's space that differ."""
    random, space = np.random.default_rng(zlib.crc32(f"{dataset} {method}".encode())), SPACES[method]
    preset = make(method, dataset).get_params()
    changes: list[dict[str, Any]] = [{}]
    while len(changes) < count:
        names = random.choice(list(space), size=int(random.integers(1, CHANGED + 1)), replace=False)
        drawn = {str(name): space[name][int(random.integers(len(space[name])))] for name in sorted(names)}
        change = {name: value for name, value in drawn.items() if value != preset[name]}
        if change not in changes:
            changes.append(change)
    return changes


def finalists(trials: dict[str, Any]) -> list[dict[str, Any]]:
    """The changes that lead the preset by the most on the seeds of the search."""
    seeds = {str(seed) for seed in range(FIRST, FIRST + TRIED)}
    first = {change: {s: one for s, one in done.items() if s in seeds} for change, done in trials.items()}
    leads = {c: lead(done, first["{}"])[0] for c, done in first.items() if c != "{}" and len(done) == TRIED}
    best = sorted((c for c in leads if leads[c] > 0), key=lambda c: -leads[c])
    return [json.loads(change) for change in best[:FINALISTS]]


def winner(trials: dict[str, Any]) -> dict[str, Any]:
    """The finalist with the highest mean over all seeds, or the preset."""
    raced = [change for change, done in trials.items() if len(done) == TRIED + RACED]
    best = max(raced or ["{}"], key=lambda change: statistics.fmean(map(judged, trials[change].values())))
    chosen: dict[str, Any] = json.loads(best)
    return chosen


def row(name: str, trials: dict[str, Any]) -> str:
    """A line of the table."""
    change = winner(trials)
    done, base = trials[json.dumps(change, sort_keys=True)], trials["{}"]
    fresh = {seed: one for seed, one in done.items() if int(seed) >= FIRST + TRIED}
    shown = ", ".join(f"{key}={value}" for key, value in change.items()) or "the preset"
    ahead = [
        " ± ".join(f"{100 * value:+.2f}" for value in lead(part, base)) if change else "0" for part in (done, fresh)
    ]
    dataset, _, method = name.partition(" ")
    return f"| {dataset} | {method} | {len(trials)} | {ahead[0]} | {ahead[1]} | {shown} |".replace("± +", "± ")


def command(name: str, trials: dict[str, Any]) -> str:
    """What fits the winner on the published seeds."""
    dataset, _, method = name.partition(" ")
    changed = "".join(f" --set {key}={value}" for key, value in winner(trials).items())
    return f"gdamn train {dataset} --method {method} --seeds 20{changed} --out runs/tuned/{dataset}-{method}"


if __name__ == "__main__":
    main()
