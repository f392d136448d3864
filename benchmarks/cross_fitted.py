"""A judge of settings that isn't flattered by the best of many epochs: cross-fitted validation accuracy.

python benchmarks/cross_fitted.py cora --changes '[{"decay": "all"}, {"beta": 0.6}]' --seeds 6 --first 100

The epoch is chosen on one half of the validation nodes and scored on the other, both ways, over 25 random halvings.
Three rules choose it: the best accuracy (the paper's), the best mean of 20 epochs (smoothed), and the lowest loss. The
lead is measured by the rule that the settings themselves have (selection). With beta=auto each half chooses among the
epochs of all five values.
Each change of the preset has the same seeds as the preset itself. No test label is read. Fits are kept in --out and not
made again; a change that is 0.8 points behind after two seeds is given up.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.nn import functional as F

from gdamn import load
from gdamn.baselines import common
from gdamn.estimators.registry import make
from gdamn.fit import em
from gdamn.fit.training import SMOOTHED
from gdamn.model.settings import BETAS

HERE = Path(__file__).resolve().parent
HALVINGS = 25
BEHIND = 0.008
RULES = {"accuracy": "cross_fitted", "smoothed": "smoothed", "loss": "by_loss"}
"""The score that belongs to a value of ``selection``."""

Rights = list[tuple[NDArray[np.bool_], NDArray[np.float32]]]
"""For each epoch of q: which validation nodes are right, and the loss of each."""

Candidates = tuple[NDArray[np.bool_], NDArray[np.float32], NDArray[np.int64], str]
"""The same as arrays [epochs, nodes], the EM iteration of each epoch [epochs], and the rule that chooses."""


def main() -> None:
    arguments = parse()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    name = arguments.dataset if arguments.method == "gdamn" else f"{arguments.dataset} {arguments.method}"
    base: dict[str, Any] = {}
    for change in [{}, *json.loads(arguments.changes)]:
        done = kept.setdefault(name, {}).setdefault(json.dumps(change, sort_keys=True), {})
        for number, seed in enumerate(map(str, range(arguments.first, arguments.first + arguments.seeds))):
            if seed not in done:
                done[seed] = fit(arguments.dataset, arguments.method, change, int(seed))
                arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
            if base and number == 1 and lead(done, base)[0] < -BEHIND:
                break
        base = base or done
        print(row(change, done, base), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--method", default="gdamn", help="gdamn, gdamn-plus, or a network to compare them with")
    parser.add_argument("--changes", default="[]", help="a JSON list of settings")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--out", type=Path, default=HERE / "cross_fitted.json")
    return parser.parse_args()


def fit(dataset: str, method: str, change: dict[str, Any], seed: int) -> dict[str, Any]:
    """One fit: cross-fitted accuracy, accuracy of the best epoch on all validation nodes, mean over the epochs."""
    betas = BETAS if change.get("beta") == "auto" else (None,)
    tried = [candidates(dataset, method, {**change, "beta": b} if b else change, seed) for b in betas]
    right, losses = (np.concatenate(side) for side in list(zip(*tried, strict=True))[:2])
    phases = np.concatenate([steps + 1000 * number for number, (_, _, steps, _) in enumerate(tried)])
    best, mean = float(right.mean(1).max()), float(right.mean())
    return {**cross_fitted(right, losses, phases), "best": best, "mean": mean, "rule": tried[0][3]}


def candidates(dataset: str, method: str, change: dict[str, Any], seed: int) -> Candidates:
    """The epochs that validation may choose among."""
    epochs: Rights = []
    plain = em.evaluate

    def evaluate(problem: Any, logits: Any, metric: str = "accuracy") -> dict[str, Any]:
        found = logits[problem.val]
        losses = F.cross_entropy(found, problem.val_labels, reduction="none")
        epochs.append(((found.argmax(1) == problem.val_labels).numpy(), losses.numpy()))
        return plain(problem, logits, metric)

    em.evaluate = common.evaluate = evaluate  # the fit's own records have no values of single nodes
    try:
        model = make(method, dataset, seed=seed, overrides={**change, "threads": 1})
        model.fit(load(dataset, seed=seed))
    finally:
        em.evaluate = common.evaluate = plain
    steps = np.array([record.get("iteration", 0) for record in model.history_ if "val_accuracy" in record])
    chosen = steps >= (0 if getattr(model.settings, "candidates", "all") == "all" else 1)
    right, losses = (np.stack(side)[chosen] for side in zip(*epochs, strict=True))
    return right, losses, steps[chosen], getattr(model.settings, "selection", "accuracy")


def cross_fitted(right: NDArray[np.bool_], losses: NDArray[np.float32], phases: NDArray[np.int64]) -> dict[str, float]:
    """Mean accuracy on the half that did not choose the epoch, by each rule of choice.

    Args:
        right, losses: [epochs, nodes].
        phases: [epochs] the EM iteration of each.
    """
    random = np.random.default_rng(0)
    count = right.shape[1]
    scores: dict[str, list[float]] = {"cross_fitted": [], "smoothed": [], "by_loss": []}
    for _ in range(HALVINGS):
        half = random.permutation(count) < count // 2
        for chooses in (half, ~half):
            accuracy, loss = right[:, chooses].mean(1), losses[:, chooses].mean(1)
            orders = (loss, -accuracy), (loss, -running_mean(accuracy, phases)), (-accuracy, loss)
            for found, order in zip(scores.values(), orders, strict=True):
                found.append(right[np.lexsort(order)[0], ~chooses].mean())
    return {name: float(np.mean(found)) for name, found in scores.items()}


def running_mean(values: NDArray[np.float64], phases: NDArray[np.int64]) -> NDArray[np.float64]:
    """[epochs] the mean of each epoch and those before it, SMOOTHED at most and of the same phase."""
    out = np.empty(len(values))
    for phase in np.unique(phases):
        at = np.flatnonzero(phases == phase)
        sums = np.concatenate([[0.0], np.cumsum(values[at])])
        ends = np.arange(1, len(at) + 1)
        starts = np.maximum(0, ends - SMOOTHED)
        out[at] = np.round((sums[ends] - sums[starts]) / (ends - starts), 9)
    return out


def lead(done: dict[str, Any], base: dict[str, Any]) -> tuple[float, float]:
    """Mean and standard error of the lead over the preset on the same seeds, each by its own rule."""
    apart = [judged(done[seed]) - judged(base[seed]) for seed in done if seed in base]
    return statistics.fmean(apart), statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else float("nan")


def judged(one: dict[str, Any]) -> float:
    """The cross-fitted accuracy of a fit by its own rule; older fits don't name theirs, the best accuracy."""
    return float(one[RULES[one.get("rule", "accuracy")]])


def row(change: dict[str, Any], done: dict[str, Any], base: dict[str, Any]) -> str:
    """A line of the table."""
    scores = [(judged(one), one["best"], one["mean"]) for one in done.values()]
    values = [100 * statistics.fmean(column) for column in zip(*scores, strict=True)]
    ahead, error = lead(done, base)
    shown = ", ".join(f"{name}={value}" for name, value in change.items()) or "the preset"
    numbers = " | ".join(f"{value:.2f}" for value in values)
    return f"| {shown} | {len(done)} | {numbers} | {100 * ahead:+.2f} ± {100 * error:.2f} |"


if __name__ == "__main__":
    main()
