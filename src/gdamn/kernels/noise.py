"""Noise from a counter-based hash: the value at (key, index) is a pure function of both.

Nothing is stored and nothing is consumed in order, so both directions of an edge, any number of threads, any
order of blocks and a resumed run all draw the same numbers. The hash is the finaliser of SplitMix64 applied to
``key + (index + 1) * GOLDEN``; its top 23 bits make a float32 uniform in the open interval (0, 1).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numba
import numpy as np
import torch

from .place import WHOLE, Place

_MASK = (1 << 64) - 1
_GOLDEN, _M1, _M2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_SCALE = np.float32(2.0**-23)

_u = np.uint64
_G64, _A64, _B64 = _u(_GOLDEN), _u(_M1), _u(_M2)
_S30, _S27, _S31, _S41, _ONE = _u(30), _u(27), _u(31), _u(41), _u(1)


@dataclass(frozen=True)
class Key:
    """A 64-bit name of one stream of noise; fold in a phase or a step to get a child.

    Attributes:
        place: which part of the whole arrays this process draws for; children keep it.
    """

    value: int
    place: Place = field(default=WHOLE, compare=False, repr=False)

    def fold(self, part: int | str) -> Key:
        """The child of this key for a number or a word."""
        number = zlib.crc32(part.encode()) + (1 << 40) if isinstance(part, str) else part
        return Key(_mix(self.value ^ _mix((number + 1) * _GOLDEN & _MASK)), self.place)

    def ahead(self, count: int) -> Key:
        """The key whose noise at index i is this one's at i + count."""
        return Key((self.value + count * _GOLDEN) & _MASK, self.place)


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * _M1) & _MASK
    z = ((z ^ (z >> 27)) * _M2) & _MASK
    return z ^ (z >> 31)


@numba.njit(inline="always")
def uniform(key, index):  # type: ignore[no-untyped-def]
    """float32 in (0, 1) at (key, index): both uint64; called inside the compiled kernels."""
    z = key + (index + _ONE) * _G64
    z = (z ^ (z >> _S30)) * _A64
    z = (z ^ (z >> _S27)) * _B64
    z = z ^ (z >> _S31)
    return (np.float32(np.int32(z >> _S41)) + np.float32(0.5)) * _SCALE  # 23 bits; int32 has vector code


def uniform_torch(key: Key, index: torch.Tensor) -> torch.Tensor:
    """The same numbers by plain torch, on the device of ``index`` (integers of any shape)."""
    z = (index.to(torch.int64) + 1) * _signed(_GOLDEN) + _signed(key.value)
    z = (z ^ _shift(z, 30)) * _signed(_M1)
    z = (z ^ _shift(z, 27)) * _signed(_M2)
    z = z ^ _shift(z, 31)
    return (_shift(z, 41).to(torch.float32) + 0.5) * float(_SCALE)


LANES = 4
"""Dropout takes this many 16-bit numbers from one hash: its rate is exact to 1/65536, and it costs a quarter."""


@numba.njit(inline="always")
def lanes(key, group):  # type: ignore[no-untyped-def]
    """The 64 bits at (key, group), for four entries of 16 bits."""
    z = key + (group + _ONE) * _G64
    z = (z ^ (z >> _S30)) * _A64
    z = (z ^ (z >> _S27)) * _B64
    return z ^ (z >> _S31)


def lane_torch(key: Key, index: torch.Tensor) -> torch.Tensor:
    """The 16 bits of each entry, 0 to 65535, by plain torch."""
    z = (torch.div(index, LANES, rounding_mode="floor") + 1) * _signed(_GOLDEN) + _signed(key.value)
    z = (z ^ _shift(z, 30)) * _signed(_M1)
    z = (z ^ _shift(z, 27)) * _signed(_M2)
    z = z ^ _shift(z, 31)
    return (z >> (16 * (index % LANES))) & 0xFFFF


def threshold(rate: float) -> int:
    """Entries whose 16 bits are below this are dropped."""
    return round(rate * 65536)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _shift(z: torch.Tensor, bits: int) -> torch.Tensor:
    """Logical right shift of int64."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)
