"""Which nodes to label next: accuracy after each round of labels, for every rule and for random choice.

python benchmarks/suggest.py --datasets cora,citeseer,digits,pubmed --seeds 10

A person starts with two labels a class, and labels ten more in each of six rounds. The learner is the multi-hop opinion
(fit/multihop); --learner gdamn takes a whole fit instead. It is judged on all nodes without a label, the same nodes for
every rule: those that no rule asked for on this seed. The rules see no label but those that were asked for: all others
are removed from the graph. Rules were chosen on seeds from 100 on. What is done is kept in --out and not done again.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gdamn import GDAMN, Graph, load
from gdamn.data.splits import per_class_split
from gdamn.estimators.predictions import Predictions, of_fit, split_names
from gdamn.estimators.suggestions import RULES, suggest
from gdamn.fit.multihop import multihop_opinion
from gdamn.model.problem import make_problem
from gdamn.model.temperature import Temperature

HERE = Path(__file__).resolve().parent
START, BATCH, ROUNDS = 2, 10, 6
"""Labels a class at first, labels a round, and rounds."""

Chosen = dict[str, tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]]
"""For each rule: the predictions [N] after each round, and the nodes that were labelled in it."""


def main() -> None:
    arguments = parse()
    kept: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for dataset in arguments.datasets.split(","):
        done = kept.setdefault(arguments.learner, {}).setdefault(dataset, {})
        for seed in map(str, range(arguments.first, arguments.first + arguments.seeds)):
            if seed not in done:
                done[seed] = compare(load(dataset, seed=0), arguments.learner, int(seed))
                arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
        print(table(dataset, done), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cora,citeseer,digits,pubmed")
    parser.add_argument("--learner", default="multihop", choices=("multihop", "gdamn"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "suggest.json")
    return parser.parse_args()


def compare(graph: Graph, learner: str, seed: int) -> dict[str, list[float]]:
    """Accuracy after 0 to 6 rounds by each rule, on the nodes that none of them asked for."""
    start = per_class_split(graph.labels, START, 0, seed)[0]
    first = predicted(known(graph, start), learner, seed)
    chosen = {rule: rounds(graph, start, first, rule, learner, seed) for rule in ("random", *RULES)}
    judged = (graph.labels >= 0) & ~start
    for _, asked in chosen.values():
        judged[np.concatenate(asked)] = False
    labels = graph.labels[judged]
    return {
        rule: [round(float((classes[judged] == labels).mean()), 5) for classes in after]
        for rule, (after, _) in chosen.items()
    }


def rounds(
    graph: Graph, start: NDArray[np.bool_], first: Predictions, rule: str, learner: str, seed: int
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Label and learn in turn; the labels of the nodes that the rule asks for are the only ones that are looked up."""
    train, predictions = start.copy(), first
    random = np.random.default_rng([seed, 7])
    after, asked = [first.predicted], []
    for _ in range(ROUNDS):
        asked.append(ask(predictions, rule, random))
        train[asked[-1]] = True
        predictions = predicted(known(graph, train), learner, seed)
        after.append(predictions.predicted)
    return after, asked


def known(graph: Graph, train: NDArray[np.bool_]) -> Graph:
    """The graph with the labels of these nodes, and no others."""
    none = np.zeros(graph.num_nodes, bool)
    ids = {"node_ids": np.arange(graph.num_nodes), "class_names": graph.class_names}
    masks = {"train_mask": train, "val_mask": none, "test_mask": none}
    edges = np.stack([graph.indices, graph.rows])
    return Graph.build(edges, graph.features, np.where(train, graph.labels, -1), **masks, **ids)


def ask(predictions: Predictions, rule: str, random: np.random.Generator) -> NDArray[np.int64]:
    """The nodes to label next."""
    if rule == "random":
        return random.choice(np.flatnonzero(~predictions.graph.train_mask), BATCH, replace=False)
    nodes: NDArray[np.int64] = suggest(predictions, BATCH, rule)["node"]
    return nodes


def predicted(graph: Graph, learner: str, seed: int) -> Predictions:
    """What the learner says of every node."""
    if learner == "gdamn":
        return of_fit(GDAMN(seed=seed, threads=1).fit(graph), graph)
    torch.set_num_threads(1)
    opinion = multihop_opinion(make_problem(graph, "none", 0.0, torch.device("cpu")), seed=seed)
    calibrated = Temperature(1.0, True, "cross-fitted", int(graph.train_mask.sum()))
    return Predictions(graph, opinion.probabilities.double().numpy(), split_names(graph), calibrated, {})


def table(dataset: str, done: dict[str, dict[str, list[float]]]) -> str:
    """A row per rule: mean accuracy after each round, the mean of the rounds, and its lead over random choice."""
    lines = []
    for rule in next(iter(done.values())):
        curve = [100 * statistics.fmean(one[rule][at] for one in done.values()) for at in range(ROUNDS + 1)]
        leads = [100 * (statistics.fmean(one[rule][1:]) - statistics.fmean(one["random"][1:])) for one in done.values()]
        error = statistics.stdev(leads) / len(leads) ** 0.5 if len(leads) > 1 else float("nan")
        cells = " | ".join(f"{value:.1f}" for value in curve)
        lines.append(f"| {dataset} | {rule} | {cells} | {statistics.fmean(leads):+.1f} ± {error:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
