"""Is the confidence right where labels are few? Our default's, against the truth on nodes whose label is hidden.

python benchmarks/confidence.py                                all that is missing, with GDAMN_DATA set to the data
python benchmarks/confidence.py --graphs cora --labels 5,10    a part of it
python benchmarks/confidence.py --again                        once more, after a change of the code
python benchmarks/confidence.py --table                        the table of what is there

Labels are drawn as benchmarks/few_labels.py draws them, and nothing else is given. The confidence of a node is what
``gdamn predict`` shows: its largest calibrated probability. Per draw: its mean, the accuracy, the distance of the two
(gap), the expected calibration error over 15 bins (ece), the same of the raw probabilities (raw), the labels that the
confidence rests on (judged), and whether it is called uncalibrated.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import few_labels
import numpy as np

from gdamn import GDAMN
from gdamn.estimators.calibration import calibrated, expected_calibration_error
from gdamn.system.io import write_text

HERE = Path(__file__).resolve().parent
GRAPHS = ("cora", "citeseer", "digits + noise", "actor", "chameleon")


def main() -> None:
    arguments = parse()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for name in () if arguments.table else arguments.graphs:
        for labels in arguments.labels:
            for seed in range(arguments.first, arguments.first + arguments.seeds):
                key = f"{name}, {labels} labels, seed {seed}"
                if arguments.again or key not in kept:
                    kept[key] = measure(name, labels, seed)
                    write_text(arguments.out, json.dumps(kept, indent=1) + "\n")
                    print(key, kept[key], flush=True)
    print(table(kept))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = few_labels.names(few_labels.GRAPHS)
    parser.add_argument("--graphs", type=known, default=list(GRAPHS), help="names, separated by commas")
    parser.add_argument("--labels", type=few_labels.numbers, default=[10], help="labels a class, separated by commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--again", action="store_true", help="run also what is there already")
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    parser.add_argument("--out", type=Path, default=HERE / "confidence.json")
    return parser.parse_args()


def measure(name: str, count: int, seed: int) -> dict[str, Any]:
    """One draw: the confidence of nodes whose label is hidden, against their labels."""
    graph = few_labels.graph_of(name, seed)
    train = few_labels.draw(graph.labels, count, seed)
    none = np.zeros_like(train)
    shown = graph.with_masks(train, none, none).with_labels(np.where(train, graph.labels, -1))
    model = GDAMN(seed=seed, threads=1).fit(shown)
    raw = model.predict_proba()
    probabilities, temperature = calibrated(raw, shown, best=model.best_epoch_)
    hidden = (graph.labels >= 0) & ~train
    truth = graph.labels[hidden]
    confidence = float(probabilities[hidden].max(axis=1).mean())
    accuracy = float((probabilities[hidden].argmax(axis=1) == truth).mean())
    return {
        "confidence": round(confidence, 4),
        "accuracy": round(accuracy, 4),
        "gap": round(confidence - accuracy, 4),
        "ece": round(expected_calibration_error(probabilities[hidden], truth), 4),
        "raw": round(expected_calibration_error(raw[hidden], truth), 4),
        "judged": temperature.nodes,
        "called_uncalibrated": temperature.warning is not None,
    }


def table(kept: dict[str, Any]) -> str:
    """A row for each graph and number of labels: means over the draws, and the largest error of one draw."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for key, record in kept.items():
        graph, labels, _ = key.split(", ")
        rows.setdefault((graph, labels), []).append(record)
    lines = [
        "| graph | labels | draws | accuracy | confidence | gap (size) | ECE | largest | raw | called uncalibrated |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (graph, labels), records in rows.items():
        mean = {each: 100 * statistics.fmean(record[each] for record in records) for each in records[0]}
        gap = 100 * statistics.fmean(abs(record["gap"]) for record in records)
        cells = [
            mean["accuracy"],
            mean["confidence"],
            gap,
            mean["ece"],
            100 * max(r["ece"] for r in records),
            mean["raw"],
        ]
        shown = " | ".join(f"{cell:.1f}" for cell in cells)
        called = sum(record["called_uncalibrated"] for record in records)
        lines.append(f"| {graph} | {labels.removesuffix(' labels')} | {len(records)} | {shown} | {called} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
