"""Which body of an operation runs, and on how many threads.

Each operation has two bodies with the same result: compiled loops for float32 on the CPU, and plain torch
(:mod:`plain`) for every other device and type. :func:`use_kernels` forces one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from .noise import LANES, Key, threshold

_forced: str | None = None
_limit = 0
_now = 0

SMALL = 500_000
"""Loops with fewer multiplications than this run on one thread: waking the others would cost more."""


def set_threads(count: int) -> int:
    """Let the compiled loops use ``count`` threads (0: all); returns the limit before."""
    global _limit, _now
    before, _limit, _now = _limit, count, 0
    return before


def use_threads(work: int) -> None:
    """Threads for the next loop: one for a small loop, all that are allowed for a large one."""
    global _now
    most: int = numba.config.NUMBA_NUM_THREADS
    count = 1 if work < SMALL else max(1, min(_limit or most, most))
    if count != _now:
        numba.set_num_threads(count)
        _now = count


@contextmanager
def use_kernels(name: str | None) -> Iterator[None]:
    """Within the block use the kernels called ``fast`` or ``torch``; None chooses by device."""
    global _forced
    before, _forced = _forced, name
    try:
        yield
    finally:
        _forced = before


def is_fast(*tensors: Tensor) -> bool:
    """Whether the compiled loops can and shall work on these."""
    if _forced is not None:
        return _forced == "fast"
    return all(t.device.type == "cpu" and t.dtype == torch.float32 for t in tensors)


def array(t: Tensor) -> Any:
    """The tensor's numbers for a compiled loop: contiguous, and without a copy where they are."""
    return t.detach().contiguous().numpy()


def dropout_arguments(rate: float, key: Key) -> tuple[Any, ...]:
    """Key, limit and scale of dropout for the compiled loops."""
    return np.uint64(key.value), np.uint64(threshold(rate)), np.float32(1 / (1 - rate))


def run_from(first: int, loop: Callable[..., None], flat: Any, out: Any, rate: float, key: Key) -> None:
    """A loop with dropout over flat arrays whose noise begins at place ``first``, in the midst of a hash or not."""
    head = min(-first % LANES, len(flat))  # numbers whose hash began before them
    if head:
        whole, done = np.zeros(LANES, np.float32), np.empty(LANES, np.float32)
        begin = first % LANES
        whole[begin : begin + head] = flat[:head]
        loop(whole, done, *dropout_arguments(rate, key.ahead(first // LANES)))
        out[:head] = done[begin : begin + head]
    loop(flat[head:], out[head:], *dropout_arguments(rate, key.ahead((first + head) // LANES)))
