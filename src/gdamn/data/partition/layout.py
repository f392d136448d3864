"""Layout: the order of the nodes in which a part is a run of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError
from ...graph.parts import ALIGNMENT


@dataclass(frozen=True, eq=False)
class Layout:
    """Nodes in an order in which every part is a run.

    Attributes:
        order: [N] the graph's nodes in their new order.
        bounds: [P + 1] where the parts begin, and N.
        partitioner: who chose the parts.
    """

    order: NDArray[np.int64]
    bounds: NDArray[np.int64]
    partitioner: str

    @classmethod
    def make(cls, parts: NDArray[np.int32], local: NDArray[np.int64] | None, count: int, partitioner: str) -> Layout:
        """From the part of each node.

        Args:
            parts: [N] the part of each node.
            local: [N] an order of the nodes that is kept within the parts; None for that of the graph.
        """
        local = np.arange(len(parts)) if local is None else local
        order = local[np.argsort(parts[local], kind="stable")]
        return cls(order, aligned_bounds(np.bincount(parts, minlength=count)), partitioner)

    @property
    def places(self) -> NDArray[np.int64]:
        """[N] the new number of each of the graph's nodes."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(self.order))
        return places


def aligned_bounds(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """[P + 1] where parts of about these sizes begin: at multiples of four, with at least four nodes each."""
    count, n = len(sizes), int(sizes.sum())
    check_count(n, count)
    bounds = np.zeros(count + 1, np.int64)
    np.cumsum(sizes, out=bounds[1:])
    bounds -= bounds % ALIGNMENT
    steps = ALIGNMENT * np.arange(count + 1)
    bounds = np.maximum.accumulate(bounds - steps) + steps  # each at least four after the one before
    bounds = np.minimum(bounds, n - n % ALIGNMENT - ALIGNMENT * count + steps)  # and room for those that follow
    bounds[0], bounds[-1] = 0, n
    return bounds


def check_count(nodes: int, count: int) -> None:
    """Refuse more parts than there are nodes for."""
    if not 1 <= count <= max(nodes // ALIGNMENT, 1):
        raise ConfigError(
            f"The graph has {nodes:,} nodes, so there can be 1 to {max(nodes // ALIGNMENT, 1):,} parts of at least "
            f"{ALIGNMENT} nodes; choose another --parts than {count:,}."
        )
