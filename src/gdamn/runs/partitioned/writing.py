"""What each rank writes of its parts: predictions and weights of the edges, as one Parquet file per part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...graph.parts import Part, PartitionedGraph
from ...model.temperature import Temperature, fit_temperature, scaled
from ..tables import write_table

if TYPE_CHECKING:
    from ...fit.domains.ranks.halo import HaloPattern
    from ...fit.domains.ranks.parts import PartsFit

MOST_NODES = 65_536
"""Validation nodes that calibrate the confidence, at most: the first of each rank."""


def part_file(folder: Path, part: Part) -> Path:
    """The table of a part."""
    return folder / f"part-{part.number:05d}.parquet"


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


def write_predictions(folder: Path, graph: PartitionedGraph, fit: PartsFit, temperature: float) -> None:
    """Of each node its id, class, confidence and split."""
    names, first = np.array(graph.class_names), fit.problem.parts[0].first_node
    everyone = fit.probabilities
    for part in fit.problem.parts:
        begin = part.first_node - first
        probabilities = everyone[begin : begin + part.num_nodes].cpu().numpy()
        columns = {
            "node": np.array(part.array("node_ids")),
            "predicted": names[probabilities.argmax(1)],
            "confidence": scaled(probabilities, temperature).max(1).astype(np.float32),
            "split": _splits(part),
        }
        write_table(part_file(folder, part), columns)


def _splits(part: Part) -> NDArray[Any]:
    split = np.full(part.num_nodes, "none", "U5")
    for name in ("train", "val", "test"):
        split[part.array(f"{name}_mask")] = name
    return split


def write_edges(folder: Path, graph: PartitionedGraph, fit: PartsFit) -> None:
    """Of each entry the ids of its ends and its attention; nothing where the chosen epoch has none."""
    weights = fit.edge_weights()
    if not weights:
        return
    ids = ids_of_columns(fit)
    kept = {name: weights.pop(name).cpu().numpy() for name in ("hard", "soft", "stable")}
    weights.clear()
    for part, targets, sources, entries in _part_entries(fit):
        columns = {"source": ids[sources], "target": ids[targets]}
        write_table(part_file(folder, part), columns | {name: values[entries] for name, values in kept.items()})


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
