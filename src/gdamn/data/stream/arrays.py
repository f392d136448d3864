"""Arrays that are written piece by piece, and spilled ones that are read so."""

from __future__ import annotations

import io as streams
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...system import io, reading

LEAF = 1 << 20
"""Numbers that are summed, or rows that are made, at a time."""


@contextmanager
def array_file(folder: Path, name: str, dtype: Any, *tail: int) -> Iterator[Callable[[NDArray[Any]], None]]:
    """Append to an array of a graph folder, [rows, \\*tail]; the file is there, with its shape, when the block ends."""
    io.remove_leftovers(folder / f"{name}.npy")
    with io.replacing(folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
        rows = 0

        def append(piece: NDArray[Any]) -> None:
            nonlocal rows
            file.write(_bytes(piece, dtype))
            rows += len(piece)

        file.write(_header(dtype, (0, *tail)))
        yield append
        file.seek(0)
        file.write(_header(dtype, (rows, *tail)))


def _header(dtype: Any, shape: tuple[int, ...]) -> bytes:
    """The header of an .npy file; NumPy leaves room in it for a longer shape, so that it can be replaced."""
    header = streams.BytesIO()
    facts = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, facts)
    return header.getvalue()


def _bytes(array: NDArray[Any], dtype: Any) -> memoryview:
    """The bytes of an array of this type."""
    return np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8).data


def mapped(folder: Path, name: str) -> NDArray[Any]:
    """An array of a graph folder, not read."""
    array: NDArray[Any] = np.asarray(np.load(folder / f"{name}.npy", mmap_mode="c", allow_pickle=False))
    return array


def hashed(folder: Path, names: list[str]) -> dict[str, str]:
    """The hash of each array's file."""
    return {name: reading.sha256(folder / f"{name}.npy") for name in names}


class Spill:
    """Numbers on disk: appended, then read in runs."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self.path, self.dtype, self.count = path, np.dtype(dtype), 0
        self.path.unlink(missing_ok=True)

    @classmethod
    def there(cls, path: Path, dtype: Any) -> Spill:
        """One that was written before."""
        spill = cls.__new__(cls)
        spill.path, spill.dtype = path, np.dtype(dtype)
        spill.count = path.stat().st_size // spill.dtype.itemsize if path.exists() else 0
        return spill

    def append(self, numbers: NDArray[Any]) -> None:
        """Write numbers behind the others."""
        try:
            with self.path.open("ab") as file:
                file.write(_bytes(numbers, self.dtype))
        except OSError as cause:
            raise io.output_error(self.path, cause) from cause
        self.count += numbers.size

    def read(self, begin: int = 0, end: int | None = None) -> NDArray[Any]:
        """The numbers of a run."""
        count = (self.count if end is None else min(end, self.count)) - begin
        if count <= 0:
            return np.empty(0, self.dtype)
        return np.fromfile(self.path, self.dtype, count, offset=begin * self.dtype.itemsize)

    def runs(self, size: int) -> Iterator[NDArray[Any]]:
        """All of it, so many numbers at a time."""
        for begin in range(0, self.count, size):
            yield self.read(begin, begin + size)

    def remove(self) -> None:
        """Give the disk back."""
        self.path.unlink(missing_ok=True)


def moments(numbers: Spill) -> tuple[float, float]:
    """Mean and spread, in the bits that ``array.mean()`` and ``array.std()`` have.

    NumPy sums pairwise: the sum of n numbers is that of the first n/2, rounded down to a multiple of 8, and that of the
    rest. Cut in the same places, the sum over pieces is the same.
    """
    n = numbers.count
    mean = _pairwise(numbers, 0, n, lambda piece: piece) / n
    spread = np.sqrt(_pairwise(numbers, 0, n, lambda piece: np.square(piece - mean)) / n)
    return float(mean), float(spread)


def _pairwise(
    numbers: Spill, begin: int, end: int, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> np.float64:
    """The sum of changed numbers of a run."""
    size = end - begin
    if size <= max(LEAF, 128):
        total: np.float64 = np.add.reduce(change(numbers.read(begin, end)))
        return total
    half = size // 2
    half -= half % 8
    left = _pairwise(numbers, begin, begin + half, change)
    return left + _pairwise(numbers, begin + half, end, change)
