"""Tables of equally long columns as CSV or Parquet, written whole or not at all."""

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
    from pyarrow import parquet

    from ..estimators.frame import arrow_table

    table = arrow_table(columns)
    with io.replacing(path) as temporary:
        parquet.write_table(table, temporary)
