"""How a fit does class by class, on test and validation nodes: balanced accuracy, macro F1, the recall of each class.

The accuracy of a graph of 90 % one class says little of the others; these scores do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..estimators.accuracy import interval, with_nodes
from ..model.metrics import score_key
from .spread import spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..estimators.base import NodeClassifier
    from ..graph.graph import Graph

PARTS = ("test", "val")
SCORES = ("balanced_accuracy", "macro_f1")
"""The scores beside accuracy, by the name of the setting ``metric``."""


def class_scores(graph: Graph, estimator: NodeClassifier) -> dict[str, Any]:
    """The scores of a fit, and for each class its nodes and how many of them are right; plain data."""
    from ..estimators.predictions import likeliest
    from ..model.confusion import confusion, score

    scores: dict[str, Any] = {score_key(metric, part): None for part in PARTS for metric in SCORES}
    scores["by_class"] = {}
    predicted = likeliest(estimator.predict_proba())
    for part in PARTS:
        chosen = graph.mask(part) & (graph.labels >= 0)
        if not chosen.any():
            continue
        table = confusion(graph.labels[chosen], predicted[chosen], graph.num_classes)
        scores.update({score_key(metric, part): score(table, metric) for metric in SCORES})
        scores["by_class"][part] = by_class(table, graph.class_names)
    return scores


def by_class(table: NDArray[Any], class_names: Sequence[str]) -> list[dict[str, Any]]:
    """For each class its nodes and how many of them are right, from a confusion matrix [C, C]."""
    counts = zip(class_names, table.sum(axis=1).tolist(), table.diagonal().tolist(), strict=True)
    return [{"class": name, "nodes": nodes, "right": right} for name, nodes, right in counts]


def over_seeds(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The same over the seeds of a run; empty where a fit of an earlier version is among them.

    ``recall`` has a list for test and validation nodes: of each class the recall of every seed, with its nodes and its
    95 % interval. A balanced accuracy has an interval too (:func:`balanced_interval`), a macro F1 has none.
    """
    if not all("by_class" in result for result in results):
        return {}
    scores: dict[str, Any] = {}
    for part in PARTS:
        for metric in SCORES:
            key = score_key(metric, part)
            scores[key] = spread([result[key] for result in results])
        tables = [result["by_class"].get(part) for result in results]
        balanced = scores[score_key("balanced_accuracy", part)]
        balanced["interval_95"] = [None if table is None else list(balanced_interval(table)) for table in tables]
    scores["recall"] = {
        part: _recalls([result["by_class"][part] for result in results])
        for part in PARTS
        if all(part in result["by_class"] for result in results)
    }
    return scores


def _recalls(tables: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The recall of each class over the seeds; None for a seed that has no node of it."""
    rows = []
    for seeds in zip(*tables, strict=True):
        nodes = [entry["nodes"] for entry in seeds]
        values = [entry["right"] / entry["nodes"] if entry["nodes"] else None for entry in seeds]
        rows.append({"class": seeds[0]["class"], **with_nodes(spread(values), nodes)})
    return rows


def balanced_interval(table: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """A 95 % interval of a balanced accuracy, from Wilson's intervals of its recalls.

    The recalls are shares of different nodes, so the squares of their distances to their ends add up (Zou & Donner,
    2008: the method of variance estimates recovery): mean ∓ √Σ (r_c - end_c)² / C over the classes that occur.
    """
    shares = [(entry["right"] / entry["nodes"], entry["nodes"]) for entry in table if entry["nodes"]]
    mean = math.fsum(recall for recall, _ in shares) / len(shares)
    ends = [(recall, *interval(recall, nodes)) for recall, nodes in shares]
    below = math.sqrt(math.fsum((recall - low) ** 2 for recall, low, _ in ends)) / len(shares)
    above = math.sqrt(math.fsum((high - recall) ** 2 for recall, _, high in ends)) / len(shares)
    return max(0.0, mean - below), min(1.0, mean + above)


def lowest_recall(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The class of the lowest mean recall; None where no class has a node."""
    known = [row for row in rows if row["mean"] is not None]
    return min(known, key=lambda row: row["mean"]) if known else None
