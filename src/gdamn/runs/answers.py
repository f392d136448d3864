"""What a method of one's own must not see while it is fitted: the labels that its score is taken from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..estimators import custom as own_methods
from ..model.metrics import score_key

if TYPE_CHECKING:
    from ..estimators.base import NodeClassifier
    from ..graph.graph import Graph


def without_answers(graph: Graph) -> Graph:
    """The graph with the labels of training and validation nodes alone; all others are -1.

    Arrays in ``meta`` go, too: the planted edges are the answer to another question.
    """
    import numpy as np  # late: the command line starts without it

    known = graph.train_mask | graph.val_mask
    plain = {key: value for key, value in graph.meta.items() if not isinstance(value, np.ndarray)}
    return replace(graph, labels=np.where(known, graph.labels, -1), meta=plain)


def shown_to(method: str, graph: Graph) -> Graph:
    """What a method is fitted on: the graph, without the answers where the method is no part of the package.

    Methods of the package are given the graph as it is: tests prove that no label of a test node changes their fits.
    """
    return without_answers(graph) if own_methods.is_own(method) else graph


def validation_score(method: str, model: NodeClassifier, graph: Graph, metric: str) -> float:
    """The validation score of a fitted model: that of its chosen epoch; by its predictions where it isn't ours."""
    if not own_methods.is_own(method):
        return float(model.best_epoch_[score_key(metric)])
    from ..model.confusion import confusion, score

    val = graph.val_mask
    predicted = model.predict_proba().argmax(axis=1)
    return float(score(confusion(graph.labels[val], predicted[val], graph.num_classes), metric))
