"""Columns of tables as what they are used for: texts, numbers, or one of both by what stands in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ...graph.missing_words import MISSING
from . import limits
from .arrow import pa, pc
from .table import Table

MOSTLY = 0.9
"""A column with at least this share of numbers is meant as numbers: what isn't one is a mistake."""


def as_texts(table: Table, column: str) -> Any:
    """A column as Arrow strings, null where a cell is empty; numbers as they are written (7, not 7.0)."""
    kind = table.data.schema.field(column).type
    try:
        values = in_one_piece(table, column)
        kind = values.type
        if pa.types.is_nested(kind):
            raise DataError(f"Column '{column}' of '{table.name}' holds {kind}, which can't be taken as a text.")
        if pa.types.is_floating(kind):
            values = _whole_numbers(values)
        texts = pc.cast(values, pa.large_string())
    except (pa.ArrowException, UnicodeDecodeError):
        raise DataError(f"Column '{column}' of '{table.name}' holds {kind}, which can't be taken as a text.") from None
    empty = pc.equal(texts, "")
    return pc.if_else(empty, pa.scalar(None, pa.large_string()), texts) if pc.any(empty).as_py() else texts


def _whole_numbers(values: Any) -> Any:
    """Floats as integers where all are whole: pandas makes floats of integers when one is missing."""
    values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    try:
        return pc.cast(values, pa.int64())
    except pa.ArrowInvalid:
        return values


LEAVE_OUT = "correct it, or leave the column out of --features"


def as_numbers(table: Table, column: str, advice: str = LEAVE_OUT) -> NDArray[np.float64] | None:
    """[N] finite numbers; None where the column isn't one of numbers. Errors end with the ``advice``.

    Raises:
        DataError: it is one, but a cell is missing, not finite, or no number.
    """
    kind = table.data.schema.field(column).type
    try:
        values = _plain_numbers(in_one_piece(table, column))
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            return _parsed(table, column, values, advice)
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            return None
        _refuse_missing(table, column, values, advice)
        return _finite(table, column, pc.cast(values, pa.float64(), safe=False), advice)
    except pa.ArrowException:  # intervals, and what Arrow can't cast yet
        raise DataError(
            f"Column '{column}' of '{table.name}' holds {kind}, which can't be taken as numbers; {advice}."
        ) from None


def _plain_numbers(values: Any) -> Any:
    """Truth values, dates, times, durations and decimals as the numbers that they stand for; others as they are."""
    kind = values.type
    if pa.types.is_boolean(kind):
        return pc.cast(values, pa.int8())
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):  # Arrow casts 32 bits to 32 bits only
        return pc.cast(values, pa.int32())
    if pa.types.is_temporal(kind):
        return pc.cast(values, pa.int64())
    if pa.types.is_decimal(kind):
        return pc.cast(values, pa.float64())
    return values


def _parsed(table: Table, column: str, values: Any, advice: str) -> NDArray[np.float64] | None:
    """Numbers from texts."""
    trimmed = pc.utf8_trim_whitespace(values)
    try:
        numbers = pc.cast(trimmed, pa.float64())
    except pa.ArrowInvalid:
        numbers = None
    if numbers is not None:
        if numbers.null_count == len(numbers):
            return None
        _refuse_missing(table, column, values, advice)
        return _finite(table, column, numbers, advice)
    counts = pc.value_counts(trimmed)  # each text is parsed once, however often it stands there
    values, times = counts.field("values").to_pylist(), counts.field("counts").to_pylist()
    present = {text: count for text, count in zip(values, times, strict=True) if not missing(text)}
    wrong = {text for text in present if number(text) is None}
    total = sum(present.values())
    if total == 0 or total - sum(present[text] for text in wrong) < MOSTLY * total:
        return None
    texts = trimmed.to_pylist()
    at = next(i for i, text in enumerate(texts) if missing(text) or text in wrong)
    where = table.location(at, column)
    raise DataError(f"There is '{cut(texts[at] or '')}' in {where}, where the other rows have numbers; {advice}.")


def missing(text: str | None) -> bool:
    """Whether a cell is empty, or holds a word that says so."""
    return text is None or text.lower() in MISSING


def number(text: str | None) -> float | None:
    """The number that a text is; None where it is none."""
    try:
        return None if text is None or "_" in text else float(text)  # Python reads 1_000, tables don't
    except ValueError:
        return None


def _refuse_missing(table: Table, column: str, values: Any, advice: str) -> None:
    if values.null_count:
        at = int(pc.index(pc.is_null(values), True).as_py())
        raise DataError(f"The cell of {table.location(at, column)} is empty, where a number is needed; {advice}.")


def _finite(table: Table, column: str, numbers: Any, advice: str) -> NDArray[np.float64]:
    array: NDArray[np.float64] = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
    bad = ~(np.abs(array) <= np.finfo(np.float32).max)
    if bad.any():
        at = int(bad.argmax())
        raise DataError(
            f"The number in {table.location(at, column)} is {array[at]}, which is not finite or too large; {advice}."
        )
    return array


def in_one_piece(table: Table, column: str) -> Any:
    """A column in one piece, without dictionaries."""
    values = table.data[column]
    if pa.types.is_dictionary(values.type):
        limits.check_bytes(table.name, f"column '{column}'", _unpacked(values))
        wide = pa.types.is_string(values.type.value_type)
        values = pc.cast(values, pa.large_string() if wide else values.type.value_type)
    if pa.types.is_string(values.type) or pa.types.is_null(values.type):
        values = pc.cast(values, pa.large_string())  # a piece with 32-bit offsets holds no more than 2 GB
    joined = values.combine_chunks()
    if isinstance(joined, pa.ChunkedArray):
        return joined.chunk(0) if joined.num_chunks else pa.array([], values.type)
    return joined


def _unpacked(values: Any) -> int:
    """Bytes of a dictionary column's values written out."""
    if not (pa.types.is_string(values.type.value_type) or pa.types.is_binary(values.type.value_type)):
        return 8 * len(values)
    chunks = (pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() for chunk in values.chunks)
    return sum(size or 0 for size in chunks)


def cut(text: str, most: int = 40) -> str:
    """The begin of a long text."""
    return text if len(text) <= most else text[:most] + "…"
