"""A graph as a folder of plain arrays that are mapped into memory: only what is used is ever read.

    big.graph/graph.json            names, shapes, hashes; written last
    big.graph/indptr.npy …          one file per array of :class:`gdamn.graph.Graph`

Dense features may be float16, which halves them; they are turned to float32 a batch at a time. Sparse ones are three
arrays and stay float32, because SciPy has no other.
"""
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import ConfigError, DataError, in_short
from ...graph.graph import Graph
from ...graph.validation import sound_csr
from ...system import folders, io, lock, reading
from . import FOLDER, INDEX

FORMAT = 1
_PLAIN = ("indptr", "indices", "reverse", "labels", "train_mask", "val_mask", "test_mask", "node_ids")
_KINDS = {
    "indptr": ("<i8",),
    "indices": ("<i4",),
    "reverse": ("<i4", "<i8"),
    "labels": ("<i8",),
    "train_mask": ("|b1",),
    "val_mask": ("|b1",),
    "test_mask": ("|b1",),
    "weights": ("<f4",),
    "features": ("<f4", "<f2"),
    "features_indptr": ("<i4", "<i8"),
    "features_indices": ("<i4", "<i8"),
    "features_data": ("<f4",),
}


def write_folder(graph: Graph, folder: Path, *, half: bool = False, done: Callable[[str], None] | None = None) -> Path:
    """Write the graph; ``half`` keeps dense features as float16. ``done`` is called with each array that is written."""
    check_target(folder)
    arrays: dict[str, NDArray[Any]] = {name: getattr(graph, name) for name in _PLAIN}
    if graph.weights is not None:
        arrays["weights"] = graph.weights
    x = graph.features
    if isinstance(x, sp.csr_array):
        arrays |= {"features_indptr": x.indptr, "features_indices": x.indices, "features_data": x.data}
    else:
        arrays["features"] = x.astype(np.float16 if half else np.float32, copy=False)
    with lock.alone_in(folder, "graph"):
        (folder / INDEX).unlink(missing_ok=True)  # what is half replaced must not open
        hashes = {name: write_array(folder, name, array, done) for name, array in arrays.items()}
        write_index(graph, folder, hashes)
    return folder


def write_small(graph: Graph, folder: Path) -> dict[str, str]:
    """Write labels and masks; the hash of each file."""
    names = ("labels", "train_mask", "val_mask", "test_mask")
    return {name: write_array(folder, name, getattr(graph, name)) for name in names}


def write_index(graph: Graph, folder: Path, hashes: dict[str, str]) -> None:
    """Write the index, last: then the folder is a graph."""
    head = {
        "format": FORMAT,
        "name": graph.name,
        "class_names": list(graph.class_names),
        "directed": graph.directed,
        "width": graph.num_features,
        "meta": dict(graph.meta),
    }
    io.write_json(folder / INDEX, {**head, "arrays": hashes})


def check_target(folder: Path) -> None:
    """Refuse, before anything is read, a folder that can't hold the graph."""
    if folder.suffix != FOLDER:
        raise ConfigError(f"The folder is called '{folder.name}'; its name must end in {FOLDER}.")
    folders.check(folder, "graph")


def write_array(folder: Path, name: str, array: NDArray[Any], done: Callable[[str], None] | None = None) -> str:
    """Write an array, alone in the folder; the hash of its file."""
    plain = array.astype(str) if array.dtype.hasobject else array
    path = folder / f"{name}.npy"
    io.remove_leftovers(path)
    with io.replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, np.ascontiguousarray(plain), allow_pickle=False)
    digest = reading.sha256(path)
    if done is not None:
        done(name)
    return digest


def read_folder(folder: Path) -> Graph:
    """The graph; its large arrays stay on disk until they are used."""
    head = _head(folder)
    arrays = {name: _array(folder, name) for name in head["arrays"]}
    missing = [name for name in _PLAIN if name not in arrays]
    if missing:
        raise DataError(f"'{folder / INDEX}' names no array '{missing[0]}'; convert the graph again.")
    flat = next((name for name in (*_PLAIN, "weights") if name in arrays and arrays[name].ndim != 1), None)
    if flat is not None:
        raise DataError(f"'{folder / flat}.npy' has {arrays[flat].ndim} dimensions, not 1; convert the graph again.")
    n = len(arrays["labels"])
    features = _features(folder, head, arrays, n)
    _check(folder, arrays, n, len(head["class_names"]), head["directed"])
    return Graph(
        **{name: arrays[name] for name in _PLAIN},
        weights=arrays.get("weights"),
        features=features,
        class_names=tuple(head["class_names"]),
        name=head["name"],
        meta=head["meta"],
        directed=head["directed"],
    )


def _head(folder: Path) -> dict[str, Any]:
    path = folder / INDEX
    if not reading.is_there(path):
        raise DataError(f"'{folder}' has no {INDEX}, so it is no whole graph; convert it again.")
    try:
        head: dict[str, Any] = reading.read_json(path)
    except DataError as problem:
        raise DataError(f"'{path}' can't be read ({in_short(problem)}); convert the graph again.") from None
    kinds = {"format": int, "name": str, "class_names": list, "directed": bool, "width": int, "meta": dict}
    right = isinstance(head, dict) and all(type(head.get(key)) is kind for key, kind in kinds.items())
    if (
        not right
        or not isinstance(head.get("arrays"), dict)
        or not all(isinstance(c, str) for c in head["class_names"])
    ):
        raise DataError(f"'{path}' does not describe a graph; convert it again.")
    if head["format"] > FORMAT:
        raise DataError(
            f"'{folder}' was written by a newer gdamn (format {head['format']}, known {FORMAT}); update gdamn."
        )
    unknown = [name for name in head["arrays"] if name not in (*_KINDS, "node_ids")]
    if unknown:
        raise DataError(f"'{path}' names an array that is not known: {unknown[0]!r}; convert the graph again.")
    return head


def _array(folder: Path, name: str) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    reading.check_kind(path)
    try:
        array: NDArray[Any] = np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    except (OSError, ValueError, EOFError, SyntaxError, TokenError, MemoryError, OverflowError) as problem:
        raise DataError(f"'{path}' can't be read ({type(problem).__name__}); convert the graph again.") from None
    if name != "node_ids" and array.dtype.str not in _KINDS[name]:
        raise DataError(f"'{path}' holds numbers of type {array.dtype}, not {np.dtype(_KINDS[name][0])}.")
    if name == "node_ids" and array.dtype.kind not in "iuUf":
        raise DataError(f"'{path}' holds {array.dtype}, which can't name nodes; convert the graph again.")
    return array


def _features(folder: Path, head: dict[str, Any], arrays: dict[str, NDArray[Any]], n: int) -> Any:
    """[N, F], dense or CSR."""
    if "features" in arrays:
        if arrays["features"].shape != (n, head["width"]):
            raise DataError(
                f"'{folder / 'features.npy'}' has shape {arrays['features'].shape}, not {(n, head['width'])}."
            )
        return arrays["features"]
    try:
        parts = arrays["features_data"], arrays["features_indices"], arrays["features_indptr"]
        return sound_csr(*parts, shape=(n, head["width"]))
    except (KeyError, ValueError, TypeError) as problem:
        raise DataError(f"The features in '{folder}' are damaged ({problem}); convert the graph again.") from None


def _check(folder: Path, arrays: dict[str, NDArray[Any]], n: int, classes: int, directed: bool) -> None:
    """Everything that compiled loops rely on."""
    indptr, indices, e = arrays["indptr"], arrays["indices"], len(arrays["indices"])
    lengths = {
        "indptr": n + 1,
        "reverse": e,
        "train_mask": n,
        "val_mask": n,
        "test_mask": n,
        "node_ids": n,
        "weights": e,
    }
    for name, length in lengths.items():
        if name in arrays and arrays[name].shape != (length,):
            raise DataError(f"'{folder / name}.npy' has shape {arrays[name].shape}, not ({length},).")
    if indices.ndim != 1 or indptr[0] != 0 or indptr[-1] != e or (indptr[1:] < indptr[:-1]).any():
        raise DataError(f"'{folder / 'indptr.npy'}' does not fit the {e} entries of indices.npy; convert again.")
    row = int(_first_wrong_row(indptr, indices, arrays["reverse"]))
    if row >= 0:
        raise DataError(
            f"Row {row} in '{folder / 'indices.npy'}' is not sorted, or leads out of the graph; convert again."
        )
    row = int(_first_wrong_reverse(indptr, indices, arrays["reverse"], directed))
    if row >= 0:
        raise DataError(f"Row {row} in '{folder / 'reverse.npy'}' doesn't lead to the other directions; convert again.")
    weights = arrays.get("weights")
    if weights is not None and not (np.isfinite(weights).all() and (weights > 0).all()):
        raise DataError(f"'{folder / 'weights.npy'}' has a weight that is not finite and above 0; convert again.")
    if n and (arrays["labels"].max() >= classes or arrays["labels"].min() < -1):
        raise DataError(
            f"'{folder / 'labels.npy'}' has a label outside of -1 to {classes - 1}; convert the graph again."
        )
    overlap = arrays["train_mask"].astype(np.int8) + arrays["val_mask"] + arrays["test_mask"]
    if (overlap > 1).any() or (arrays["labels"][arrays["train_mask"] | arrays["val_mask"]] < 0).any():
        raise DataError(f"The masks in '{folder}' overlap, or choose nodes without a label; convert the graph again.")


@numba.njit(cache=True)
def _first_wrong_row(indptr, indices, reverse):  # type: ignore[no-untyped-def]
    """The first row whose columns are not sorted, repeat, leave the graph or name the node itself; -1 for none."""
    n, e_all = len(indptr) - 1, len(indices)
    for i in range(n):
        before = -1
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j <= before or j >= n or j == i or reverse[e] < -1 or reverse[e] >= e_all:
                return i
            before = j
    return -1


@numba.njit(cache=True)
def _first_wrong_reverse(indptr, indices, reverse, directed):  # type: ignore[no-untyped-def]
    """The first row with an entry (i, j) whose reverse is not the place of (j, i); -1 for none.

    Only a directed graph may have none (-1), and only where there is none; rows are sorted and within the graph.
    """
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j, back = indices[e], reverse[e]
            if back >= 0:
                if back < indptr[j] or back >= indptr[j + 1] or indices[back] != i:
                    return i
                continue
            at = indptr[j] + np.searchsorted(indices[indptr[j] : indptr[j + 1]], i)
            if not directed or (at < indptr[j + 1] and indices[at] == i):
                return i
    return -1
