"""The cleaned graph as a file: CSV or Parquet of edges, npz, PyTorch Geometric Data, GraphML."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from ..estimators.base import NodeClassifier
from ..estimators.inductive import answer
from ..estimators.predictions import Predictions, split_names
from ..estimators.selection import chosen_entries
from ..estimators.spurious import likely_edges
from ..estimators.weighted_edges import Weighed, attention, put_on, weigh
from ..graph.entries import with_edges
from ..graph.graph import SPLITS, Graph
from ..model.fitted_state import ATTENTION, edge_index
from ..runs.tables import write_table
from ..system import io
from ..text import safe

SUFFIXES = (".csv", ".parquet", ".npz", ".pt", ".graphml")

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, eq=False)
class Refined(Weighed):
    """The entries that stay, each with its weights, and the graph of the fit.

    Attributes:
        graph: the graph of the fit, with edges that were added.
        added: [E] which of its entries were added; None where that was not asked for.
    """

    graph: Graph
    added: NDArray[np.bool_] | None = None

    @property
    def codes(self) -> NDArray[np.int64]:
        """One number per edge, the same for both directions of an undirected one."""
        low, high = self.sources, self.targets
        if not self.graph.directed:
            low, high = np.minimum(low, high), np.maximum(low, high)
        code: NDArray[np.int64] = low.astype(np.int64) * self.graph.num_nodes + high
        return code

    def report(self) -> dict[str, Any]:
        """How many edges stay, and how many nodes are left alone; plain data."""
        touched = np.zeros(self.graph.num_nodes, dtype=bool)
        touched[self.sources] = touched[self.targets] = True
        had = np.zeros(self.graph.num_nodes, dtype=bool)
        had[self.graph.indices] = had[self.graph.rows] = True
        new = 0 if self.added is None else int(self.added.sum()) // 2
        stayed = {} if self.added is None else {"edges_added": int((self.added & self.chosen).sum()) // 2}
        return {
            "nodes": self.graph.num_nodes,
            "edges_before": self.graph.num_edges - new,
            **stayed,
            "edges_after": len(np.unique(self.codes)),
            "directed": self.graph.directed,
            "nodes_left_alone": int((had & ~touched).sum()),
            "weights": {name: spread(values) for name, values in self.all_weights.items()},
        }


def refine(model: NodeClassifier, graph: Graph, keep: str | None = None, top: int | None = None) -> Refined:
    """The graph of the fit with the edges that stay (:func:`gdamn.estimators.weighted_edges.weigh`), for a file."""
    return Refined(**vars(weigh(model, keep, top, directed=graph.directed, zeros=False)), graph=graph)


def refine_and_add(
    model: NodeClassifier, graph: Graph, add: int, keep: str | None = None, top: int | None = None
) -> Refined:
    """The same with new edges, of which each node proposes ``add``, and the hard attention keeps those above 0.5.

    Old and new edges are weighed by the model on the graph that has both.
    """
    if graph.directed:
        raise GraphError("Edges can be added to undirected graphs only; leave --add out.")
    attention(model, "judge new edges with")
    larger, added = with_edges(graph, likely_edges(graph, add))
    found = answer(model, larger, graph, np.arange(graph.num_nodes)).weights
    weights, loops = ({name: found[prefix + name] for name in ATTENTION} for prefix in ("", "loop."))
    index = edge_index(larger)
    chosen = chosen_entries(index, weights, graph.num_nodes, keep, top) & (weights["stable"] > 0)
    hard = weights["hard"]
    chosen &= ~added | ((hard + hard[larger.reverse]) / 2 > 0.5)
    return Refined(
        chosen=chosen,
        index=index[:, chosen].astype(np.int64),
        weights={name: values[chosen] for name, values in weights.items()},
        loops=loops,
        all_index=index,
        all_weights=weights,
        graph=larger,
        added=added,
    )


def spread(values: NDArray[Any]) -> dict[str, float | None]:
    """Lowest, middle and highest value, for people who look for a threshold."""
    if len(values) == 0:
        return {"lowest": None, "median": None, "highest": None}
    return {"lowest": float(values.min()), "median": float(np.median(values)), "highest": float(values.max())}


def write_refined(path: Path, refined: Refined, predictions: Predictions) -> None:
    """Write the file that the suffix asks for."""
    writers: dict[str, Callable[[], None]] = {
        ".csv": lambda: write_table(path, columns(refined)),
        ".parquet": lambda: write_table(path, columns(refined)),
        ".npz": lambda: write_npz(path, refined),
        ".pt": lambda: write_pt(path, refined),
        ".graphml": lambda: write_graphml(path, refined, predictions),
    }
    writers[path.suffix.lower()]()


def columns(refined: Refined) -> dict[str, NDArray[Any]]:
    """One row per direction, because soft and stable weights of the two differ; the input's weight where it has one."""
    graph = refined.graph
    input_weight = {} if graph.weights is None else {"weight": graph.weights[refined.chosen]}
    ends = {"source": graph.node_ids[refined.sources], "target": graph.node_ids[refined.targets]}
    new = {} if refined.added is None else {"added": refined.added[refined.chosen].astype(np.int8)}
    return {**ends, **input_weight, **refined.weights, **new}


def write_npz(path: Path, refined: Refined) -> None:
    """The community's layout; ``adj_data`` is the stable weight, ``hard`` and ``soft`` stand beside it."""
    graph, n = refined.graph, refined.graph.num_nodes
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(refined.targets, minlength=n), out=indptr[1:])
    arrays: dict[str, NDArray[Any]] = {
        "adj_data": refined.weights["stable"],
        "adj_indices": refined.sources,
        "adj_indptr": indptr,
        "adj_shape": np.array([n, n]),
        "hard": refined.weights["hard"],
        "soft": refined.weights["soft"],
        "loop_data": refined.loops["stable"],
        "labels": graph.labels,
        "class_names": np.array(graph.class_names, dtype=str),
        "node_ids": graph.node_ids if graph.node_ids.dtype.kind in "iu" else np.array(list(map(str, graph.node_ids))),
        **{f"{name}_mask": graph.mask(name) for name in SPLITS},
    }
    features: Any = graph.features
    if graph.is_sparse:
        parts = {"data": features.data, "indices": features.indices, "indptr": features.indptr}
        arrays |= {f"attr_{name}": part for name, part in parts.items()}
        arrays["attr_shape"] = np.array(features.shape)
    else:
        arrays["features"] = features
    with io.replacing(path) as temporary, temporary.open("wb") as file:  # given a path, NumPy may change its name
        np.savez_compressed(file, allow_pickle=False, **arrays)


def write_pt(path: Path, refined: Refined) -> None:
    """A PyTorch Geometric Data of tensors and lists, which opens with weights_only (docs/after-training.md)."""
    import torch

    data = put_on(refined.graph.to_pyg(), refined)
    data.node_ids = [each if isinstance(each, int) else str(each) for each in data.node_ids]
    with io.replacing(path) as temporary:
        torch.save(data, temporary)


def write_graphml(path: Path, refined: Refined, predictions: Predictions) -> None:
    """For graph viewers: nodes with label, predicted label, confidence and split, but not their features.

    An undirected edge stands once, with the mean of its two directions; ``weight`` is the stable weight.
    """
    import networkx as nx

    graph = refined.graph
    ids = [_xml(name, "node id") for name in graph.node_ids.tolist()]
    classes = [_xml(name, "class") for name in graph.class_names]
    output = nx.DiGraph() if graph.directed else nx.Graph()
    split = split_names(graph)
    for at, node in enumerate(ids):
        prediction = {"predicted": classes[predictions.predicted[at]], "confidence": float(predictions.confidence[at])}
        output.add_node(node, split=str(split[at]), **prediction)
        if graph.labels[at] >= 0:
            output.nodes[node]["label"] = classes[graph.labels[at]]
    for source, target, weights in undirected(refined):
        output.add_edge(ids[source], ids[target], weight=weights["stable"], **weights)
    with io.replacing(path) as temporary:
        nx.write_graphml(output, temporary)


def undirected(refined: Refined) -> list[tuple[int, int, dict[str, float]]]:
    """Each edge once, with the mean of the weights of its directions; each entry in a directed graph."""
    once, index = np.unique(refined.codes, return_inverse=True)
    count = np.bincount(index, minlength=len(once))
    means = {name: np.bincount(index, values, minlength=len(once)) / count for name, values in refined.weights.items()}
    first, second = divmod(once, refined.graph.num_nodes)
    return [
        (int(a), int(b), {name: float(means[name][at]) for name in ATTENTION})
        for at, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True))
    ]


def _xml(name: object, what: str) -> str:
    """The name, if XML can hold it."""
    text = str(name)
    if _NOT_XML.search(text):
        raise GraphError(
            f"GraphML can't hold the {what} '{safe(text)}': XML has no such characters; write .csv or .npz."
        )
    return text
