"""A fitted model on a graph that it wasn't fitted on: new nodes, new edges (docs/inductive.md).

q is a function of features and edge weights, and the attentions are functions of label distributions and features, so
the saved weights answer for any graph with the same features and classes. Nodes that the model knows keep the label
distribution Ŷ that it saved; for new ones Ŷ is q's opinion on a first graph, and the edges are then weighed with it
(gdamn_inductive.py). A method says how by its ``_answer``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import ConfigError, GraphError
from ..fit.training import reproducible_threads
from ..graph.extension import Extension
from ..graph.extension import known_nodes as known_nodes
from ..graph.graph import Graph
from .graph_input import as_graph
from .predictions import mean, split_names

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from .base import NodeClassifier

ROUNDS = 1
"""How often the edges are weighed with the new nodes' labels; more changed little (docs/evidence/after-training.md)."""

TOLERANCE = 1e-4
"""On the graph of the fit a rebuilt model must answer as the saved one did, to this much."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model says of a graph.

    Attributes:
        probabilities: [N, C] of q.
        weights: ``hard``, ``soft``, ``stable`` [E] in the order of the graph's CSR and ``loop.…`` [N] likewise; empty
            for a model without attention.
    """

    probabilities: NDArray[np.float32]
    weights: dict[str, NDArray[np.float32]]


def answer(
    model: NodeClassifier,
    graph: Graph,
    fitted_on: Graph | None = None,
    known: NDArray[np.int64] | None = None,
    rounds: int = ROUNDS,
) -> Answer:
    """The model's probabilities and edge weights on another graph.

    Args:
        model: fitted or loaded.
        graph: features and classes like those of the fit; its labels are not read.
        fitted_on: the graph of the fit, which tells how features are normalised; a fitted model has it.
        known: [N] each node's number in the fit, -1 for new ones; by default found with :func:`known_nodes`.
        rounds: how often new nodes' labels and the edges refine each other, at least once.
    """
    if rounds < 1:
        raise ConfigError(f"The edges are weighed at least once; rounds is {rounds}.")
    older = training_graph(model, fitted_on)
    check_fits(model, graph, older)
    check_once(model, older)
    numbers = known_nodes(graph, older) if known is None else known
    return _answer(model, graph, older, numbers, rounds)


def new_nodes(
    fits: Sequence[tuple[NodeClassifier, Graph]], extension: Extension
) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """The mean of the models' probabilities for nodes that are asked about, and each one's part in the fit.

    Args:
        fits: models with the graphs of their fits, which have the same nodes.
    """
    rows, known = extension.rows, extension.known
    answers = [answer(model, extension.graph, fitted_on, known).probabilities[rows] for model, fitted_on in fits]
    split = np.where(known[rows] >= 0, split_names(fits[0][1])[known[rows]], "new")
    return mean(answers), split


def asked(
    model: NodeClassifier, graph: Graph | Data | None, nodes: Any, edges: Any, fitted_on: Graph | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.str_]]:
    """Ids [M], raw probabilities [M, C] and parts in the fit [M] of nodes that somebody asks a model about.

    Args:
        graph: all of its nodes; or
        nodes, edges: new nodes beside the graph of the fit (:meth:`gdamn.Graph.extended`).
    """
    model._fitted()
    if graph is not None and graph is model.graph_ and nodes is None and edges is None:
        return model.node_ids_, model.probabilities_, split_names(model.graph_)
    older = training_graph(model, fitted_on)
    if graph is not None:
        if nodes is not None or edges is not None:
            raise ConfigError("Predict a graph, or nodes and edges beside that of the fit; both were given.")
        other = with_classes(as_graph(graph), model.class_names_)
        check_fits(model, other, older)
        extension = Extension(other, np.arange(other.num_nodes), known_nodes(other, older))
    elif nodes is None:
        raise ConfigError("edges are those of new nodes; give the nodes, too.")
    else:
        extension = older.extended(nodes, edges)
    probabilities, split = new_nodes([(model, older)], extension)
    return extension.graph.node_ids[extension.rows], probabilities, split


def with_classes(graph: Graph, names: tuple[str, ...]) -> Graph:
    """A graph that has no names for its classes, with these; its labels, which nobody reads, are unknown then."""
    numbered = graph.class_names == tuple(map(str, range(graph.num_classes)))
    if not numbered or graph.num_classes > len(names):
        return graph
    return replace(graph, class_names=names, labels=np.full(graph.num_nodes, -1, np.int64))


def training_graph(model: NodeClassifier, graph_of_fit: Graph | None) -> Graph:
    """The graph of the fit: the one given, the one that a fitted model holds, or the one in its file."""
    for graph in (graph_of_fit, model.graph_, model.kept_graph_):
        if graph is not None:
            return graph
    raise GraphError(
        "The model file doesn't hold the graph of the fit, which new nodes need; save the model with "
        "save(path, graph=True), or pass the graph as fitted_on."
    )


def check_fits(model: NodeClassifier, graph: Graph, fitted_on: Graph) -> None:
    """Refuse a graph with other features or classes than those of the fit."""
    if graph.num_features != fitted_on.num_features:
        counts = f"{graph.num_features} features, but the model was trained on {fitted_on.num_features}"
        raise GraphError(f"The graph '{graph.name}' has {counts}.")
    if tuple(graph.class_names) != tuple(model.class_names_):
        raise GraphError(f"The graph '{graph.name}' has other classes than those the model was trained on.")


def check_once(model: NodeClassifier, fitted_on: Graph) -> None:
    """The same as :func:`check_rebuilt`; a graph that passed is not looked at again."""
    if vars(model).get("repeated_on_") is not fitted_on:
        check_rebuilt(model, fitted_on)
        model.repeated_on_ = fitted_on


def check_rebuilt(model: NodeClassifier, fitted_on: Graph) -> None:
    """On its own graph the rebuilt model must say what the saved one said; otherwise it is more than its weights."""
    rebuilt = _answer(model, fitted_on, fitted_on, np.arange(fitted_on.num_nodes), 1).probabilities
    if rebuilt.shape != model.probabilities_.shape or not np.allclose(rebuilt, model.probabilities_, atol=TOLERANCE):
        raise GraphError(
            f"The weights of this '{model.method}' model don't give its saved answers on the graph of its fit: the "
            "method uses more than its weights, or the data have changed; new nodes can't be predicted with it."
        )


def _answer(model: NodeClassifier, graph: Graph, fitted_on: Graph, known: NDArray[np.int64], rounds: int) -> Answer:
    with reproducible_threads(model.settings.threads), torch.no_grad():
        return model._answer(graph, fitted_on, known, rounds)
