"""Edges from a stream of tables: ends to node numbers, then an external sort into the CSR arrays of a graph folder."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ..files.arrow import pa, pc
from ..files.columns import as_texts
from ..files.parts import edge_weights
from ..files.roles import Ends
from ..files.table import Table
from ..progress import Progress
from .arrays import Spill, array_file
from .ids import MOST_IDS, IdTable, hash_texts
from .sources import Source

BUCKET = 1 << 23
"""Entries that are sorted at a time: 64 MB of codes."""
RUN = 1 << 22
"""Edges that are moved at a time."""


@dataclass
class EdgeList:
    """Edges as pairs of node numbers on disk, in the order of the files.

    Attributes:
        ends: source and target of each edge, one after the other.
        weights: of each edge, or None.
    """

    ends: Spill
    weights: Spill | None

    @property
    def count(self) -> int:
        """Number of edges that the files list."""
        return self.ends.count // 2


@dataclass
class Facts:
    """What the sort found.

    Attributes:
        entries: of the CSR.
        loops: edges from a node to itself, which are dropped.
        merged: edges that are listed more than once, or in both directions.
        weighted: whether a weight is other than 1.
    """

    entries: int
    loops: int
    merged: int
    weighted: bool


def read_edges(
    source: Source,
    roles: Ends,
    known: tuple[Source, Spill],
    folder: Path,
    seeds: NDArray[np.uint64],
    progress: Progress,
) -> EdgeList:
    """The edges of the tables as node numbers.

    Args:
        known: the nodes, and the hashes [N, 2] of their ids.
        folder: for what is kept on disk.
        seeds: of the hashes.
    """
    nodes, keys = known
    rounds = [slice(begin, begin + MOST_IDS) for begin in range(0, keys.count // 2, MOST_IDS)]
    table = _IdRound(keys, rounds[0], nodes)
    ends = Spill(folder / "ends", np.int32)
    weights = None if roles.weight is None else Spill(folder / "weights", np.float32)
    hashes = Spill(folder / "end-keys", np.uint64)
    for rows in source.tables(roles.needed, progress):
        both = [_end_keys(rows, column, seeds) for column in (roles.source, roles.target)]
        numbers = np.stack([table.numbers(each) for each in both], axis=1)
        if len(rounds) == 1:
            _refuse_unknown(rows, roles, numbers, nodes.name)
        else:
            hashes.append(np.stack(both, axis=1))
        ends.append(numbers)
        if weights is not None and roles.weight is not None:
            weights.append(edge_weights(rows, roles.weight))
    for each in rounds[1:]:
        ends = _another_round(_IdRound(keys, each, nodes), ends, hashes, progress)
    if len(rounds) > 1:
        _refuse_left(source, nodes, ends)
    hashes.remove()
    return EdgeList(ends, weights)


class _IdRound(IdTable):
    """The nodes of one round; an id that stands there twice, in this round or a later one, is refused."""

    def __init__(self, keys: Spill, nodes: slice, source: Source) -> None:
        super().__init__(keys.read(2 * nodes.start, 2 * nodes.stop).reshape(-1, 2), nodes.start)
        if self.repeated >= 0:
            self._refuse(self.repeated + nodes.start, self.keys[self.repeated : self.repeated + 1], source)
        for begin in range(nodes.stop, keys.count // 2, RUN):
            later = keys.read(2 * begin, 2 * (begin + RUN)).reshape(-1, 2)
            found = self.numbers(later) >= 0
            if found.any():
                at = int(found.argmax())
                self._refuse(begin + at, later[at : at + 1], source)

    def _refuse(self, number: int, key: NDArray[np.uint64], source: Source) -> None:
        first = source.location(int(self.numbers(key)[0]))
        raise DataError(f"The same id stands in {first} and in {source.location(number)}; ids must be unique.")


def _end_keys(table: Table, column: str, seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """[n, 2] hashes of one end of some edges."""
    kind = table.data.schema.field(column).type
    if pa.types.is_floating(kind):
        raise DataError(f"Column '{column}' of '{table.name}' holds {kind}; write ids as whole numbers or texts.")
    texts = as_texts(table, column)
    if texts.null_count:
        at = int(pc.index(pc.is_null(texts), True).as_py())
        raise DataError(f"The cell of {table.location(at, column)} is empty; an edge needs both ends.")
    return hash_texts(texts, seeds)


def _refuse_unknown(table: Table, roles: Ends, numbers: NDArray[np.int64], nodes: str) -> None:
    """Refuse an edge to an id that no node has."""
    unknown = numbers < 0
    if unknown.any():
        at, end = (int(each) for each in np.argwhere(unknown)[0])
        column = (roles.source, roles.target)[end]
        text = as_texts(table, column)[at].as_py()
        raise DataError(
            f"The edge in {table.location(at)} names '{text[:60]}' in column '{column}', but no node of '{nodes}' "
            "has that id; correct the ids or add the nodes."
        )


def _another_round(table: IdTable, ends: Spill, hashes: Spill, progress: Progress) -> Spill:
    """The ends that are nodes of this round, too."""
    filled = Spill(ends.path.with_suffix(".next"), np.int32)
    for begin in range(0, ends.count, RUN):
        numbers = ends.read(begin, begin + RUN)
        found = table.numbers(hashes.read(2 * begin, 2 * (begin + RUN)).reshape(-1, 2))
        filled.append(np.where(found >= 0, found, numbers))
        progress("looking up ids", begin, ends.count)
    filled.path.replace(ends.path)
    filled.path = ends.path
    return filled


def _refuse_left(source: Source, nodes: Source, ends: Spill) -> None:
    """Refuse an edge to an id that no round knows."""
    for at, run in enumerate(ends.runs(RUN)):
        if (run < 0).any():
            edge = (at * RUN + int((run < 0).argmax())) // 2
            raise DataError(
                f"The edge in {source.location(edge)} names an id that no node of '{nodes.name}' has; "
                "correct the ids or add the nodes."
            )


def write_csr(edges: EdgeList, n: int, directed: bool, folder: Path, spills: Path, progress: Progress) -> Facts:
    """Sort the edges into ``indptr``, ``indices``, ``reverse`` and ``weights`` of a graph folder.

    Row i lists the nodes that i hears from; duplicates are merged, with the largest weight, and loops dropped.
    """
    bounds, loops = _row_bounds(edges, n, directed)
    buckets = _scattered(edges, n, directed, bounds, spills, progress)
    degrees, weighted = np.zeros(n, np.int64), False
    with array_file(folder, "indices", np.int32) as append, array_file(folder, "weights", np.float32) as append_weights:
        for at, (codes, weights) in enumerate(buckets):
            sorted_codes, largest = _merged(codes, weights)
            rows = (sorted_codes // n).astype(np.int64)
            append(sorted_codes % n)
            if largest is not None:
                weighted = weighted or bool((largest != 1).any())
                append_weights(largest)
            degrees[bounds[at] : bounds[at + 1]] += np.bincount(
                rows - bounds[at], minlength=bounds[at + 1] - bounds[at]
            )
            for spill in (codes, weights):
                if spill is not None:
                    spill.remove()
            progress("sorting edges", at + 1, len(buckets))
    if not weighted:
        (folder / "weights.npy").unlink()
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(degrees)])
    with array_file(folder, "indptr", np.int64) as append:
        append(indptr)
    _write_reverse(indptr, directed, folder, progress)
    entries = int(indptr[-1])
    return Facts(entries, loops, edges.count - loops - (entries if directed else entries // 2), weighted)


def _row_bounds(edges: EdgeList, n: int, directed: bool) -> tuple[NDArray[np.int64], int]:
    """[B + 1] runs of rows with at most :data:`BUCKET` entries, where a row allows it; and the number of loops."""
    counts, loops = np.zeros(n, np.int64), 0
    for run in edges.ends.runs(2 * RUN):
        pairs = run.reshape(-1, 2)
        loops += int((pairs[:, 0] == pairs[:, 1]).sum())
        counts += np.bincount(pairs[:, 1], minlength=n)
        if not directed:
            counts += np.bincount(pairs[:, 0], minlength=n)
    before = np.cumsum(counts)
    bounds = [0]
    while bounds[-1] < n:
        start = before[bounds[-1] - 1] if bounds[-1] else 0
        bounds.append(max(bounds[-1] + 1, int(np.searchsorted(before, start + BUCKET, side="right"))))
    return np.array(bounds, np.int64), loops


def _scattered(
    edges: EdgeList, n: int, directed: bool, bounds: NDArray[np.int64], spills: Path, progress: Progress
) -> list[tuple[Spill, Spill | None]]:
    """The entries as codes, row * N + column, and their weights, in a file per run of rows."""
    weighted = edges.weights is not None
    buckets = [
        (
            Spill(spills / f"codes-{at:05d}", np.int64),
            Spill(spills / f"values-{at:05d}", np.float32) if weighted else None,
        )
        for at in range(len(bounds) - 1)
    ]
    for begin in range(0, edges.count, RUN):
        sources, targets = edges.ends.read(2 * begin, 2 * (begin + RUN)).reshape(-1, 2).astype(np.int64).T
        values = None if edges.weights is None else edges.weights.read(begin, begin + RUN)
        keep = sources != targets
        sources, targets = sources[keep], targets[keep]
        values = None if values is None else values[keep]
        for rows, columns in ((targets, sources),) if directed else ((targets, sources), (sources, targets)):
            _scatter(rows, rows * n + columns, values, bounds, buckets)
        progress("scattering edges", min(begin + RUN, edges.count), edges.count)
    return buckets


def _scatter(
    rows: NDArray[np.int64], codes: NDArray[np.int64], values: Any, bounds: NDArray[np.int64], buckets: list[Any]
) -> None:
    """Append some entries to the files of their rows."""
    place = np.searchsorted(bounds, rows, side="right") - 1
    order = np.argsort(place.astype(np.int32), kind="stable")
    ends = np.searchsorted(place[order], np.arange(len(buckets) + 1))
    for at, (spill, spilled_values) in enumerate(buckets):
        chosen = order[ends[at] : ends[at + 1]]
        if len(chosen):
            spill.append(codes[chosen])
            if spilled_values is not None:
                spilled_values.append(values[chosen])


def _merged(codes: Spill, weights: Spill | None) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
    """The codes of a file, sorted, each once; the largest weight of each."""
    numbers = codes.read()
    if weights is None or not len(numbers):
        numbers.sort()
        first = np.ones(len(numbers), bool)
        np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
        return numbers[first], None if weights is None else np.empty(0, np.float32)
    order = np.argsort(numbers, kind="stable")
    numbers, values = numbers[order], weights.read()[order]
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    return numbers[starts], np.maximum.reduceat(values, starts)


def _write_reverse(indptr: NDArray[np.int64], directed: bool, folder: Path, progress: Progress) -> None:
    """[E] the position of (j, i) for each (i, j): of an undirected graph the next free one of row j, else a search."""
    entries = int(indptr[-1])
    indices = np.load(folder / "indices.npy", mmap_mode="r", allow_pickle=False)
    kind: Any = np.int32 if entries < 1 << 31 else np.int64
    reached = indptr[:-1].copy()
    with array_file(folder, "reverse", kind) as append:
        for begin in range(0, entries, RUN):
            end = min(begin + RUN, entries)
            out = np.empty(end - begin, np.int64)
            if directed:
                _search(indptr, indices, begin, out)
            else:
                _next_free(np.array(indices[begin:end]), reached, out)
            append(out)
            progress("writing the other directions", end, entries)


@numba.njit(cache=True)
def _next_free(columns, reached, out):
    for e in range(len(columns)):
        out[e] = reached[columns[e]]
        reached[columns[e]] += 1


@numba.njit(cache=True)
def _search(indptr, indices, begin, out):
    """The position of (j, i), or -1."""
    i = np.searchsorted(indptr, begin, side="right") - 1
    for e in range(begin, begin + len(out)):
        while e >= indptr[i + 1]:
            i += 1
        j = indices[e]
        row = indices[indptr[j] : indptr[j + 1]]
        at = np.searchsorted(row, i)
        out[e - begin] = indptr[j] + at if at < len(row) and row[at] == i else -1
