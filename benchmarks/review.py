"""What a person's decisions are worth: accuracy after 0, 20, 50 and 100 of them, against as many at random.

python benchmarks/review.py                        all that is missing, with GDAMN_DATA set to the data
python benchmarks/review.py --seeds 1 --graphs "cora + 0.4 / 5 a class" --arms "nodes review,nodes random"
python benchmarks/review.py --table                the tables of what is there

An oracle knows every label, and answers what it is asked:

nodes review    nodes in the order of ``gdamn review``'s queue, each labelled
nodes random    nodes drawn at random from the same pool, each labelled
edges review    edges in the order of the queue (suspicion times influence): right where the ends have one class
edges random    edges drawn at random, answered in the same way
mixed review    half and half: nodes and edges in the orders of the queues
mixed random    the same numbers of nodes and of edges, drawn at random

Queues are made anew, from a fit with all decisions so far, after 20 and after 50 decisions; both arms of a kind start
from the same fit. There are two learners. ``regressions`` are those of fit/multihop that a fit without validation nodes
starts from, with edges judged by fit/field; ``GDAMN`` is a whole fit, ``GDAMN(start="evidence").fit(graph,
decisions=...)``. The graphs have planted edges between classes; training nodes are few, drawn at random for each class,
and there are no validation nodes. Accuracy is that of a set of test nodes, the same for all arms of a seed, whose
labels are neither asked for nor suggested. Edges may end there. Every fit is kept in review.json, and not made again.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import machine
import numpy as np
from numpy.typing import NDArray

from gdamn import GDAMN, Decisions, Graph, load
from gdamn.estimators.predictions import Predictions, of_fit, split_names
from gdamn.fit.field import edge_field
from gdamn.fit.multihop import multihop_opinion
from gdamn.fit.training import reproducible_threads
from gdamn.graph.decided import decided
from gdamn.graph.decisions import Row
from gdamn.model.fitted_state import FittedState
from gdamn.model.problem import choose_device, make_problem
from gdamn.model.temperature import Temperature
from gdamn.system.io import write_text
from gdamn.using.queues import edge_queue, node_queue
from gdamn.using.ranking import pairs

HERE = Path(__file__).resolve().parent

GRAPHS: dict[str, tuple[str, float, int]] = {
    f"{dataset} + {noise:g} / {labels} a class": (dataset, noise, labels)
    for dataset, noise, labels in (("cora", 0.4, 5), ("digits", 1.0, 2))
}
"""Name in the table: data set, planted edges per edge, training nodes a class."""

SETTINGS: dict[str, Any] = {"start": "evidence"}
"""Of GDAMN; all others have their defaults."""

Key = tuple[str, str, int, str]
"""Learner, graph, seed and arm."""


@dataclass(frozen=True)
class Fitted:
    """What the queues are made from: of the model its state, and its predictions."""

    state_: FittedState
    predictions: Predictions


STEPS = (0, 20, 50, 100)
ARMS = tuple(f"{kind} {order}" for kind in ("nodes", "edges", "mixed") for order in ("review", "random"))
TEST_NODES = 1000
"""Test nodes: the public ones of Cora; of digits so many, drawn at random."""


def main() -> None:
    arguments = parse()
    kept = json.loads(arguments.out.read_text("utf-8")) if arguments.out.exists() else {"fits": []}
    for seed in range(0 if arguments.table else arguments.seeds):
        for name in arguments.graphs:
            for arm in arguments.arms:
                review((arguments.learner, name, seed, arm), kept, arguments.out)
    print(table(kept["fits"]))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=lambda text: text.split(","), default=list(GRAPHS))
    parser.add_argument("--arms", type=lambda text: text.split(","), default=list(ARMS))
    parser.add_argument("--learner", choices=list(LEARNERS), default="regressions")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="print the tables and run nothing")
    parser.add_argument("--out", type=Path, default=HERE / "review.json")
    return parser.parse_args()


def review(what: Key, kept: dict[str, Any], out: Path) -> None:
    """All steps of one arm that are missing; rows that an earlier run decided are taken from the file."""
    learner, name, seed, arm = what
    fitted = LEARNERS[learner]
    done = {one["decisions"]: one for one in kept["fits"] if key(one) == what}
    if set(done) >= set(STEPS):
        return
    graph, decisions, model = few_labels(name, seed), Decisions(), None
    for step in STEPS:
        if step:
            if step in done:
                rows = tuple(Row(*row) for row in done[step]["rows"])
            else:
                model = fitted(graph, decisions, seed) if model is None else model
                rows = asked(graph, model, arm, step - len(decisions), decisions, seed)
            decisions = Decisions((*decisions.rows, *rows))
            model = None
        if step in done:
            continue
        begun = time.process_time()
        first = next((one for one in kept["fits"] if key(one)[:3] == what[:3] and one["decisions"] == 0), None)
        if step == 0 and first is not None:  # all arms begin with the same fit
            result = {"test": first["test"], "seconds": first["seconds"]}
        else:
            model = fitted(graph, decisions, seed)
            right = (model.predictions.predicted == graph.labels)[graph.test_mask]
            result = {"test": round(float(right.mean()), 4), "seconds": round(time.process_time() - begun, 1)}
        about = {"learner": learner, "graph": name, "seed": seed, "arm": arm, "decisions": step, **result}
        kept["fits"].append({**about, "rows": [list(row) for row in rows] if step else []})
        write(out, kept)
        print(about, flush=True)


def key(one: dict[str, Any]) -> Key:
    return one["learner"], one["graph"], one["seed"], one["arm"]


def few_labels(name: str, seed: int) -> Graph:
    """The noisy graph with few training nodes a class, none for validation, and test nodes that nobody labels."""
    dataset, noise, per_class = GRAPHS[name]
    graph = load(dataset, noise=noise, seed=seed)
    rng = np.random.default_rng([seed, 24])
    test = graph.test_mask.copy()
    if test.sum() > TEST_NODES:
        test[:] = False
        test[rng.choice(graph.num_nodes, TEST_NODES, replace=False)] = True
    train = np.zeros(graph.num_nodes, bool)
    for number in range(graph.num_classes):
        train[rng.choice(np.flatnonzero((graph.labels == number) & ~test), per_class, replace=False)] = True
    return graph.with_masks(train, np.zeros(graph.num_nodes, bool), test)


def regressions(graph: Graph, decisions: Decisions, seed: int) -> Fitted:
    """What the regressions say of the graph with the decisions in it, and how far each edge is to be trusted."""
    now = decided(graph, decisions)
    problem = make_problem(now, "auto", 0.0, choose_device("cpu"))
    with reproducible_threads(1):
        opinion = multihop_opinion(problem, seed=seed).probabilities
        field = edge_field(problem, opinion, seed)
    judged = {name: getattr(field, name)[problem.structure.off_loop] for name in ("evidence", "reliability")}
    p = opinion.double().cpu().numpy()
    predictions = Predictions(now, p, split_names(now), Temperature(1.0, False, "calibrated by cross-fitting"), {})
    return Fitted(FittedState(probabilities=p.astype(np.float32), edge_weights=judged), predictions)


def gdamn(graph: Graph, decisions: Decisions, seed: int) -> Fitted:
    """A whole fit."""
    model = GDAMN(seed=seed, threads=1, **SETTINGS).fit(graph, decisions=decisions)
    assert model.graph_ is not None
    return Fitted(model.state_, of_fit(model, model.graph_))


LEARNERS = {"regressions": regressions, "GDAMN": gdamn}


def asked(graph: Graph, model: Fitted, arm: str, count: int, before: Decisions, seed: int) -> tuple[Row, ...]:
    """The next decisions of an arm, as the oracle answers them."""
    kind, order = arm.split()
    share = {"nodes": (count, 0), "edges": (0, count), "mixed": (count // 2, count - count // 2)}[kind]
    rng = np.random.default_rng([seed, len(before), 42])
    predictions, known = model.predictions, before.last()
    now = predictions.graph
    nodes: NDArray[Any]
    if order == "review":
        suggested = node_queue(model, predictions, share[0]).items if share[0] else []
        nodes = np.array([item["ends"][0] for item in suggested], np.int64)
        queue = edge_queue(model, predictions, share[1] + len(known)).items if share[1] else []
        edges = [item["ends"] for item in queue]
    else:
        pool = np.flatnonzero(~(now.train_mask | now.test_mask))
        nodes = rng.choice(pool, share[0], replace=False)
        at = rng.permutation(pairs(now))[: share[1] + len(known)]
        edges = [[int(now.indices[entry]), int(now.rows[entry])] for entry in at]
    rows = [label_row(graph, node) for node in nodes.tolist()]
    fresh = [row for row in (edge_row(graph, *ends) for ends in edges) if row.item() not in known]
    return (*rows, *fresh[: share[1]])


def label_row(graph: Graph, node: int) -> Row:
    return Row("", "node", str(graph.node_ids[node]), "", "right", graph.class_names[graph.labels[node]])


def edge_row(graph: Graph, a: int, b: int) -> Row:
    verdict = "right" if graph.labels[a] == graph.labels[b] else "wrong"
    return Row("", "edge", str(graph.node_ids[a]), str(graph.node_ids[b]), verdict, "")


def write(path: Path, kept: dict[str, Any]) -> None:
    """The whole file or none of it; a line for each fit."""
    lines = ",\n".join(f"  {json.dumps(one)}" for one in kept["fits"])
    about = f' "versions": {json.dumps(machine.versions())},\n "settings": {json.dumps({"GDAMN": SETTINGS})}'
    write_text(path, f'{{\n{about},\n "fits": [\n{lines}\n ]\n}}\n')


def table(fits: list[dict[str, Any]]) -> str:
    """Mean accuracy of every arm after each number of decisions, and the lead of review over random."""
    lines = ["| fit | graph (seeds) | what is asked | " + " | ".join(map(str, STEPS)) + " | lead after 50 |"]
    lines.append("|---" * (len(STEPS) + 4) + "|")
    for learner, name in product(LEARNERS, GRAPHS):
        mine = [one for one in fits if key(one)[:2] == (learner, name)]
        at = {(one["arm"], one["seed"], one["decisions"]): 100 * one["test"] for one in mine}
        for arm in ARMS:
            other = arm.replace("review", "random")
            seeds = [s for s in range(100) if all((each, s, step) in at for each in (arm, other) for step in STEPS)]
            if not seeds:
                continue
            means = [f"{np.mean([at[arm, s, step] for s in seeds]):.1f}" for step in STEPS]
            leads = np.array([at[arm, s, 50] - at[other, s, 50] for s in seeds])
            error = leads.std(ddof=1) / len(seeds) ** 0.5 if len(seeds) > 1 else float("nan")
            lead = "" if arm == other else f"{leads.mean():+.1f} ± {error:.1f}"
            lines.append(f"| {learner} | {name} ({len(seeds)}) | {arm} | {' | '.join(means)} | {lead} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
