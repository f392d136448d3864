"""The edges most likely to be wrong, for a person to check."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from ..estimators.base import NodeClassifier
from ..estimators.predictions import Predictions
from ..estimators.weighted_edges import attention
from ..graph.graph import Graph
from .ranking import both_ways, suspects


def suspicious(model: NodeClassifier, graph: Graph, predictions: Predictions, most: int) -> dict[str, NDArray[Any]]:
    """A table of at most so many edges in the order of :func:`gdamn.using.ranking.suspects`."""
    if most < 1:
        raise ConfigError(f"--suspicious must be 1 or more; got {most}.")
    hard = attention(model, "judge edges by")["hard"]
    ranked = suspects(graph, predictions.probabilities, model.state_, most)
    names = np.array(graph.class_names, dtype=object)
    ends = graph.rows[ranked.at], graph.indices[ranked.at]
    source, target = ends[::-1] if graph.directed else ends  # an undirected edge begins at the earlier node
    return {
        "source": graph.node_ids[source],
        "target": graph.node_ids[target],
        "source_predicted": names[predictions.predicted[source]],
        "target_predicted": names[predictions.predicted[target]],
        "source_confidence": predictions.confidence[source],
        "target_confidence": predictions.confidence[target],
        "hard": both_ways(graph, hard, ranked.at),
        "suspicion": ranked.suspicion,
    }
