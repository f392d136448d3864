"""The folder of a partitioned graph, written part by part: one part is in memory at a time.

What is done stays: a part whose files have their hashes is not written again when the same command is repeated.

    parts/.unfinished/order.npy, journal.json   the order of the nodes, and the parts that are written; gone in the end
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import ConfigError, DataError
from ...graph.graph import Graph
from ...graph.parts import FORMAT, Part, Whole, digest_of, part_folder, part_of
from ...system import folders, io, lock, reading
from ...system.folders import PARTS
from ..files import FOLDER
from ..files.folder import write_array
from ..progress import Progress, silent
from .layout import Layout
from .rows import Pairs, part_rows

UNFINISHED = ".unfinished"


def check_target(folder: Path) -> None:
    """Refuse, before anything is read, a folder that can't hold the parts."""
    if folder.suffix == FOLDER:
        raise ConfigError(f"'{folder}' ends in {FOLDER}, which is for whole graphs; choose another name.")
    folders.check(folder, "parts")


def write_parts(
    graph: Graph,
    folder: Path,
    layout: Callable[[], Layout],
    *,
    identity: dict[str, Any] | None = None,
    half: bool = False,
    progress: Progress = silent,
) -> Path:
    """Write a graph, such as a mapped folder, in parts.

    Args:
        layout: makes the order of the nodes; not called where an interrupted run has left it.
        identity: what decides the parts: the graph's hash, the partitioner, …; without it nothing is resumed.
        half: keep dense features as float16.
    """
    check_target(folder)
    with lock.alone_in(folder, "parts"):
        journal = Journal(folder, identity)
        chosen = journal.layout(layout)
        (folder / PARTS).unlink(missing_ok=True)  # what is half replaced must not open
        writer = _Writer(graph, folder, chosen, half)
        count = len(chosen.bounds) - 1
        for number in range(count):
            progress("writing parts", number, count)
            writer.write(number, journal)
        for old in folder.glob("part-*"):
            if old.name[5:].isdigit() and int(old.name[5:]) >= count:
                shutil.rmtree(old)
        io.write_json(folder / PARTS, writer.head())
        journal.close()
    return folder


class Journal:
    """What an interrupted run has done: the order of the nodes, and the records of the parts."""

    def __init__(self, folder: Path, identity: dict[str, Any] | None) -> None:
        self.folder, self.identity = folder / UNFINISHED, identity
        self.records: list[dict[str, Any]] = []
        self._kept: dict[str, Any] = {}
        if reading.is_there(self.folder / "journal.json"):
            try:
                kept = reading.read_json(self.folder / "journal.json")
                known = identity is not None and kept["identity"] == identity
                self._kept = kept if known and isinstance(kept["records"], list) else {}
            except (DataError, KeyError, TypeError):
                self._kept = {}

    def layout(self, make: Callable[[], Layout]) -> Layout:
        """The layout of the interrupted run, or a new one."""
        path = self.folder / "order.npy"
        if self._kept and reading.is_file(path) and reading.sha256(path) == self._kept["order"]:
            bounds = np.array(self._kept["bounds"], np.int64)
            return Layout(np.load(path, allow_pickle=False), bounds, self._kept["partitioner"])
        self._kept = {}
        made = make()
        digest = write_array(self.folder, "order", made.order)
        facts = {"order": digest, "bounds": made.bounds.tolist(), "partitioner": made.partitioner}
        self._facts = {"identity": self.identity, **facts}
        return made

    def record(self, number: int, folder: Path) -> dict[str, Any] | None:
        """The record of a part that is written already, with files that have their hashes."""
        known = self._kept.get("records", [])
        if number >= len(known):
            return None
        record: dict[str, Any] = known[number]
        for name, digest in record["arrays"].items():
            path = folder / f"{name}.npy"
            if not reading.is_file(path) or reading.sha256(path) != digest:
                return None
        return record

    def add(self, record: dict[str, Any]) -> None:
        """Remember a part that is written."""
        self.records.append(record)
        facts = {key: value for key, value in self._kept.items() if key != "records"} or self._facts
        io.write_json(self.folder / "journal.json", {**facts, "records": self.records})

    def close(self) -> None:
        """All is done."""
        shutil.rmtree(self.folder, ignore_errors=True)


class _Writer:
    """Writes part after part, and knows where in the whole graph it is."""

    def __init__(self, graph: Graph, folder: Path, layout: Layout, half: bool) -> None:
        self.graph, self.folder, self.layout, self.half = graph, folder, layout, half
        self.places = layout.places
        degrees = np.diff(graph.indptr)[layout.order]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(degrees, dtype=np.int64)])
        self.pairs = Pairs(indptr, graph.directed)
        self.whole = Whole(graph.num_nodes, int(indptr[-1]), graph.num_classes, graph.num_features)
        self.records: list[dict[str, Any]] = []
        self.parts: list[Part] = []

    def write(self, number: int, journal: Journal) -> None:
        """Write a part, unless it is there."""
        folder = part_folder(self.folder, number)
        record = journal.record(number, folder)
        there = record is not None
        if record is None:
            record = self._written(number, folder)
        part = part_of(self.folder, number, record, self.whole)
        if there:
            self.pairs.skip(part)
        self.records.append(record)
        self.parts.append(part)
        journal.add(record)

    def _written(self, number: int, folder: Path) -> dict[str, Any]:
        """Write the arrays of a part; its record."""
        first, last = (int(each) for each in self.layout.bounds[number : number + 2])
        nodes = self.layout.order[first:last]
        rows = part_rows(self.graph, nodes, self.places, first)
        arrays: dict[str, NDArray[Any]] = {"indptr": rows.indptr, "indices": rows.local, "halo": rows.halo}
        arrays["pair"] = self.pairs.of(rows, first, self.parts)
        if rows.weights is not None:
            arrays["weights"] = rows.weights
        arrays |= self._features(nodes) | {"nodes": nodes}
        for name in ("labels", "train_mask", "val_mask", "test_mask", "node_ids"):
            arrays[name] = np.asarray(getattr(self.graph, name))[nodes]
        hashes = {name: write_array(folder, name, array) for name, array in arrays.items()}
        before = self.records[-1] if self.records else {"first_feature": 0, "features": 0}
        return {
            "first_node": first,
            "nodes": last - first,
            "first_entry": int(self.pairs.indptr[first]),
            "entries": len(rows.columns),
            "halo": len(rows.halo),
            "outside": int((rows.local >= last - first).sum()),
            "first_feature": before["first_feature"] + before["features"],
            "features": len(arrays.get("features_data", ())),
            "arrays": dict(sorted(hashes.items())),
        }

    def _features(self, nodes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """The features of a part: float32 or, on request, float16; sparse ones as three arrays."""
        x: Any = self.graph.features
        if not sp.issparse(x):
            dense = x[nodes]
            return {"features": dense.astype(np.float16) if self.half else dense}
        rows = x[nodes]
        arrays = {"features_indptr": rows.indptr.astype(np.int64), "features_indices": rows.indices.astype(np.int32)}
        return {**arrays, "features_data": rows.data.astype(np.float32, copy=False)}

    def head(self) -> dict[str, Any]:
        """What parts.json holds."""
        graph, entries = self.graph, self.whole.num_entries
        head = {
            "format": FORMAT,
            "name": graph.name,
            "nodes": self.whole.num_nodes,
            "entries": entries,
            "class_names": list(graph.class_names),
            "directed": graph.directed,
            "weighted": graph.weights is not None,
            "width": graph.num_features,
            "sparse": graph.is_sparse,
            "partitioner": self.layout.partitioner,
            "cut": sum(record["outside"] for record in self.records) / max(entries, 1),
            "meta": dict(graph.meta),
            "parts": self.records,
        }
        return {**head, "digest": digest_of(head)}
