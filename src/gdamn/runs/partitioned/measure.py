"""Scores of a fit on a partitioned graph: confusion matrices of each rank's nodes, added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...model.confusion import confusion, score
from ...model.metrics import score_key
from ..class_scores import PARTS, SCORES, by_class

if TYPE_CHECKING:
    from ...fit.domains.ranks.parts import PartsProblem
    from ...graph.parts import PartitionedGraph


def class_tables(
    problem: PartsProblem, graph: PartitionedGraph, predicted: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """[C, C] of the test and of the validation nodes of all ranks, from the classes that this rank's nodes get."""
    from ...fit.domains.ranks.part_features import joined

    assert problem.share is not None
    group, labels = problem.share.group, joined(problem.parts, "labels")
    tables = {}
    for part in PARTS:
        chosen = joined(problem.parts, f"{part}_mask") & (labels >= 0)
        mine = confusion(labels[chosen], predicted[chosen], graph.num_classes)
        tables[part] = group.total(torch.from_numpy(mine).to(group.device)).cpu().numpy()
    return tables


def scores_of(tables: Mapping[str, NDArray[np.int64]], class_names: Sequence[str]) -> dict[str, Any]:
    """Accuracy, nodes and the scores of gdamn.runs.class_scores, as a summary names them; None without nodes."""
    scores: dict[str, Any] = {"by_class": {}}
    for part, table in tables.items():
        known = bool(table.any())
        scores[f"{part}_nodes"] = int(table.sum())
        for metric in ("accuracy", *SCORES):
            scores[score_key(metric, part)] = score(table, metric) if known else None
        if known:
            scores["by_class"][part] = by_class(table, class_names)
    return scores
