"""Tables that the commands after training write, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..system import io
from ..system.extras import need

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLES = (".csv", ".parquet")


def write_table(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write equally long columns as CSV or Parquet, by the suffix."""
    if path.suffix.lower() == ".csv":
        io.write_csv(path, columns)
        return
    need("Writing Parquet", "pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: pa.array(_plain(column)) for name, column in columns.items()})
    with io.replacing(path) as temporary:
        parquet.write_table(table, temporary)


def _plain(column: NDArray[Any]) -> Any:
    """Numbers as they are, everything else as text, since ids may be of mixed types."""
    return column if column.dtype.kind in "iufb" else [str(value) for value in column.tolist()]
