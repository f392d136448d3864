"""Very large arrays that are used again: an epoch asks for the same sizes as the one before.

The C library keeps freed memory (fit/allocator.py), but cuts it up for smaller arrays; on graphs of
millions of edges the gaps took half as much memory as the arrays. So while a fit runs, a very large array that nobody
holds any more waits here for the next request of exactly its size. Smaller ones are quicker without.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

LARGE = 1 << 25
"""Numbers from which on an array is kept."""

_waiting: dict[int, list[Tensor]] | None = None


class _Lease:
    """Owner of a buffer while a tensor uses it; when the last user is gone, the buffer waits for the next."""

    def __init__(self, buffer: Tensor) -> None:
        self.buffer = buffer
        self.__array_interface__: dict[str, Any] = buffer.numpy().__array_interface__

    def __del__(self) -> None:
        if _waiting is not None:
            _waiting.setdefault(len(self.buffer), []).append(self.buffer)


def empty(*shape: int) -> Tensor:
    """An uninitialised float32 tensor on the CPU, of a buffer that was used before where one waits."""
    size = math.prod(shape)
    if _waiting is None or size < LARGE:
        return torch.empty(shape)
    stock = _waiting.get(size)
    buffer = stock.pop() if stock else torch.empty(size)
    return torch.from_numpy(np.asarray(_Lease(buffer))).view(shape)


@contextmanager
def kept_arrays() -> Iterator[None]:
    """Within the block large arrays of :func:`empty` are kept for use again; at its end they are given back."""
    global _waiting
    before, _waiting = _waiting, {} if _waiting is None else _waiting
    try:
        yield
    finally:
        _waiting = before
