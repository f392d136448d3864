"""The kernels that most tests use, compiled once by all processes of pytest together: each takes the next of them.

Where nothing is in numba's cache yet, every process (and every one that a test starts) would compile them all.
A kernel or a type that is missing here is compiled by whoever calls it first.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import filelock

WITHIN = 600
"""Seconds that one process waits for a kernel of another."""

KERNELS = {
    "kernels.numba.sparse.spmm_permuted": "L I I f F F L",
    "kernels.numba.sparse.spmm": "L I f F f F L",
    "kernels.numba.dense.matmul_t": "F F F int64",
    "kernels.numba.edges.bernoulli_kl": "f f b f f",
    "kernels.numba.edges.softmax_losses": "F F F f f f",
    "kernels.numba.edges.edge_softmax": "L f f f f L",
    "kernels.numba.dense.matmul_narrow": "F F F F",
    "kernels.numba.sparse.sddmm": "L I F F f L",
    "kernels.numba.elementwise.dropout": "f f uint64 uint64 float32",
    "kernels.numba.dense.matmul": "F F F F",
    "kernels.numba.edges.unit_rows_backward": "F f F f F F F",
    "kernels.numba.edges.binary_concrete": "f i b uint64 float32 f f",
    "kernels.numba.elementwise.relu_dropout": "f f uint64 uint64 float32",
    "kernels.numba.edges.edge_softmax_backward": "L f f f f f f L",
    "kernels.numba.edges.unit_rows": "F f F f",
    "kernels.numba.edges.softmax_losses_backward": "F F F f f float32 float32 F",
    "kernels.numba.dense.column_sums": "F F",
    "kernels.numba.elementwise.adam": "f f f f float32 float32 constants",
    "graph.loops._with_loops": "L I int64",
    "kernels.numba.sparse.add_reverse": "f I f",
    "kernels.numba.elementwise.relu_dropout_backward": "f f f float32",
    "kernels.numba.elementwise.relu": "f f",
    "kernels.numba.dense.pack": "F F",
    "graph.loops._fill_attributes": "l l I int64 b i",
}
"""What a fit calls, the longest to compile first: arrays of f float32, i int32, l int64 and b bool; I, L: read-only."""


def kernel(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(import_module(f"gdamn.{module}"), function)


def signature(letters: str) -> tuple[Any, ...]:
    """The types of a kernel's arguments."""
    from numba import types

    def array(of: Any, dimensions: int = 1, readonly: bool = False) -> Any:
        return types.Array(of, dimensions, "C", readonly=readonly)

    known = {
        **{"f": array(types.float32), "F": array(types.float32, 2), "b": array(types.boolean)},
        **{"i": array(types.int32), "I": array(types.int32, readonly=True)},
        **{"l": array(types.int64), "L": array(types.int64, readonly=True)},
        **{"constants": types.UniTuple(types.float32, 5)},
    }
    return tuple(known[letter] if letter in known else getattr(types, letter) for letter in letters.split())


def compile_together(folder: Path) -> None:
    """Return when every kernel is compiled: by this process, or by another that was given the same folder."""
    folder.mkdir(exist_ok=True)
    locks = {name: filelock.FileLock(folder / f"{name}.lock", timeout=WITHIN) for name in KERNELS}
    for wait in (False, True):  # those of the others, once there is nothing left to take
        for name, letters in KERNELS.items():
            done = folder / name
            try:
                with locks[name].acquire(blocking=wait):
                    if not done.exists():
                        kernel(name).compile(signature(letters))
                        done.touch()
            except filelock.Timeout:
                assert not wait, f"another process does not end with {name}"
