"""npz archives in the community's layout: a CSR adjacency, sparse or dense attributes, labels, masks.

One reader for people's own archives and for published ones. Nothing pickled is ever opened, and no array is unpacked
before its header says that it fits.
"""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import DataError, in_short
from ...graph.validation import sound_csr
from . import limits
from .node_arrays import MASKS, SETS, check_features, ids_of, labels_of, masks_of

if TYPE_CHECKING:
    from .parts import Parts

Arrays = dict[str, NDArray[Any]]

ADJACENCY = ("adj_indices", "adj_indptr", "adj_shape")
ATTRIBUTES = ("attr_data", "attr_indices", "attr_indptr", "attr_shape")
NODE_IDS = ("node_ids", "node_names")
CLASSES = "class_names"
NAMES = (*NODE_IDS, CLASSES)
"""Arrays of names, which some published files pickle."""

DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, NotImplementedError, RuntimeError)
"""What zipfile raises on a file that is no archive, is damaged or locked, or is packed in a way unknown here."""


class ArchiveError(DataError):
    """An archive that can't be read; ``reason`` says why in a few words."""

    def __init__(self, sentence: str, reason: str) -> None:
        super().__init__(sentence)
        self.reason = reason


@dataclass(frozen=True, eq=False)
class Archive:
    """The arrays of a graph in an npz archive.

    Attributes:
        path: the file.
        arrays: those that were asked for and are there, by name.
        unread: the names of all others.
    """

    path: Path
    arrays: Arrays
    unread: Sequence[str] = ()

    @property
    def num_nodes(self) -> int:
        """Number of nodes; the shape of the adjacency matrix must be possible."""
        rows, columns = (int(size) for size in self.arrays["adj_shape"])
        if rows != columns:
            raise DataError(
                f"The adjacency matrix of '{self.path}' must be square; 'adj_shape' says {rows} by {columns}."
            )
        if not 0 < rows <= limits.MOST_NODES:
            raise DataError(
                f"'{self.path}' has {rows:,} nodes by 'adj_shape'; there must be 1 or more, and not too many."
            )
        if len(self.arrays["adj_indptr"]) != rows + 1:
            raise DataError(
                f"The array 'adj_indptr' of '{self.path}' must have {rows + 1:,} numbers for {rows:,} nodes."
            )
        return rows

    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
        """[2, E] the edges as (column, row) of the adjacency matrix, and their weights [E]; 0 is no edge."""
        missing = [name for name in ADJACENCY if name not in self.arrays]
        if missing:
            raise DataError(f"'{self.path}' lacks the array '{missing[0]}'; a graph needs {', '.join(ADJACENCY)}.")
        _ = self.num_nodes  # a sentence about the nodes says more than one about the matrix
        matrix = self._csr("adj").tocoo()
        pairs = np.stack([matrix.col, matrix.row]).astype(np.int64)
        if "adj_data" not in self.arrays:
            return pairs, None
        weights = matrix.data.astype(np.float32)
        return pairs[:, weights != 0], weights[weights != 0]

    def features(self) -> Any:
        """[N, F] the attributes, sparse or dense; None where there are none."""
        if "attr_indices" not in self.arrays and "attr_indptr" not in self.arrays:
            return check_features(self.arrays.get("features"), self.num_nodes, self.path)
        missing = next((name for name in ATTRIBUTES[1:] if name not in self.arrays), None)
        if missing is not None:
            raise DataError(f"'{self.path}' lacks the array '{missing}', which belongs to its attributes.")
        rows, columns = (int(size) for size in self.arrays["attr_shape"])
        if rows != self.num_nodes:
            raise DataError(
                f"The attributes of '{self.path}' have {rows:,} rows, but there are {self.num_nodes:,} nodes."
            )
        if not 0 <= columns <= limits.MOST_NODES:
            raise DataError(f"The attributes of '{self.path}' have {columns:,} columns, which can't be.")
        return check_features(self._csr("attr"), self.num_nodes, self.path)

    def masks(self, test: str = "test_mask") -> dict[str, NDArray[np.bool_]] | None:
        """[N, k] masks of train, val and test, k splits; None where there are none. ``test`` names the test's array."""
        names = (*MASKS[:2], test)
        arrays = {split: self.arrays.get(name) for split, name in zip(SETS, names, strict=True)}
        return masks_of(arrays, self.num_nodes, self.path)

    def _csr(self, prefix: str) -> sp.csr_array:
        """The sparse matrix stored under a prefix, its indices checked; values 1 where none are stored."""
        indices = self.arrays[f"{prefix}_indices"]
        values = self.arrays.get(f"{prefix}_data", np.ones(len(indices), np.float32))
        try:
            rows, columns = (int(size) for size in self.arrays[f"{prefix}_shape"])
            return sound_csr(values, indices, self.arrays[f"{prefix}_indptr"], (rows, columns))
        except (ValueError, TypeError) as error:
            raise DataError(f"The matrix '{prefix}' in {self.path} is damaged: {in_short(error)}.") from None


def read_npz(path: Path) -> Parts:
    """What a person's npz archive holds."""
    from .parts import Parts
    from .roles import not_read

    archive = open_archive(path, ("adj_data", *ADJACENCY, *ATTRIBUTES, "features", "labels", *MASKS, *NAMES))
    arrays = archive.arrays
    edges, weights = archive.edges()
    n = archive.num_nodes
    labels, class_names = labels_of(arrays.get("labels"), arrays.get(CLASSES), n, path)
    return Parts(
        source=str(path),
        ids=ids_of(next((arrays[name] for name in NODE_IDS if name in arrays), None), n, path),
        edges=edges,
        weights=weights,
        labels=labels,
        label_place=f"the array 'labels' of '{path}'",
        matrix=archive.features(),
        masks=archive.masks(),
        class_names=class_names,
        notes=not_read(archive.unread, str(path)),
    )


def open_archive(path: Path, names: Sequence[str]) -> Archive:
    """The arrays of these names that an archive has; arrays of names are left out where they are pickled."""
    arrays: Arrays = {}
    try:
        with zipfile.ZipFile(path) as packed:
            members = packed.namelist()
            for name in sorted(names, key=lambda name: name != "adj_shape"):  # first: it bounds the others
                if f"{name}.npy" in members:
                    array = _unpack(packed, name, path, arrays)
                    arrays |= {} if array is None else {name: array}
    except DAMAGED as cause:
        reason = in_short(cause)
        raise ArchiveError(f"'{path}' is not an npz archive, or it is damaged: {reason}.", reason) from None
    listed = (member.removesuffix(".npy") for member in members)
    return Archive(path, arrays, [name for name in listed if name not in names])


def _unpack(packed: zipfile.ZipFile, name: str, path: Path, before: Arrays) -> NDArray[Any] | None:
    """An array, unpacked only if its header says that it fits beside those before; None for pickled names."""
    member = packed.getinfo(f"{name}.npy")
    if member.flag_bits & 1:
        raise ArchiveError(f"'{path}' is encrypted; save it without a password.", "it is encrypted")
    shape, kind, start = _npy_header(packed, member)
    if kind.hasobject and name in NAMES:
        return None
    _check_kind(path, name, shape, kind)
    size = int(np.prod([int(length) for length in shape], dtype=object)) * kind.itemsize
    total = size + sum(array.nbytes for array in before.values())
    limits.check_bytes(path, f"array '{name}' of shape {shape}", total)
    if size > limits.SMALL:
        _check_rows(path, name, shape, before.get("adj_shape"))
    if size + start != member.file_size:
        sentence = f"The array '{name}' of '{path}' is cut off: its shape {shape} needs {size} bytes."
        raise ArchiveError(sentence, f"the array {name} is cut off")
    with packed.open(member) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _npy_header(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[Any, np.dtype[Any], int]:
    """Shape, type and place of the first byte of a packed array."""
    with packed.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        try:
            shape, _, kind = read(stream)
        except (tokenize.TokenError, SyntaxError, RecursionError, TypeError) as cause:
            raise ValueError(f"the header of {member.filename} can't be read ({in_short(cause)})") from None
        return shape, kind, stream.tell()


def _check_kind(path: Path, name: str, shape: tuple[int, ...], kind: np.dtype[Any]) -> None:
    """Indices must be whole numbers, values numbers, in as many dimensions as they should have."""
    if name in NAMES:
        return
    whole = name.startswith(("adj_ind", "attr_ind")) or name.endswith("_shape")
    needed = "whole numbers" if whole else "numbers"
    reason = f"the array {name} holds {kind}, not {needed}"
    if kind.hasobject:
        sentence = f"The array '{name}' of '{path}' holds Python objects, not numbers; save numbers."
        raise ArchiveError(sentence, reason)
    if kind.kind not in ("iu" if whole else "biufUS" if name == "labels" else "biuf"):
        raise ArchiveError(f"The array '{name}' of '{path}' holds {kind}; it must hold {needed}.", reason)
    if name.startswith(("adj_", "attr_")) and len(shape) != 1:
        sentence = f"The array '{name}' of '{path}' has {len(shape)} dimensions; it must have 1."
        raise ArchiveError(sentence, f"the array {name} has {len(shape)} dimensions, not 1")
    if name.endswith("_shape") and shape != (2,):
        sentence = f"The array '{name}' of '{path}' must be two numbers; it has {shape[0]}."
        raise ArchiveError(sentence, f"the array {name} has {shape[0]} numbers, not 2")


def _check_rows(path: Path, name: str, shape: tuple[int, ...], nodes: NDArray[Any] | None) -> None:
    """Refuse a large array that doesn't fit the number of nodes before it is unpacked."""
    per_node = not name.startswith(("adj_", "attr_")) and name != CLASSES
    if per_node and nodes is not None and shape[:1] != (int(nodes[0]),):
        raise DataError(f"The array '{name}' of '{path}' has shape {shape}, but there are {nodes[0]} nodes.")
