"""Lowest, middle and highest of numbers that come in blocks: exact, in two passes and a bounded memory.

Numbers of float32 that aren't negative have the order of their bits. The first pass counts them by the upper half of
these, the second those that share it with the two middle ones by the lower half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

HALF = 1 << 16


class StreamedSpread:
    """The spread of numbers that are given twice, block by block: first to :meth:`count`, then to :meth:`place`."""

    def __init__(self) -> None:
        self._upper = np.zeros(HALF, np.int64)
        self._lower: dict[int, NDArray[np.int64]] = {}
        self.lowest, self.highest = np.inf, -np.inf

    def count(self, values: NDArray[Any]) -> None:
        """The first pass; values of 0 or more."""
        if len(values):
            self.lowest, self.highest = min(self.lowest, values.min()), max(self.highest, values.max())
            self._upper += np.bincount(_bits(values) >> 16, minlength=HALF)

    def place(self, values: NDArray[Any]) -> None:
        """The second pass, over the same values."""
        bits = _bits(values)
        for upper, _ in self._middle():
            counts = self._lower.setdefault(upper, np.zeros(HALF, np.int64))
            counts += np.bincount(bits[bits >> 16 == upper] & (HALF - 1), minlength=HALF)

    def _middle(self) -> list[tuple[int, int]]:
        """The upper halves of the two middle numbers (one, where they share it), and how many are below each half."""
        total, below = int(self._upper.sum()), np.cumsum(self._upper)
        ranks = {(total - 1) // 2, total // 2} if total else set()
        uppers = sorted({int(np.searchsorted(below, rank, side="right")) for rank in ranks})
        return [(upper, int(below[upper] - self._upper[upper])) for upper in uppers]

    @property
    def median(self) -> float | None:
        """The middle number, or the mean of the two; None without any."""
        total = int(self._upper.sum())
        if not total:
            return None
        known = self._middle()
        found = []
        for rank in ((total - 1) // 2, total // 2):
            upper, below = next(each for each in reversed(known) if each[1] <= rank)
            lower = int(np.searchsorted(np.cumsum(self._lower[upper]), rank - below, side="right"))
            found.append(np.array([upper << 16 | lower], np.uint32).view(np.float32))
        return float(np.mean(found))

    def report(self) -> dict[str, float | None]:
        """Plain data, as :func:`gdamn.using.refine.spread` gives it."""
        if self.median is None:
            return {"lowest": None, "median": None, "highest": None}
        return {"lowest": float(self.lowest), "median": self.median, "highest": float(self.highest)}


def _bits(values: NDArray[Any]) -> NDArray[np.int64]:
    """The numbers' bits; -0 counts as 0."""
    plain = np.maximum(np.ascontiguousarray(values, np.float32), np.float32(0)) + np.float32(0)
    bits: NDArray[np.int64] = plain.view(np.uint32).astype(np.int64)
    return bits
