"""Drawing many distinct random node pairs without a Python loop over them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
"""Pairs of nodes as one number each: row * N + column."""

CHUNK = 1 << 25
"""At most so many pairs are drawn in one round, to bound the memory of the top-up rounds."""


def pair_codes(a: NDArray[np.int64], b: NDArray[np.int64], n: int, ordered: bool) -> Codes:
    """Codes of the pairs (a, b); of the unordered pairs, smaller node first, unless ``ordered``."""
    if ordered:
        return a * n + b
    return np.minimum(a, b) * n + np.maximum(a, b)


def contains(sorted_codes: Codes, codes: Codes) -> NDArray[np.bool_]:
    """Whether each code stands in a sorted array of codes."""
    if len(sorted_codes) == 0:
        return np.zeros(len(codes), dtype=bool)
    at = np.minimum(np.searchsorted(sorted_codes, codes), len(sorted_codes) - 1)
    return np.asarray(sorted_codes[at] == codes)


def draw_distinct(
    count: int, available: int, draw: Callable[[int], Codes], taken: Codes, rng: np.random.Generator
) -> Codes:
    """``count`` distinct codes, none of them taken, sorted.

    The first round draws what is wanted; what fell to repetitions and taken pairs is topped up in later rounds,
    which grow as free pairs become rare.

    Args:
        count: how many codes are wanted; at most ``available``.
        available: how many codes ``draw`` can give that aren't taken.
        draw: gives so many random codes (or somewhat fewer), with repetitions.
        taken: sorted codes that must not come up.
        rng: chooses which of a round's surplus stays.
    """
    drawn = np.empty(0, np.int64)
    while len(drawn) < count:
        missing = count - len(drawn)
        free = available - len(drawn)
        size = missing if len(drawn) == 0 else int(1.2 * missing * (available + len(taken)) / free) + 64
        new = _distinct(draw(size if len(drawn) == 0 else min(size, CHUNK)))
        new = new[~contains(taken, new)]
        new = new[~contains(drawn, new)]
        if len(new) > missing:
            new = rng.choice(new, missing, replace=False, shuffle=False)
        drawn = np.concatenate([drawn, new])
        drawn.sort(kind="stable")
    return drawn


def _distinct(codes: Codes) -> Codes:
    """Sorted, each once; sorts in place, because hashing as np.unique does is far slower on many codes."""
    codes.sort()
    first = np.ones(len(codes), dtype=bool)
    np.not_equal(codes[1:], codes[:-1], out=first[1:])
    return codes if first.all() else codes[first]
