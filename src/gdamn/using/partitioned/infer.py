"""The saved networks of a run on a partitioned graph, applied to one: the same, or a later version with more nodes.

Inference is exact, with every neighbour, layer by layer over the parts (streamed.py); one process does it, and its
memory is that of a part with its halo.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from ...data.files.reader import load_parts
from ...data.progress import Progress, silent
from ...errors import ConfigError, GraphError
from ...estimators.gdamn import GDAMN
from ...estimators.inductive import TOLERANCE
from ...estimators.rebuild import load_state
from ...fit.training import reproducible_threads
from ...graph.parts import Part, PartitionedGraph
from ...runs.partitioned.writing import splits_of
from ...runs.run import make_estimator
from ...system.folders import is_parts
from ...system.scratch import Scratch, scratch
from .attention import on_streamed
from .known import Known, find_known
from .networks import logits
from .predict import Totals, write_predictions
from .streamed import Floats, StreamedGraph, plain_weights

if TYPE_CHECKING:
    from .folder import PartitionedRun


def infer(
    run: PartitionedRun, seed: int, out: Path, parts: Path, calibrate: bool = True, progress: Progress = silent
) -> dict[str, Any]:
    """Write the table of the nodes of a partitioned graph, in the order of its parts; returns the report.

    Nodes of the fit are known again by their id and features, and keep their split; others are ``new``.
    """
    graph = read_graph(parts)
    check_fits(graph, run.parts)
    with scratch(out.parent) as room:
        known = find_known(graph, run.parts, room, progress)
        found = answers(run, seed, graph, known, room, progress)

        def raw_of(part: Part) -> NDArray[Any]:
            own = slice(part.first_node, part.first_node + part.num_nodes)
            raw: NDArray[Any] = F.softmax(torch.from_numpy(found[own].copy()), dim=1).numpy()
            if graph.digest == run.parts.digest:
                check_repeated(raw, run.probabilities(seed, part), run.path)
            return raw

        def split_of(part: Part) -> NDArray[np.str_]:
            return known.looked_up(part, splits_of, np.full(part.num_nodes, "new", "U5"))

        each = counted(graph, room, progress)
        report = write_predictions(run, seed, out, each, raw_of, split_of, calibrate)
    of_fit = scores_of_fit(run, seed, calibrate)
    return report | {"validation": of_fit["validation"], "test": of_fit["test"], "notes": list(graph.notes)}


def answers(
    run: PartitionedRun, seed: int, graph: PartitionedGraph, known: Known, room: Scratch, progress: Progress
) -> Floats:
    """Logits [N, C] of the run's networks on a graph, in a mapped array."""
    model: Any = make_estimator(run.spec, seed)
    with reproducible_threads(model.settings.threads, sparing=True), torch.no_grad():
        streamed = StreamedGraph(graph, run.parts, model.settings.normalize, room, progress)
        if isinstance(model, GDAMN):
            model.settings_, model.best_epoch_, model.history_ = model.settings, run.best(seed), run.history(seed)
            return on_streamed(run, seed, model, streamed, known)
        if not hasattr(model, "network"):
            raise ConfigError(f"Method '{run.spec.method}' can't answer for another partitioned graph.")
        network = model.network(graph.num_features, graph.num_classes)
        load_state(network, run.networks(seed)[1], "network", run.spec.method)
        return logits(network, streamed, streamed.normalised(plain_weights, "sym"), run.spec.method)


def read_graph(parts: Path) -> PartitionedGraph:
    """The partitioned graph in a folder."""
    if not is_parts(parts):
        raise ConfigError(f"'{parts}' is no partitioned graph; make one with: gdamn data partition GRAPH {parts}.")
    return load_parts(parts)


def check_fits(graph: PartitionedGraph, fitted_on: PartitionedGraph) -> None:
    """Refuse a graph with other features or classes than those of the fit."""
    if graph.num_features != fitted_on.num_features:
        counts = f"{graph.num_features} features, but the networks were trained on {fitted_on.num_features}"
        raise GraphError(f"The graph in '{graph.folder}' has {counts}.")
    if graph.class_names != fitted_on.class_names:
        raise GraphError(f"The graph in '{graph.folder}' has other classes than those the networks were trained on.")


def check_repeated(raw: NDArray[Any], saved: NDArray[Any], run: Path) -> None:
    """On the graph of the fit the networks must say what they said then."""
    if not np.allclose(raw, saved, atol=TOLERANCE):
        raise GraphError(
            f"The networks of '{run}' don't give their saved answers on the graph of the fit; train again."
        )


def counted(graph: PartitionedGraph, room: Scratch, progress: Progress) -> Iterator[Part]:
    """The parts, one after the other."""
    for part in graph.parts:
        progress("writing", part.number, len(graph.parts))
        yield part
        room.release()


def scores_of_fit(run: PartitionedRun, seed: int, calibrate: bool) -> dict[str, Any]:
    """The scores on the validation and test nodes of the fit's own graph, as it answered then."""
    temperature = run.temperature(seed, calibrate)
    totals = Totals(np.zeros(run.parts.num_classes, np.int64))
    for part in run.parts.parts:
        raw = np.array(run.probabilities(seed, part))
        totals.add(
            raw, run.calibrated(seed, part) if calibrate else raw, np.array(part.array("labels")), splits_of(part)
        )
    return totals.report(run.parts.class_names, temperature)
