"""Reading npz archives: plain arrays only, nothing pickled."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import DataError, GdamnError, in_short
from ...graph.validation import sound_csr
from ...system.reading import check_file
from . import limits

Arrays = dict[str, NDArray[Any]]

ADJACENCY = ("adj_indices", "adj_indptr", "adj_shape")
ATTRIBUTES = ("attr_data", "attr_indices", "attr_indptr", "attr_shape")

DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, NotImplementedError, RuntimeError)
"""What zipfile raises on a file that is no archive, is damaged or locked, or is packed in a way unknown here."""


def read_npz(path: Path, keys: Sequence[str]) -> Arrays:
    """The arrays of these names; others in the archive (some pickled) are never opened."""
    arrays: Arrays = {}
    check_file(path, empty=True)
    try:
        with zipfile.ZipFile(path) as packed:
            for key in keys:
                arrays[key] = _packed_array(packed, key, path, sum(array.nbytes for array in arrays.values()))
    except KeyError:
        raise DataError(f"The file {path} lacks an array that it should have: {key}.") from None
    except DAMAGED as error:
        raise DataError(f"The file {path} can't be read: {in_short(error)}; replace it by the published one.") from None
    return arrays


def _packed_array(packed: zipfile.ZipFile, key: str, path: Path, before: int) -> NDArray[Any]:
    """An array of numbers, unpacked only if its header says that it fits, with what was unpacked before."""
    member = packed.getinfo(f"{key}.npy")
    shape, kind, start = npy_header(packed, member)
    size = int(np.prod([int(length) for length in shape], dtype=object)) * kind.itemsize
    if kind.kind not in "biuf":
        raise ValueError(f"the array {key} holds {kind}, not numbers")
    limits.check_bytes(path, f"array '{key}' of shape {shape}", before + size)
    if size + start != member.file_size:
        raise ValueError(f"the array {key} is cut off")
    with packed.open(member) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def npy_header(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[Any, np.dtype[Any], int]:
    """Shape, type and place of the first byte of a packed array."""
    with packed.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        try:
            shape, _, kind = read(stream)
        except (tokenize.TokenError, SyntaxError, RecursionError, TypeError) as cause:
            raise ValueError(f"the header of {member.filename} can't be read ({in_short(cause)})") from None
        return shape, kind, stream.tell()


@contextmanager
def fitting(name: str, where: Path) -> Iterator[None]:
    """Files that don't make a graph together are told in one sentence, whatever NumPy says of them."""
    try:
        yield
    except (GdamnError, ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError) as error:
        raise DataError(f"The files of {name} in {where} don't fit together: {in_short(error)}.") from None


def csr(arrays: Arrays, prefix: str, path: Path) -> sp.csr_array:
    """The sparse matrix stored under a prefix, its indices checked; values 1 where none are stored."""
    indices = arrays[f"{prefix}_indices"]
    values = arrays.get(f"{prefix}_data", np.ones(len(indices), np.float32))
    try:
        rows, columns = (int(size) for size in arrays[f"{prefix}_shape"])
        return sound_csr(values, indices, arrays[f"{prefix}_indptr"], (rows, columns))
    except (ValueError, TypeError) as error:
        raise DataError(f"The matrix '{prefix}' in {path} is damaged: {in_short(error)}.") from None


def edges(arrays: Arrays, path: Path) -> NDArray[np.int32]:
    """[2, E] the edges of the stored adjacency matrix, as (row, column)."""
    adjacency = csr(arrays, "adj", path).tocoo()
    return np.stack([adjacency.row, adjacency.col])
