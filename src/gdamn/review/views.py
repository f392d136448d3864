"""What the page shows of an item: both ends' features, neighbours and calibrated opinions, as plain data.

Of the true labels it holds those of training nodes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..report.text import visible

if TYPE_CHECKING:
    from ..estimators.base import NodeClassifier
    from ..estimators.predictions import Predictions

OPINIONS, FEATURES, NEIGHBOURS = 3, 8, 8
"""Classes, features and neighbours that are shown of a node."""

IMAGES = {"digits": (8, 8)}
"""Data sets whose features are the pixels of an image, with its rows and columns."""


class Views:
    """Everything that can be shown of a fitted model's graph.

    Args:
        dataset: its name, where it has one: some have images.
    """

    def __init__(self, model: NodeClassifier, predictions: Predictions, dataset: str = "") -> None:
        self.model, self.predictions, self.graph = model, predictions, predictions.graph
        shape = IMAGES.get(dataset)
        self.shape = shape if shape is not None and shape[0] * shape[1] == self.graph.num_features else None

    def item(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """An item of a queue as the page shows it."""
        ends = item["ends"]
        shown = {**item, "nodes": [self.node(end, ends) for end in ends]}
        if item["kind"] == "edge":
            shown["shared"] = self.shared(*ends)
        return shown

    def node(self, node: int, ends: list[int]) -> dict[str, Any]:
        """One end: its name, part in the fit, opinions, features and neighbours."""
        graph, p = self.graph, self.predictions
        trained = bool(graph.train_mask[node])
        order = np.argsort(-p.probabilities[node], kind="stable")[:OPINIONS]
        return {
            "name": visible(graph.node_ids[node]),
            "split": str(p.split[node]),
            "training_label": visible(graph.class_names[graph.labels[node]]) if trained else None,
            "opinions": [[visible(graph.class_names[at]), float(p.probabilities[node, at])] for at in order],
            **({"image": self.image(node)} if self.shape is not None else {"features": self.features(node)}),
            **self.neighbours(node, ends),
        }

    def image(self, node: int) -> dict[str, Any]:
        """The pixels of a node's image, 0 to 1."""
        assert self.shape is not None
        row = self.row(node)
        return {"rows": self.shape[0], "columns": self.shape[1], "pixels": np.clip(row, 0, 1).round(2).tolist()}

    def row(self, node: int) -> Any:
        """[F] the features of a node."""
        x = self.graph.features
        return x[[node]].toarray()[0] if isinstance(x, sp.csr_array) else x[node]

    def features(self, node: int) -> list[list[Any]]:
        """The features that stand out: name and value, the largest first; those that are 0 are left out."""
        row = self.row(node)
        at = np.argsort(-np.abs(row), kind="stable")[:FEATURES]
        return [[self.feature_name(int(each)), float(row[each])] for each in at if row[each] != 0]

    def feature_name(self, at: int) -> str:
        """The column, category or word of a feature; its number where it has no name."""
        return visible(self.names[at], 60) if at < len(self.names) else f"feature {at}"

    @cached_property
    def names(self) -> list[str]:
        """[F] names of the features of a graph that was made of tables; else none."""
        encoder = self.graph.meta.get("encoder") or {}
        names = [str(each["name"]) for each in encoder.get("numeric", ())]
        names += [
            f"{each['name']} = {value}" for each in encoder.get("categorical", ()) for value in each["categories"]
        ]
        names += [str(word) for word in (encoder.get("text") or {}).get("words", ())]
        if not names and encoder.get("structural"):
            names = ["degree", *(f"eigenvector {at + 1}" for at in range(len(encoder["structural"]["values"])))]
        return names

    def neighbours(self, node: int, ends: list[int]) -> dict[str, Any]:
        """Whom the node hears, the strongest edge first, without the other end."""
        graph, p = self.graph, self.predictions
        row = slice(int(graph.indptr[node]), int(graph.indptr[node + 1]))
        weights = (self.model.edge_weights_ or {}).get("stable")
        strength = np.ones(row.stop - row.start) if weights is None else weights[row]
        order = [at for at in np.argsort(-strength, kind="stable") if int(graph.indices[row][at]) not in ends]
        shown = [int(graph.indices[row][at]) for at in order[:NEIGHBOURS]]
        return {
            "degree": row.stop - row.start,
            "more": max(0, len(order) - NEIGHBOURS),
            "neighbours": [
                {
                    "name": visible(graph.node_ids[each]),
                    "label": visible(graph.class_names[self.label(each)]),
                    "known": bool(graph.train_mask[each]),
                    "confidence": float(p.confidence[each]),
                }
                for each in shown
            ],
        }

    def label(self, node: int) -> int:
        """The class of a node: its training label, else what is predicted."""
        return int(self.graph.labels[node] if self.graph.train_mask[node] else self.predictions.predicted[node])

    def shared(self, a: int, b: int) -> int:
        """How many neighbours two nodes have in common."""
        graph = self.graph
        of_a, of_b = (graph.indices[graph.indptr[each] : graph.indptr[each + 1]] for each in (a, b))
        return len(np.intersect1d(of_a, of_b))
