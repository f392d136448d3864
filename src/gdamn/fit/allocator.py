"""What the C library does with memory that a fit frees: keep it for the next epoch, or return it at once."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4  # of glibc's malloc.h

LARGE_BYTES = 1 << 20
"""Arrays from which on a fit that is sparing with memory gives each back to the system at once."""


@contextmanager
def kept_memory() -> Iterator[None]:
    """Within the block memory that was freed stays with the process, and goes back to the system at its end.

    Each epoch frees and asks again for the same large arrays. Left alone, glibc returns them to the system every
    time, and the system hands out new pages one fault at a time: at ogbn-arxiv's size a third of the whole time.
    """
    libc = _glibc()
    if libc is None:
        yield
        return
    libc.mallopt(_M_MMAP_MAX, 0)
    libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
    try:
        yield
    finally:
        libc.mallopt(_M_MMAP_MAX, 65536)
        libc.mallopt(_M_TRIM_THRESHOLD, 128 * 1024)
        libc.malloc_trim(0)


@contextmanager
def returned_memory() -> Iterator[None]:
    """Within the block every large array goes back to the system when it is freed.

    Left alone, glibc learns to take arrays of up to 32 MB from its heap, where what is freed leaves gaps: with the
    parts of a graph, whose arrays are of that size, they took 0.4 GB of 1.5.
    """
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
    yield
    if libc is not None:
        libc.malloc_trim(0)


def _glibc() -> Any:
    """The C library, where its memory can be told what to do; None where it is another."""
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt.argtypes = [ctypes.c_int, ctypes.c_int]
        return libc if libc.malloc_trim is not None else None
    except (OSError, AttributeError):
        return None
