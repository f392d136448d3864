"""What an estimator takes for a graph: ours, or PyTorch Geometric's."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError, GraphError
from ..graph.decided import decided
from ..graph.decisions import Decisions
from ..graph.graph import Graph
from ..graph.label_names import in_order
from ..graph.node_ids import plain_id
from ..graph.pyg import not_a_graph
from ..text import safe


def as_graph(graph: Any) -> Graph:
    """A Graph from a Graph or a PyTorch Geometric Data."""
    if isinstance(graph, Graph):
        return graph
    if "torch_geometric" in sys.modules:
        from torch_geometric.data import Data

        if isinstance(graph, Data):
            return Graph.from_pyg(graph)
    raise GraphError(not_a_graph(graph, "a gdamn Graph or a PyTorch Geometric Data"))


def given_graph(graph: Any, y: Any, sample_weight: Any, decisions: Any = None) -> Graph:
    """The graph of a fit: with the labels of y, what a person decided, and the weights of the known labels."""
    g = as_graph(graph)
    g = g if y is None else with_labels(g, y)
    g = g if decisions is None else decided(g, Decisions.given(decisions))
    return g if sample_weight is None else replace(g, label_weights=as_label_weights(sample_weight, g))


def with_labels(graph: Graph, y: Any) -> Graph:
    """The graph with labels by their names or numbers; every labelled node trains where there is no split.

    Args:
        y: [N] names or numbers as the graph has them, or the classes where it has none; None, nan or -1: unknown.
    """
    if callable(y):
        raise GraphError("y are labels; name a function that hears of epochs: fit(graph, progress=...).")
    values = [_label(value) for value in np.asarray(y.cpu() if hasattr(y, "cpu") else y, object).ravel().tolist()]
    if len(values) != graph.num_nodes:
        raise GraphError(f"There are {len(values)} labels in y for {graph.num_nodes} nodes; give one for each node.")
    names = graph.class_names or tuple(in_order({each for each in values if each is not None} - {"-1"}))
    number_of = {name: at for at, name in reversed(list(enumerate(names)))}
    unknown = {None, "-1"} - set(names)
    wrong = next((each for each in values if each not in number_of and each not in unknown), None)
    if wrong is not None:
        raise GraphError(f"The label '{safe(wrong)}' in y is no class of the graph, which has {', '.join(names[:20])}.")
    labels = np.array([-1 if each is None else number_of.get(each, -1) for each in values], np.int64)
    split = graph.train_mask | graph.val_mask | graph.test_mask
    named = replace(graph, class_names=names)
    if split.any():
        return named.with_labels(labels)
    nobody = np.zeros(graph.num_nodes, bool)
    return replace(named, labels=labels).with_masks(labels >= 0, nobody, nobody)


def _label(value: Any) -> str | None:
    """A label as its text; None where there is none."""
    plain = plain_id(value)
    if plain is None or (isinstance(plain, float) and math.isnan(plain)):
        return None
    return str(int(plain)) if isinstance(plain, float) and plain.is_integer() else str(plain)


def as_label_weights(weights: Any, graph: Graph) -> NDArray[np.float32]:
    """[N] weights of the labels: finite, none negative, and one of a training node more than 0."""
    try:
        values = np.asarray(weights.cpu() if hasattr(weights, "cpu") else weights, np.float32)
    except (TypeError, ValueError):
        raise GraphError("sample_weight must be numbers, one for each node.") from None
    if values.shape != (graph.num_nodes,):
        raise GraphError(
            f"sample_weight has shape {values.shape}; give one weight for each of {graph.num_nodes} nodes."
        )
    known = values[graph.train_mask]
    if not np.isfinite(known).all() or (known < 0).any():
        raise GraphError("A weight of sample_weight is negative or not finite; weights are 0 or more.")
    if len(known) and not (known > 0).any():
        raise GraphError("sample_weight is 0 for every training node, so that nothing would be learned.")
    return values


def check_weights(graph: Graph, method: str, weighs_labels: bool) -> None:
    """Refuse weights of labels that a method can't use."""
    if graph.label_weights is not None and not weighs_labels:
        raise ConfigError(f"Method '{method}' has no loss that weighs labels; leave sample_weight out.")


def decisions_record(graph: Graph, constrained: bool) -> dict[str, Any]:
    """What a fit remembers of the decisions in its graph; nothing where there are none."""
    if "decisions" not in graph.meta:
        return {}
    return {"decisions": {**graph.meta["decisions"], "constrained": constrained}}


def plain_split(split: Any) -> Any:
    """The name or number of a split, as a file can hold it."""
    plain = plain_id(split)
    return plain if plain is None or isinstance(plain, (int, float, str)) else str(plain)
