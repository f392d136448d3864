"""Wrong training labels on Cora: are they found, and what do they cost?

python benchmarks/wrong_labels.py                # seeds 0 to 9, which docs/evidence/wrong-labels.md publishes
python benchmarks/wrong_labels.py --first 100    # other seeds, for choosing rules

A seed draws 20 training nodes a class, no validation nodes, and wrong labels: a share of the training labels becomes
another class, each as likely as the others. All other labelled nodes are test nodes; their labels are right, and score
the fits alone. Cleanlab (pip install '.[bench]') ranks the same labels by the same cross-fitted probabilities, and by
those of an out-of-fold logistic regression on the features. Fits are kept in --out and not made again.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gdamn import Graph, load
from gdamn.data.splits import per_class_split
from gdamn.estimators.registry import make
from gdamn.estimators.suspicious_labels import judged_labels

HERE = Path(__file__).resolve().parent
PER_CLASS = 20
FIRST = 0.2
"""The share of the ranking that a person looks at."""


def main() -> None:
    arguments = parse()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        for share in arguments.shares:
            done = kept.setdefault(f"{share:g}", {}).setdefault(str(seed), {})
            graph, clean, wrong = noisy_graph(share, seed)
            if share and "ranking" not in done:
                done["ranking"] = rankings(graph, wrong, seed)
            if "accuracy" not in done and not arguments.ranking:
                done["accuracy"], done["label_noise"] = accuracies(graph, clean, seed)
            arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
            print(share, seed, json.dumps(done), flush=True)
    show(kept)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.0, 0.1, 0.3])
    parser.add_argument("--ranking", action="store_true", help="no fits")
    parser.add_argument("--out", type=Path, default=HERE / "wrong_labels.json")
    return parser.parse_args()


def noisy_graph(share: float, seed: int) -> tuple[Graph, NDArray[np.int64], NDArray[np.bool_]]:
    """The graph with wrong labels, the right labels [N], and which training nodes have a wrong one [L]."""
    graph = load("cora")
    train, val, test = per_class_split(graph.labels, PER_CLASS, 0, seed)
    nodes, random = np.flatnonzero(train), np.random.default_rng([seed, 7])
    chosen = random.choice(nodes, round(share * len(nodes)), replace=False)
    labels = graph.labels.copy()
    labels[chosen] = (labels[chosen] + random.integers(1, graph.num_classes, len(chosen))) % graph.num_classes
    noisy = replace(graph, labels=labels, train_mask=train, val_mask=val, test_mask=test)
    return noisy, graph.labels, np.isin(nodes, chosen)


def rankings(graph: Graph, wrong: NDArray[np.bool_], seed: int) -> dict[str, dict[str, float]]:
    """How many wrong labels stand in the first part of each ranking."""
    from cleanlab.rank import get_label_quality_scores

    judged = judged_labels(graph, seed=seed)
    probabilities = judged.probabilities / judged.probabilities.sum(axis=1, keepdims=True)
    orders = {"gdamn": judged.ranking()}
    for source, p in (("cross-fitted", probabilities), ("logistic regression", out_of_fold(graph, seed))):
        for method, adjust in (("self_confidence", False), ("normalized_margin", False), ("self_confidence", True)):
            scores = get_label_quality_scores(judged.labels, p, method=method, adjust_pred_probs=adjust)
            name = f"cleanlab {method}{' adjusted' if adjust else ''}, {source}"
            orders[name] = np.argsort(scores, kind="stable")
    looked_at = round(FIRST * len(wrong))
    hits = {name: int(wrong[order[:looked_at]].sum()) for name, order in orders.items()}
    return {name: {"found": hit / int(wrong.sum()), "precision": hit / looked_at} for name, hit in hits.items()}


def out_of_fold(graph: Graph, seed: int) -> NDArray[np.float64]:
    """[L, C] what logistic regressions on the features say of the training nodes they have not seen."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    x, labels = graph.features[graph.train_mask], graph.labels[graph.train_mask]
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    p: NDArray[np.float64] = cross_val_predict(
        LogisticRegression(max_iter=1000), x, labels, cv=folds, method="predict_proba"
    )
    return p


def accuracies(graph: Graph, clean: NDArray[np.int64], seed: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Test accuracy of each method, and what label_noise=auto did."""

    def score(predicted: NDArray[np.int64]) -> float:
        return float((predicted == clean)[graph.test_mask].mean())

    auto = make("gdamn", seed=seed, overrides={"label_noise": "auto", "threads": 1}).fit(graph)
    noise = auto.best_epoch_["label_noise"]
    none = auto
    if noise["corrected"]:  # otherwise the two are the same to the bit (tests/fit/test_label_noise.py)
        none = make("gdamn", seed=seed, overrides={"threads": 1}).fit(graph)
    gcn = make("gcn", seed=seed, overrides={"threads": 1}).fit(graph)
    names = {"gdamn none": none, "gdamn auto": auto, "gcn": gcn}
    return {name: score(model.predict(names=False)) for name, model in names.items()}, noise


def show(kept: dict[str, Any]) -> None:
    """Means over the seeds."""
    for share, seeds in kept.items():
        for part in ("ranking", "accuracy"):
            records = [done[part] for done in seeds.values() if part in done]
            for name in records[0] if records else ():
                values = [record[name]["found"] if part == "ranking" else record[name] for record in records]
                spread = statistics.stdev(values) if len(values) > 1 else 0.0
                print(f"{share:>4} {part:<9} {name:<60} {100 * statistics.fmean(values):5.1f} ± {100 * spread:.1f}")


if __name__ == "__main__":
    main()
