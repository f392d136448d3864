"""The pairs of nodes that an edge joins in either direction, each once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...graph.structure import Structure

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The M unordered pairs of a graph of N nodes.

    Attributes:
        left, right: [M] the two nodes, left < right.
        of_entry: [E] the pair of every entry of A + I; M for loops.
        nodes: N.
        confirmed: [M] True where a person called the edge right, or None where nobody did.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    of_entry: NDArray[np.int64]
    nodes: int
    confirmed: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, structure: Structure) -> Pairs:
        """Those of A + I, without its loops."""
        pattern, edges = structure.pattern, structure.off_loop
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))[edges]
        columns = pattern.indices[edges].astype(np.int64)
        _, first, number = np.unique(structure.pair[edges], return_index=True, return_inverse=True)
        of_entry = np.full(pattern.num_entries, len(first), np.int64)
        of_entry[edges] = number
        ends = rows[first], columns[first]
        confirmed = None if structure.kept is None else np.zeros(len(first), bool)
        if confirmed is not None and structure.kept is not None:
            confirmed[of_entry[structure.kept]] = True  # an edge that is confirmed in one direction
        return cls(np.minimum(*ends), np.maximum(*ends), of_entry, pattern.shape[0], confirmed)

    def __len__(self) -> int:
        """M."""
        return len(self.left)

    def on_entries(self, values: NDArray[Any]) -> Floats:
        """[E] a value per pair [M] on the entries of A + I; 1 on loops."""
        return np.append(values, 1.0).astype(np.float32)[self.of_entry]

    def with_confirmed(self, values: Floats, certain: float = 1.0) -> Floats:
        """[M] the values, but ``certain`` where a person called the edge right."""
        return values if self.confirmed is None else np.where(self.confirmed, np.float32(certain), values)

    def weighed(self, values: NDArray[Any]) -> sp.csr_array:
        """[N, N] the symmetric matrix with these values [M] on its pairs."""
        both = np.concatenate([values, values])
        ends = np.concatenate([self.left, self.right]), np.concatenate([self.right, self.left])
        return sp.csr_array((both, ends), shape=(self.nodes, self.nodes))

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """[N] how many pairs a node is in."""
        return np.bincount(np.concatenate([self.left, self.right]), minlength=self.nodes)
