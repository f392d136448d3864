"""A reader for the pickles of the Planetoid files that runs no code from them.

A pickle may name any function to call. This reader knows five names, and puts its own harmless stand-ins in
their place: number arrays, sparse matrices of them, and dictionaries of lists.
"""

from __future__ import annotations

import pickle  # nosec B403  # for a reader that admits five names and runs none of a file's code
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import DataError, in_short
from ...graph.validation import sound_csr
from ...system.reading import check_file


class _ArrayType:
    """Stands for numpy.ndarray, which pickles name only as an argument."""

    def __init__(self) -> None:
        raise pickle.UnpicklingError("arrays are not made this way")


class _Matrix:
    """Takes the state of a pickled csr_matrix without becoming one."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):
            raise pickle.UnpicklingError("a sparse matrix without its parts")
        self.state = state

    def matrix(self) -> sp.csr_array:
        """The matrix, its indices checked."""
        state = self.state
        values, indices, indptr = (np.array(state[key]) for key in ("data", "indices", "indptr"))
        rows, columns = (int(size) for size in state["_shape" if "_shape" in state else "shape"])
        return sound_csr(values, indices, indptr, (rows, columns))


def _empty_array(kind: Any, shape: Any, code: Any) -> np.ndarray[Any, Any]:
    """What numpy's _reconstruct makes before the content is set: an empty array."""
    if kind is not _ArrayType or tuple(shape) != (0,):
        raise pickle.UnpicklingError("an array of an unexpected kind")
    return np.empty(0, np.int8)


def _number_type(code: Any, *flags: Any) -> np.dtype[Any]:
    """A dtype of numbers; arrays of objects are refused."""
    dtype = np.dtype(str(code), align=False, copy=True)
    if dtype.kind not in "biuf":
        raise pickle.UnpicklingError(f"an array of {dtype}")
    return dtype


_ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _ArrayType,
    ("numpy", "dtype"): _number_type,
    ("numpy.core.multiarray", "_reconstruct"): _empty_array,
    ("numpy._core.multiarray", "_reconstruct"): _empty_array,
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    ("scipy.sparse._csr", "csr_matrix"): _Matrix,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


class _Reader(pickle.Unpickler):
    """An unpickler to which nothing exists but the admitted names."""

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for a name, or a refusal."""
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which has no place in such a file") from None

    def persistent_load(self, pid: Any) -> Any:
        """Refuse references to the outside."""
        raise pickle.UnpicklingError("it refers to objects outside of the file")


def read_pickle(path: Path) -> Any:
    """The array, sparse matrix or dictionary in a pickle file.

    Raises:
        DataError: the file can't be read, is damaged, or holds anything else.
    """
    check_file(path, empty=True)
    try:
        with path.open("rb") as file:
            value = _Reader(file, encoding="latin1").load()
        return value.matrix() if isinstance(value, _Matrix) else value
    except Exception as error:
        raise DataError(
            f"The file {path} can't be read as numbers: {in_short(error)}; replace it by the published one."
        ) from None
