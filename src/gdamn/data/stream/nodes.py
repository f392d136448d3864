"""Nodes from a stream of tables: ids, labels and splits in memory as numbers, features on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import DataError
from ...graph.graph import SPARSE_BELOW
from .. import structure_features as structure
from ..encode import AUTO_CATEGORIES, MOST_CATEGORIES, Encoder
from ..files import limits
from ..files.arrow import pa, pc
from ..files.options import Options
from ..files.parts import NO_FEATURES, node_ids, split_masks
from ..files.roles import Roles
from ..files.table import Table
from ..progress import Progress
from .arrays import LEAF, Spill, array_file
from .ids import hash_texts
from .node_columns import Codes, Column, are_whole_floats, column_texts
from .sources import Source

MOST_LABELS = 1 << 20
"""Different labels that are counted; classes are far fewer (data/assemble.py)."""


@dataclass
class Nodes:
    """What a pass over the node tables leaves.

    Attributes:
        count: N.
        keys: [N, 2] hashes of the ids.
        ids: the ids one after another as Arrow's stream.
        whole, longest: whether all ids are whole numbers; characters of the longest.
        codes, labels: [N] codes of the labels, and their texts; None without labels.
        masks: ``train``, ``val`` and ``test`` [N, 1], or None.
        columns: that may be features.
    """

    keys: Spill
    ids: Path
    columns: list[Column]
    codes: list[NDArray[np.int32]] = field(default_factory=list)
    labels: Codes = field(default_factory=lambda: Codes(MOST_LABELS))
    masks: dict[str, list[NDArray[np.bool_]]] = field(default_factory=dict)
    count: int = 0
    whole: bool = True
    longest: int = 1

    def label_texts(self) -> Any:
        """[N] the labels as large strings, null where unknown."""
        codes = np.concatenate(self.codes)
        names = pa.array(list(self.labels.names), pa.large_string())
        return pc.take(names, pa.array(codes, mask=codes < 0))

    def split(self) -> dict[str, NDArray[np.bool_]] | None:
        """[N, 1] masks of the split column, or None."""
        return {name: np.concatenate(pieces) for name, pieces in self.masks.items()} or None


def read_nodes(
    source: Source, roles: Roles, columns: list[Column], folder: Path, seeds: NDArray[np.uint64], progress: Progress
) -> Nodes:
    """One pass over the tables of the nodes."""
    nodes = Nodes(Spill(folder / "keys", np.uint64), folder / "ids.arrow", columns)
    whole = _whole_floats(source, roles, progress)
    with pa.OSFile(str(nodes.ids), "wb") as file, pa.ipc.new_stream(file, _ID_SCHEMA) as ids:
        for table in source.tables(roles.needed, progress):
            texts = _ids(table, roles.id, whole)
            ids.write_batch(pa.record_batch([texts], schema=_ID_SCHEMA))
            nodes.keys.append(hash_texts(texts, seeds))
            nodes.whole = nodes.whole and _are_whole(texts)
            nodes.longest = max(nodes.longest, pc.max(pc.utf8_length(texts)).as_py() or 1)
            _add_labels(nodes, table, roles, whole)
            for column in columns:
                column.add(table)
            nodes.count += table.data.num_rows
            if nodes.count > limits.MOST_NODES:
                raise DataError(f"'{source.name}' has more than {limits.MOST_NODES:,} rows; that is too many.")
    if nodes.count == 0:
        raise DataError(f"'{source.name}' has no rows, so the graph has no nodes.")
    return nodes


_ID_SCHEMA = pa.schema([("id", pa.large_string())])


def _whole_floats(source: Source, roles: Roles, progress: Progress) -> dict[str, bool]:
    """Which columns of ids, labels and splits hold whole numbers, where Parquet has them as floats."""
    named = [column for column in (roles.id, roles.label, roles.split) if column is not None]
    whole: dict[str, bool] = dict.fromkeys(named, True)
    for table in source.tables(named, progress):
        floats = [name for name in named if pa.types.is_floating(table.data.schema.field(name).type)]
        if not floats:
            return whole
        for name in floats:
            whole[name] = whole[name] and are_whole_floats(table, name)
    return whole


def _ids(table: Table, column: str, whole: dict[str, bool]) -> Any:
    """The ids of some rows; empty, long and repeated ones are refused."""
    texts = column_texts(table, column, whole[column])
    return node_ids(Table(pa.table({column: texts}), table.name, table.first), column)


def _are_whole(texts: Any) -> bool:
    """Whether all texts are whole numbers as a number is written."""
    try:
        return bool(pc.all(pc.equal(pc.cast(pc.cast(texts, pa.int64()), pa.large_string()), texts)).as_py())
    except pa.ArrowInvalid:
        return False


def _add_labels(nodes: Nodes, table: Table, roles: Roles, whole: dict[str, bool]) -> None:
    """The labels and splits of some rows."""
    if roles.label is not None:
        nodes.codes.append(nodes.labels.of(column_texts(table, roles.label, whole[roles.label])))
        if nodes.labels.full:
            raise DataError(f"There are too many different labels in column '{roles.label}' of '{table.name}'.")
    if roles.split is not None:
        for name, mask in split_masks(table, roles.split).items():
            nodes.masks.setdefault(name, []).append(mask)


def feature_columns(roles: Roles, options: Options, outline: Table, folder: Path) -> list[Column]:
    """The columns that may be features."""
    if options.text is not None:
        raise DataError(
            f"Column '{options.text}' can't be read as a text in a stream, which takes numbers and names; "
            "leave --text out, or convert a table that fits the memory."
        )
    if options.features == NO_FEATURES and "none" not in outline.columns:
        raise _no_features(outline.name)
    most = AUTO_CATEGORIES if options.features is None else MOST_CATEGORIES
    return [Column(name, folder, at, most) for at, name in enumerate(roles.others)]


def _no_features(name: str) -> DataError:
    return DataError(
        f"'{name}' has no column for features, and those of the structure need the whole graph in memory; add columns "
        "of numbers or names, or convert a table that fits the memory."
    )


def fit_encoder(columns: list[Column], auto: bool, name: str) -> Encoder:
    """What becomes of the columns, as :meth:`Encoder.fit` decides it."""
    numeric, categorical, left_out = [], [], {}
    most = AUTO_CATEGORIES if auto else MOST_CATEGORIES
    for column in columns:
        if column.is_numeric():
            numeric.append(column.as_numeric())
            continue
        reason = column.why_useless(most, auto)
        if reason and auto:
            left_out[column.name] = reason
        elif reason:
            raise DataError(f"Column '{column.name}' of '{name}' {reason}; leave it out of --features.")
        else:
            categorical.append({"name": column.name, "categories": sorted(column.names.names)})
    width = len(numeric) + sum(len(each["categories"]) for each in categorical)
    if width == 0:
        raise _no_features(name)
    return Encoder("columns", width, numeric, categorical, None, None, left_out)


class FeatureRows:
    """Features [N, F] of the columns that an encoder takes, some rows at a time."""

    def __init__(self, encoder: Encoder, columns: list[Column], count: int) -> None:
        by_name = {column.name: column for column in columns}
        self.numeric = [(by_name[each["name"]], each) for each in encoder.numeric]
        self.categorical = [(by_name[each["name"]], len(each["categories"])) for each in encoder.categorical]
        self.encoder, self.count = encoder, count

    def of(self, begin: int, end: int) -> Any:
        """[end - begin, F]: an array, or CSR where there are categories."""
        dense = np.empty((end - begin, len(self.numeric)), np.float32)
        for at, (column, learned) in enumerate(self.numeric):
            numbers = column.numbers.read(begin, end)
            dense[:, at] = structure.standardised(numbers, learned["mean"], learned["spread"])
        if not self.categorical:
            return dense
        rows, places, width = [], [], 0
        for column, categories in self.categorical:
            codes = column.ranks()[column.codes.read(begin, end)]
            known = np.flatnonzero(codes >= 0)
            rows.append(known)
            places.append(codes[known].astype(np.int64) + width)
            width += categories
        row, place = np.concatenate(rows), np.concatenate(places)
        names = sp.csr_array((np.ones(len(row), np.float32), (row, place)), shape=(end - begin, width))
        return sp.csr_array(sp.hstack([sp.csr_array(dense), names])) if self.numeric else names

    def runs(self) -> list[tuple[int, int]]:
        """Rows that are made at a time."""
        size = max(1, LEAF * 16 // max(self.encoder.width, 1))
        return [(begin, min(begin + size, self.count)) for begin in range(0, self.count, size)]

    def is_sparse(self) -> bool:
        """Whether so few are not 0 that the graph holds them as CSR; it is known before all are looked at."""
        cells, filled, seen = self.count * self.encoder.width, 0, 0
        for begin, end in self.runs():
            rows = self.of(begin, end)
            filled += int(np.count_nonzero(rows.data if sp.issparse(rows) else rows))
            seen = end * self.encoder.width
            if filled >= SPARSE_BELOW * cells or filled + cells - seen < SPARSE_BELOW * cells:
                break
        return filled / cells < SPARSE_BELOW


def write_features(rows: FeatureRows, folder: Path, half: bool, progress: Progress) -> list[str]:
    """Write the features; the names of their arrays."""
    if rows.is_sparse():
        return _write_sparse(rows, folder, progress)
    with array_file(folder, "features", np.float16 if half else np.float32, rows.encoder.width) as append:
        for begin, end in rows.runs():
            made = rows.of(begin, end)
            append(made.toarray() if sp.issparse(made) else made)
            progress("writing features", end, rows.count)
    return ["features"]


def _write_sparse(rows: FeatureRows, folder: Path, progress: Progress) -> list[str]:
    counts = np.zeros(rows.count + 1, np.int64)
    with (
        array_file(folder, "features_indices", np.int32) as append_indices,
        array_file(folder, "features_data", np.float32) as append_data,
    ):
        for begin, end in rows.runs():
            made = sp.csr_array(rows.of(begin, end))
            made.eliminate_zeros()
            made.sort_indices()
            append_indices(made.indices)
            append_data(made.data)
            counts[begin + 1 : end + 1] = np.diff(made.indptr)
            progress("writing features", end, rows.count)
    indptr = np.cumsum(counts)
    with array_file(folder, "features_indptr", np.int32 if indptr[-1] < 1 << 31 else np.int64) as append:
        append(indptr)
    return ["features_indptr", "features_indices", "features_data"]


def write_ids(nodes: Nodes, folder: Path) -> None:
    """The ids as whole numbers where all are written as such, else as texts."""
    kind = np.dtype(np.int64) if nodes.whole else np.dtype(f"<U{nodes.longest}")
    with array_file(folder, "node_ids", kind) as append, pa.OSFile(str(nodes.ids)) as file:
        for batch in pa.ipc.open_stream(file):
            texts = batch.column(0)
            if nodes.whole:
                append(np.asarray(pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False)))
            else:
                append(np.array(texts.to_pylist(), kind))


def id_at(nodes: Nodes, number: int) -> str:
    """The id of one node, for a sentence."""
    with pa.OSFile(str(nodes.ids)) as file:
        for batch in pa.ipc.open_stream(file):
            if number < batch.num_rows:
                return str(batch.column(0)[number].as_py())
            number -= batch.num_rows
    return "?"
