"""TransductiveClassifier: nodes of one graph as samples, for scikit-learn's cross-validation and searches.

>>> nodes, labels = labelled(graph)
>>> GridSearchCV(TransductiveClassifier(GDAMN(), graph), {"model__hidden": [16, 64]}).fit(nodes, labels)

Every fold sees the whole graph, its edges and features, and the labels of its training nodes alone: X are the numbers
of nodes, and y their labels. That is what a model of this package does with a graph, and no less than it may see.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from ..errors import ConfigError, GraphError, NotFittedError
from .graph_input import as_graph, with_labels

if TYPE_CHECKING:
    from torch_geometric.data import Data
    from typing_extensions import Self

    from ..graph.graph import Graph
    from .base import NodeClassifier


def labelled(graph: Graph | Data) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """[n] the nodes that have a label, and [n] their labels, as ``predict`` names them."""
    from .conventions import class_array

    g = as_graph(graph)
    nodes = np.flatnonzero(g.labels >= 0)
    return nodes, class_array(g.class_names)[g.labels[nodes]]


class TransductiveClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A model on some nodes of a graph.

    Args:
        model: an estimator of gdamn, which is cloned for every fit; its settings are ``model__…``.
        graph: the graph of all nodes; its own labels and split are not read.
        validation: nodes whose labels choose the epoch in every fit, and are neither trained on nor scored; without
            them the last epoch counts.

    Attributes (after fit):
        model_: the fitted model; classes_: [C] the classes as ``predict`` names them.
    """

    def __init__(self, model: NodeClassifier, graph: Graph | Data, validation: ArrayLike | None = None) -> None:
        self.model, self.graph, self.validation = model, graph, validation

    def __sklearn_clone__(self) -> Self:
        """A copy of the model; the graph, which nobody can change, is shared."""
        return type(self)(clone(self.model), self.graph, self.validation)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a clone of the model to the labels y [n] of the nodes X [n], or [n, 1]."""
        g = as_graph(self.graph)
        nodes, labels = node_numbers(X, g.num_nodes), np.asarray(y, object).ravel()
        if len(labels) != len(nodes) or len(np.unique(nodes)) != len(nodes):
            raise GraphError(
                f"X has {len(nodes)} nodes and y {len(labels)} labels; give each node once, with its label."
            )
        train, val, nobody = (np.zeros(g.num_nodes, bool) for _ in range(3))
        train[nodes] = True
        if self.validation is not None:
            val[node_numbers(self.validation, g.num_nodes)] = True
        if (train & val).any():
            both = int((train & val).argmax())
            raise ConfigError(
                f"Node {both} is to be learned from and to choose the epoch; leave it out of one of them."
            )
        given = np.full(g.num_nodes, None, object)
        given[nodes] = labels
        known = with_labels(replace(g, train_mask=nobody, val_mask=nobody, test_mask=nobody), given)
        known = replace(known, labels=np.where(val, g.labels, known.labels)).with_masks(train, val, nobody)
        weights = None if sample_weight is None else np.ones(g.num_nodes, np.float32)
        if weights is not None:
            weights[nodes] = np.asarray(sample_weight, np.float32)
        self.model_ = clone(self.model).fit(known, sample_weight=weights)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """[n] the class of each node."""
        predicted: NDArray[Any] = self._fitted().predict()[node_numbers(X, len(self.model_.probabilities_))]
        return predicted

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float32]:
        """[n, C] class probabilities of each node."""
        probabilities: NDArray[np.float32] = self._fitted().predict_proba()
        return probabilities[node_numbers(X, len(probabilities))]

    def _fitted(self) -> NodeClassifier:
        if not hasattr(self, "model_"):
            raise NotFittedError("This TransductiveClassifier has not been fitted yet; call fit(nodes, labels) first.")
        model: NodeClassifier = self.model_
        return model


def node_numbers(X: ArrayLike, count: int) -> NDArray[np.int64]:
    """[n] numbers of nodes from a row or a column of them."""
    nodes = np.asarray(X)
    if nodes.ndim == 2 and nodes.shape[1] == 1:
        nodes = nodes[:, 0]
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise GraphError(f"X must be the numbers of nodes [n]; got {nodes.dtype} of shape {nodes.shape}.")
    if len(nodes) and not 0 <= nodes.min() <= nodes.max() < count:
        raise GraphError(f"X names nodes {int(nodes.min())} to {int(nodes.max())}; the graph has 0 to {count - 1}.")
    return nodes.astype(np.int64)
