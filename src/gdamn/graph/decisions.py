"""Decisions: what a person said of edges and labels, as an append-only log in which the last word on an item counts.

A row of the log is ``time,kind,node,other,verdict,label``:

=======  =====================================  =================================================================
kind     verdict                                what it means
=======  =====================================  =================================================================
edge     right, wrong                           the edge between node and other is kept for good, or cut
label    right; wrong and a label               the training label is right; it is to be this one
node     right or wrong, and a label            the node has this label (right: as it was predicted)
label    wrong, without a label                 nobody knows the label: the node no longer counts as labelled
any      unsure                                 seen, and nothing follows
any      undo                                   the last word is taken back: the item is open again
=======  =====================================  =================================================================
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import DataError
from ..system.reading import MOST_TEXT, check_regular
from ..text import safe

KINDS = ("edge", "label", "node")
VERDICTS = ("right", "wrong", "unsure", "undo")

Item = tuple[str, ...]
"""What a decision is about: ``("edge", a, b)`` or ``("node", a)``. A node's label is one item, whatever the kind."""


class Row(NamedTuple):
    """One decision."""

    time: str
    kind: str
    node: str
    other: str
    verdict: str
    label: str

    def item(self, directed: bool = False) -> Item:
        """What it is about; both directions of an undirected edge are one item."""
        if self.kind != "edge":
            return ("node", self.node)
        ends = (self.node, self.other)
        return ("edge", *(ends if directed else sorted(ends)))


COLUMNS = Row._fields


@dataclass(frozen=True)
class Decisions:
    """A log of decisions.

    Attributes:
        rows: all of them, in the order in which they were made.
        source: what the log is called in messages.
        first: the number of its first row there; files have a header above it.
    """

    rows: tuple[Row, ...] = ()
    source: str = "the decisions"
    first: int = 1

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            problem = row_problem(row)
            if problem:
                raise DataError(f"{self.where(number)} {problem}.")

    @classmethod
    def read(cls, path: str | Path) -> Decisions:
        """From a CSV file. A last line that was cut off while it was written is left out."""
        path = Path(path)
        check_regular(path, MOST_TEXT)
        try:
            text = path.read_bytes().decode("utf-8-sig")
            return cls(_rows(text, str(path)), str(path), 2)
        except UnicodeDecodeError:
            raise DataError(f"'{path}' is not UTF-8; save the file as UTF-8.") from None

    @classmethod
    def of(
        cls,
        *,
        confirmed: Iterable[Sequence[Any]] = (),
        wrong: Iterable[Sequence[Any]] = (),
        labels: Mapping[Any, Any] | None = None,
    ) -> Decisions:
        """From pairs of node ids, and labels by node id; None for a label that is wrong and no more is known of it."""
        edges = [("right", *map(_text, pair)) for pair in confirmed] + [("wrong", *map(_text, pair)) for pair in wrong]
        if any(len(edge) != 3 for edge in edges):
            raise DataError("An edge is a pair of node ids.")
        rows = [Row("", "edge", a, b, verdict, "") for verdict, a, b in edges]
        made = cls((*rows, *(Row("", "label", _text(n), "", "wrong", _text(y)) for n, y in (labels or {}).items())))
        seen: dict[Item, Row] = {}
        for row in rows:
            before = seen.setdefault(row.item(), row)
            if before.verdict != row.verdict and {before.node, before.other} == {row.node, row.other}:
                raise DataError(f"The edge {edge_name(row)} is both confirmed and wrong; leave one out.")
        return made

    @classmethod
    def given(cls, decisions: Any) -> Decisions:
        """From a path, from a data frame or mapping with the columns of the log, or as they are."""
        if isinstance(decisions, cls):
            return decisions
        if isinstance(decisions, str | Path):
            return cls.read(decisions)
        names = getattr(decisions, "column_names", getattr(decisions, "columns", decisions))
        columns = list(names) if isinstance(names, Iterable) else []
        if not {"kind", "node", "verdict"} <= set(columns):
            raise DataError(f"Decisions have the columns {', '.join(COLUMNS)}; these have {safe(columns)[:200]}.")
        cells = {name: [_text(cell) for cell in decisions[name]] for name in COLUMNS if name in columns}
        size = len(cells["kind"])
        return cls(tuple(Row(*(cells.get(name, [""] * size)[at] for name in COLUMNS)) for at in range(size)))

    def where(self, number: int) -> str:
        """The name of a row at the beginning of a sentence."""
        name = self.source if self.source == "the decisions" else f"'{safe(self.source)}'"
        return f"Row {number + self.first:,} of {name}"

    def last(self, directed: bool = False) -> dict[Item, int]:
        """The number of the row that counts for each item that isn't open."""
        counted: dict[Item, int] = {}
        for number, row in enumerate(self.rows):
            counted.pop(row.item(directed), None)  # so that the latest stands last
            if row.verdict != "undo":
                counted[row.item(directed)] = number
        return counted

    def beginning(self, count: int) -> Decisions:
        """The first rows alone: what the log was when it was so long."""
        return replace(self, rows=self.rows[:count])

    @cached_property
    def sha256(self) -> str:
        """Of all rows, in hexadecimal."""
        return hashlib.sha256("".join(map(row_text, self.rows)).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.rows)


def row_text(row: Sequence[str]) -> str:
    """A row as a line of the file."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(row)
    return line.getvalue()


def row_problem(row: Row) -> str:
    """What can't be about a row, in words; empty where all can."""
    if row.kind not in KINDS:
        return f"has the kind '{safe(row.kind)}'; choose {', '.join(KINDS)}"
    if row.verdict not in VERDICTS:
        return f"has the verdict '{safe(row.verdict)}'; choose {', '.join(VERDICTS)}"
    if not row.node:
        return "names no node"
    if row.kind == "edge":
        if not row.other or row.other == row.node:
            return "names no edge: give two different nodes"
        return "has a label, which an edge has not" if row.label else ""
    if row.other:
        return f"names a second node, which only an edge has ('{safe(row.other)}')"
    return "calls a node right and says no label" if (row.kind, row.verdict, row.label) == ("node", "right", "") else ""


def edge_name(row: Row) -> str:
    """The edge of a row, for a message."""
    return f"{safe(row.node)} – {safe(row.other)}"


def complete_text(text: str) -> str:
    """The text of a log without a last line that was cut off while it was written."""
    whole, _, tail = text.rpartition("\n")
    if not tail:
        return text
    try:
        cells = next(csv.reader([tail], strict=True))
    except (csv.Error, StopIteration):
        cells = []
    complete = len(cells) == len(COLUMNS) and (tuple(cells) == COLUMNS or not row_problem(Row(*cells)))
    return text if complete else whole + "\n" * bool(whole)


def _rows(text: str, source: str) -> tuple[Row, ...]:
    """The rows of a file's text."""
    lines = csv.reader(io.StringIO(complete_text(text), newline=""), strict=True)
    rows: list[Row] = []
    try:
        for number, cells in enumerate(lines, 1):
            if number == 1:
                if tuple(cells) != COLUMNS:
                    raise DataError(f"'{source}' isn't a log of decisions: its first row must be {','.join(COLUMNS)}.")
            elif len(cells) != len(COLUMNS):
                raise DataError(f"Row {number:,} of '{source}' has {len(cells)} cells, not {len(COLUMNS)}.")
            else:
                rows.append(Row(*cells))
    except csv.Error as cause:
        raise DataError(f"Row {len(rows) + 2:,} of '{source}' can't be read ({cause}).") from None
    return tuple(rows)


def _text(value: Any) -> str:
    """A cell as the log has it: a whole number without its point, nothing for what is missing."""
    plain = value.as_py() if hasattr(value, "as_py") else value.item() if hasattr(value, "item") else value
    if plain is None or plain != plain:  # nan and NaT differ from themselves
        return ""
    if isinstance(plain, float) and math.isfinite(plain) and plain.is_integer():
        return str(int(plain))
    return str(plain)
