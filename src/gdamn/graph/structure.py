"""Structure: A + I, the pattern that messages pass over, with what belongs to its entries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .pattern import Pattern
from .read_only import as_tensor, seal_fields, sealed

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Structure:
    """The message-passing pattern of A + I: what the attentions and the propagators work on.

    Attributes:
        pattern: CSR of A + I, shape [N, N], E entries, with its transpose held ready.
        weights: [E] weight of each entry in the input graph; 1 for loops and for unweighted graphs.
        loop: [E] True where the entry is a self-loop.
        pair: [E] number of the unordered pair {i, j}: both directions of an edge share it, so that one noise
            is drawn per pair.
        kept: [E] True where a person confirmed the edge, so that it is never cut; None where nobody did.
    """

    pattern: Pattern
    weights: NDArray[np.float32]
    loop: NDArray[np.bool_]
    pair: NDArray[np.int32]
    kept: NDArray[np.bool_] | None = None
    _tensors: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        seal_fields(self, ("weights", "loop", "pair", "kept"))

    def tensor(self, name: str, device: torch.device) -> torch.Tensor:
        """One of the arrays as a tensor on a device, made once."""
        key = (name, str(device))
        if key not in self._tensors:
            self._tensors[key] = as_tensor(getattr(self, name)).to(device)
        tensor: torch.Tensor = self._tensors[key]
        return tensor

    def weighed(self, factors: NDArray[np.float32]) -> Structure:
        """The same pattern with every edge's weight times its factor [E]; loops stay."""
        return replace(self, weights=np.where(self.free, self.weights * factors, self.weights), _tensors={})

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """[E] True where the entry is an edge, not a self-loop."""
        return sealed(~self.loop)

    @cached_property
    def open(self) -> NDArray[np.bool_]:
        """[E] True where the hard attention decides: on edges that nobody confirmed."""
        return self.free if self.kept is None else sealed(self.free & ~self.kept)

    @cached_property
    def certain(self) -> NDArray[np.int64]:
        """Positions of the entries that exist for certain: loops, and edges that were confirmed."""
        return self.loops if self.kept is None else sealed(np.flatnonzero(~self.open))

    @cached_property
    def loops(self) -> NDArray[np.int64]:
        """[N] positions of the loops, in the order of the nodes."""
        return sealed(np.flatnonzero(self.loop))

    @cached_property
    def off_loop(self) -> NDArray[np.int64]:
        """[E - N] positions of the entries that are edges, not loops; in the order of the graph's CSR."""
        return sealed(np.flatnonzero(~self.loop))

    @cached_property
    def isolated(self) -> NDArray[np.bool_]:
        """[N] True where the node has no edge in either direction, only its loop."""
        pattern = self.pattern
        return sealed((np.diff(pattern.indptr) == 1) & (np.diff(pattern.t_indptr) == 1))
