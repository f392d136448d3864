"""CSV and TSV files as tables: every error says which file and which row.

Cells are read as text, and become numbers only where they are used as numbers: an id ``007`` stays what it is. An
empty cell is a missing one.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from ...errors import DataError, in_short
from ..progress import Progress, silent
from .csv_quotes import BLOCK, encoding_error, filled_lines, has_quotes, open_bytes, texts_over_lines
from .formats import table_suffix
from .table import MOST_COLUMNS, Table, bounded_batches, unique_names, wanted_columns

_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16", b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip"}


def delimiter_of(path: Path) -> str:
    """What stands between the cells of a file, by its name."""
    return "\t" if table_suffix(path) == ".tsv" else ","


def csv_header(path: Path) -> list[str]:
    """The names in the first row, read with Python's own reader; the usual mistakes are recognised by it."""
    delimiter = delimiter_of(path)
    try:
        with open_bytes(path) as file:
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
        needed = "a tab" if delimiter == "\t" else "a comma"
        raise DataError(f"'{path}' seems to be separated by '{other}'; {needed} must stand between its columns.")
    return unique_names(names, path)


def read_csv(path: Path, size: int, columns: Sequence[str] | None = None, progress: Progress = silent) -> Table:
    """The table in a file of ``size`` bytes, all of its columns or these; those that it lacks are left out."""
    delimiter = delimiter_of(path)
    names = csv_header(path)
    to_read = wanted_columns(names, columns)
    wrong: list[Any] = []

    def refuse(row: Any) -> str:
        wrong.append(row)
        return "error"

    quoted = has_quotes(path, delimiter)
    with pa.OSFile(str(path)) as file:
        try:
            reader = open_reader(file, delimiter, names, to_read, refuse)
            batches = list(bounded_batches(reader, path, len(to_read), lambda: file.tell(), size, progress))
            data = pa.Table.from_batches(batches, schema=reader.schema)
        except pa.ArrowInvalid as cause:
            if quoted:
                texts_over_lines(path, delimiter, names)  # a stray quote is the better reason
            raise csv_error(path, cause, wrong) from None
        except pa.ArrowException as cause:
            raise DataError(f"'{path}' can't be read as a table: {in_short(cause)}.") from None
    broken = quoted and data.num_rows + 1 < filled_lines(path)
    note = texts_over_lines(path, delimiter, names) if broken else ""
    table = Table(data, str(path), first=2, notes=(note,) if note else ())
    refuse_nul(table, path)
    return table


def open_reader(
    file: Any, delimiter: str, names: Sequence[str], columns: Sequence[str], refuse: Callable[[Any], str]
) -> Any:
    """Arrow's reader of these columns of a CSV file, a block at a time, every cell as text.

    Args:
        names: all columns of the file.
        refuse: called with a row that has another number of cells than the header.
    """
    return pa.csv.open_csv(
        file,
        read_options=pa.csv.ReadOptions(block_size=BLOCK, use_threads=True),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=columns,
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def refuse_nul(table: Table, path: Path) -> None:
    """Refuse NUL bytes, which no text has; the bytes of a column are searched at once."""
    for name in table.columns:
        row = 0
        for chunk in table.data[name].chunks:
            data = chunk.buffers()[2]
            if data is not None and not np.frombuffer(data, np.uint8).all():
                for at, value in enumerate(chunk.to_pylist()):
                    if value is not None and "\0" in value:
                        raise DataError(f"There is a NUL byte in {table.location(row + at, name)}; remove it.")
            row += len(chunk)


def csv_error(path: Path, cause: Exception, wrong: list[Any]) -> DataError:
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
