"""The transpose of a CSR pattern, in linear time."""
# mypy: disable-error-code="misc,no-untyped-call"

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from .read_only import sealed


def transpose_csr(
    indptr: NDArray[Any], indices: NDArray[Any], shape: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """CSR of the transpose, and the position of each of its entries in the original, in linear time.

    Nothing is held beside the result and one number per column.
    """
    t_indptr = np.zeros(shape[1] + 1, np.int64)
    rows, columns = np.ascontiguousarray(indptr, np.int64), np.ascontiguousarray(indices, np.int32)
    t_indices, t_perm = np.empty(len(columns), np.int32), np.empty(len(columns), np.int32)
    _transpose(sealed(rows), sealed(columns), t_indptr, t_indices, t_perm)
    return t_indptr, t_indices, t_perm


@numba.njit(cache=True)
def _transpose(indptr, indices, t_indptr, t_indices, t_perm):  # type: ignore[no-untyped-def]
    """Count the entries of each column, then put each entry at the next free place of its column."""
    for j in indices:
        t_indptr[j + 1] += 1
    for j in range(len(t_indptr) - 1):
        t_indptr[j + 1] += t_indptr[j]
    reached = t_indptr[:-1].copy()
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            at = reached[indices[e]]
            t_indices[at], t_perm[at] = i, e
            reached[indices[e]] += 1
