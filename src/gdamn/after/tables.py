"""Files that the commands after training write: checked before the work, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import io
from ..errors import OutputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLES = (".csv", ".parquet")


def check_output(path: Path | None, suffixes: Sequence[str], force: bool) -> None:
    """Refuse, before anything is computed, an unknown kind of file, a folder, and a file that stands there."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        kinds = ", ".join(suffixes[:-1]) + f" or {suffixes[-1]}"
        raise OutputError(f"Can't tell what kind of file '{path}' should be; let its name end in {kinds}.")
    from ..runs import check_writable

    check_writable(path.parent)
    if path.is_dir():
        raise OutputError(f"Can't write '{path}': it is a folder; name a file.")
    if path.exists() and not force:
        raise OutputError(f"'{path}' exists; pass --force to replace it, or choose another name.")


def write_table(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write equally long columns as CSV or Parquet, by the suffix."""
    if path.suffix.lower() == ".csv":
        io.write_csv(path, columns)
        return
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: pa.array(_plain(column)) for name, column in columns.items()})
    with io.replacing(path) as temporary:
        parquet.write_table(table, temporary)


def _plain(column: NDArray[Any]) -> Any:
    """Numbers as they are, everything else as text, since ids may be of mixed types."""
    return column if column.dtype.kind in "iufb" else [str(value) for value in column.tolist()]
