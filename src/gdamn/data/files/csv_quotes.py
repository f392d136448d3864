"""Quotes in CSV and TSV files: texts with line breaks, distinguished from stray quotes that swallow rows.

A stray quote at the begin of a cell takes in everything up to the next quote of the file, in silence: whole rows become
part of one cell. A text with line breaks in it looks the same to a parser. What tells them apart:

- where the text ends. The quote that closes it is followed by a delimiter or the end of the line; a second stray
  quote stands at the begin of its cell, with the rest of that cell behind it.
- what it took in. Where a cell holds a mere quote, such as a ditto mark, that isn't enough: lines that have as many
  cells as the header, each of a kind that its column has elsewhere, are rows; unless the column has more such texts
  whose lines can't be rows, so that it really quotes line breaks.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...errors import DataError
from .formats import COMPRESSED

BLOCK = 8 << 20
"""Bytes that are parsed at a time; also the longest row that can be read."""

SAMPLE = 200_000
"""Cells of ordinary rows from which the kinds of the columns are learned."""

ENOUGH = 20
"""Ordinary rows from which kinds are known."""

MOST_DOUBTS = 1000
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class MultilineCell:
    """A cell in quotes that goes on over line breaks.

    Attributes:
        line: where its quote opens, as a person counts.
        column: of the cell, from 0.
        lines: how many lines lie behind the first one.
        closed: whether its last quote ends the cell.
        rows: cells of those of the lines that have as many as the header; of the last one those before its quote.
    """

    line: int
    column: int
    lines: int
    closed: bool
    rows: tuple[list[str], ...]


@dataclass
class Kinds:
    """The kinds of cells that each column has in ordinary rows."""

    seen: list[set[str]]
    most: int
    rows: int = 0

    def learn(self, row: Sequence[str]) -> None:
        """Add the kinds of an ordinary row's cells, until enough rows were seen."""
        if self.rows < self.most and len(row) == len(self.seen):
            self.rows += 1
            for kinds, cell in zip(self.seen, row, strict=True):
                kinds.add(kind(cell))

    def fit(self, cells: Sequence[str]) -> bool:
        """Whether the cells could begin a row; with too few rows to compare, by its blanks alone."""
        for cell, kinds in zip(cells, self.seen, strict=False):
            cell_kind = kind(cell)
            known = kinds if self.rows >= ENOUGH else {"word", "words", "number"}
            if cell_kind != "empty" and cell_kind not in known and not (cell_kind == "number" and "word" in known):
                return False
        return True


@dataclass
class Scan:
    """The multiline cells of a file.

    Attributes:
        count: all cells that go on over line breaks.
        first: the first of them.
        texts: by column, how many of them are texts for sure.
        stray: those that begin with a stray quote.
    """

    count: int = 0
    first: MultilineCell | None = None
    texts: Counter[int] = field(default_factory=Counter)
    stray: list[MultilineCell] = field(default_factory=list)


def kind(cell: str) -> str:
    """``empty``, ``number``, ``word``, ``words``, or ``blank`` where it begins or ends with one, as no cell does."""
    if not cell:
        return "empty"
    if cell != cell.strip():
        return "blank"
    try:
        float(cell)
    except ValueError:
        return "words" if len(cell.split()) > 1 else "word"
    return "number"


def open_bytes(path: Path) -> IO[bytes]:
    """The content of a file, unpacked where its name ends in .gz or .bz2."""
    if path.suffix.lower() in COMPRESSED:
        module: Any = gzip if path.suffix.lower() == ".gz" else bz2
        opened: IO[bytes] = module.open(path, "rb")
        return opened
    return path.open("rb")


def _open_text(path: Path) -> IO[str]:
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", newline="")


def has_quotes(path: Path, delimiter: str) -> bool:
    """Whether there is a quote in the file at all; one that is never closed is refused.

    An odd number of quotes is the sign of that; only then is it worth the time to search for it.
    """
    with open_bytes(path) as file:
        quotes = sum(block.count(b'"') for block in iter(lambda: file.read(BLOCK), b""))
    if quotes % 2:
        check_closed(path, delimiter)
    return quotes > 0


def check_closed(path: Path, delimiter: str) -> None:
    """Refuse a quote that is never closed."""
    row = 0
    with _wide_fields(), _open_text(path) as text:
        try:
            for _ in csv.reader(text, delimiter=delimiter, strict=True):
                row += 1
        except csv.Error as cause:
            raise DataError(
                f"'{path}' has a quote in row {row + 1:,} that is not closed or stands in the wrong place ({cause}); "
                "a quote inside of quotes is written twice."
            ) from None
        except UnicodeDecodeError:
            raise encoding_error(path) from None


@dataclass
class FilledLines:
    """Counts the lines that aren't empty; it is the number of rows where no cell spans lines."""

    count: int = 0
    _ended: bool = True

    def add(self, block: bytes) -> None:
        """The next bytes of the file."""
        data = np.frombuffer(block, np.uint8)
        ends = (data == 10) | (data == 13)
        before = np.concatenate([[self._ended], ends[:-1]])
        self.count += int((before & ~ends).sum())
        self._ended = bool(ends[-1])


def filled_lines(path: Path) -> int:
    """The number of a file's lines that aren't empty."""
    lines = FilledLines()
    with open_bytes(path) as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            lines.add(block)
    return lines.count


def texts_over_lines(path: Path, delimiter: str, names: Sequence[str]) -> str:
    """The note about texts with line breaks, empty where there are none; stray quotes are refused."""
    scan = _scan(path, delimiter, len(names))
    if scan.stray:
        raise _stray(path, names, scan.stray)
    first = scan.first
    if first is None:
        return ""
    return (
        f"'{path.name}': {scan.count:,} cells in quotes go on over line breaks, the first one from line "
        f"{first.line:,} to {first.line + first.lines:,}; each counts as one text."
    )


def _stray(path: Path, names: Sequence[str], stray: Sequence[MultilineCell]) -> DataError:
    first = stray[0]
    name = " ".join(names[first.column].split())[:40] if first.column < len(names) else f"number {first.column + 1}"
    last = first.line + first.lines
    why = "which look like rows of their own" if first.closed else f"up to a quote inside of a cell in line {last:,}"
    more = "" if len(stray) == 1 else f"; {len(stray) - 1:,} more quotes do so"
    return DataError(
        f"The quote in line {first.line:,} of '{path}' (column '{name}') swallows the next {first.lines:,} lines, "
        f"{why}{more}. Write a quote that belongs to a text twice and put the whole cell in quotes, or remove it; "
        "in a real text put blanks in place of the line breaks."
    )


def _scan(path: Path, delimiter: str, width: int) -> Scan:
    """All cells that go on over line breaks, sorted into texts and stray quotes."""
    scan, doubts = Scan(), list[MultilineCell]()
    kinds = Kinds([set() for _ in range(width)], max(20, SAMPLE // max(width, 1)))
    header = True
    for line, lines, row in _rows(path, delimiter):
        if len(lines) == 1:
            if not header:
                kinds.learn(row)
            header = header and not row
            continue
        header = False
        for cell in _multiline_cells("".join(lines), delimiter, width, line, len(row)):
            scan.count += 1
            scan.first = scan.first or cell
            if not cell.closed:
                scan.stray.append(cell)
            elif cell.rows and len(doubts) < MOST_DOUBTS:
                doubts.append(cell)
            else:
                scan.texts[cell.column] += 1
    rows = [cell for cell in doubts if 2 * sum(map(kinds.fit, cell.rows)) >= cell.lines]
    scan.texts.update(Counter(cell.column for cell in doubts) - Counter(cell.column for cell in rows))
    doubted = Counter(cell.column for cell in rows)
    scan.stray += [cell for cell in rows if scan.texts[cell.column] <= doubted[cell.column]]
    scan.stray.sort(key=lambda cell: cell.line)
    return scan


def _rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """Each row with the number of its first line, its lines and its cells."""
    plain: list[str] = []

    def remembered(text: Iterator[str]) -> Iterator[str]:
        for line in text:
            plain.append(line)
            yield line

    number = 1
    with _wide_fields(), _open_text(path) as text:
        try:
            for row in csv.reader(remembered(text), delimiter=delimiter):
                yield number, plain, row
                number += len(plain)
                plain.clear()
        except UnicodeDecodeError:
            raise encoding_error(path) from None
        except csv.Error as cause:
            raise DataError(
                f"'{path}' can't be read behind line {number:,} ({cause}); is there a quote that is not closed?"
            ) from None


def _multiline_cells(text: str, delimiter: str, width: int, line: int, cells: int) -> Iterator[MultilineCell]:
    """The cells of one row that go on over line breaks."""
    at = column = 0
    while at < len(text):
        end = at
        if text[at] == '"':
            end = _closing(text, at)
            inside = _LINE_END.split(text[at:end])
            if len(inside) > 1:
                closed = text[end + 1 : end + 2] in ("", delimiter, "\r", "\n")
                rows = _as_rows(inside, delimiter, width, column, cells)
                yield MultilineCell(line, column, len(inside) - 1, closed, rows)
                line += len(inside) - 1
            end += 1
        behind = text.find(delimiter, end)
        if behind < 0:
            return
        at, column = behind + 1, column + 1


def _closing(text: str, opening: int) -> int:
    """The place of the quote that closes a cell: the next one that isn't written twice."""
    at = text.find('"', opening + 1)
    while at >= 0 and text[at + 1 : at + 2] == '"':
        at = text.find('"', at + 2)
    return at if at >= 0 else len(text)


def _as_rows(inside: Sequence[str], delimiter: str, width: int, column: int, cells: int) -> tuple[list[str], ...]:
    """The lines that a cell took in and that have as many cells as the header, were its quotes none.

    Args:
        inside: the lines of the cell, from its quote to the one that closes it.
        column: the cells before it.
        cells: of the whole row.
    """
    first, *middle, last = (part.split(delimiter) for part in inside)
    if width < 2 or column + len(first) != width:
        return ()
    rows = [part for part in middle if len(part) == width]
    if len(last) + cells - column - 1 == width:
        rows.append(last[:-1])
    return tuple(rows)


@contextmanager
def _wide_fields() -> Iterator[None]:
    """Let Python's reader take cells as long as a block, for the time of a scan."""
    before = csv.field_size_limit(BLOCK)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def encoding_error(path: Path) -> DataError:
    """The error that names the first byte that isn't UTF-8."""
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as cause:
                byte = f"byte 0x{line[cause.start]:02x} at place {cause.start + 1}"
                return DataError(f"'{path}' is not UTF-8 in row {number:,} ({byte}); save the file as UTF-8.")
    return DataError(f"'{path}' is not UTF-8; save the file as UTF-8.")
