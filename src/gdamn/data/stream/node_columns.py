"""Columns of the nodes in one pass: whether they hold numbers or names, and what, kept on disk until all is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ..encode import useless
from ..files.arrow import pa, pc
from ..files.columns import LEAVE_OUT, MOSTLY, as_numbers, as_texts, cut, in_one_piece, missing, number
from ..files.table import Table
from .arrays import Spill, moments


def column_texts(table: Table, column: str, whole: bool = True) -> Any:
    """A column of some rows as large strings, null where a cell is empty.

    Args:
        whole: whether the floats of the column are whole numbers in all rows, and so written as such.
    """
    if whole or not pa.types.is_floating(table.data.schema.field(column).type):
        return as_texts(table, column)
    values = in_one_piece(table, column)
    return pc.cast(pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values), pa.large_string())


def are_whole_floats(table: Table, column: str) -> bool:
    """Whether the floats of some rows are whole numbers, where they are any."""
    values = in_one_piece(table, column)
    try:
        pc.cast(pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values), pa.int64())
    except pa.ArrowInvalid:
        return False
    return True


class Codes:
    """Texts as numbers, in the order in which they come up.

    Args:
        most: different texts that are kept; with more of them the codes are of no use.
    """

    def __init__(self, most: int) -> None:
        self.most, self.names = most, dict[str, int]()

    @property
    def full(self) -> bool:
        """Whether there are more texts than are kept."""
        return len(self.names) > self.most

    def of(self, texts: Any) -> NDArray[np.int32]:
        """[n] codes, -1 for null."""
        encoded = pc.dictionary_encode(texts)
        codes = []
        for name in encoded.dictionary.to_pylist():
            codes.append(self.names.setdefault(name, len(self.names)))
            if self.full:
                break
        if self.full:
            return np.full(len(texts), -1, np.int32)
        table = np.array([*codes, -1], np.int32)
        places = np.asarray(pc.fill_null(encoded.indices, len(codes)).to_numpy(zero_copy_only=False))
        return np.asarray(table[places])


class Column:
    """A column that may become features: numbers, standardised, or names, one-hot.

    Cells that hold texts are numbers where nine in ten can be read as such; what can't is then a mistake. All rows
    decide, so both the numbers and the codes of the names are kept until one of them is ruled out.
    """

    def __init__(self, name: str, folder: Path, number: int, most: int) -> None:
        self.name = name
        self.numbers = Spill(folder / f"numbers-{number:05d}", np.float64)
        self.codes = Spill(folder / f"codes-{number:05d}", np.int32)
        self.names = Codes(most)
        self.typed, self.parsed = False, True
        self.present = self.wrong = self.empty = self.rows = 0
        self.first_empty = self.first_wrong = self.first_infinite = ""

    def add(self, table: Table) -> None:
        """The next rows."""
        self.rows += table.data.num_rows
        kind = table.data.schema.field(self.name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            values = in_one_piece(table, self.name)
            self._add_numbers(table, values)
            self._add_names(table)
            return
        numbers = as_numbers(table, self.name)
        self.typed = True
        if numbers is None:
            self.parsed = False
            self._add_names(table)
        else:
            self.numbers.append(numbers)

    def _add_names(self, table: Table) -> None:
        if not self.names.full:
            self.codes.append(self.names.of(as_texts(table, self.name)))
            if self.names.full:
                self.codes.remove()

    def _add_numbers(self, table: Table, values: Any) -> None:
        """Texts as numbers, as long as all can be; else they are only counted."""
        trimmed = pc.utf8_trim_whitespace(values)
        try:
            array = np.asarray(pc.cast(trimmed, pa.float64()).to_numpy(zero_copy_only=False), np.float64)
        except pa.ArrowInvalid:
            self._count(table, trimmed)
            return
        there = np.asarray(pc.is_valid(trimmed).to_numpy(zero_copy_only=False), bool)
        self.empty += int((~there).sum())
        self.present += int((~np.isnan(array)).sum())
        self._note_first(table, trimmed, np.isnan(array), ~there)
        infinite = there & ~(np.abs(array) <= np.finfo(np.float32).max)
        if infinite.any() and not self.first_infinite:
            at = int(infinite.argmax())
            self.first_infinite = (
                f"The number in {table.location(at, self.name)} is {array[at]}, which is not finite or too large"
            )
        if self.parsed:
            self.numbers.append(array)

    def _count(self, table: Table, trimmed: Any) -> None:
        """Cells of which some are no numbers: how many, and where the first one is."""
        self.parsed = False
        self.numbers.remove()
        counts = pc.value_counts(trimmed)
        texts, times = counts.field("values").to_pylist(), counts.field("counts").to_pylist()
        present = {text: count for text, count in zip(texts, times, strict=True) if not missing(text)}
        wrong = {text for text in present if number(text) is None}
        self.present += sum(present.values())
        self.wrong += sum(present[text] for text in wrong)
        empty = np.asarray(pc.is_null(trimmed).to_numpy(zero_copy_only=False), bool)
        self.empty += int(empty.sum())
        cells = trimmed.to_pylist()
        self._note_first(table, trimmed, np.array([missing(cell) or cell in wrong for cell in cells], bool), empty)

    def _note_first(self, table: Table, trimmed: Any, wrong: NDArray[np.bool_], empty: NDArray[np.bool_]) -> None:
        """Remember the first cell without a number, and the first without anything."""
        if wrong.any() and not self.first_wrong:
            at = int(wrong.argmax())
            where = table.location(at, self.name)
            self.first_wrong = (
                f"There is '{cut(trimmed[at].as_py() or '')}' in {where}, where the other rows have numbers"
            )
        if empty.any() and not self.first_empty:
            where = table.location(int(empty.argmax()), self.name)
            self.first_empty = f"The cell of {where} is empty, where a number is needed"

    def is_numeric(self) -> bool:
        """Whether all rows hold numbers; a mistake among numbers is refused."""
        if self.typed:
            return self.parsed
        if not self.parsed:
            if self.present == 0 or self.present - self.wrong < MOSTLY * self.present:
                return False
            raise DataError(f"{self.first_wrong}; {LEAVE_OUT}.")
        if self.empty == self.rows:
            return False
        for problem in (self.first_empty, self.first_infinite):
            if problem:
                raise DataError(f"{problem}; {LEAVE_OUT}.")
        return True

    def as_numeric(self) -> Mapping[str, Any]:
        """Mean and spread, as an encoder keeps them."""
        mean, spread = moments(self.numbers)
        return {"name": self.name, "mean": mean, "spread": spread}

    def why_useless(self, most: int, auto: bool) -> str:
        """Why the names can't be categories; empty where they can."""
        if self.names.full:
            return f"has more than {most:,} different values, too many to be categories"
        return useless(list(self.names.names), most, self.rows, auto)

    def ranks(self) -> NDArray[np.int32]:
        """[codes + 1] the place of each code among the sorted names; -1 for the last, which is no name."""
        sorted_names = {name: at for at, name in enumerate(sorted(self.names.names))}
        return np.array([*(sorted_names[name] for name in self.names.names), -1], np.int32)

    def remove(self) -> None:
        """Give the disk back."""
        self.numbers.remove()
        self.codes.remove()
