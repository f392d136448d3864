"""Node ids: numbers and texts, each in its own type, so that a file gives back what it was given.

A graph may hold other ids too, such as the tuples of a NetworkX grid; what no model file can hold is refused by
``fit``, before anything is trained.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from ..text import safe

KEPT = (int, float, str, bool)
"""Types of ids that a file holds."""

_LONGEST = 10_000
"""Bits of a whole number that Python still writes as text without being asked twice."""
_TEXTS = 1 << 26
"""Characters of a table of texts; NumPy gives every text the room of the longest."""


def plain_id(value: Any) -> Any:
    """A NumPy scalar as a plain value, a date or a time as its ISO text; everything else as it is."""
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.timedelta64):  # for NumPy it is a whole number, of a unit that would be lost
        return value
    if isinstance(value, date):  # a datetime, or a Timestamp of pandas, is one too
        return value.isoformat()
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):  # also of subclasses, such as enumerations
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    return str.__str__(value) if isinstance(value, str) else value


def id_array(values: Iterable[Any]) -> NDArray[Any]:
    """[N] ids as an array of numbers or of texts where all are of one type, else of the plain values themselves."""
    plain = [plain_id(value) for value in values]
    for each in plain:
        _check_length(each)
    kinds = set(map(type, plain))
    if kinds == {int} and max(map(int.bit_length, plain)) < 64:
        return np.array(plain, np.int64)
    if kinds == {float}:
        return np.array(plain, np.float64)
    # NumPy drops the zero characters at the end of a text
    if kinds == {str} and max(map(len, plain)) * len(plain) < _TEXTS and not any(t.endswith("\0") for t in plain):
        return np.array(plain, np.str_)
    ids = np.empty(len(plain), dtype=object)
    ids[:] = plain
    return ids


def plain_ids(ids: NDArray[Any]) -> NDArray[Any]:
    """The ids with NumPy scalars and dates made plain; the same array where there are none."""
    kind = ids.dtype.kind
    if kind == "M":
        return np.datetime_as_string(ids).astype(np.str_)
    if kind == "f" and ids.dtype.itemsize > 8:
        return ids.astype(np.float64)
    if kind != "O" or all(type(value) in KEPT for value in ids):
        return ids
    return id_array(ids)


def check_ids(ids: NDArray[Any]) -> None:
    """Refuse ids that no model file can hold; the sentence names the first."""
    if ids.dtype.kind in "biufU":
        return
    for value in ids.tolist():
        if type(value) not in KEPT:
            text, kind = safe(repr(value))[:80], type(value).__name__
            raise GraphError(
                f"The node id {text} is of type {kind}, which a model file can't hold; name the nodes by whole "
                "numbers or texts, such as str(id), or leave the ids out."
            )
        _check_length(value)


def _check_length(value: Any) -> None:
    """Refuse a number that Python itself doesn't write as text."""
    if type(value) is int and value.bit_length() > _LONGEST:
        raise GraphError(f"A node id is a number of {value.bit_length():,} bits; at most {_LONGEST:,} can be written.")
