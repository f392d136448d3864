"""Checks of a graph's parts: each returns the part in its final form or raises a GraphError that says where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..errors import GraphError, in_short
from ..text import safe
from .node_ids import id_array


def _to_numpy(value: Any) -> Any:
    """Torch tensors to arrays or SciPy matrices; everything else unchanged.

    Floats that NumPy lacks (bfloat16, float8) become float32, which holds each of their values.
    """
    if not type(value).__module__.startswith("torch"):
        return value
    import torch

    if not isinstance(value, torch.Tensor):
        raise GraphError(f"A {type(value).__name__} can't be taken as numbers; pass a tensor or an array.")
    if value.is_quantized:
        raise GraphError(f"A tensor of {value.dtype} can't be taken as numbers; they must be real.")
    try:
        value = value.detach().cpu().resolve_conj().resolve_neg()
        if value.is_floating_point() and value.dtype not in (torch.float32, torch.float64):
            value = value.float()
        if value.layout == torch.strided:
            return value.numpy()
        coo = value.to_sparse_coo().coalesce()
        return sp.csr_array((coo.values().numpy(), coo.indices().numpy()), shape=tuple(coo.shape))
    except (RuntimeError, TypeError, ValueError) as error:
        raise GraphError(f"A tensor of {value.dtype} can't be taken as numbers: {in_short(error)}.") from None


def as_features(value: Any, num_nodes: int | None, sparse_below: float) -> NDArray[np.float32] | sp.csr_array:
    """[N, F] float32 features, finite, held sparse when fewer than ``sparse_below`` of them are non-zero."""
    if value is None:
        if num_nodes is None:
            raise GraphError("A graph without features needs num_nodes to tell how many nodes it has.")
        if num_nodes < 1:
            raise GraphError(f"The graph has {num_nodes} nodes; it needs at least one.")
        return np.zeros((num_nodes, 0), np.float32)
    value = _to_numpy(value)
    if sp.issparse(value):
        _refuse_unreal(value.dtype, "Features")
        x = _own_csr(value)
        values = x.data
    else:
        x = values = _as_floats(value, "Features")
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
    arrays = [getattr(value, name, None) for name in ("data", "indices", "indptr")]
    shared = any(isinstance(g, np.ndarray) and np.may_share_memory(p, g) for p, g in zip(parts, arrays, strict=True))
    clean = bool(x.has_canonical_format) and bool(x.data.all())
    if shared and (not clean or any(part.flags.writeable for part in parts)):
        x = x.copy()
    if not clean:
        x.sum_duplicates()
        x.eliminate_zeros()
    return x


def _as_floats(value: Any, what: str) -> NDArray[np.float32]:
    """Real numbers of any type as float32."""
    try:
        array = np.asarray(value)
        _refuse_unreal(array.dtype, what)
        return np.ascontiguousarray(array, dtype=np.float32)
    except GraphError:
        raise
    except (TypeError, ValueError) as error:
        raise GraphError(f"{what} must be numbers: {in_short(error)}.") from None


def _refuse_unreal(kind: Any, what: str) -> None:
    """Refuse complex numbers, dates and times, which NumPy would turn into floats without a word."""
    if kind.kind in "cmM":
        raise GraphError(f"{what} must be real numbers, not {kind}; convert them first.")


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
    _refuse_unreal(y.dtype, "Labels")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (n,):
        raise GraphError(f"Labels must be one number per node, shape ({n},); these have shape {y.shape}.")
    if y.dtype.kind not in "biuf":
        raise GraphError(f"Labels must be class numbers (negative: unknown), not {y.dtype}; pass names as class_names.")
    y = whole_labels(y)
    if y.max(initial=-1) > max(n, 1000) * 10:
        raise GraphError(f"Label {int(y.max())} is too large for {n} nodes; number the classes from 0.")
    return y


def whole_labels(y: NDArray[Any], where: str = "") -> NDArray[np.int64]:
    """Class numbers of any type as 64-bit ones, -1 where negative or nan; a number that these can't hold is refused.

    Args:
        y: [N] booleans, integers or floats.
        where: the file, for the sentence: ``" in 'graph.npz'"``.
    """
    if y.dtype.kind == "f":
        wrong = ~np.isnan(y) & (~np.isfinite(y) | (y != np.floor(y)))
        if wrong.any():
            at = int(wrong.argmax())
            raise GraphError(f"The label of node {at}{where} is {y[at]}, not a whole number.")
        y = np.where(np.isnan(y) | (y < 0), -1.0, y.astype(np.float64))
    if y.dtype.kind == "f" or y.dtype == np.uint64:
        wrong = y >= y.dtype.type(2**63)
        if wrong.any():
            at = int(wrong.argmax())
            raise GraphError(f"The label of node {at}{where} is {y[at]:g}, too large; number the classes from 0.")
    numbers = y.astype(np.int64)
    return np.where(numbers < 0, -1, numbers)


def truth_values(array: NDArray[Any], n: int) -> NDArray[np.bool_] | None:
    """A mask, [N] or a column per split [N, k], as booleans; None where the array is none.

    It is one where it holds N booleans (in each column), or N integers that are all 0 or 1: so on a graph of two
    nodes [0, 1] is a mask, not two node numbers.
    """
    if array.ndim not in (1, 2) or array.shape[0] != n or array.size == 0:
        return None
    if array.dtype == bool:
        return array.copy()
    if array.dtype.kind not in "iu" or not ((array == 0) | (array == 1)).all():
        return None
    return array.astype(bool)


def as_mask(value: ArrayLike | None, n: int, name: str) -> NDArray[np.bool_]:
    """[N] boolean mask from a mask (:func:`truth_values`) or from node numbers, each of which stands there once."""
    mask = np.zeros(n, dtype=bool)
    if value is None:
        return mask
    array = np.asarray(_to_numpy(value))
    if array.ndim == 2 and array.shape[0] == n:
        raise GraphError(f"The {name} mask has shape {array.shape}, a column per split; pass one column, ({n},).")
    truths = truth_values(array, n)
    if truths is not None:
        return truths
    if array.dtype == bool:
        raise GraphError(f"The {name} mask has shape {array.shape}; it must be ({n},).")
    if array.size == 0:
        return mask
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError(f"The {name} set must be a boolean mask or a list of node numbers, not {array.dtype}.")
    if array.min() < 0 or array.max() >= n:
        bad = int(array.min()) if array.min() < 0 else int(array.max())
        raise GraphError(f"The {name} set names node {bad}, but nodes are numbered 0 to {n - 1}.")
    if len(np.unique(array)) < len(array):
        numbers, counts = np.unique(array, return_counts=True)
        twice = int(numbers[counts > 1][0])
        raise GraphError(
            f"The {name} set names node {twice} more than once; name each node once, or pass a mask of {n} "
            f"values that are True and False, or 0 and 1 (these are {len(array)})."
        )
    mask[array] = True
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
    names = _to_numpy(value)
    if not hasattr(names, "__len__") or getattr(names, "ndim", 1) != 1:
        raise GraphError(f"There must be one id per node, {n} in all, as a list; got {type(value).__name__}.")
    if len(names) != n:
        raise GraphError(f"There must be one id per node, {n} in all; got {len(names)}.")
    ids = id_array(names)
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
    w = None if weights is None else _as_weights(weights, e.shape[1])
    keep = e[0] != e[1]
    loops = int((~keep).sum())
    rows, cols = e[1][keep].astype(np.int32), e[0][keep].astype(np.int32)
    w = None if w is None else w[keep]
    listed = len(rows)
    if not directed:
        rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
        w = None if w is None else np.concatenate([w, w])
    indptr, indices, w = _sorted_csr(rows, cols, w, n)
    distinct = len(indices) if directed else len(indices) // 2
    counts = {"dropped_self_loops": loops, "merged_duplicates": listed - distinct}
    return indptr, indices, w, counts


def sound_csr(
    values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> sp.csr_array:
    """A CSR matrix from arrays that may be damaged: compiled loops trust them, so all of them is checked first.

    SciPy's own check takes differences, which wrap around in unsigned numbers, and looks at nothing where the last
    pointer is 0.

    Raises:
        ValueError: they make no matrix.
    """
    if any(part.ndim != 1 for part in (values, indices, indptr)) or len(values) != len(indices):
        raise ValueError("its values and indices are not two rows of the same length")
    if min(shape) < 0 or len(indptr) != shape[0] + 1:
        raise ValueError(f"index pointer size {len(indptr)} should be {shape[0] + 1}")
    if indptr[0] != 0 or indptr[-1] > len(indices):
        raise ValueError("index pointers should go from 0 to the number of values")
    if (indptr[1:] < indptr[:-1]).any():
        raise ValueError("index pointers go back")
    if len(indices) and (indices.min() < 0 or indices.max() >= shape[1]):
        raise ValueError(f"indices must be 0 to {shape[1] - 1}")
    if values.dtype == np.float16:
        values = values.astype(np.float32)  # SciPy has no half floats
    signed = (part if part.dtype in (np.int32, np.int64) else part.astype(np.int64) for part in (indices, indptr))
    matrix = sp.csr_array((values, *signed), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


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


def is_weight(attributes: Any) -> bool:
    """Whether attributes of edges are one number each, and so their weights."""
    shape = np.shape(attributes)
    return len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)


def _as_weights(weights: ArrayLike, edges: int) -> NDArray[np.float32]:
    """[E] float32 weights, finite and greater than 0."""
    w = _as_floats(_to_numpy(weights), "Edge weights").reshape(-1)
    if len(w) != edges:
        raise GraphError(f"There are {len(w)} edge weights for {edges} edges.")
    bad = ~np.isfinite(w) | (w <= 0)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise GraphError(f"The weight of edge {at} is {w[at]}; weights must be finite and greater than 0.")
    return w
