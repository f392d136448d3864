"""PartitionedGraph: a graph as a folder of parts, of which a process maps those that it works on.

    parts/parts.json                names, shapes, hashes; written last
    parts/part-00000/indptr.npy …   one file per array of a part

Nodes are numbered so that a part is a run of numbers, and entries so that they are in the order of these. A part's rows
of A name their columns locally: c < n is its own node c, c >= n the node ``halo[c - n]`` of another part.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, in_short
from ..system import reading
from ..system.folders import PARTS
from ..text import safe
from .read_only import sealed_mapping

STORED, DENSE = 2, 8
"""Stored features, and dense ones, that cost as much in an epoch as one entry of A + I."""
FORMAT = 1
AGAIN = "partition the graph again"
ALIGNMENT = 4
"""Parts begin at multiples of it, because dropout's noise comes in fours (gdamn.kernels.noise.LANES)."""

_KINDS = {
    "indptr": ("<i8",),
    "indices": ("<i4",),
    "halo": ("<i8",),
    "pair": ("<i4", "<i8"),
    "weights": ("<f4",),
    "features": ("<f4", "<f2"),
    "features_indptr": ("<i8",),
    "features_indices": ("<i4",),
    "features_data": ("<f4",),
    "labels": ("<i8",),
    "train_mask": ("|b1",),
    "val_mask": ("|b1",),
    "test_mask": ("|b1",),
    "nodes": ("<i8",),
}
_ALWAYS = ("indptr", "indices", "halo", "pair", "labels", "train_mask", "val_mask", "test_mask", "node_ids", "nodes")
_SPARSE = ("features_indptr", "features_indices", "features_data")
_HEAD = {
    "name": str,
    "nodes": int,
    "entries": int,
    "class_names": list,
    "directed": bool,
    "weighted": bool,
    "width": int,
    "sparse": bool,
    "partitioner": str,
    "digest": str,
    "meta": dict,
    "parts": list,
}
_RECORD = ("first_node", "nodes", "first_entry", "entries", "halo", "first_feature", "features")
_DECIDES = ("nodes", "entries", "class_names", "directed", "weighted", "width", "sparse", "parts")


class Whole(NamedTuple):
    """What a part has to know of the graph: N, entries of A without loops, classes and features."""

    num_nodes: int
    num_entries: int
    num_classes: int
    num_features: int


@dataclass(frozen=True, eq=False)
class Part:
    """One part: a run of nodes with their rows of A, features and labels.

    Attributes:
        number, folder: which part it is, and where its arrays are.
        first_node, num_nodes: its run of nodes.
        first_entry, num_entries: its run of entries of A, without loops.
        num_halo: nodes of other parts that its rows name.
        first_feature, num_features_stored: its run of stored features, where they are sparse.
        arrays: hash of each array's file.
        whole: the graph's counts.
    """

    number: int
    folder: Path
    first_node: int
    num_nodes: int
    first_entry: int
    num_entries: int
    num_halo: int
    first_feature: int
    num_features_stored: int
    arrays: Mapping[str, str]
    whole: Whole

    def array(self, name: str) -> NDArray[Any]:
        """One of its arrays, mapped read-only, of the right type and shape."""
        path = self.folder / f"{name}.npy"
        if name not in self.arrays:
            raise DataError(f"'{self.folder}' has no array '{name}'.")
        array = mapped_array(path, AGAIN)
        if name == "node_ids" and array.dtype.kind not in "iuUf":
            raise DataError(f"'{path}' holds {array.dtype}, which can't name nodes; {AGAIN}.")
        if name != "node_ids" and array.dtype.str not in _KINDS[name]:
            raise DataError(f"'{path}' holds numbers of type {array.dtype}, not {np.dtype(_KINDS[name][0])}; {AGAIN}.")
        if array.shape != self._shape(name):
            raise DataError(f"'{path}' has shape {array.shape}, not {self._shape(name)}; {AGAIN}.")
        return array

    def _shape(self, name: str) -> tuple[int, ...]:
        n, e = self.num_nodes, self.num_entries
        sizes = {"indptr": n + 1, "features_indptr": n + 1, "indices": e, "pair": e, "weights": e}
        sizes |= {"halo": self.num_halo, "features_indices": self.num_features_stored}
        sizes |= {"features_data": self.num_features_stored}
        return (n, self.whole.num_features) if name == "features" else (sizes.get(name, n),)

    @property
    def work(self) -> int:
        """What it costs in an epoch, in entries of a sparse product."""
        dense = 0 if "features_indptr" in self.arrays else self.whole.num_features // DENSE
        return self.num_entries + (1 + dense) * self.num_nodes + self.num_features_stored // STORED

    def check(self) -> None:
        """Refuse arrays that compiled loops can't rely on; linear, and only of this part."""
        from .parts_check import check_part

        check_part(self)

    def columns(self, indices: NDArray[np.int32]) -> NDArray[np.int64]:
        """[e] the nodes that local columns name."""
        own = np.arange(self.first_node, self.first_node + self.num_nodes, dtype=np.int64)
        return np.concatenate([own, self.array("halo")])[indices]


@dataclass(frozen=True, eq=False, repr=False)
class PartitionedGraph:
    """A graph in parts; nothing of it is in memory but this description.

    Attributes:
        num_nodes, num_entries: N, and the entries of A without loops.
        partitioner, cut: who made the parts, and the share of the entries between different parts.
        digest: hash of all that decides a fit.
    """

    folder: Path
    name: str
    num_nodes: int
    num_entries: int
    class_names: tuple[str, ...]
    directed: bool
    weighted: bool
    num_features: int
    is_sparse: bool
    partitioner: str
    cut: float
    digest: str
    meta: Mapping[str, Any]
    parts: tuple[Part, ...]

    @property
    def num_edges(self) -> int:
        """Number of undirected edges; of directed ones in a directed graph."""
        return self.num_entries if self.directed else self.num_entries // 2

    @property
    def num_classes(self) -> int:
        """C."""
        return len(self.class_names)

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading the graph decided, a sentence each."""
        return tuple(self.meta.get("notes", ()))

    def __repr__(self) -> str:
        counts = {"nodes": self.num_nodes, "edges": self.num_edges, "features": self.num_features}
        counts |= {"classes": self.num_classes, "parts": len(self.parts)}
        facts = [repr(safe(self.name)), *(f"{name}={count}" for name, count in counts.items())]
        kinds = {"sparse": self.is_sparse, "directed": self.directed, "weighted": self.weighted}
        facts += [f"{name}=True" for name, there in kinds.items() if there]
        return f"PartitionedGraph({', '.join(facts)})"


def mapped_array(path: Path, again: str) -> NDArray[Any]:
    """The array in a .npy file, mapped read-only; ``again`` says what to do about one that can't be read."""
    reading.check_kind(path)
    try:
        array: NDArray[Any] = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError, SyntaxError, TokenError, MemoryError, OverflowError) as problem:
        raise DataError(f"'{path}' can't be read ({type(problem).__name__}); {again}.") from None
    return array


def part_folder(folder: Path, number: int) -> Path:
    """Where the arrays of a part are."""
    return folder / f"part-{number:05d}"


def part_arrays(weighted: bool, sparse: bool) -> tuple[str, ...]:
    """The arrays that every part of a graph has."""
    return (*_ALWAYS, *(("weights",) if weighted else ()), *(_SPARSE if sparse else ("features",)))


def digest_of(head: Mapping[str, Any]) -> str:
    """Hash of all in a description that decides a fit: shapes, classes, and the hashes of every part's arrays."""
    content = json.dumps({key: head[key] for key in _DECIDES}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def read_parts(folder: str | Path) -> PartitionedGraph:
    """The graph that ``gdamn data partition`` wrote; its arrays stay on disk."""
    folder = Path(folder)
    head = _head(folder)
    whole = Whole(head["nodes"], head["entries"], len(head["class_names"]), head["width"])
    parts = tuple(part_of(folder, at, record, whole) for at, record in enumerate(head["parts"]))
    _check_runs(folder, parts, whole, part_arrays(head["weighted"], head["sparse"]))
    return PartitionedGraph(
        folder=folder,
        name=head["name"],
        num_nodes=whole.num_nodes,
        num_entries=whole.num_entries,
        class_names=tuple(head["class_names"]),
        directed=head["directed"],
        weighted=head["weighted"],
        num_features=whole.num_features,
        is_sparse=head["sparse"],
        partitioner=head["partitioner"],
        cut=float(head["cut"]),
        digest=head["digest"],
        meta=sealed_mapping(head["meta"]),
        parts=parts,
    )


def _head(folder: Path) -> dict[str, Any]:
    """The description, with every field of the right type."""
    path = folder / PARTS
    if not reading.is_there(path):
        raise DataError(f"'{folder}' has no {PARTS}, so it is no whole partitioned graph; {AGAIN}.")
    try:
        head: dict[str, Any] = reading.read_json(path)
    except DataError as problem:
        raise DataError(f"'{path}' can't be read ({in_short(problem)}); {AGAIN}.") from None
    if not isinstance(head, dict) or type(head.get("format")) is not int:
        raise DataError(f"'{path}' does not describe a partitioned graph; {AGAIN}.")
    if head["format"] > FORMAT:
        raise DataError(
            f"'{folder}' was written by a newer gdamn (format {head['format']}, known {FORMAT}); update gdamn."
        )
    right = all(type(head.get(key)) is kind for key, kind in _HEAD.items()) and type(head.get("cut")) in (int, float)
    if not right or not all(isinstance(c, str) for c in head["class_names"]) or not head["parts"]:
        raise DataError(f"'{path}' does not describe a partitioned graph; {AGAIN}.")
    if digest_of(head) != head["digest"]:
        raise DataError(f"'{path}' was changed after it was written; {AGAIN}.")
    return head


def part_of(folder: Path, number: int, record: Any, whole: Whole) -> Part:
    """A part from its record in the description."""
    right = isinstance(record, dict) and all(type(record.get(key)) is int and record[key] >= 0 for key in _RECORD)
    arrays = record.get("arrays") if right else None
    if not isinstance(arrays, dict) or not all(isinstance(each, str) for each in arrays.values()):
        raise DataError(f"'{folder / PARTS}' does not describe part {number}; {AGAIN}.")
    first_node, nodes, first_entry, entries, halo, first_feature, features = (record[key] for key in _RECORD)
    counts = first_node, nodes, first_entry, entries, halo, first_feature, features
    return Part(number, part_folder(folder, number), *counts, arrays=sealed_mapping(arrays), whole=whole)


def _check_runs(folder: Path, parts: tuple[Part, ...], whole: Whole, needed: tuple[str, ...]) -> None:
    """The runs of nodes, entries and stored features follow each other, and cover the graph."""
    node = entry = feature = 0
    for part in parts:
        if (part.first_node, part.first_entry, part.first_feature) != (node, entry, feature) or node % ALIGNMENT:
            raise DataError(f"'{folder / PARTS}' describes parts that don't follow each other; {AGAIN}.")
        missing = set(needed) ^ set(part.arrays)
        if missing:
            raise DataError(f"'{folder / PARTS}' lacks or invents the array '{min(missing)}' of a part; {AGAIN}.")
        node, entry = node + part.num_nodes, entry + part.num_entries
        feature += part.num_features_stored
    if (node, entry) != (whole.num_nodes, whole.num_entries):
        raise DataError(f"The parts of '{folder / PARTS}' are not the whole graph; {AGAIN}.")
