"""Arrays with one row per node, as files that hold a whole graph have them: features, ids, labels and masks.

Nothing here imports Arrow before ids or labels need it: benchmarks are read without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, GraphError
from ...graph.validation import truth_values, whole_labels

SETS = ("train", "val", "test")
MASKS = tuple(f"{name}_mask" for name in SETS)


def check_features(x: Any, n: int, path: Path) -> Any:
    """[N, F] features, finite and one row per node, or None."""
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


def ids_of(ids: Any, n: int, path: Path) -> NDArray[Any]:
    """[N] node ids: those of the file, or 0 to N - 1."""
    if ids is None:
        return np.arange(n)
    from .arrow import pa
    from .parts import plain_ids

    if len(ids) != n:
        raise DataError(f"'{path}' has {len(ids):,} node ids for {n:,} nodes.")
    texts = [str(each) for each in (ids.tolist() if hasattr(ids, "tolist") else ids)]
    if len(set(texts)) < n:
        seen: set[str] = set()
        twice = next(text for text in texts if text in seen or seen.add(text))  # type: ignore[func-returns-value]
        raise DataError(f"The node id '{twice[:60]}' stands twice in '{path}'; ids must be unique.")
    return plain_ids(pa.array(texts, pa.large_string()))


def labels_of(labels: Any, names: Any, n: int, path: Path) -> tuple[Any, list[str] | None]:
    """Labels as Arrow strings, null where unknown, and the classes in their order where the file names them."""
    if labels is None:
        return None, None
    from .arrow import pa

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


def masks_of(arrays: dict[str, Any], n: int, path: Path) -> dict[str, NDArray[np.bool_]] | None:
    """[N, k] masks of the three sets; None where the file has none of them."""
    if all(mask is None for mask in arrays.values()):
        return None
    masks: dict[str, NDArray[np.bool_]] = {}
    for name, mask in arrays.items():
        if mask is None:
            masks[name] = np.zeros((n, 1), bool)
            continue
        m = truth_values(mask, n)
        if m is None:
            raise DataError(
                f"The {name} mask of '{path}' is {mask.dtype} of shape {tuple(mask.shape)}; it must be {n:,} "
                f"truth values (booleans, or 0 and 1), or a column of them per split."
            )
        masks[name] = m.reshape(n, -1)
    widths = {mask.shape[1] for mask in masks.values()} - {1}
    if len(widths) > 1:
        raise DataError(f"The masks of '{path}' have {sorted(widths)} columns; they must agree.")
    return masks
