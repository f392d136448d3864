"""Tables from files and data frames, through Arrow: every error says which file and which row.

Cells of CSV and TSV files are read as text, and become numbers only where they are used as numbers: an id ``007``
stays what it is. An empty cell is a missing one.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ...errors import DataError, GraphError, in_short
from ..progress import tell
from . import limits
from .quotes import BLOCK, encoding_error, filled_lines, has_quotes, texts_over_lines

MOST_COLUMNS = 100_000
_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16", b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip"}


@dataclass(frozen=True)
class Table:
    """A table with what is needed to say where something stands.

    Attributes:
        data: the columns.
        name: the file, or what the table is.
        first: the number of the first row, as a person counts: 2 below a header.
        notes: what was found in the file and should be told.
    """

    data: pa.Table
    name: str
    first: int = 1
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.data.column_names)

    def place(self, row: int, column: str | None = None) -> str:
        """Where a cell stands, for a sentence."""
        where = f"row {row + self.first:,} of '{self.name}'"
        return where if column is None else f"column '{column}' in {where}"

    def need(self, column: str, what: str) -> str:
        """The column, or an error with the names that there are."""
        if self.data.schema.get_field_index(column) >= 0:
            return column
        shown = ", ".join(f"'{name}'" for name in self.columns[:20]) + (", …" if len(self.columns) > 20 else "")
        raise DataError(f"'{self.name}' has no column '{column}' for the {what}; its columns are {shown}.")


def read_table(path: Path, columns: Sequence[str] | None = None) -> Table:
    """A table from a CSV, TSV or Parquet file, all of its columns or these; those that it lacks are left out."""
    size = limits.check_file(path)
    try:
        if path.suffix.lower() == ".parquet":
            return _read_parquet(path, columns)
        return _read_csv(path, size, columns)
    except (OSError, MemoryError) as cause:
        raise DataError(
            f"'{path}' can't be read: {getattr(cause, 'strerror', None) or cause or 'no memory'}."
        ) from None


def header(path: Path) -> list[str]:
    """The names of a table's columns."""
    limits.check_file(path)
    if path.suffix.lower() == ".parquet":
        return _unique(list(_open_parquet(path).schema_arrow.names), path)
    return _csv_header(path, _delimiter(path))


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _csv_header(path: Path, delimiter: str) -> list[str]:
    """The first row, read with Python's own reader; what it looks like tells the usual mistakes."""
    try:
        with path.open("rb") as file:
            start = file.read(1 << 20)
    except OSError as cause:
        raise DataError(f"'{path}' can't be read: {cause.strerror or cause}.") from None
    for mark, kind in _MARKS.items():
        if start.startswith(mark):
            raise DataError(f"'{path}' is {kind}, not plain text; save it as UTF-8 with a .csv or .tsv name.")
    if b"\0" in start:
        raise DataError(f"'{path}' has a NUL byte in row {start[: start.index(0)].count(10) + 1}; it is not text.")
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        text = io.StringIO(decoder.decode(start), newline="")
        names = next((row for row in csv.reader(text, delimiter=delimiter) if row), [])
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    except csv.Error as cause:
        raise DataError(f"The header of '{path}' can't be read: {cause}.") from None
    if not any(name.strip() for name in names):
        raise DataError(f"'{path}' has no header; its first row must name the columns.")
    if len(names) > MOST_COLUMNS:
        raise DataError(f"'{path}' has {len(names):,} columns; at most {MOST_COLUMNS:,} are read.")
    other = {",": ";", "\t": ","}[delimiter]
    if len(names) == 1 and other in names[0]:
        told = "a tab" if delimiter == "\t" else "a comma"
        raise DataError(f"'{path}' seems to be separated by '{other}'; {told} must stand between its columns.")
    return _unique(names, path)


def _unique(names: list[str], path: Path) -> list[str]:
    """The names, or an error where one stands twice or is empty."""
    seen: set[str] = set()
    for at, name in enumerate(names):
        if not name.strip():
            raise DataError(f"Column {at + 1} of '{path}' has no name in the header; name it or remove it.")
        if name in seen:
            raise DataError(f"'{path}' has two columns '{name}'; give each its own name.")
        seen.add(name)
    return names


def _wanted(names: list[str], columns: Sequence[str] | None) -> list[str]:
    """The columns to read, in the order of the file."""
    asked = None if columns is None else set(columns)
    return names if asked is None else [name for name in names if name in asked]


def _read_csv(path: Path, size: int, columns: Sequence[str] | None) -> Table:
    delimiter = _delimiter(path)
    names = _csv_header(path, delimiter)
    wanted = _wanted(names, columns)
    wrong: list[Any] = []

    def refuse(row: Any) -> str:
        wrong.append(row)
        return "error"

    quoted = has_quotes(path, delimiter)
    with pa.OSFile(str(path)) as file:
        try:
            reader = pa.csv.open_csv(
                file,
                read_options=pa.csv.ReadOptions(block_size=BLOCK, use_threads=True),
                parse_options=pa.csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse
                ),
                convert_options=pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=wanted,
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
            batches = list(_bounded(reader, path, reader.schema, lambda: file.tell(), size))
            made = pa.Table.from_batches(batches, schema=reader.schema)
        except pa.ArrowInvalid as cause:
            if quoted:
                texts_over_lines(path, delimiter, names)  # a stray quote is the better reason
            raise _csv_error(path, cause, wrong) from None
        except pa.ArrowException as cause:
            raise DataError(f"'{path}' can't be read as a table: {in_short(cause)}.") from None
    broken = quoted and made.num_rows + 1 < filled_lines(path)
    note = texts_over_lines(path, delimiter, names) if broken else ""
    table = Table(made, str(path), first=2, notes=(note,) if note else ())
    _refuse_nul(table, path)
    return table


def _bounded(reader: Iterable[Any], path: Path, schema: Any, at: Any, size: int) -> Iterator[Any]:
    """The batches, as long as all of them fit the limits; tells how far the file is read."""
    rows, used = 0, 0
    for batch in reader:
        rows, used = rows + batch.num_rows, used + batch.nbytes
        limits.check_bytes(path, "its table", used)
        if rows > limits.MOST_NODES or rows * max(len(schema), 1) > limits.MOST_CELLS:
            raise DataError(f"'{path}' has more than {rows:,} rows of {len(schema)} columns; that is too many.")
        tell(f"reading {path.name}", min(at(), size), size)
        yield batch


def _refuse_nul(table: Table, path: Path) -> None:
    """Refuse NUL bytes, which no text has; the bytes of a column are searched at once."""
    for name in table.columns:
        row = 0
        for chunk in table.data[name].chunks:
            data = chunk.buffers()[2]
            if data is not None and not np.frombuffer(data, np.uint8).all():
                for at, value in enumerate(chunk.to_pylist()):
                    if value is not None and "\0" in value:
                        raise DataError(f"There is a NUL byte in {table.place(row + at, name)}; remove it.")
            row += len(chunk)


def _csv_error(path: Path, cause: Exception, wrong: list[Any]) -> DataError:
    """The sentence for what Arrow's reader says."""
    if wrong:
        row = wrong[0]
        where = "a row" if row.number is None else f"row {row.number:,}"
        text = row.text if len(row.text) <= 60 else row.text[:60] + "…"
        return DataError(
            f"In '{path}' {where} has {row.actual_columns} cells, but the header has {row.expected_columns} "
            f"('{text}'); put texts with separators or quotes in them into quotes."
        )
    text = str(cause)
    if "UTF8" in text:
        return encoding_error(path)
    if "straddling" in text or "out of sync" in text or "quote" in text.lower():
        return DataError(f"'{path}' has a quote that is opened but not closed, or a row that is far too long.")
    if "Empty CSV" in text:
        return DataError(f"'{path}' has no rows.")
    return DataError(f"'{path}' can't be read as a table: {in_short(cause)}.")


def _open_parquet(path: Path, packed: Sequence[str] = ()) -> Any:
    """The file; columns named in ``packed`` are read with each value once, so that they can't explode."""
    try:
        file = pa.parquet.ParquetFile(str(path), memory_map=False, read_dictionary=list(packed))
        [field.name for field in file.schema_arrow]  # a name that isn't UTF-8 is an error only when it is asked for
        return file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as cause:
        raise DataError(f"'{path}' is not a Parquet file, or it is damaged: {in_short(cause)}.") from None


def _read_parquet(path: Path, columns: Sequence[str] | None) -> Table:
    with _open_parquet(path) as file:
        texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
    with _open_parquet(path, texts) as file:
        names = _unique(list(file.schema_arrow.names), path)
        wanted = _wanted(names, columns)
        rows = file.metadata.num_rows
        if rows > limits.MOST_NODES or rows * max(len(wanted), 1) > limits.MOST_CELLS:
            raise DataError(f"'{path}' says it has {rows:,} rows of {len(wanted)} columns; that is too many.")
        groups = (file.metadata.row_group(at) for at in range(file.metadata.num_row_groups))
        limits.check_bytes(path, "its row groups", sum(group.total_byte_size for group in groups))
        read = [0]

        def counted() -> Iterator[Any]:
            for batch in file.iter_batches(columns=wanted):
                read[0] += batch.num_rows
                yield batch

        schema = pa.schema([file.schema_arrow.field(name) for name in wanted])
        try:
            made = pa.Table.from_batches(
                list(_bounded(counted(), path, schema, lambda: read[0], max(rows, 1))), schema=schema
            )
            made.validate(full=True)  # texts that aren't UTF-8, and indices that point nowhere
        except (pa.ArrowException, OSError) as cause:
            raise DataError(f"'{path}' is damaged: {in_short(cause)}.") from None
    return Table(made, str(path))


def _is_text(kind: Any) -> bool:
    return any(is_kind(kind) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary))


def from_frame(frame: Any, name: str) -> Table:
    """A table from a pandas or polars data frame, an Arrow table, a dictionary of columns, or whatever gives Arrow.

    The index of a pandas data frame becomes a column where it has a name.
    """
    try:
        if isinstance(frame, dict):
            made = pa.table(frame)
        elif hasattr(frame, "reset_index"):  # pandas
            named = any(level is not None for level in frame.index.names)
            made = pa.Table.from_pandas(frame.reset_index() if named else frame, preserve_index=False)
        elif hasattr(frame, "__arrow_c_stream__"):
            made = pa.table(frame)
        elif hasattr(frame, "to_arrow"):
            made = frame.to_arrow()
        else:
            raise GraphError(f"The {name} must be a data frame or an Arrow table, not {type(frame).__name__}.")
    except (pa.ArrowException, TypeError, ValueError) as cause:
        if isinstance(cause, GraphError):
            raise
        raise GraphError(f"The {name} can't be taken as a table: {in_short(cause)}.") from None
    names = [str(each) for each in made.column_names]
    counts = Counter(names)
    twice = next((each for each in names if counts[each] > 1), None)
    if twice is not None:
        raise GraphError(f"The {name} has two columns '{twice}'; give each its own name.")
    return Table(made.rename_columns(names), name)
