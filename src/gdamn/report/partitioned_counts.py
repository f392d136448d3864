"""The numbers of a page about a partitioned graph: counted part after part, no array of the whole graph in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.calibration import Calibration
from ..estimators.chosen_epoch import before_em
from ..graph.parts import Part
from ..model.temperature import ENOUGH, Temperature
from ..runs.partitioned.writing import splits_of
from ..system.scratch import Scratch
from ..using.partitioned.folder import PartitionedRun
from ..using.partitioned.predict import empty_calibration
from .measures import HARD_BINS, EdgeCounts, Ints, confusion
from .run import SeedResult
from .seed_fit import EVALUATED

BINS = 20
"""Bins of the histogram of the confidence."""


@dataclass(frozen=True, eq=False)
class PartitionedFit:
    """One seed of a run, without its graph: what a page needs of it.

    Attributes:
        result: the numbers that every page has.
        confidence: [BINS] nodes by their confidence.
        predicted: [C] nodes that get each class.
        splits: training, validation and test nodes.
    """

    seed: int
    temperature: Temperature
    history: list[dict[str, Any]]
    best: Mapping[str, Any]
    result: SeedResult
    confidence: Ints
    predicted: Ints
    splits: Mapping[str, int]


def count(run: PartitionedRun, seed: int, room: Scratch) -> PartitionedFit:
    """Go through the nodes and the edges of a seed."""
    temperature, classes = run.temperature(seed), run.parts.num_classes
    tables = {name: np.zeros((classes, classes), np.int64) for name in EVALUATED}
    bins = {name: empty_calibration() for name in EVALUATED}
    splits = dict.fromkeys(("train", "val", "test"), 0)
    confidence, predicted = np.zeros(BINS, np.int64), np.zeros(classes, np.int64)
    labels_of_all = room.zeros(run.parts.num_nodes, dtype="<i4")
    for part in run.each("counting nodes"):
        probabilities, labels, split = run.calibrated(seed, part), np.array(part.array("labels")), splits_of(part)
        labels_of_all[part.first_node : part.first_node + part.num_nodes] = labels
        confidence += np.bincount(np.minimum((probabilities.max(1) * BINS).astype(int), BINS - 1), minlength=BINS)
        predicted += np.bincount(probabilities.argmax(1), minlength=classes)
        for name in splits:
            splits[name] += int((split == name).sum())
            chosen = (split == name) & (labels >= 0)
            tables[name] += confusion(labels[chosen], probabilities[chosen].argmax(1), classes)
            bins[name] = bins[name] + Calibration.of(probabilities[chosen], labels[chosen])
        room.release()
    evaluated = next((name for name in EVALUATED if tables[name].any()), "")
    told = evaluated in ("test", "val") and min(int(bins[evaluated].count.sum()), temperature.nodes) >= ENOUGH
    edges = count_edges(run, seed, labels_of_all, room) if run.attends(seed) else None
    history, best = run.history(seed), run.best(seed)
    result = SeedResult(
        seed,
        evaluated,
        temperature.nodes,
        before_em(best, history, run.attends(seed)),
        tables[evaluated] if evaluated else None,
        bins[evaluated] if told else None,
        edges,
        history,
        temperature.kind,
        temperature.accuracy,
    )
    return PartitionedFit(seed, temperature, history, best, result, confidence, predicted, splits)


def count_edges(run: PartitionedRun, seed: int, labels: NDArray[Any], room: Scratch) -> EdgeCounts:
    """What became of the edges: by the mean hard attention of their two directions, as of a whole graph."""
    graph = run.parts
    sums, directions = room.zeros(graph.num_entries), room.zeros(graph.num_entries, dtype="|u1")
    for part in run.each("counting edges"):
        pair = np.array(part.array("pair"))
        np.add.at(sums, pair, hard_of(run, seed, part))
        np.add.at(directions, pair, 1)
        room.release()
    nothing = np.zeros(HARD_BINS, np.int64)
    counts = EdgeCounts(0, 0, 0, 0, 0, 0, np.stack([nothing, nothing]), nothing)
    for part in graph.parts:
        pair = np.array(part.array("pair"))
        rows = part.first_node + np.repeat(np.arange(part.num_nodes), np.diff(part.array("indptr")))
        columns = part.columns(np.array(part.array("indices")))
        once = np.arange(len(rows)) if graph.directed else np.flatnonzero(rows < columns)
        values = sums[pair[once]].astype(np.float64) / directions[pair[once]]
        counts = counts + EdgeCounts.of_ends(values, labels[rows[once]], labels[columns[once]])
        room.release()
    return counts


def hard_of(run: PartitionedRun, seed: int, part: Part) -> NDArray[Any]:
    """[e] hard attention of the part's entries."""
    return run.edges(seed, part, "count edges by", ("hard",))["hard"]
