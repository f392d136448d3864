"""SharedPattern: rows of a square pattern that one process owns, in the order in which they can be computed.

Its columns are the process's own nodes first, then its halo: nodes of other processes. How rows travel between
processes is a subclass's matter (:mod:`gdamn.fit.domains.ranks.halo`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from .pattern import Pattern, balanced_blocks
from .read_only import sealed

if TYPE_CHECKING:
    import torch


@numba.njit(cache=True)
def _mirrored(indptr, indices, t_indptr, t_indices):  # type: ignore[no-untyped-def]
    """Whether the own columns of each row are the rows of its column; holds nothing of the entries' size."""
    n = len(indptr) - 1
    for i in range(n):
        at = t_indptr[i]
        for e in range(indptr[i], indptr[i + 1]):
            if indices[e] < n:
                if at == t_indptr[i + 1] or t_indices[at] != indices[e]:
                    return False
                at += 1
        if at != t_indptr[i + 1]:
            return False
    return True


class Rows(NamedTuple):
    """Some rows of a pattern [r], and boundaries [B + 1] of runs of them with about equal work."""

    rows: NDArray[np.int64]
    blocks: NDArray[np.int64]


class SharedPattern(Pattern):
    """Shape [n, n + halo]."""

    @property
    def shared(self) -> bool:
        """Whether there are other processes."""
        return True

    def arriving(self, own: torch.Tensor) -> tuple[torch.Tensor, Callable[[], None]]:
        """[n + halo, H] from the own rows [n, H]; those of the halo have arrived when the function returns."""
        raise TypeError("A subclass says how rows arrive.")

    def leaving(self, columns: torch.Tensor) -> Callable[[], torch.Tensor]:
        """Send the halo's rows of [n + halo, H] to their owners; the function adds what comes from others: [n, H]."""
        raise TypeError("A subclass says how rows leave.")

    @cached_property
    def _reaches_out(self) -> NDArray[np.bool_]:
        """[n] whether a row names a node of the halo."""
        found, filled = np.zeros(self.shape[0], bool), np.diff(self.indptr) > 0
        if filled.any():
            starts = self.indptr[:-1][filled]
            found[filled] = np.logical_or.reduceat(self.indices >= self.shape[0], starts)
        return found

    @cached_property
    def symmetric_inside(self) -> bool:
        """Whether every entry (i, j) between own nodes has its (j, i), as in an undirected graph.

        The columns of a row that are own rise, and so do the rows of a column: the reverse of a row's k-th own entry is
        the k-th entry of its column.
        """
        return bool(_mirrored(self.indptr, self.indices, self.t_indptr, self.t_indices))

    @cached_property
    def inner_rows(self) -> Rows:
        """The rows that need no other process's."""
        return self._rows(~self._reaches_out)

    @cached_property
    def outer_rows(self) -> Rows:
        """The rows that do."""
        return self._rows(self._reaches_out)

    def _rows(self, chosen: NDArray[np.bool_]) -> Rows:
        rows = np.flatnonzero(chosen)
        counts = np.diff(self.indptr)[rows]
        return Rows(sealed(rows), sealed(balanced_blocks(np.concatenate([[0], np.cumsum(counts)]))))

    @cached_property
    def own_blocks(self) -> NDArray[np.int64]:
        """[B + 1] boundaries of runs of the own columns with about equal work."""
        return sealed(balanced_blocks(self.t_indptr[: self.shape[0] + 1]))

    @cached_property
    def halo_blocks(self) -> NDArray[np.int64]:
        """[B + 1] the same of the halo's."""
        n = self.shape[0]
        return sealed(n + balanced_blocks(self.t_indptr[n:] - self.t_indptr[n]))
