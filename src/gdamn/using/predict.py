"""Labels by their own names, with a probability per class and a confidence that is calibrated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from ..estimators import calibration
from ..estimators.accuracy import measured
from ..estimators.chosen_epoch import before_em_sentence, is_before_em
from ..estimators.inductive import new_nodes
from ..estimators.predictions import Predictions, mean, split_names
from ..graph.graph import SPLITS, Graph
from ..model.temperature import ENOUGH, Temperature, scaled

if TYPE_CHECKING:
    from .run_folder import RunFolder


def predict(
    run: RunFolder,
    seeds: Sequence[int],
    nodes: Path | None = None,
    edges: Path | None = None,
    calibrate: bool = True,
) -> Predictions:
    """Predict the nodes of the run, or those of new files, with the model of one seed or the mean of several.

    Test labels are read last, for the calibration error that is reported of them, and change nothing.
    """
    fits = [(run.model(seed), run.graph(seed)) for seed in seeds]
    fitted_on = fits[0][1]
    check_same_split(run.path, seeds, [graph for _, graph in fits])
    raw = mean([model.predict_proba() for model, _ in fits])
    temperature = calibration.temperature_of(
        raw, fitted_on, calibrate, mean_record([model.best_epoch_ for model, _ in fits])
    )
    if nodes is None and edges is None:
        graph, predicted, split = fitted_on, raw, split_names(fitted_on)
    else:
        extension = run.extension(nodes, edges, fitted_on)
        graph = extension.asked()
        predicted, split = new_nodes(fits, extension)
    probabilities = scaled(predicted, temperature.value)
    report = {
        "run": str(run.path),
        "method": run.spec.method,
        "dataset": run.spec.dataset,
        "seeds": list(seeds),
        "nodes": graph.num_nodes,
        "new_nodes": int((split == "new").sum()),
        **describe(raw, fitted_on, temperature),
        "predicted": counts(probabilities, graph.class_names),
        "mean_confidence": float(probabilities.max(axis=1).mean()),
        "notes": [] if graph is fitted_on else list(graph.meta.get("notes", [])),
        "new_labelled": scored(
            predicted, probabilities, (split == "new") & (graph.labels >= 0), graph.labels, temperature.nodes
        ),
        "labels_before_em": before_em_sentence(
            [seed for seed, (model, _) in zip(seeds, fits, strict=True) if is_before_em(model)], len(seeds)
        ),
    }
    return Predictions(graph, probabilities, split, temperature, report)


def mean_record(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What cross-fitting says of several seeds' models together: the first's, at the geometric mean temperature."""
    if not all("temperature" in record for record in records):
        return {}
    logs = [math.log(record["temperature"]) for record in records]
    return {**records[0], "temperature": math.exp(sum(logs) / len(logs))}


def describe(raw: NDArray[Any], graph: Graph, temperature: Temperature) -> dict[str, Any]:
    """The temperature, and accuracies and calibration errors on the fit's own graph."""
    val, labels = graph.val_mask, graph.labels
    validation = None
    if val.any():
        accuracy = float((raw[val].argmax(axis=1) == labels[val]).mean())
        validation = {**measured(accuracy, int(val.sum())), **calibration.report(raw[val], labels[val], temperature)}
    tested = graph.test_mask & (labels >= 0)
    calibrated = scaled(raw, temperature.value)
    return {
        "temperature": temperature.value,
        "calibrated": temperature.fitted,
        "temperature_reason": temperature.reason,
        "warning": temperature.warning,
        "validation": validation,
        "test": scored(raw, calibrated, tested, labels, temperature.nodes),
    }


def scored(
    raw: NDArray[Any], calibrated: NDArray[Any], chosen: NDArray[np.bool_], labels: NDArray[np.int64], validation: int
) -> dict[str, Any] | None:
    """Accuracy and calibration errors of nodes whose labels had no part in anything; None without such nodes.

    The errors are None where these nodes, or the ``validation`` nodes that calibrated, are too few to tell.
    """
    if not chosen.any():
        return None
    y = labels[chosen]
    enough = min(len(y), validation) >= ENOUGH
    return {
        **measured(float((calibrated[chosen].argmax(axis=1) == y).mean()), len(y)),
        "ece_before": calibration.expected_calibration_error(raw[chosen], y) if enough else None,
        "ece_after": calibration.expected_calibration_error(calibrated[chosen], y) if enough else None,
    }


def check_same_split(run: Path, seeds: Sequence[int], graphs: Sequence[Graph]) -> None:
    """Models can be averaged only where none was trained on a node that another is judged by."""
    first = graphs[0]
    for seed, graph in zip(seeds[1:], graphs[1:], strict=True):
        same = all(np.array_equal(graph.mask(name), first.mask(name)) for name in SPLITS)
        if not (same and np.array_equal(graph.indices, first.indices)):
            raise ConfigError(
                f"Seeds {seeds[0]} and {seed} of '{run}' have different splits or edges, so their "
                "mean can't be calibrated; leave --ensemble out, or train with a fixed --split."
            )


def counts(probabilities: NDArray[Any], names: Sequence[str]) -> dict[str, int]:
    """How many nodes have each class."""
    per_class = np.bincount(probabilities.argmax(axis=1), minlength=len(names))
    return {str(name): int(count) for name, count in zip(names, per_class, strict=True)}
