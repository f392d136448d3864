"""Scratch: arrays that are too large for the memory, in files that are gone at the end."""

from __future__ import annotations

import mmap
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import io

if TYPE_CHECKING:
    from numpy.typing import NDArray

PREFIX = ".gdamn-scratch-"


class Scratch:
    """Mapped arrays below a folder; use :func:`scratch`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._maps: dict[int, Any] = {}
        self._made = 0

    def zeros(self, *shape: int, dtype: Any = "<f4") -> NDArray[Any]:
        """An array of zeros in a new file; what was never written takes no room on most disks."""
        import numpy as np

        if 0 in shape:  # nothing can't be mapped
            return np.zeros(shape, dtype)
        self._made += 1
        path = self.folder / f"{self._made:04d}"
        try:
            mapped: Any = np.memmap(path, dtype, "w+", shape=shape)
        except OSError as cause:
            raise io.output_error(path, cause) from cause
        array = np.asarray(mapped)
        self._maps[id(array)] = mapped
        return array

    def free(self, array: NDArray[Any]) -> None:
        """Remove the file of an array that nobody needs any more."""
        mapped = self._maps.pop(id(array), None)
        if mapped is not None:
            Path(mapped.filename).unlink(missing_ok=True)

    def release(self) -> None:
        """Give the mapped pages back to the system, which keeps what was written; they come again when asked for."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in self._maps.values():
                mapped._mmap.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Remove the files."""
        self._maps.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def scratch(beside: Path) -> Iterator[Scratch]:
    """Within the block: room for arrays in the folder ``beside``, where the result goes.

    The system's own folder for such files often lies in memory.
    """
    io.make_folder(beside)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=beside))
    except OSError as cause:
        raise io.output_error(beside / PREFIX, cause) from cause
    room = Scratch(folder)
    try:
        yield room
    finally:
        room.close()
