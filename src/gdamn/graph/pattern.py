"""Pattern: which entries of a sparse matrix exist, in CSR and in its transpose, ready for both directions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from .read_only import as_tensor, seal_fields, sealed

if TYPE_CHECKING:
    import torch

BLOCKS = 64
"""Rows are cut into this many runs of about equal work, so that hubs don't leave a core idle."""


SPREAD = 64
"""Mean entries of a column from which on the product with the transpose reads the matrix in its own order."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """CSR pattern of shape [R, K] with E entries, and its transpose.

    Attributes:
        shape: (R, K).
        indptr, indices: CSR, [R + 1] and [E].
        t_indptr, t_indices: CSR of the transpose, [K + 1] and [E].
        t_perm: [E] position in the CSR of each entry of the transpose.
        first_entry: where its entries begin in those of the whole matrix, if its rows are only some of them.
        whole_entries: how many entries the whole matrix has then.
    """

    shape: tuple[int, int]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    t_indptr: NDArray[np.int64]
    t_indices: NDArray[np.int32]
    t_perm: NDArray[np.int32]
    first_entry: int = 0
    whole_entries: int = 0
    _tensors: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Hold arrays that can't be written through: the compiled loops trust them.

        All of them, always: the loops are compiled apart for arrays that can be written and for those that can't.
        """
        seal_fields(self, ("indptr", "indices", "t_indptr", "t_indices", "t_perm"))

    @classmethod
    def from_csr(cls, indptr: NDArray[Any], indices: NDArray[Any], shape: tuple[int, int]) -> Pattern:
        """From CSR arrays with sorted rows, which are checked; the pattern's own arrays are read-only."""
        indptr, indices = np.asarray(indptr), np.asarray(indices)
        check_csr(indptr, indices, shape)
        from .transpose import transpose_csr

        t_indptr, t_indices, t_perm = transpose_csr(indptr, indices, shape)
        indptr, indices = np.ascontiguousarray(indptr, np.int64), np.ascontiguousarray(indices, np.int32)
        if shape[0] == shape[1] and np.array_equal(indptr, t_indptr) and np.array_equal(indices, t_indices):
            t_indptr, t_indices = indptr, indices  # an undirected graph is its own transpose: hold it once
        return cls((int(shape[0]), int(shape[1])), indptr, indices, t_indptr, t_indices, t_perm)

    @classmethod
    def from_sorted(cls, rows: NDArray[Any], cols: NDArray[Any], shape: tuple[int, int]) -> Pattern:
        """From coordinates sorted by row, then by column."""
        indptr = np.zeros(shape[0] + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=shape[0]), out=indptr[1:])
        return cls.from_csr(indptr, cols, shape)

    @property
    def num_entries(self) -> int:
        """E."""
        return len(self.indices)

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """[E] row of each entry."""
        return sealed(np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.indptr)))

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """[B + 1] boundaries of runs of rows with about equal work."""
        return sealed(balanced_blocks(self.indptr))

    @cached_property
    def t_blocks(self) -> NDArray[np.int64]:
        """[B + 1] the same for the transpose."""
        return sealed(balanced_blocks(self.t_indptr))

    @cached_property
    def spread_blocks(self) -> NDArray[np.int64]:
        """[B + 1] boundaries of the runs of rows whose products with the transpose are summed apart; [1] for none.

        Only where columns of the whole matrix hold many entries: each run needs a result of its own. The runs depend
        on nothing but the pattern, so that the sum's bits do too.
        """
        columns = max(1, self.shape[1])
        if max(self.num_entries, self.whole_entries) < SPREAD * columns:
            return sealed(np.zeros(1, np.int64))
        runs = min(16, self.num_entries // (SPREAD // 4 * columns))
        return sealed(balanced_blocks(self.indptr, max(1, runs)))

    @cached_property
    def symmetric(self) -> bool:
        """Whether every entry (i, j) has its (j, i), as in an undirected graph."""
        return self.t_indices is self.indices

    @cached_property
    def transposed(self) -> Pattern:
        """The transpose as a pattern of its own; its ``t_perm`` leads back."""
        inverse = np.empty(self.num_entries, np.int32)
        inverse[self.t_perm] = np.arange(self.num_entries, dtype=np.int32)
        return Pattern(
            (self.shape[1], self.shape[0]), self.t_indptr, self.t_indices, self.indptr, self.indices, inverse
        )

    @property
    def shared(self) -> bool:
        """Whether other processes own some of its rows (shared_pattern.py)."""
        return False

    def extended(self, dense: torch.Tensor) -> torch.Tensor:
        """What stands against the columns, [K, H], from this process's part of it: all, unless rows are shared out."""
        return dense

    def collected(self, columns: torch.Tensor) -> torch.Tensor:
        """Sums over the entries of columns [K, H] with what other processes have added to them."""
        return columns

    def tensor(self, name: str, device: torch.device) -> torch.Tensor:
        """One of the index arrays as an int64 tensor on a device, made once (for the plain torch path)."""
        import torch

        key = (name, str(device))
        if key not in self._tensors:
            self._tensors[key] = as_tensor(getattr(self, name)).to(device, torch.int64)
        tensor: torch.Tensor = self._tensors[key]
        return tensor

    def select_rows(self, rows: NDArray[Any]) -> tuple[Pattern, NDArray[np.int64]]:
        """The pattern of these rows alone (all columns kept), and the positions of its entries here."""
        counts = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        entries = np.arange(indptr[-1]) - np.repeat(indptr[:-1], counts) + np.repeat(self.indptr[:-1][rows], counts)
        return Pattern.from_csr(indptr, self.indices[entries], (len(rows), self.shape[1])), entries


def balanced_blocks(indptr: NDArray[np.int64], blocks: int = BLOCKS) -> NDArray[np.int64]:
    """Row boundaries of at most ``blocks`` runs whose entries plus rows are about equal."""
    n = len(indptr) - 1
    work = indptr + np.arange(n + 1)
    targets = np.linspace(0, work[-1], min(blocks, max(n, 1)) + 1)
    bounds = np.searchsorted(work, targets).astype(np.int64)
    bounds[0], bounds[-1] = 0, n
    return np.maximum.accumulate(bounds)


def check_csr(indptr: NDArray[Any], indices: NDArray[Any], shape: tuple[int, int]) -> None:
    """Refuse arrays that are no CSR pattern of this shape."""
    rows, columns = shape
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise GraphError(f"{name} must be a vector of whole numbers; got {array.dtype} of shape {array.shape}.")
    if rows < 0 or columns < 0 or len(indptr) != rows + 1:
        raise GraphError(f"A pattern of {rows} rows has {rows + 1} row pointers; indptr has {len(indptr)}.")
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise GraphError(f"indptr must rise from 0 to the number of entries, {len(indices)}, and never fall.")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        raise GraphError(f"indices run from {indices.min()} to {indices.max()}; the pattern has {columns} columns.")


def reverse_map(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """[E] position of (j, i) for each entry (i, j) of a sorted CSR, -1 where it is missing.

    Where every entry has its reverse, the transpose has the same pattern and lists exactly these positions, in
    linear time; only other graphs need a search.
    """
    n = len(indptr) - 1
    if len(indices) == 0:
        return np.empty(0, np.int32)
    from .transpose import transpose_csr

    t_indptr, t_indices, t_perm = transpose_csr(indptr, indices, (n, n))
    if np.array_equal(t_indptr, indptr) and np.array_equal(t_indices, indices):
        return t_perm
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(indptr))
    forward = rows * n + indices
    backward = indices.astype(np.int64) * n + rows
    at = np.minimum(np.searchsorted(forward, backward), len(forward) - 1)
    return np.where(forward[at] == backward, at, -1).astype(np.int32)
