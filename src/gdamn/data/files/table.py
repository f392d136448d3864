"""Tables as Arrow has them, with what is needed to say where something stands; also from data frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import DataError, GraphError, in_short
from ..progress import Progress
from . import limits
from .arrow import pa

MOST_COLUMNS = 100_000


@dataclass(frozen=True)
class Table:
    """A table with what is needed to say where something stands.

    Attributes:
        data: the columns.
        name: the file, or what the table is.
        first: the number of the first row, as a person counts: 2 below a header.
        notes: sentences about what is odd in the file.
    """

    data: pa.Table
    name: str
    first: int = 1
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.data.column_names)

    def location(self, row: int, column: str | None = None) -> str:
        """The row, the file and the column of a cell, for a sentence."""
        where = f"row {row + self.first:,} of '{self.name}'"
        return where if column is None else f"column '{column}' in {where}"

    def need(self, column: str, what: str) -> str:
        """The column, or an error that lists the columns."""
        if self.data.schema.get_field_index(column) >= 0:
            return column
        listed = ", ".join(f"'{name}'" for name in self.columns[:20]) + (", …" if len(self.columns) > 20 else "")
        raise DataError(f"'{self.name}' has no column '{column}' for the {what}; its columns are {listed}.")


def unique_names(names: list[str], path: Path) -> list[str]:
    """The names, or an error where one is repeated or empty."""
    seen: set[str] = set()
    for at, name in enumerate(names):
        if not name.strip():
            raise DataError(f"Column {at + 1} of '{path}' has no name in the header; name it or remove it.")
        if name in seen:
            raise DataError(f"'{path}' has two columns '{name}'; give each its own name.")
        seen.add(name)
    return names


def wanted_columns(names: list[str], columns: Sequence[str] | None) -> list[str]:
    """The columns to read, in the order of the file."""
    asked = None if columns is None else set(columns)
    return names if asked is None else [name for name in names if name in asked]


def bounded_batches(
    batches: Iterable[Any], path: Path, width: int, at: Callable[[], int] | None, size: int, progress: Progress
) -> Iterator[Any]:
    """The batches, as long as all of them fit the limits; reports progress.

    Args:
        width: number of columns.
        at: how much of ``size`` is read by now; None counts rows.
    """
    rows, used = 0, 0
    for batch in batches:
        rows, used = rows + batch.num_rows, used + batch.nbytes
        limits.check_bytes(path, "its table", used)
        if rows > limits.MOST_NODES or rows * max(width, 1) > limits.MOST_CELLS:
            raise DataError(f"'{path}' has more than {rows:,} rows of {width} columns; that is too many.")
        progress(f"reading {path.name}", min(rows if at is None else at(), size), size)
        yield batch


def from_frame(frame: Any, name: str) -> Table:
    """A table from a pandas or polars data frame, an Arrow table, a dictionary of columns, or whatever gives Arrow.

    The index of a pandas data frame becomes a column where it has a name.
    """
    try:
        if isinstance(frame, dict):
            data = pa.table(frame)
        elif hasattr(frame, "reset_index"):  # pandas
            named = any(level is not None for level in frame.index.names)
            data = pa.Table.from_pandas(frame.reset_index() if named else frame, preserve_index=False)
        elif hasattr(frame, "__arrow_c_stream__"):
            data = pa.table(frame)
        elif hasattr(frame, "to_arrow"):
            data = frame.to_arrow()
        else:
            raise GraphError(f"The {name} must be a data frame or an Arrow table, not {type(frame).__name__}.")
    except (pa.ArrowException, TypeError, ValueError) as cause:
        if isinstance(cause, GraphError):
            raise
        raise GraphError(f"The {name} can't be taken as a table: {in_short(cause)}.") from None
    names = [str(each) for each in data.column_names]
    counts = Counter(names)
    twice = next((each for each in names if counts[each] > 1), None)
    if twice is not None:
        raise GraphError(f"The {name} has two columns '{twice}'; give each its own name.")
    return Table(data.rename_columns(names), name)
