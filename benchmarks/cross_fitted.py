"""A judge of settings that isn't flattered by the best of many epochs: cross-fitted validation accuracy.

python benchmarks/cross_fitted.py cora --changes '[{"decay": "all"}, {"beta": 0.6}]' --seeds 6 --first 100

The epoch is chosen on one half of the validation nodes and scored on the other, both ways, over 25 random halvings.
Three rules choose it: the best accuracy (the paper's), the best mean of 20 epochs (smoothed), and the lowest loss; the
last epoch, which no label chooses, is scored on all nodes. The lead is measured by the rule that the settings have
(selection). With beta=auto each half chooses among the epochs of all five values. A validation set may have other
shares of the classes than the graph (30 nodes of each on the co-author graphs): the weighted score counts each
validation node by its class's share among q's predictions of all nodes. Each change of the preset has the same seeds as
the preset itself. No test label is read. Fits are kept in --out and not made again; a change that is 0.8 points behind
after two seeds is given up.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

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
LAST = 30
"""Epochs at the end of a fit whose predictions give the shares of the classes."""
RULES = {"accuracy": "cross_fitted", "smoothed": "smoothed", "loss": "by_loss"}
"""The score that belongs to a value of ``selection`` that reads validation labels; ``last`` has one of its name."""


class Candidates(NamedTuple):
    """The epochs that validation may choose among.

    Attributes:
        right, losses: [epochs, nodes] which validation nodes are right, and the loss of each.
        phases: [epochs] the EM iteration of each.
        rule: what chooses.
        weights: [nodes] of the validation nodes, 1 on average: the share of the class in the predictions over that in
            the validation set.
    """

    right: NDArray[np.bool_]
    losses: NDArray[np.float32]
    phases: NDArray[np.int64]
    rule: str
    weights: NDArray[np.float64]


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
    right, losses = np.concatenate([one.right for one in tried]), np.concatenate([one.losses for one in tried])
    phases = np.concatenate([one.phases + 1000 * number for number, one in enumerate(tried)])
    best, mean = float(right.mean(1).max()), float(right.mean())
    scores = cross_fitted(right, losses, phases, np.mean([one.weights for one in tried], 0))
    return {**scores, "best": best, "mean": mean, "rule": tried[0].rule}


def candidates(dataset: str, method: str, change: dict[str, Any], seed: int) -> Candidates:
    """The epochs that validation may choose among."""
    epochs: list[tuple[NDArray[np.bool_], NDArray[np.float32]]] = []
    shares: list[NDArray[np.float64]] = []
    labels = np.empty(0, np.int64)
    plain = em.evaluate

    def evaluate(problem: Any, logits: Any, metric: str = "accuracy") -> dict[str, Any]:
        nonlocal labels
        found, labels = logits[problem.val], problem.val_labels.numpy()
        shares.append(np.bincount(logits.argmax(1).numpy(), minlength=logits.shape[1]) / len(logits))
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
    weights = by_shares(labels, np.mean(shares[-LAST:], 0))
    return Candidates(right, losses, steps[chosen], getattr(model.settings, "selection", "accuracy"), weights)


def by_shares(labels: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """[n] the weights of nodes with these labels that give each class its share [C]; 1 on average."""
    weights = (shares * len(labels) / np.maximum(np.bincount(labels, minlength=len(shares)), 1))[labels]
    mean = float(weights.mean())
    return weights / mean if mean else np.ones(len(labels))


def cross_fitted(
    right: NDArray[np.bool_],
    losses: NDArray[np.float32],
    phases: NDArray[np.int64],
    weights: NDArray[np.float64] | None = None,
) -> dict[str, float]:
    """Mean accuracy on the half that did not choose the epoch, by each rule of choice, and weighted where asked.

    Args:
        right, losses: [epochs, nodes].
        phases: [epochs] the EM iteration of each.
        weights: [nodes] of the nodes that score; the choice stays by plain accuracy and loss.
    """
    random = np.random.default_rng(0)
    count = right.shape[1]
    scores: dict[str, list[float]] = {name: [] for name in RULES.values()}
    weighted: dict[str, list[float]] = {f"weighted_{name}": [] for name in scores if weights is not None}
    for _ in range(HALVINGS):
        half = random.permutation(count) < count // 2
        for chooses in (half, ~half):
            accuracy, loss = right[:, chooses].mean(1), losses[:, chooses].mean(1)
            orders = (loss, -accuracy), (loss, -running_mean(accuracy, phases)), (-accuracy, loss)
            for name, order in zip(scores, orders, strict=True):
                found = right[np.lexsort(order)[0], ~chooses]
                scores[name].append(found.mean())
                if weights is not None:
                    weighted[f"weighted_{name}"].append(np.average(found, weights=weights[~chooses]))
    last = {"last": float(right[-1].mean())}
    if weights is not None:
        last["weighted_last"] = float(np.average(right[-1], weights=weights))
    return {**{name: float(np.mean(found)) for name, found in {**scores, **weighted}.items()}, **last}


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


def lead(done: dict[str, Any], base: dict[str, Any], kind: str = "") -> tuple[float, float]:
    """Mean and standard error of the lead over the preset on the same seeds, each by its own rule.

    Args:
        kind: ``weighted_`` for the weighted scores, which older fits don't have.
    """
    both = [seed for seed in done if seed in base and all(f"{kind}cross_fitted" in side[seed] for side in (done, base))]
    if not both:
        return float("nan"), float("nan")
    apart = [judged(done[seed], kind) - judged(base[seed], kind) for seed in both]
    return statistics.fmean(apart), statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else float("nan")


def judged(one: dict[str, Any], kind: str = "") -> float:
    """The cross-fitted accuracy of a fit by its own rule; older fits don't name theirs, the best accuracy."""
    rule = one.get("rule", "accuracy")
    return float(one[kind + RULES.get(rule, rule)])


def row(change: dict[str, Any], done: dict[str, Any], base: dict[str, Any]) -> str:
    """A line of the table."""
    scores = [(judged(one), one["best"], one["mean"]) for one in done.values()]
    values = [100 * statistics.fmean(column) for column in zip(*scores, strict=True)]
    leads = [" ± ".join(f"{100 * value:+.2f}" for value in lead(done, base, kind)) for kind in ("", "weighted_")]
    shown = ", ".join(f"{name}={value}" for name, value in change.items()) or "the preset"
    numbers = " | ".join(f"{value:.2f}" for value in values)
    return f"| {shown} | {len(done)} | {numbers} | {' | '.join(leads)} |".replace("± +", "± ")


if __name__ == "__main__":
    main()
