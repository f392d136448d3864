"""The first use of an installation: the kernels of a fit are compiled side by side, by processes of their own.

numba compiles a kernel where it is first called, one after the other, and keeps it for later processes. Here processes
compile what a fit of GDAMN will need, each a part, before the first epoch; the fit then loads what they kept. What
can't be compiled so, for whatever reason, is compiled where it is first called, as ever.
"""

from __future__ import annotations

import importlib
import subprocess  # nosec B404  # for this very module, without a shell
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from . import threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KERNELS = """
kernels.numba.sparse spmm_permuted l1r i1r i1r f1 f2 f2 l1r
kernels.numba.sparse spmm l1r i1r f1 f2 f1 f2 l1r
kernels.numba.dense matmul_t f2 f2 f2 l
kernels.numba.edges bernoulli_kl f1 f1 b1 f1 f1
kernels.numba.edges softmax_losses f2 f2 f2 f1 f1 f1
kernels.numba.sparse sddmm l1r i1r f2 f2 f1 l1r
kernels.numba.edges edge_softmax l1r f1 f1 f1 f1 l1r
kernels.numba.elementwise relu_dropout f1 f1 u u f
kernels.numba.dense matmul_narrow f2 f2 f2 f2
kernels.numba.dense matmul f2 f2 f2 f2
kernels.numba.edges unit_rows_backward f2 f1 f2 f1 f2 f2 f2
kernels.numba.edges binary_concrete f1 i1 b1 u f f1 f1
kernels.numba.elementwise dropout f1 f1 u u f
kernels.numba.edges edge_softmax_backward l1r f1 f1 f1 f1 f1 f1 l1r
kernels.numba.elementwise relu f1 f1
kernels.numba.dense column_sums f2 f2
kernels.numba.edges unit_rows f2 f1 f2 f1
kernels.numba.edges softmax_losses_backward f2 f2 f2 f1 f1 f f f2
kernels.numba.elementwise adam f1 f1 f1 f1 f f 5*f
graph.loops _with_loops l1r i1r l
kernels.numba.elementwise relu_dropout_backward f1 f1 f1 f
kernels.numba.sparse add_reverse f1 i1r f1
graph.transpose _transpose l1r i1r l1 i1 i1
graph.loops _fill_attributes l1 l1 i1r l b1 i1
kernels.numba.dense pack f2 f2
"""
"""What a fit of GDAMN needs: module, function, and the types of its arguments, the longest to compile first.

f, i, l, u and b are float32, int32, int64, uint64 and bool; with a number an array of so many dimensions, with r one
that is read alone; 5*f is a tuple of five.
"""

FEW = 8
"""So few missing kernels are left to the fit: processes would take longer to start."""
MOST = 8
"""Processes, at most."""


def prepare(limit: int = 0) -> None:
    """Compile the missing kernels, where they are many and there is more than one core for it.

    Args:
        limit: threads of the fit, 0 for all.
    """
    absent = [at for at, (_, kernel, _) in enumerate(listed()) if not is_kept(kernel)]
    count = min(MOST, limit or threads.allowed(), len(absent))
    if count < 2 or len(absent) < FEW:
        return
    from numba.core import event

    with event.trigger_event("numba:compile", {"kernels": len(absent)}):  # as if numba compiled here: it is told
        compile_apart([absent[k::count] for k in range(count)])


def compile_apart(parts: Sequence[Sequence[int]]) -> None:
    """Each part of the list of kernels by a process of its own; ends when all have ended."""
    command, quiet = [sys.executable, "-m", __name__], subprocess.DEVNULL
    workers: list[subprocess.Popen[bytes]] = []
    try:
        with suppress(OSError):  # no such program: the fit compiles by itself
            for part in parts:
                own = [*command, *(str(at) for at in part)]
                workers.append(subprocess.Popen(own, stdin=quiet, stdout=quiet, stderr=quiet))  # nosec B603  # numbers
        for worker in workers:
            worker.wait()
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def listed() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Name, kernel and argument types of each line of :data:`KERNELS`."""
    for line in KERNELS.split("\n")[1:-1]:
        module, name, *codes = line.split()
        kernel = getattr(importlib.import_module(f"gdamn.{module}"), name)
        yield name, kernel, tuple(numba_type(code) for code in codes)


def numba_type(code: str) -> Any:
    """The type that a code of :data:`KERNELS` stands for."""
    from numba import types

    count, _, code = code.rpartition("*")
    plain = {"f": types.float32, "i": types.int32, "l": types.int64, "u": types.uint64, "b": types.boolean}[code[0]]
    if count:
        return types.UniTuple(plain, int(count))
    return types.Array(plain, int(code[1]), "C", readonly=code.endswith("r")) if len(code) > 1 else plain


def is_kept(kernel: Any) -> bool:
    """Whether numba has it compiled, in this process or in its cache, for the source as it is now."""
    try:
        return bool(kernel.signatures or kernel._cache._cache_file._load_index())
    except (AttributeError, OSError):  # not compiled, or no cache of this kind: nothing that processes could share
        return True


def main(numbers: Sequence[str]) -> None:
    """Compile the kernels of these places in the list."""
    kernels = list(listed())
    for number in numbers:
        _, kernel, types = kernels[int(number)]
        kernel.compile(types)


if __name__ == "__main__":
    main(sys.argv[1:])
