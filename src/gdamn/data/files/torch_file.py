"""PyTorch files with a PyTorch Geometric ``Data`` or a dictionary of tensors, read without running code from them.

``torch.load`` with ``weights_only`` knows tensors and plain containers; PyG's own classes for a ``Data`` are added
for the time of reading. What it can't refuse is checked before: archives that unpack to more than they are, and
tuples nested in themselves, which would take forever to hash.
"""

from __future__ import annotations

import pickletools  # nosec B403  # lists what a pickle would do, and does none of it
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataError, GraphError, in_short
from ...graph.validation import is_weight
from . import limits
from .node_arrays import MASKS, SETS, check_features, ids_of, labels_of, masks_of
from .npz import DAMAGED
from .parts import Parts
from .roles import not_read

READ = ("edge_index", "x", "y", "num_nodes", "edge_weight", "edge_attr", "class_names", "node_ids", *MASKS)
MOST_PICKLE = 256 << 20
MOST_SHARED_TUPLES = 16
SAFE_TORCH = "2.10"
"""Before it a crafted file can run code even with ``weights_only`` (CVE-2025-32434, CVE-2026-24747)."""
_TUPLES = ("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3")
_PUTS = ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE")
_GETS = ("BINGET", "LONG_BINGET", "GET")


def read_torch(path: Path) -> Parts:
    """What a file of ``torch.save`` holds."""
    _check_torch(path)
    _check_bounds(path)
    values = _values(_load(path), path)
    edges = _array(values.get("edge_index"), path, "edge_index")
    if edges is None:
        raise DataError(f"'{path}' has no edge_index; a graph needs one of shape [2, edges].")
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise DataError(f"The edge_index of '{path}' is {edges.dtype} of shape {edges.shape}; it must be [2, edges].")
    edges = edges.astype(np.int64)
    x = _array(values.get("x"), path, "x")
    y = _array(values.get("y"), path, "y")
    n = _number_of_nodes(values, x, y, edges, path)
    if edges.size and (edges.min() < 0 or edges.max() >= n):
        at = int(((edges < 0) | (edges >= n)).any(axis=0).argmax())
        raise DataError(f"Edge {at} of '{path}' is ({edges[0, at]}, {edges[1, at]}), but nodes go from 0 to {n - 1}.")
    labels, names = labels_of(y, _names(values.get("class_names"), path), n, path)
    masks = {name: _array(values.get(f"{name}_mask"), path, f"{name}_mask") for name in SETS}
    return Parts(
        source=str(path),
        ids=ids_of(_names(values.get("node_ids"), path), n, path),
        edges=edges,
        weights=_weights(values, edges.shape[1], path),
        labels=labels,
        label_place=f"y of '{path}'",
        matrix=check_features(x, n, path),
        masks=masks_of(masks, n, path),
        class_names=names,
        notes=[*not_read(_others(values), str(path)), *_weight_note(values, path)],
    )


def _others(values: dict[str, Any]) -> list[str]:
    """The names of what isn't read, among it attributes of the edges with several columns, which are no weights."""
    left = [str(name) for name, value in values.items() if value is not None and name not in READ]
    attributes = values.get("edge_attr")
    used = values.get("edge_weight") is None and (attributes is None or is_weight(attributes))
    return left if used or attributes is None else [*left, "edge_attr"]


def _weight_note(values: dict[str, Any], path: Path) -> list[str]:
    """Says where weights come from that nobody called so."""
    attributes = values.get("edge_attr")
    used = attributes is not None and values.get("edge_weight") is None and is_weight(attributes)
    return [f"{path.name}: edge_attr is taken as the edges' weights."] if used else []


def _check_torch(path: Path) -> None:
    """Refuse to read with a torch that can't read files safely."""
    import torch
    from packaging.version import Version

    if Version(torch.__version__) < Version(SAFE_TORCH):
        raise DataError(
            f"'{path}' can't be read safely by torch {torch.__version__}: before {SAFE_TORCH} a crafted file "
            "can run code (CVE-2026-24747); upgrade torch, or save the graph as .npz."
        )


def _check_bounds(path: Path) -> None:
    """Refuse what can't be bounded once it is being read."""
    try:
        if not zipfile.is_zipfile(path):
            size = limits.check_file(path, MOST_PICKLE)
            with path.open("rb") as file:
                _scan(file.read(size), path, whole=False)
            return
        with zipfile.ZipFile(path) as packed:
            total = sum(member.file_size for member in packed.infolist())
            limits.check_bytes(path, "its tensors", total)
            if any(member.compress_type != zipfile.ZIP_STORED for member in packed.infolist()):
                raise DataError(f"'{path}' is packed, which torch.save never does; save it again with torch.save.")
            pickles = [member for member in packed.infolist() if member.filename.endswith(".pkl")]
            for member in pickles:
                if member.file_size > MOST_PICKLE:
                    raise DataError(f"'{path}' has {member.file_size:,} bytes beside its tensors, which is too much.")
                _scan(packed.read(member), path, whole=True)
    except DAMAGED as cause:
        raise DataError(f"'{path}' is not a file of torch.save, or it is damaged: {in_short(cause)}.") from None


def _scan(content: bytes, path: Path, whole: bool) -> None:
    """Refuse a pickle that puts tuples into tuples by reference: their hash takes 2^depth steps."""
    tuples: set[object] = set()
    shared, last, count = 0, "", 0
    try:
        for code, argument, _ in pickletools.genops(content):
            if code.name in _PUTS:
                key = argument if code.name != "MEMOIZE" else count
                count += 1
                if last in _TUPLES:
                    tuples.add(key)
            elif (code.name in _GETS and argument in tuples) or code.name == "DUP":
                shared += 1
            if shared > MOST_SHARED_TUPLES:
                raise DataError(f"'{path}' nests tuples in themselves, which no graph needs; it was not opened.")
            last = code.name
    except (ValueError, IndexError, UnicodeDecodeError, OverflowError, SyntaxError):
        if whole:
            raise DataError(f"'{path}' is not a file of torch.save, or it is damaged.") from None
        return  # older files hold several pickles and raw bytes; torch.load reads them or says why not


def _load(path: Path) -> Any:
    """The content, with tensors, plain containers and PyG's classes for a Data, and nothing else."""
    import torch
    from torch.serialization import get_safe_globals, safe_globals

    try:
        classes = _pyg_classes()
        allowed = get_safe_globals()  # the block takes back what it adds, so it adds only what isn't there already
        known = safe_globals([each for each in classes if each not in allowed])
        checked = torch.sparse.check_sparse_tensor_invariants()  # type: ignore[no-untyped-call]
        with warnings.catch_warnings(), known, checked:
            warnings.simplefilter("ignore")
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as cause:  # torch raises whatever a broken file leads to
        lines = str(cause).strip().splitlines()
        line = next((line for line in lines if "Unsupported" in line or "GLOBAL" in line), lines[0] if lines else "")
        hint = "it must hold tensors only: save a PyTorch Geometric Data, or a dictionary of tensors"
        reason = f" ({line.strip()[:160].rstrip('.')})" if line else ""
        raise DataError(f"'{path}' can't be opened safely or is damaged{reason}; {hint}.") from None


def _pyg_classes() -> list[Any]:
    """The classes that a saved Data names."""
    from torch_geometric.data.data import Data, DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import EdgeStorage, GlobalStorage, NodeStorage

    return [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage, NodeStorage, EdgeStorage]


def _values(content: Any, path: Path) -> dict[str, Any]:
    """The attributes of a Data, or a dictionary as it is."""
    from torch_geometric.data import Data

    if isinstance(content, Data):
        store = getattr(content, "__dict__", {}).get("_store")
        mapping = getattr(store, "_mapping", None)
        if isinstance(mapping, dict):
            return mapping
    if isinstance(content, dict):
        return content
    kind = type(content).__name__
    raise DataError(f"'{path}' holds a {kind}, not a PyTorch Geometric Data or a dictionary of tensors.")


def _array(value: Any, path: Path, name: str) -> Any:
    """A tensor as an array or CSR matrix."""
    import torch

    from ...graph.validation import _to_numpy

    if value is None:
        return None
    if not isinstance(value, torch.Tensor):
        raise DataError(f"The {name} of '{path}' is a {type(value).__name__}; it must be a tensor.")
    if value.is_complex() or value.is_quantized:
        raise DataError(f"The {name} of '{path}' holds {value.dtype}; it must hold real numbers.")
    numbers = value.numel() if value.layout == torch.strided else value._nnz()
    limits.check_bytes(path, f"its {name} of shape {tuple(value.shape)}", numbers * value.element_size())
    try:
        return _to_numpy(value)
    except GraphError as cause:
        raise DataError(f"The {name} of '{path}' can't be read: {in_short(cause)}.") from None


def _names(value: Any, path: Path) -> list[str] | None:
    """A list of ids or class names."""
    import torch

    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        value = _array(value, path, "list of names").reshape(-1).tolist()
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, (str, int)) for each in value):
        raise DataError(f"The node_ids and class_names of '{path}' must be lists of texts or whole numbers.")
    return [str(each) for each in value]


def _number_of_nodes(values: dict[str, Any], x: Any, y: Any, edges: Any, path: Path) -> int:
    count = values.get("num_nodes")
    if isinstance(count, int) and not isinstance(count, bool):
        n = count
    elif x is not None or y is not None:
        n = (x if x is not None else y).shape[0] if (x if x is not None else y).ndim else 0
    else:
        n = int(edges.max(initial=-1)) + 1
    if not 0 < n <= limits.MOST_NODES:
        raise DataError(f"'{path}' has {n:,} nodes; there must be 1 or more, and not too many.")
    if x is None and y is None:
        limits.check_bytes(path, f"{n:,} nodes", 8 * n)
    return int(n)


def _weights(values: dict[str, Any], edges: int, path: Path) -> Any:
    """[E] weights: edge_weight, or an edge_attr with one column."""
    name = "edge_weight" if values.get("edge_weight") is not None else "edge_attr"
    weights = _array(values.get(name), path, name)
    if weights is None or (name == "edge_attr" and not is_weight(weights)):
        return None
    if weights.size != edges:
        raise DataError(f"The {name} of '{path}' has {weights.size:,} values for {edges:,} edges.")
    return weights.reshape(-1).astype(np.float32)
