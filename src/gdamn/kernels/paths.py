"""Which body of an operation runs.

Each operation has two bodies with the same result: compiled loops for float32 on the CPU, and plain torch
(:mod:`plain`) for every other device and type. :func:`use_kernels` forces one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import ConfigError
from .noise import LANES, Key, threshold

_forced: str | None = None


@contextmanager
def use_kernels(name: str | None) -> Iterator[None]:
    """Within the block use the kernels called ``fast`` or ``torch``; None chooses by device."""
    global _forced
    if name not in (None, "fast", "torch"):
        raise ConfigError(f"There are no kernels called {name!r}; choose 'fast', 'torch' or None.")
    before, _forced = _forced, name
    try:
        yield
    finally:
        _forced = before


def is_fast(*tensors: Tensor) -> bool:
    """Whether the compiled loops can and shall work on these."""
    if _forced == "torch":
        return False
    can = all(t.device.type == "cpu" and t.dtype == torch.float32 for t in tensors)
    if _forced == "fast" and not can:
        kinds = ", ".join(f"{t.dtype} on {t.device}" for t in tensors)
        raise ConfigError(f"The compiled kernels work on float32 tensors on the CPU; got {kinds}.")
    return can


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
