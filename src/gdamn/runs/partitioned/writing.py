"""What each rank writes of its parts: predictions, probabilities and weights of edges, a file per part (files.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...estimators.weighted_edges import differing
from ...graph.parts import Part, PartitionedGraph
from ...model.temperature import Temperature, fit_temperature, scaled
from ...system import io
from ..tables import write_table
from .files import part_file

if TYPE_CHECKING:
    from ...fit.domains.ranks.halo import HaloPattern
    from ...fit.domains.ranks.parts import PartsFit

MOST_NODES = 65_536
"""Validation nodes that calibrate the confidence, at most: the first of each rank."""


def temperature_of_all(fit: PartsFit) -> Temperature:
    """The temperature that calibrates the confidence, fitted on validation nodes of all ranks; the same on each."""
    problem = fit.problem
    assert problem.share is not None
    group = problem.share.group
    mine = min(len(problem.val), MOST_NODES // group.size)
    chosen = problem.val[:mine]
    sizes = group.ask_all(mine)
    probabilities = group.every(fit.probabilities[chosen], sizes)
    labels = group.every(problem.val_labels[:mine], sizes)
    return fit_temperature(probabilities.cpu().numpy(), labels.cpu().numpy())


def write_nodes(folder: Path, graph: PartitionedGraph, fit: PartsFit, temperature: float) -> None:
    """Of each node its id, class, confidence and split; its probabilities by q; its pseudo-label."""
    names, first = np.array(graph.class_names), fit.problem.parts[0].first_node
    everyone, labels = fit.probabilities, fit.pseudo_labels
    for part in fit.problem.parts:
        begin = part.first_node - first
        own = slice(begin, begin + part.num_nodes)
        probabilities = everyone[own].cpu().numpy()
        columns = {
            "node": np.array(part.array("node_ids")),
            "predicted": names[probabilities.argmax(1)],
            "confidence": scaled(probabilities, temperature).max(1).astype(np.float32),
            "split": splits_of(part),
        }
        write_table(part_file(folder, "predictions", part.number), columns)
        _write_array(part_file(folder, "probabilities", part.number), probabilities)
        if labels is not None:
            _write_array(part_file(folder, "pseudo_labels", part.number), labels[own].cpu().numpy())


def _write_array(path: Path, array: NDArray[Any]) -> None:
    with io.replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, np.ascontiguousarray(array, np.float32), allow_pickle=False)


def splits_of(part: Part) -> NDArray[np.str_]:
    """[n] train, val, test or none."""
    split = np.full(part.num_nodes, "none", "U5")
    for name in ("train", "val", "test"):
        split[part.array(f"{name}_mask")] = name
    return split


def write_edges(folder: Path, graph: PartitionedGraph, fit: PartsFit) -> None:
    """Of each entry the ids of its ends, its attention, and how suspicious it is; nothing without attention.

    The suspicion is that of :func:`gdamn.using.ranking.suspects`: P(the ends' labels differ) by the pseudo-labels.
    """
    weights, labels = fit.edge_weights(), fit.pseudo_labels
    if not weights or labels is None:
        return
    ids = ids_of_columns(fit)
    everyone = fit.problem.structure.pattern.extended(labels).cpu().numpy()
    kept = {name: weights.pop(name).cpu().numpy() for name in ("hard", "soft", "stable")}
    weights.clear()
    for part, targets, sources, entries in _part_entries(fit):
        columns = {"source": ids[sources], "target": ids[targets]}
        columns |= {name: values[entries] for name, values in kept.items()}
        columns["suspicion"] = differing(everyone, targets, sources)
        write_table(part_file(folder, "edges", part.number), columns)


def _part_entries(
    fit: PartsFit,
) -> Iterator[tuple[Part, NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]]:
    """Each part with the local rows, local columns and positions of its edges, without loops."""
    problem = fit.problem
    pattern, first = problem.structure.pattern, problem.parts[0].first_node
    for part in problem.parts:
        begin = part.first_node - first
        pointers = pattern.indptr[begin : begin + part.num_nodes + 1]
        entries = np.arange(pointers[0], pointers[-1])
        rows = np.repeat(np.arange(begin, begin + part.num_nodes), np.diff(pointers))
        edges = pattern.indices[pointers[0] : pointers[-1]] != rows
        yield part, rows[edges], pattern.indices[entries[edges]], entries[edges]


def ids_of_columns(fit: PartsFit) -> NDArray[Any]:
    """[n + halo] the ids of the rank's own nodes and of its halo, which their owners send."""
    from ...fit.domains.ranks.part_features import joined

    problem = fit.problem
    assert problem.share is not None
    pattern: HaloPattern = problem.structure.pattern  # type: ignore[assignment]
    assert pattern.halo is not None
    ids = joined(problem.parts, "node_ids")
    kinds = sorted(set(problem.share.group.ask_all(ids.dtype.str)))
    kind = np.result_type(*(np.dtype(name) for name in kinds))
    own = np.ascontiguousarray(ids.astype(kind))
    numbers = torch.from_numpy(own.view(np.uint8).reshape(len(own), -1))
    fetched = pattern.halo.fetch(numbers) if problem.share.group.size > 1 else numbers
    found: NDArray[Any] = fetched.numpy().reshape(-1).view(kind)
    return found
