"""Checks of a graph's parts: each returns the part in its final form or raises a GraphError that says where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .errors import GraphError, in_short
from .node_ids import id_array
from .printable import safe


def _to_numpy(value: Any) -> Any:
    """Torch tensors to arrays or SciPy matrices; everything else unchanged."""
    if not type(value).__module__.startswith("torch"):
        return value
    try:
        value = value.detach().cpu()
        value = value.dequantize() if value.is_quantized else value
        if value.is_floating_point() and value.dtype.itemsize < 4:  # NumPy has no bfloat16, nor the types of 8 bits
            value = value.float()
        if str(value.layout) != "torch.strided":
            coo = value.to_sparse_coo().coalesce()
            return sp.csr_array((coo.values().numpy(), coo.indices().numpy()), shape=tuple(coo.shape))
        return value.numpy()
    except (TypeError, ValueError, RuntimeError, AttributeError) as problem:
        kind = getattr(value, "dtype", type(value).__name__)
        raise GraphError(f"A tensor of {kind} can't be read as numbers ({in_short(problem)}).") from None


def _check_real(values: Any, what: str) -> None:
    """Refuse complex numbers, whose imaginary part would be lost."""
    if getattr(getattr(values, "dtype", None), "kind", "") == "c":
        raise GraphError(f"The {what} are complex numbers; give real ones.")


def as_features(value: Any, num_nodes: int | None, sparse_below: float) -> NDArray[np.float32] | sp.csr_array:
    """[N, F] float32 features, finite, held sparse when fewer than ``sparse_below`` of them are non-zero."""
    if value is None:
        if num_nodes is None:
            raise GraphError("A graph without features needs num_nodes to tell how many nodes it has.")
        if num_nodes < 1:
            raise GraphError(f"The graph has {num_nodes} nodes; it needs at least one.")
        return np.zeros((num_nodes, 0), np.float32)
    value = _to_numpy(value)
    _check_real(value, "features")
    if sp.issparse(value):
        x = _own_csr(value)
        values = x.data
    else:
        try:
            x = np.ascontiguousarray(value, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise GraphError(f"Features must be numbers: {error}.") from None
        values = x
    if x.ndim != 2:
        raise GraphError(f"Features must have two dimensions [nodes, features]; these have shape {x.shape}.")
    if num_nodes is not None and x.shape[0] != num_nodes:
        raise GraphError(f"Features have {x.shape[0]} rows, but the graph has {num_nodes} nodes.")
    if x.shape[0] == 0:
        raise GraphError("The graph has no nodes.")
    if not np.isfinite(values).all():
        row, column = _first_bad(x)
        raise GraphError(f"Feature {column} of node {row} is not a finite number; replace or drop it.")
    cells = x.shape[0] * x.shape[1]
    density = (x.nnz if sp.issparse(x) else np.count_nonzero(x)) / cells if cells else 1.0
    if density < sparse_below:
        return sp.csr_array(x)
    return x.toarray() if sp.issparse(x) else x


def _own_csr(value: Any) -> sp.csr_array:
    """The matrix as canonical float32 CSR without zeros; in memory of its own, unless nobody can write to it."""
    x = sp.csr_array(value, dtype=np.float32)
    parts = x.data, x.indices, x.indptr
    given = [getattr(value, name, None) for name in ("data", "indices", "indptr")]
    shared = any(isinstance(g, np.ndarray) and np.may_share_memory(p, g) for p, g in zip(parts, given, strict=True))
    clean = bool(x.has_canonical_format) and bool(x.data.all())
    if shared and (not clean or any(part.flags.writeable for part in parts)):
        x = x.copy()
    if not clean:
        x.sum_duplicates()
        x.eliminate_zeros()
    return x


def _first_bad(x: Any) -> tuple[int, int]:
    """Row and column of the first value that isn't finite."""
    if sp.issparse(x):
        at = int(np.flatnonzero(~np.isfinite(x.data))[0])
        return int(np.searchsorted(x.indptr, at, side="right") - 1), int(x.indices[at])
    row, column = np.argwhere(~np.isfinite(x))[0]
    return int(row), int(column)


def as_labels(value: ArrayLike | None, n: int) -> NDArray[np.int64]:
    """[N] labels as integers, every negative one turned into -1."""
    if value is None:
        return np.full(n, -1, np.int64)
    y = np.asarray(_to_numpy(value))
    _check_real(y, "labels")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (n,):
        raise GraphError(f"Labels must be one number per node, shape ({n},); these have shape {y.shape}.")
    if not np.issubdtype(y.dtype, np.number) and y.dtype != bool:
        raise GraphError(f"Labels must be class numbers (negative: unknown), not {y.dtype}; pass names as class_names.")
    if np.issubdtype(y.dtype, np.floating):
        y = np.where(np.isnan(y), -1, y)
        if not (np.isfinite(y).all() and (y == np.floor(y)).all()):
            at = int(np.flatnonzero(~np.isfinite(y) | (y != np.floor(y)))[0])
            raise GraphError(f"The label of node {at} is {y[at]}, not a whole number.")
    y = y.astype(np.int64)
    if y.max(initial=-1) > max(n, 1000) * 10:
        raise GraphError(f"Label {int(y.max())} is too large for {n} nodes; number the classes from 0.")
    return np.where(y < 0, -1, y)


def as_mask(value: ArrayLike | None, n: int, name: str) -> NDArray[np.bool_]:
    """[N] boolean mask from booleans or node numbers."""
    mask = np.zeros(n, dtype=bool)
    if value is None:
        return mask
    given = np.asarray(_to_numpy(value))
    if given.dtype == bool:
        if given.shape != (n,):
            raise GraphError(f"The {name} mask has shape {given.shape}; it must be ({n},).")
        return given.copy()
    if given.size == 0:
        return mask
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise GraphError(f"The {name} set must be a boolean mask or a list of node numbers, not {given.dtype}.")
    if given.min() < 0 or given.max() >= n:
        bad = int(given.min()) if given.min() < 0 else int(given.max())
        raise GraphError(f"The {name} set names node {bad}, but nodes are numbered 0 to {n - 1}.")
    mask[given] = True
    return mask


def check_disjoint(masks: Sequence[NDArray[np.bool_]], labels: NDArray[np.int64]) -> None:
    """No node in two sets, and every training and validation node labelled."""
    train, val, test = masks
    twice = (train.astype(int) + val + test) > 1
    if twice.any():
        at = int(np.flatnonzero(twice)[0])
        raise GraphError(f"Node {at} is in more than one of train, val and test; the sets must not overlap.")
    for name, mask in (("train", train), ("val", val)):
        unknown = mask & (labels < 0)
        if unknown.any():
            at = int(np.flatnonzero(unknown)[0])
            raise GraphError(f"Node {at} is in the {name} set but has no label.")


def as_names(value: Sequence[Any] | NDArray[Any], n: int) -> NDArray[Any]:
    """[N] node ids in their own types, each text once, since files and tables hold the texts."""
    given = _to_numpy(value)
    if not hasattr(given, "__len__") or getattr(given, "ndim", 1) != 1:
        raise GraphError(f"There must be one id per node, {n} in all, as a list; got {type(value).__name__}.")
    if len(given) != n:
        raise GraphError(f"There must be one id per node, {n} in all; got {len(given)}.")
    ids = id_array(given)
    seen: dict[str, Any] = {}
    for each in ids.tolist():
        name = str(each)
        if name in seen and type(seen[name]) is type(each):
            raise GraphError(f"The node id '{safe(name)}' stands for more than one node; ids must be unique.")
        if name in seen:
            raise GraphError(f"The node ids {seen[name]!r} and {each!r} read alike; ids must be unique as texts.")
        seen[name] = each
    return ids


def as_class_names(value: Sequence[str] | NDArray[Any] | None, classes: int) -> tuple[str, ...]:
    """[C] names of the classes: those given, or their numbers."""
    if isinstance(value, str) or (value is not None and not hasattr(value, "__len__")):
        raise GraphError(f"The class names must be a list of texts, not {type(value).__name__}.")
    if value is None or len(value) == 0:
        return tuple(map(str, range(classes)))
    if len(value) < classes:
        raise GraphError(f"There are {len(value)} class names, but labels go up to {classes - 1}.")
    return tuple(map(str, value))


def merge_edges(
    edges: ArrayLike, weights: ArrayLike | None, n: int, directed: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32] | None, dict[str, int]]:
    """Sorted CSR of the edges, and the counts of what was dropped.

    Row i lists the nodes that i hears from: for an edge (source, target) that is row target, entry source.
    """
    e = np.asarray(_to_numpy(edges))
    if e.size == 0:
        e = np.zeros((2, 0), np.int64)
    if e.ndim != 2 or e.shape[0] != 2 or not np.issubdtype(e.dtype, np.integer):
        raise GraphError(f"Edges must be an integer array of shape [2, edges]; got {e.dtype} of shape {e.shape}.")
    if e.size and (e.min() < 0 or e.max() >= n):
        column = int(np.flatnonzero((e < 0).any(0) | (e >= n).any(0))[0])
        pair = f"({e[0, column]}, {e[1, column]})"
        raise GraphError(f"Edge {column} is {pair}, but nodes are numbered 0 to {n - 1}.")
    w = None if weights is None else _as_weights(weights)
    if w is not None:
        _check_weights(w, e.shape[1])
    keep = e[0] != e[1]
    loops = int((~keep).sum())
    rows, cols = e[1][keep].astype(np.int32), e[0][keep].astype(np.int32)
    w = None if w is None else w[keep]
    given = len(rows)
    if not directed:
        rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
        w = None if w is None else np.concatenate([w, w])
    indptr, indices, w = _sorted_csr(rows, cols, w, n)
    kept = len(indices) if directed else len(indices) // 2
    counts = {"dropped_self_loops": loops, "merged_duplicates": given - kept}
    return indptr, indices, w, counts


def _sorted_csr(
    rows: NDArray[np.int32], cols: NDArray[np.int32], w: NDArray[np.float32] | None, n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32] | None]:
    """CSR with sorted rows, each pair once: with the largest of its weights, or None where all are 1.

    Unweighted edges are bucketed by row in linear time, which is several times faster than sorting their codes.
    """
    if w is not None and not np.all(w == 1):
        code = rows.astype(np.int64) * n + cols
        order = np.argsort(code, kind="stable")
        code, w = code[order], w[order]
        starts = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]]))
        w = np.maximum.reduceat(w, starts)
        code = code[starts]
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(code // n, minlength=n), out=indptr[1:])
        return indptr, (code % n).astype(np.int32), None if np.all(w == 1) else w
    merged = sp.coo_array((np.ones(len(rows), np.int8), (rows, cols)), shape=(n, n)).tocsr()
    merged.sum_duplicates()
    return merged.indptr.astype(np.int64), merged.indices.astype(np.int32, copy=False), None


def _as_weights(weights: Any) -> NDArray[np.float32]:
    """[E] weights as float32."""
    given = _to_numpy(weights)
    _check_real(given, "edge weights")
    try:
        return np.asarray(given, dtype=np.float32).reshape(-1)
    except (TypeError, ValueError) as problem:
        raise GraphError(f"Edge weights must be numbers: {in_short(problem)}.") from None


def _check_weights(w: NDArray[np.float32], edges: int) -> None:
    if len(w) != edges:
        raise GraphError(f"There are {len(w)} edge weights for {edges} edges.")
    bad = ~np.isfinite(w) | (w <= 0)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise GraphError(f"The weight of edge {at} is {w[at]}; weights must be finite and greater than 0.")
