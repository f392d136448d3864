"""What compiled loops rely on in one part of a partitioned graph."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .parts import AGAIN, Part
from .validation import sound_csr


def check_part(part: Part) -> None:
    """Refuse a part whose arrays contradict each other."""
    for name in part.arrays:
        part.array(name)  # refuses wrong types and shapes
    _check_halo(part)
    _check_rows(part)
    _check_nodes(part)
    if "weights" in part.arrays:
        weights = part.array("weights")
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            _refuse(part, "weights", "has a weight that is not finite and above 0")
    if "features_data" in part.arrays:
        data, indices, indptr = (part.array(f"features_{name}") for name in ("data", "indices", "indptr"))
        try:
            sound_csr(data, indices, indptr, (part.num_nodes, part.whole.num_features))
        except (ValueError, TypeError) as problem:
            _refuse(part, "features_indices", f"is damaged ({problem})")


def _refuse(part: Part, name: str, what: str) -> None:
    raise DataError(f"'{part.folder / name}.npy' {what}; {AGAIN}.")


def _check_halo(part: Part) -> None:
    """The halo rises, and names nodes of other parts."""
    halo, first = part.array("halo"), part.first_node
    if not len(halo):
        return
    inside = ((halo >= first) & (halo < first + part.num_nodes)).any()
    if halo[0] < 0 or halo[-1] >= part.whole.num_nodes or (halo[1:] <= halo[:-1]).any() or inside:
        _refuse(part, "halo", "is not sorted, or names nodes that are no neighbours of the part")


def _check_rows(part: Part) -> None:
    """Pointers rise; the columns of a row rise, stay in range and leave out the node itself; pairs are in range."""
    indptr, indices, pair = part.array("indptr"), part.array("indices"), part.array("pair")
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        _refuse(part, "indptr", f"does not fit the {len(indices)} entries of indices.npy")
    row = int(_first_wrong_row(indptr, indices, part.array("halo"), part.first_node))
    if row >= 0:
        _refuse(part, "indices", f"has a row {row} that is not sorted, or leads out of the part and its halo")
    if not _pairs_fit(pair, part.first_entry):
        _refuse(part, "pair", "has a pair that is none of the entries up to its own")


def _check_nodes(part: Part) -> None:
    """Labels are classes, sets don't overlap, and whoever trains has a label."""
    labels, classes = part.array("labels"), part.whole.num_classes
    if len(labels) and (labels.max() >= classes or labels.min() < -1):
        _refuse(part, "labels", f"has a label outside of -1 to {classes - 1}")
    train, val, test = (part.array(f"{name}_mask") for name in ("train", "val", "test"))
    overlap: NDArray[Any] = train.astype(np.int8) + val + test
    if (overlap > 1).any() or (labels[train | val] < 0).any():
        raise DataError(f"The masks in '{part.folder}' overlap, or choose nodes without a label; {AGAIN}.")
    nodes = part.array("nodes")
    if len(nodes) and (nodes.min() < 0 or nodes.max() >= part.whole.num_nodes):
        _refuse(part, "nodes", f"has a number outside of 0 to {part.whole.num_nodes - 1}")


@numba.njit(cache=True)
def _first_wrong_row(indptr, indices, halo, first):
    """The first row whose columns don't rise by their number in the graph, leave the part, or name the row; or -1."""
    n = len(indptr) - 1
    for i in range(n):
        before = -1
        for e in range(indptr[i], indptr[i + 1]):
            c = indices[e]
            if c < 0 or c >= n + len(halo) or c == i:
                return i
            node = first + c if c < n else halo[c - n]
            if node <= before:
                return i
            before = node
    return -1


@numba.njit(cache=True)
def _pairs_fit(pair, first):
    """Whether each pair is the position of its entry or an earlier one."""
    wrong = 0
    for e in range(len(pair)):
        wrong += pair[e] < 0 or pair[e] > first + e
    return wrong == 0
