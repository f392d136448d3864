"""The benchmark of the review: what the oracle says, who is asked, and the table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gdamn import Decisions, Graph, load

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import review

NAME = "digits + 1 / 2 a class"


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Few training nodes, no validation nodes, and test nodes; in small."""
    full = load("sbm", num_nodes=120, num_classes=3, train_per_class=3, val_per_class=3, noise=0.5, seed=0)
    masks = (np.arange(120) < 9, np.zeros(120, bool), np.arange(120) >= 60)
    return full.with_masks(*masks)


def test_few_labels_are_drawn_apart_from_the_test_nodes() -> None:
    graph = review.few_labels(NAME, 0)
    assert np.bincount(graph.labels[graph.train_mask]).tolist() == [2] * 10
    assert not graph.val_mask.any()
    assert graph.test_mask.sum() == review.TEST_NODES
    assert not (graph.train_mask & graph.test_mask).any()


@pytest.mark.parametrize("arm", review.ARMS)
def test_an_arm_asks_for_what_it_says_and_the_oracle_tells_the_truth(graph: Graph, arm: str) -> None:
    model = review.regressions(graph, Decisions(), 0)
    first = review.asked(graph, model, arm, 6, Decisions(), 0)
    again = review.asked(graph, model, arm, 6, Decisions(first), 0)
    nodes = {"nodes": 6, "edges": 0, "mixed": 3}[arm.split()[0]]
    assert [row.kind for row in first] == ["node"] * nodes + ["edge"] * (6 - nodes)
    edges = [row.item() for row in (*first, *again) if row.kind == "edge"]
    assert len(set(edges)) == len(edges)
    for row in first:
        labels = [graph.labels[int(name)] for name in (row.node, row.other) if name]
        if row.kind == "node":
            assert not graph.test_mask[int(row.node)]
            assert row.label == graph.class_names[labels[0]]
        else:
            assert row.verdict == ("right" if labels[0] == labels[1] else "wrong")


def test_the_table_has_means_and_leads() -> None:
    def fit(arm: str, seed: int, step: int, test: float) -> dict[str, object]:
        return {"learner": "regressions", "graph": NAME, "seed": seed, "arm": arm, "decisions": step, "test": test}

    fits = [
        fit(f"nodes {order}", seed, step, 0.5 + 0.1 * seed + 0.02 * (order == "review") * (step > 0))
        for order in ("review", "random")
        for seed in (0, 1)
        for step in review.STEPS
    ]
    rows = review.table(fits).splitlines()[2:]
    assert rows == [
        f"| regressions | {NAME} (2) | nodes review | 55.0 | 57.0 | 57.0 | 57.0 | +2.0 ± 0.0 |",
        f"| regressions | {NAME} (2) | nodes random | 55.0 | 55.0 | 55.0 | 55.0 |  |",
    ]
