"""Parquet files as tables, bounded before they are unpacked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from ...errors import DataError, in_short
from ..progress import Progress, silent
from . import limits
from .table import Table, bounded_batches, unique_names, wanted_columns


def parquet_header(path: Path) -> list[str]:
    """The names of the columns."""
    with open_parquet(path) as file:
        return unique_names(list(file.schema_arrow.names), path)


def read_parquet(path: Path, columns: Sequence[str] | None = None, progress: Progress = silent) -> Table:
    """The table, all of its columns or these; those that it lacks are left out."""
    with open_parquet(path) as file:
        texts = [field.name for field in file.schema_arrow if is_text(field.type)]
    with open_parquet(path, texts) as file:
        names = unique_names(list(file.schema_arrow.names), path)
        to_read = wanted_columns(names, columns)
        rows = file.metadata.num_rows
        if rows > limits.MOST_NODES or rows * max(len(to_read), 1) > limits.MOST_CELLS:
            raise DataError(f"'{path}' says it has {rows:,} rows of {len(to_read)} columns; that is too many.")
        groups = (file.metadata.row_group(at) for at in range(file.metadata.num_row_groups))
        limits.check_bytes(path, "its row groups", sum(group.total_byte_size for group in groups))
        schema = pa.schema([file.schema_arrow.field(name) for name in to_read])
        try:
            batches = file.iter_batches(columns=to_read)
            bounded = bounded_batches(batches, path, len(to_read), None, max(rows, 1), progress)
            data = pa.Table.from_batches(list(bounded), schema=schema)
            data.validate(full=True)  # texts that aren't UTF-8, and indices that point nowhere
        except (pa.ArrowException, OSError) as cause:
            raise DataError(f"'{path}' is damaged: {in_short(cause)}.") from None
    return Table(data, str(path))


def is_text(kind: Any) -> bool:
    """Whether a column holds texts, or bytes that may be some."""
    return any(is_kind(kind) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary))


def open_parquet(path: Path, packed: Sequence[str] = ()) -> Any:
    """The file; columns named in ``packed`` are read with each value once, so that they can't explode."""
    try:
        file = pa.parquet.ParquetFile(str(path), memory_map=False, read_dictionary=list(packed))
        [field.name for field in file.schema_arrow]  # a name that isn't UTF-8 is an error only when it is asked for
        return file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as cause:
        raise DataError(f"'{path}' is not a Parquet file, or it is damaged: {in_short(cause)}.") from None
