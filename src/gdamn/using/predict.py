"""Labels by their own names, with a probability per class and a confidence that is calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from ..estimators.chosen_epoch import before_em_sentence, is_before_em
from ..graph.graph import SPLITS, Graph
from ..runs.accuracy import measured
from . import calibration
from .calibration import ENOUGH, Temperature

if TYPE_CHECKING:
    from ..estimators.base import NodeClassifier
    from .run_folder import Opened


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a run says of a graph.

    Attributes:
        graph: the graph of the nodes.
        probabilities: [N, C], calibrated unless the temperature is 1.
        split: [N] the part that a node had in the fit: train, val, test, none, or new.
        temperature: what calibrated them.
        report: plain data for the terminal and for JSON.
    """

    graph: Graph
    probabilities: NDArray[np.float64]
    split: NDArray[np.str_]
    temperature: Temperature
    report: dict[str, Any]

    @property
    def predicted(self) -> NDArray[np.int64]:
        """[N] the likeliest class."""
        found: NDArray[np.int64] = self.probabilities.argmax(axis=1).astype(np.int64)
        return found

    @property
    def confidence(self) -> NDArray[np.float64]:
        """[N] its probability."""
        found: NDArray[np.float64] = self.probabilities.max(axis=1)
        return found

    def short_columns(self) -> dict[str, NDArray[Any]]:
        """A table: node, predicted, confidence, split."""
        return {
            "node": self.graph.node_ids,
            "predicted": np.array(self.graph.class_names, dtype=object)[self.predicted],
            "confidence": self.confidence,
            "split": self.split,
        }

    def columns(self) -> dict[str, NDArray[Any]]:
        """The same, and one probability per class."""
        names = self.graph.class_names
        titles = [f"probability_{name}" for name in names]
        if len(set(titles)) < len(titles):
            titles = [f"probability_{at}_{name}" for at, name in enumerate(names)]
        return {
            **self.short_columns(),
            **{title: self.probabilities[:, at] for at, title in enumerate(titles)},
        }


def predict(
    models: Sequence[Opened], nodes: Path | None = None, edges: Path | None = None, calibrate: bool = True
) -> Predictions:
    """Predict the nodes of the run, or those of new files, with one model or the mean of several.

    Test labels are read last, for the calibration error that is reported of them, and change nothing.
    """
    graphs = [opened.graph() for opened in models]
    fitted_on = graphs[0]
    check_same_split(models, graphs)
    raw = mean([opened.model.predict_proba() for opened in models])
    temperature = calibration.temperature_of(raw, fitted_on, calibrate)
    if nodes is None and edges is None:
        graph, shown, split = fitted_on, raw, split_names(fitted_on)
    else:
        graph, shown, split = new_nodes(models, graphs, nodes, edges)
    probabilities = calibration.scaled(shown, temperature.value)
    report = {
        "run": str(models[0].run),
        "method": models[0].spec.method,
        "dataset": models[0].spec.dataset,
        "seeds": [opened.seed for opened in models],
        "nodes": graph.num_nodes,
        "new_nodes": int((split == "new").sum()),
        **describe(raw, fitted_on, temperature),
        "predicted": counts(probabilities, graph.class_names),
        "mean_confidence": float(probabilities.max(axis=1).mean()),
        "notes": [] if graph is fitted_on else list(graph.meta.get("notes", [])),
        "new_labelled": scored(
            shown, probabilities, (split == "new") & (graph.labels >= 0), graph.labels, temperature.nodes
        ),
        "labels_before_em": before_em_sentence(
            [opened.seed for opened in models if is_before_em(opened.model)], len(models)
        ),
    }
    return Predictions(graph, probabilities, split, temperature, report)


def of_fit(model: NodeClassifier, graph: Graph) -> Predictions:
    """The calibrated predictions of one model for the graph of its fit; no test label is read."""
    probabilities, temperature = calibration.calibrated(model.predict_proba(), graph)
    return Predictions(graph, probabilities, split_names(graph), temperature, {})


def describe(raw: NDArray[Any], graph: Graph, temperature: Temperature) -> dict[str, Any]:
    """The temperature, and accuracies and calibration errors on the fit's own graph."""
    val, labels = graph.val_mask, graph.labels
    validation = None
    if val.any():
        accuracy = float((raw[val].argmax(axis=1) == labels[val]).mean())
        validation = {**measured(accuracy, int(val.sum())), **calibration.report(raw[val], labels[val], temperature)}
    tested = graph.test_mask & (labels >= 0)
    after = calibration.scaled(raw, temperature.value)
    return {
        "temperature": temperature.value,
        "calibrated": temperature.fitted,
        "temperature_reason": temperature.reason,
        "warning": temperature.warning,
        "validation": validation,
        "test": scored(raw, after, tested, labels, temperature.nodes),
    }


def scored(
    before: NDArray[Any], after: NDArray[Any], chosen: NDArray[np.bool_], labels: NDArray[np.int64], validation: int
) -> dict[str, Any] | None:
    """Accuracy and calibration errors of nodes whose labels had no part in anything; None without such nodes.

    The errors are None where these nodes, or the ``validation`` nodes that calibrated, are too few to tell.
    """
    if not chosen.any():
        return None
    y = labels[chosen]
    enough = min(len(y), validation) >= ENOUGH
    return {
        **measured(float((after[chosen].argmax(axis=1) == y).mean()), len(y)),
        "ece_before": calibration.expected_calibration_error(before[chosen], y) if enough else None,
        "ece_after": calibration.expected_calibration_error(after[chosen], y) if enough else None,
    }


def new_nodes(
    models: Sequence[Opened], graphs: Sequence[Graph], nodes: Path | None, edges: Path | None
) -> tuple[Graph, NDArray[np.float64], NDArray[np.str_]]:
    """The graph of new files, the mean of the models' probabilities for it, and each node's part in the fit."""
    from . import inductive

    graph = models[0].new_graph(nodes, edges)
    known = inductive.known_nodes(graph, graphs[0])
    found = []
    for opened, fitted_on in zip(models, graphs, strict=True):
        found.append(inductive.answer(opened.model, graph, fitted_on, known).probabilities)
    split = np.where(known >= 0, split_names(graphs[0])[known], "new")
    return graph, mean(found), split


def mean(probabilities: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """[N, C] the mean of several models' opinions."""
    total: NDArray[np.float64] = np.mean([np.asarray(each, np.float64) for each in probabilities], axis=0)
    return total


def check_same_split(models: Sequence[Opened], graphs: Sequence[Graph]) -> None:
    """Models can be averaged only where none was trained on a node that another is judged by."""
    first = graphs[0]
    for opened, graph in zip(models[1:], graphs[1:], strict=True):
        same = all(np.array_equal(graph.mask(name), first.mask(name)) for name in SPLITS)
        if not (same and np.array_equal(graph.indices, first.indices)):
            raise ConfigError(
                f"Seeds {models[0].seed} and {opened.seed} of '{opened.run}' have different splits or edges, so their "
                "mean can't be calibrated; leave --ensemble out, or train with a fixed --split."
            )


def split_names(graph: Graph) -> NDArray[np.str_]:
    """[N] train, val, test or none."""
    names = np.full(graph.num_nodes, "none", dtype="<U5")
    for name in SPLITS:
        names[graph.mask(name)] = name
    return names


def counts(probabilities: NDArray[Any], names: Sequence[str]) -> dict[str, int]:
    """How many nodes have each class."""
    found = np.bincount(probabilities.argmax(axis=1), minlength=len(names))
    return {str(name): int(count) for name, count in zip(names, found, strict=True)}
