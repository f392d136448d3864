"""Which part of the whole the arrays of this process are; everywhere but in distributed training they are the whole.

Noise is a function of a number's place in the whole array, and some sums run over all rows. A :class:`Key` carries the
place of the process that draws with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Place:
    """Where this process's arrays begin in the whole ones.

    Attributes:
        first_row: the first of its nodes; arrays [N, H] begin at ``first_row`` · H.
        first_entry: the first of its entries of A + I; arrays [E] begin there.
        rows, entries: nodes and entries of all processes together, or None where this process has them all.
        total: the sum of a tensor over all processes, the same on each of them; None likewise.
        every: the rows [N, H] of all processes, on each of them; None likewise.
    """

    first_row: int = 0
    first_entry: int = 0
    rows: int | None = None
    entries: int | None = None
    total: Callable[[Tensor], Tensor] | None = None
    every: Callable[[Tensor], Tensor] | None = None

    @property
    def whole(self) -> bool:
        """Whether this process has everything."""
        return self.rows is None

    def start_of(self, x: Tensor) -> int:
        """Place of the first number of x, an array of nodes [N, H] or of entries [E], in the whole array."""
        return self.first_entry if x.ndim == 1 else self.first_row * math.prod(x.shape[1:])

    def rows_of(self, x: Tensor) -> int:
        """Rows of the whole array that x [N, H] is a part of."""
        return len(x) if self.rows is None else self.rows

    def sum(self, x: Tensor) -> Tensor:
        """x summed over all processes."""
        return x if self.total is None else self.total(x)

    def all_rows(self, mine: Tensor) -> Tensor:
        """Rows of nodes [n, H] with those of all other processes: [N, H]."""
        return mine if self.every is None else self.every(mine)

    def own_rows(self, everyone: Tensor, count: int) -> Tensor:
        """The ``count`` rows of this process among those of all."""
        return everyone[self.first_row : self.first_row + count]


WHOLE = Place()
"""The place of a process that has everything."""
