"""Ids of any kind to node numbers, by hashes of 128 bits: what is looked up at once fits a bounded memory.

A hash has two halves, each mixed from the text's bytes with a seed of its own that is drawn anew for every conversion.
Two of n ids share one with a chance below n² / 2¹²⁸, so a billion ids do with less than 1 in 10²⁰.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
"""[n, 2] hashes of ids."""

MOST_IDS = 1 << 25
"""Ids that are looked up at once, in about 1 GB; with more of them the edges are gone through several times."""


def hash_texts(texts: Any, seeds: NDArray[np.uint64]) -> Keys:
    """[n, 2] hashes of Arrow's large strings; there must be no null."""
    keys = np.empty((len(texts), 2), np.uint64)
    if len(texts):
        _, offsets, data = texts.buffers()
        places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        _hash(places, content, seeds, keys)
    return keys


class IdTable:
    """Node numbers by hashes of ids: open addressing, the keys in an array of their own.

    Args:
        keys: [n, 2] hashes of the ids of the nodes ``first``, ``first`` + 1, ….
    """

    def __init__(self, keys: Keys, first: int = 0) -> None:
        self.keys, self.first = keys, first
        self._slots = np.full(1 << max(4, (2 * len(keys) - 1).bit_length()), -1, np.int32)
        self.repeated = int(_insert(self.keys, self._slots))
        """The first node whose id stands there before, counted from ``first``; -1 for none."""

    def numbers(self, keys: Keys) -> NDArray[np.int64]:
        """[m] the nodes of these hashes; -1 for none."""
        found = np.empty(len(keys), np.int64)
        _look_up(self.keys, self._slots, keys, found)
        found[found >= 0] += self.first
        return found


_A, _B, _C = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15)


@numba.njit(cache=True)
def _mixed(h):
    """SplitMix64's finaliser: every bit of the result depends on every bit of the argument."""
    h = (h ^ (h >> np.uint64(30))) * _A
    h = (h ^ (h >> np.uint64(27))) * _B
    return h ^ (h >> np.uint64(31))


@numba.njit(cache=True)
def _hash(places, content, seeds, keys):
    """Eight bytes at a time, then the length."""
    for at in range(len(keys)):
        begin, end = places[at], places[at + 1]
        one, two = seeds[0], seeds[1]
        for start in range(begin, end, 8):
            word = np.uint64(0)
            for byte in range(start, min(start + 8, end)):
                word = (word << np.uint64(8)) | np.uint64(content[byte])
            one = _mixed(one ^ word) + _C
            two = _mixed(two + word * _C) ^ _A
        length = np.uint64(end - begin)
        keys[at, 0] = _mixed(one ^ length)
        keys[at, 1] = _mixed(two + length)


@numba.njit(cache=True)
def _insert(keys, slots):
    mask = np.uint64(len(slots) - 1)
    repeated = -1
    for at in range(len(keys)):
        place = keys[at, 0] & mask
        while slots[place] >= 0:
            other = slots[place]
            if keys[other, 0] == keys[at, 0] and keys[other, 1] == keys[at, 1]:
                break
            place = (place + np.uint64(1)) & mask
        if slots[place] >= 0:
            if repeated < 0:
                repeated = at
        else:
            slots[place] = at
    return repeated


@numba.njit(cache=True)
def _look_up(keys, slots, wanted, found):
    mask = np.uint64(len(slots) - 1)
    for at in range(len(wanted)):
        place = wanted[at, 0] & mask
        found[at] = -1
        while slots[place] >= 0:
            other = slots[place]
            if keys[other, 0] == wanted[at, 0] and keys[other, 1] == wanted[at, 1]:
                found[at] = other
                break
            place = (place + np.uint64(1)) & mask
