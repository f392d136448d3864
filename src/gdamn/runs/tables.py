"""Tables of equally long columns as CSV or Parquet, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..system import io
from ..system.extras import need

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLES = (".csv", ".parquet")


def write_table(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write equally long columns as CSV or Parquet, by the suffix."""
    write_blocks(path, [columns])


def write_blocks(path: Path, blocks: Iterable[Mapping[str, NDArray[Any]]]) -> None:
    """The same of a table that comes in blocks of rows, of which one is in memory at a time; at least one must come."""
    if path.suffix.lower() == ".csv":
        io.write_csv_blocks(path, blocks)
        return
    need("Writing Parquet", "pyarrow")
    from pyarrow import parquet

    tables = _arrow_tables(blocks)
    first = next(tables)
    with io.replacing(path) as temporary, parquet.ParquetWriter(temporary, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table.cast(first.schema))


def _arrow_tables(blocks: Iterable[Mapping[str, NDArray[Any]]]) -> Iterator[Any]:
    from ..estimators.frame import arrow_table

    for columns in blocks:
        yield arrow_table(columns)
