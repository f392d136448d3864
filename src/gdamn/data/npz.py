"""Reading npz archives: plain arrays only, nothing pickled."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import DataError

Arrays = dict[str, NDArray[Any]]

ADJACENCY = ("adj_indices", "adj_indptr", "adj_shape")
ATTRIBUTES = ("attr_data", "attr_indices", "attr_indptr", "attr_shape")


def read_npz(path: Path, keys: Sequence[str]) -> Arrays:
    """The arrays of these names; others in the archive (some pickled) are never opened."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in keys}
    except KeyError as error:
        raise DataError(f"The file {path} lacks an array that it should have: {error.args[0]}.") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"The file {path} can't be read: {error}; replace it by the published one.") from None


def csr(arrays: Arrays, prefix: str, path: Path) -> sp.csr_array:
    """The sparse matrix stored under a prefix, its indices checked; values 1 where none are stored."""
    indices = arrays[f"{prefix}_indices"]
    values = arrays.get(f"{prefix}_data", np.ones(len(indices), np.float32))
    try:
        shape = tuple(int(size) for size in arrays[f"{prefix}_shape"])
        made = sp.csr_array((values, indices, arrays[f"{prefix}_indptr"]), shape=shape)
        made.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise DataError(f"The matrix '{prefix}' in {path} is damaged: {error}.") from None
    return made


def edges(arrays: Arrays, path: Path) -> NDArray[np.int32]:
    """[2, E] the edges of the stored adjacency matrix, as (row, column)."""
    adjacency = csr(arrays, "adj", path).tocoo()
    return np.stack([adjacency.row, adjacency.col])
