"""The edges most likely to be wrong, for a person to check."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import NodeClassifier
from ..errors import ConfigError
from ..graph import Graph
from .opened import attention
from .predictions import Predictions


def suspicious(model: NodeClassifier, graph: Graph, predictions: Predictions, most: int) -> dict[str, NDArray[Any]]:
    """A table of at most so many edges, the most suspicious first; an undirected edge stands once.

    The suspicion is (1 - hard) · P(the ends' labels differ): p's doubt in the edge, times q's in its ends. Either
    alone finds planted edges nearly as well (docs/after-training.md).
    """
    if most < 1:
        raise ConfigError(f"--suspicious must be 1 or more; got {most}.")
    hard = attention(model, "judge edges by")["hard"]
    paired = np.where(graph.reverse >= 0, (hard + hard[graph.reverse]) / 2, hard)
    once = np.arange(len(hard)) if graph.directed else np.flatnonzero(graph.indices < graph.rows)
    source, target = graph.indices[once], graph.rows[once]
    suspicion = (1 - paired[once]) * differing(known_or_predicted(graph, predictions), source, target)
    order = np.argsort(-suspicion, kind="stable")[:most]
    names = np.array(graph.class_names, dtype=object)
    source, target = source[order], target[order]
    return {
        "source": graph.node_ids[source],
        "target": graph.node_ids[target],
        "source_predicted": names[predictions.predicted[source]],
        "target_predicted": names[predictions.predicted[target]],
        "source_confidence": predictions.confidence[source],
        "target_confidence": predictions.confidence[target],
        "hard": paired[once][order],
        "suspicion": suspicion[order],
    }


def known_or_predicted(graph: Graph, predictions: Predictions) -> NDArray[np.float64]:
    """[N, C] calibrated probabilities; training nodes have their label."""
    known = predictions.probabilities.copy()
    known[graph.train_mask] = np.eye(graph.num_classes)[graph.labels[graph.train_mask]]
    return known


def differing(probabilities: NDArray[np.float64], a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """[E] 1 - Σ_c P(a is c) P(b is c)."""
    same: NDArray[np.float64] = np.einsum("ec,ec->e", probabilities[a], probabilities[b])
    return 1 - same
