"""npz archives in the community's layout: a CSR adjacency, sparse or dense attributes, labels, masks.

Nothing pickled is ever opened, and no array is unpacked before its header says that it fits.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...errors import DataError, GraphError, in_short
from ...graph.validation import truth_values, whole_labels
from . import limits
from .npz import ATTRIBUTES, DAMAGED, Arrays, csr, npy_header
from .parts import Parts, plain_ids
from .roles import not_read

SETS = ("train", "val", "test")
MASKS = tuple(f"{name}_mask" for name in SETS)
IDS = ("node_ids", "node_names")
CLASSES = "class_names"
ADJACENCY = ("adj_indices", "adj_indptr", "adj_shape")
WANTED = ("adj_data", *ADJACENCY, *ATTRIBUTES, "features", "labels", *MASKS)


def read_archive(path: Path) -> Parts:
    """What an npz archive holds."""
    arrays = _read(path)
    missing = [name for name in ADJACENCY if name not in arrays]
    if missing:
        raise DataError(f"'{path}' lacks the array '{missing[0]}'; a graph needs {', '.join(ADJACENCY)}.")
    _check_numbers(path, arrays)
    n = _number_of_nodes(path, arrays)
    adjacency = csr(arrays, "adj", path).tocoo()
    weights = adjacency.data.astype(np.float32) if "adj_data" in arrays else None
    kept = np.ones(len(adjacency.row), bool) if weights is None else weights != 0
    pairs = np.stack([adjacency.col, adjacency.row]).astype(np.int64)[:, kept]
    ids = next((arrays[name] for name in IDS if name in arrays), None)
    labels, names = labels_of(arrays.get("labels"), arrays.get(CLASSES), n, path)
    return Parts(
        source=str(path),
        ids=ids_of(ids, n, path),
        edges=pairs,
        weights=None if weights is None else weights[kept],
        labels=labels,
        label_place=f"the array 'labels' of '{path}'",
        matrix=_features(path, arrays, n),
        masks=masks_of({name: arrays.get(f"{name}_mask") for name in SETS}, n, path),
        class_names=names,
        notes=not_read(_others(path), str(path)),
    )


def _others(path: Path) -> list[str]:
    """The names of arrays that aren't read."""
    with zipfile.ZipFile(path) as packed:
        found = [name.removesuffix(".npy") for name in packed.namelist()]
    return [name for name in found if name not in (*WANTED, *IDS, CLASSES)]


def _read(path: Path) -> Arrays:
    """The arrays of the names that count, each checked before it is unpacked.

    Names of nodes and classes are left aside where they are pickled, as in some published files.
    """
    arrays: Arrays = {}
    total = 0
    try:
        with zipfile.ZipFile(path) as packed:
            for name in ("adj_shape", *(name for name in WANTED if name != "adj_shape"), *IDS, CLASSES):
                if f"{name}.npy" not in packed.namelist():
                    continue
                member = packed.getinfo(f"{name}.npy")
                shape, kind, start = _npy_header(packed, member, path)
                if kind.hasobject:
                    if name in (*IDS, CLASSES):
                        continue
                    raise DataError(f"The array '{name}' of '{path}' holds Python objects, not numbers; save numbers.")
                size = int(np.prod([int(length) for length in shape], dtype=object)) * kind.itemsize
                total += size
                limits.check_bytes(path, f"array '{name}' of shape {shape}", max(size, total))
                if size > limits.SMALL:
                    _check_rows(path, name, shape, arrays.get("adj_shape"))
                if size + start != member.file_size:
                    raise DataError(f"The array '{name}' of '{path}' is cut off: its shape {shape} needs {size} bytes.")
                with packed.open(member) as stream:
                    arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
    except DAMAGED as cause:
        raise DataError(f"'{path}' is not an npz archive, or it is damaged: {in_short(cause)}.") from None
    return arrays


def _check_rows(path: Path, name: str, shape: tuple[int, ...], nodes: NDArray[Any] | None) -> None:
    """Refuse a large array that doesn't fit the number of nodes before it is unpacked."""
    per_node = not name.startswith(("adj_", "attr_")) and name != CLASSES
    if per_node and nodes is not None and nodes.size and shape[:1] != (int(nodes.flat[0]),):
        raise DataError(f"The array '{name}' of '{path}' has shape {shape}, but there are {nodes.flat[0]} nodes.")


def _npy_header(packed: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> tuple[Any, np.dtype[Any], int]:
    """Shape, type and place of the first byte of a packed array."""
    if member.flag_bits & 1:
        raise DataError(f"'{path}' is encrypted; save it without a password.")
    return npy_header(packed, member)


def _check_numbers(path: Path, arrays: Arrays) -> None:
    """Indices must be whole numbers, values numbers, in as many dimensions as they should have."""
    for name in WANTED:
        if name not in arrays:
            continue
        array = arrays[name]
        whole = name.startswith(("adj_ind", "attr_ind")) or name.endswith("_shape")
        if array.dtype.kind not in ("iu" if whole else "biufUS" if name == "labels" else "biuf"):
            needed = "whole numbers" if whole else "numbers"
            raise DataError(f"The array '{name}' of '{path}' holds {array.dtype}; it must hold {needed}.")
        flat = name.startswith(("adj_", "attr_"))
        if flat and array.ndim != 1:
            raise DataError(f"The array '{name}' of '{path}' has {array.ndim} dimensions; it must have 1.")
        if name.endswith("_shape") and len(array) != 2:
            raise DataError(f"The array '{name}' of '{path}' must be two numbers; it has {len(array)}.")


def _number_of_nodes(path: Path, arrays: Arrays) -> int:
    rows, columns = (int(size) for size in arrays["adj_shape"])
    if rows != columns:
        raise DataError(f"The adjacency matrix of '{path}' must be square; 'adj_shape' says {rows} by {columns}.")
    if not 0 < rows <= limits.MOST_NODES:
        raise DataError(f"'{path}' has {rows:,} nodes by 'adj_shape'; there must be 1 or more, and not too many.")
    if len(arrays["adj_indptr"]) != rows + 1:
        raise DataError(f"The array 'adj_indptr' of '{path}' must have {rows + 1:,} numbers for {rows:,} nodes.")
    return rows


def _features(path: Path, arrays: Arrays, n: int) -> Any:
    """[N, F] the attributes, sparse or dense; None where there are none."""
    if "attr_indices" in arrays or "attr_indptr" in arrays:
        missing = next((name for name in ATTRIBUTES[1:] if name not in arrays), None)
        if missing is not None:
            raise DataError(f"'{path}' lacks the array '{missing}', which belongs to its attributes.")
        rows, columns = (int(size) for size in arrays["attr_shape"])
        if rows != n:
            raise DataError(f"The attributes of '{path}' have {rows:,} rows, but there are {n:,} nodes.")
        if not 0 <= columns <= limits.MOST_NODES:
            raise DataError(f"The attributes of '{path}' have {columns:,} columns, which can't be.")
        return check_features(csr(arrays, "attr", path), n, path)
    return check_features(arrays.get("features"), n, path)


def check_features(x: Any, n: int, path: Path) -> Any:
    """[N, F] features, or None; shapes and values that can't be are told with the file."""
    if x is None:
        return None
    if x.ndim == 1:
        x = x.reshape(-1, 1)
    if x.ndim != 2 or x.shape[0] != n:
        raise DataError(f"The features of '{path}' have shape {tuple(x.shape)}; they need {n:,} rows, one per node.")
    values = x.data if hasattr(x, "indptr") else x
    if not np.isfinite(values).all():
        raise DataError(f"The features of '{path}' have a value that is not a finite number{_where(x)}; replace it.")
    return x


def _where(x: Any) -> str:
    """The place of the first value that isn't finite."""
    if hasattr(x, "indptr"):
        at = int((~np.isfinite(x.data)).argmax())
        return f" at node {int(np.searchsorted(x.indptr, at, side='right') - 1)}, feature {int(x.indices[at])}"
    row, column = np.argwhere(~np.isfinite(x))[0]
    return f" at node {row}, feature {column}"


def ids_of(given: Any, n: int, path: Path) -> NDArray[Any]:
    """[N] node ids: those of the file, or 0 to N - 1."""
    if given is None:
        return np.arange(n)
    if len(given) != n:
        raise DataError(f"'{path}' has {len(given):,} node ids for {n:,} nodes.")
    texts = [str(each) for each in (given.tolist() if hasattr(given, "tolist") else given)]
    if len(set(texts)) < n:
        seen: set[str] = set()
        twice = next(text for text in texts if text in seen or seen.add(text))  # type: ignore[func-returns-value]
        raise DataError(f"The node id '{twice[:60]}' stands twice in '{path}'; ids must be unique.")
    return plain_ids(pa.array(texts, pa.large_string()))


def labels_of(labels: Any, names: Any, n: int, path: Path) -> tuple[Any, list[str] | None]:
    """Labels as Arrow strings, null where unknown, and the classes in their order where the file names them."""
    if labels is None:
        return None, None
    y = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if y.shape != (n,):
        raise DataError(f"The labels of '{path}' have shape {tuple(y.shape)}; there must be one per node, ({n},).")
    if y.dtype.kind in "US":
        texts = [each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in y.tolist()]
        return pa.array([text or None for text in texts], pa.large_string()), None
    try:
        numbers = whole_labels(y, f" in '{path}'")
    except GraphError as cause:
        raise DataError(str(cause)) from None
    stored = None if names is None else [str(each) for each in (names.tolist() if hasattr(names, "tolist") else names)]
    if stored is not None and (len(set(stored)) < len(stored) or len(stored) <= numbers.max(initial=-1)):
        raise DataError(f"'{path}' has {len(stored)} class names, which don't fit its labels.")
    texts = [None if y < 0 else str(y) if stored is None else stored[y] for y in numbers.tolist()]
    return pa.array(texts, pa.large_string()), stored


def masks_of(given: dict[str, Any], n: int, path: Path) -> dict[str, NDArray[np.bool_]] | None:
    """[N, k] masks of the three sets; None where the file has none of them."""
    if all(mask is None for mask in given.values()):
        return None
    made: dict[str, NDArray[np.bool_]] = {}
    for name, mask in given.items():
        if mask is None:
            made[name] = np.zeros((n, 1), bool)
            continue
        m = truth_values(mask, n)
        if m is None:
            raise DataError(
                f"The {name} mask of '{path}' is {mask.dtype} of shape {tuple(mask.shape)}; it must be {n:,} "
                f"truth values (booleans, or 0 and 1), or a column of them per split."
            )
        made[name] = m.reshape(n, -1)
    widths = {mask.shape[1] for mask in made.values()} - {1}
    if len(widths) > 1:
        raise DataError(f"The masks of '{path}' have {sorted(widths)} columns; they must agree.")
    return made
