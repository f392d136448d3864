"""Sources: a file, a folder or a glob of CSV, TSV and Parquet files, read as one small table after another."""

from __future__ import annotations

import glob
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ...errors import DataError, in_short
from ...system import reading
from ..files import limits
from ..files.arrow import pa
from ..files.csv_quotes import FilledLines, check_closed, open_bytes, texts_over_lines
from ..files.csv_table import csv_error, csv_header, delimiter_of, open_reader, refuse_nul
from ..files.formats import COMPRESSED, TABLES, table_suffix
from ..files.parquet_table import is_text, open_parquet, parquet_header
from ..files.table import Table
from ..progress import Progress, silent

THRESHOLD = 512 << 20
"""Files with more bytes are streamed without being asked for it."""
BATCH_ROWS = 1 << 17
"""Rows of a Parquet file that are read at a time; of a CSV file it is a block of bytes."""


def needs_stream(path: str) -> bool:
    """Whether only a stream can read it: a folder or glob of tables, a compressed file, one too large for memory."""
    file = Path(path)
    if not reading.is_file(file):
        return reading.is_folder(file) or glob.has_magic(path)
    return table_suffix(file) in TABLES and (file.suffix.lower() in COMPRESSED or _size(file) > limits.most_bytes())


def is_large(path: str) -> bool:
    """Whether a table is better read in a stream."""
    return table_suffix(Path(path)) in TABLES and reading.is_file(Path(path)) and _size(Path(path)) > THRESHOLD


def _size(file: Path) -> int:
    return file.stat().st_size


@dataclass
class Source:
    """Files that are one table.

    Attributes:
        name: what it is called in sentences: the file, the folder or the pattern.
        files: in the order of their names.
        rows: of each file that was read.
        notes: sentences about what is odd in the files.
    """

    name: str
    files: tuple[Path, ...]
    rows: list[int]
    notes: list[str]

    @classmethod
    def find(cls, path: str) -> Source:
        """The tables of a file, a folder or a glob."""
        place = Path(path)
        if reading.is_folder(place):
            files = [file for file in place.rglob("*") if table_suffix(file) in TABLES and file.name[0] not in "._"]
        elif glob.has_magic(path) and not reading.is_there(place):
            files = [Path(file) for file in glob.glob(path, recursive=True)]  # noqa: PTH207 - the pattern may be absolute
        else:
            files = [place]
        if not files:
            raise DataError(f"There is no table in '{path}'; its files must end in {_endings()}.")
        for file in files:
            if table_suffix(file) not in TABLES or (file.suffix.lower() in COMPRESSED and _is_parquet(file)):
                raise DataError(f"'{file}' can't be read by its name; tables end in {_endings()}.")
            reading.check_kind(file)
            if reading.has_raw_bytes(str(file)):
                limits.check_file(file)
            if file.stat().st_size == 0:
                raise DataError(f"'{file}' is empty (0 bytes); write it again.")
        return cls(path, tuple(sorted(files)), [], [])

    @property
    def stem(self) -> str:
        """What a graph of it is called."""
        if len(self.files) == 1 and str(self.files[0]) == self.name:
            file = self.files[0]
            return Path(file.stem).stem if file.suffix.lower() in COMPRESSED else file.stem
        place = Path(self.name)
        named = [part for part in place.parts if not glob.has_magic(part)]
        return Path(named[-1]).stem if named and named[-1] not in ("/", ".") else "graph"

    def outline(self) -> Table:
        """The columns without their rows; every file must have them."""
        first = _header(self.files[0])
        for file in self.files[1:]:
            other = set(first).symmetric_difference(_header(file))
            if other:
                raise DataError(
                    f"'{file}' and '{self.files[0]}' have different columns, such as '{min(other)}'; write them alike."
                )
        empty = pa.table({name: pa.array([], pa.string()) for name in first})
        return Table(empty, self.name, first=1 if _is_parquet(self.files[0]) else 2)

    def tables(self, columns: Sequence[str], progress: Progress = silent) -> Iterator[Table]:
        """These columns of all files, some rows at a time; each table knows its file and its first row."""
        total, done = sum(file.stat().st_size for file in self.files), 0
        kinds: dict[str, Any] = {}
        self.rows, self.notes = [], []
        for file in self.files:
            size, rows = file.stat().st_size, 0
            for table, read in _tables(file, columns, self.notes):
                self._check_kinds(table, kinds)
                progress(f"reading {file.name}", done + int(read * size), total)
                rows += table.data.num_rows
                yield table
            self.rows.append(rows)
            done += size

    def _check_kinds(self, table: Table, kinds: dict[str, Any]) -> None:
        """Refuse a column that is of another type than in the files before."""
        for column in table.data.schema:
            kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
            before = kinds.setdefault(column.name, kind)
            if before != kind:
                raise DataError(
                    f"Column '{column.name}' of '{table.name}' holds {kind}, and {before} in the files before it; "
                    "write them alike."
                )

    def location(self, row: int) -> str:
        """The file and row of the ``row``-th of all rows, once they are read."""
        for file, rows in zip(self.files, self.rows, strict=True):
            if row < rows:
                return Table(pa.table({}), str(file), first=1 if _is_parquet(file) else 2).location(row)
            row -= rows
        return f"'{self.name}'"


def _endings() -> str:
    return ", ".join((*TABLES, *(f".csv{ending}" for ending in COMPRESSED)))


def _is_parquet(path: Path) -> bool:
    return table_suffix(path) == ".parquet"


def _header(file: Path) -> list[str]:
    try:
        return parquet_header(file) if _is_parquet(file) else csv_header(file)
    except (OSError, EOFError, zlib.error) as cause:
        raise DataError(f"'{file}' can't be read: {in_short(cause)}.") from None


def _tables(file: Path, columns: Sequence[str], notes: list[str]) -> Iterator[tuple[Table, float]]:
    """Tables of a file's rows, each with the share of the file that is read by then."""
    try:
        yield from _parquet_tables(file, columns) if _is_parquet(file) else _csv_tables(file, columns, notes)
    except (OSError, EOFError, zlib.error, MemoryError) as cause:
        raise DataError(f"'{file}' can't be read: {in_short(cause) or 'no memory'}.") from None


def _parquet_tables(file: Path, columns: Sequence[str]) -> Iterator[tuple[Table, float]]:
    with open_parquet(file) as opened:
        texts = [field.name for field in opened.schema_arrow if is_text(field.type)]
    with open_parquet(file, texts) as opened:
        rows, total = 0, max(opened.metadata.num_rows, 1)
        try:
            for batch in opened.iter_batches(batch_size=BATCH_ROWS, columns=list(columns)):
                data = pa.Table.from_batches([batch])
                data.validate(full=True)  # texts that aren't UTF-8, and indices that point nowhere
                rows += batch.num_rows
                yield Table(data, str(file), first=1 + rows - batch.num_rows), rows / total
        except (pa.ArrowException, OSError) as cause:
            raise DataError(f"'{file}' is damaged: {in_short(cause)}.") from None


def _csv_tables(file: Path, columns: Sequence[str], notes: list[str]) -> Iterator[tuple[Table, float]]:
    names, delimiter, wrong = csv_header(file), delimiter_of(file), list[Any]()

    def refuse(row: Any) -> str:
        wrong.append(row)
        return "error"

    rows, size = 0, max(file.stat().st_size, 1)
    with open_bytes(file) as opened:
        counted = _Counted(opened, file)
        try:
            for batch in open_reader(pa.PythonFile(counted, "r"), delimiter, names, list(columns), refuse):
                rows += batch.num_rows
                table = Table(pa.Table.from_batches([batch]), str(file), first=2 + rows - batch.num_rows)
                refuse_nul(table, file)
                yield table, min(counted.position() / size, 1.0)
        except pa.ArrowInvalid as cause:
            if counted.quotes:
                texts_over_lines(file, delimiter, names)  # a stray quote is the better reason
            raise csv_error(file, cause, wrong) from None
        except pa.ArrowException as cause:
            raise DataError(f"'{file}' can't be read as a table: {in_short(cause)}.") from None
    if counted.quotes % 2:
        check_closed(file, delimiter)
    if counted.quotes and rows + 1 < counted.lines.count:
        note = texts_over_lines(file, delimiter, names)
        notes.extend([note] if note else [])


class _Counted:
    """A file whose quotes and filled lines are counted as it is read."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.file, self.path = file, path
        self.quotes, self.lines = 0, FilledLines()

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        block = self.file.read(size)
        if block:
            self.quotes += block.count(b'"')
            self.lines.add(block)
        return block

    def position(self) -> int:
        """Bytes of the file on disk that are read by now."""
        raw: Any = getattr(self.file, "fileobj", None) or getattr(self.file, "_fp", None) or self.file
        return int(raw.tell()) if not self.file.closed else 0

    def readable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Whoever opened the file closes it."""

    @property
    def closed(self) -> bool:
        """Whether nothing can be read any more."""
        return self.file.closed
