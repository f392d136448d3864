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
        self._maps: list[Any] = []

    def zeros(self, *shape: int, dtype: Any = "<f4") -> NDArray[Any]:
        """An array of zeros in a new file; what was never written takes no room on most disks."""
        import numpy as np

        if 0 in shape:  # nothing can't be mapped
            return np.zeros(shape, dtype)
        path = self.folder / f"{len(self._maps):04d}"
        try:
            array: Any = np.memmap(path, dtype, "w+", shape=shape)
        except OSError as cause:
            raise io.output_error(path, cause) from cause
        self._maps.append(array)
        return np.asarray(array)

    def release(self) -> None:
        """Give the mapped pages back to the system, which keeps what was written; they come again when asked for."""
        for array in self._maps:
            array.flush()
            if hasattr(mmap, "MADV_DONTNEED"):
                array._mmap.madvise(mmap.MADV_DONTNEED)

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
