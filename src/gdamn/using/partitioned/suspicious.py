"""The edges most likely to be wrong, for a person to check: the best few of every part, and of these the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...data.progress import Progress, silent
from ...errors import ConfigError
from .known import by_part

if TYPE_CHECKING:
    from .folder import PartitionedRun

PURPOSE = "judge edges by"


def suspicious(run: PartitionedRun, seed: int, most: int, progress: Progress = silent) -> dict[str, NDArray[Any]]:
    """A table of at most so many edges, the most suspicious first; of equal ones the earlier, as the parts have them.

    Columns and suspicion are those of :func:`gdamn.using.suspicious.suspicious`. An undirected edge stands once, and
    begins at the node that comes first in the whole graph.
    """
    if most < 1:
        raise ConfigError(f"--suspicious must be 1 or more; got {most}.")
    suspicion, hard, rows, columns = _highest(run, seed, most, progress)
    hard = _both_ways(run, seed, hard, rows, columns)
    ends = _described(run, seed, np.concatenate([rows, columns]))
    of_rows, of_columns = ({name: values[side] for name, values in ends.items()} for side in _halves(len(rows)))
    source, target = of_columns, of_rows
    if not run.parts.directed:  # by the numbers of the whole graph
        first = of_rows["nodes"] < of_columns["nodes"]
        source = {name: np.where(first, of_rows[name], of_columns[name]) for name in of_rows}
        target = {name: np.where(first, of_columns[name], of_rows[name]) for name in of_rows}
    names = np.array(run.parts.class_names, dtype=object)
    return {
        "source": source["ids"],
        "target": target["ids"],
        "source_predicted": names[source["predicted"]],
        "target_predicted": names[target["predicted"]],
        "source_confidence": source["confidence"],
        "target_confidence": target["confidence"],
        "hard": hard,
        "suspicion": suspicion,
    }


def _halves(count: int) -> tuple[slice, slice]:
    return slice(0, count), slice(count, 2 * count)


def _highest(run: PartitionedRun, seed: int, most: int, progress: Progress) -> list[NDArray[Any]]:
    """Suspicion, hard attention, row and column (as node numbers) of the edges, the most suspicious first."""
    best: list[NDArray[Any]] = [np.empty(0), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)]
    for part in run.each("judging edges", progress):
        table = run.edges(seed, part, PURPOSE, ("hard", "suspicion"))
        rows = part.first_node + np.repeat(np.arange(part.num_nodes), np.diff(part.array("indptr")))
        columns = part.columns(np.array(part.array("indices")))
        once = np.arange(len(rows)) if run.parts.directed else np.flatnonzero(rows < columns)
        values = table["suspicion"][once]
        if len(values) > most:  # those that can be among the first, and all that are equal to the last of them
            bar = np.partition(values, len(values) - most)[len(values) - most]
            once, values = once[values >= bar], values[values >= bar]
        found = values, table["hard"][once].astype(np.float64), rows[once], columns[once]
        joined = [np.concatenate(pair) for pair in zip(best, found, strict=True)]
        order = np.argsort(-joined[0], kind="stable")[:most]
        best = [values[order] for values in joined]
    return best


def _both_ways(
    run: PartitionedRun, seed: int, hard: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The mean of an edge's two directions, or the one that there is."""
    mean = np.array(hard, np.float64)
    for part, at in by_part(run.parts.parts, columns):  # (j, i) is in the row of j
        indptr, indices = part.array("indptr"), part.array("indices")
        weights = run.edges(seed, part, PURPOSE, ("hard",))["hard"]
        numbers = np.concatenate([part.first_node + np.arange(part.num_nodes), part.array("halo")])
        for edge in at:
            begin, end = indptr[columns[edge] - part.first_node :][:2]
            back = begin + np.flatnonzero(numbers[indices[begin:end]] == rows[edge])
            if len(back):
                mean[edge] = (hard[edge] + weights[back[0]]) / 2
    return mean


def _described(run: PartitionedRun, seed: int, nodes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Of each node its id, its number in the whole graph, its predicted class and the confidence."""
    ids = [part.array("node_ids").dtype for part in run.parts.parts]
    found: dict[str, NDArray[Any]] = {
        "ids": np.empty(len(nodes), np.result_type(*ids)),
        "nodes": np.empty(len(nodes), np.int64),
        "predicted": np.empty(len(nodes), np.int64),
        "confidence": np.empty(len(nodes)),
    }
    for part, at in by_part(run.parts.parts, nodes):
        local = nodes[at] - part.first_node
        probabilities = run.calibrated(seed, part, local)
        found["ids"][at] = part.array("node_ids")[local]
        found["nodes"][at] = part.array("nodes")[local]
        found["predicted"][at] = probabilities.argmax(axis=1)
        found["confidence"][at] = probabilities.max(axis=1)
    return found
