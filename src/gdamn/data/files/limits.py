"""What a file may be before it is read: there, not empty, not larger than memory allows, unchanged."""

from __future__ import annotations

from pathlib import Path

from ...errors import DataError
from ...system import reading
from ...system.reading import check_file, is_folder, most_bytes

__all__ = ["check_bytes", "check_file", "is_folder", "most_bytes", "sha256"]

SMALL = 64 << 20
"""What unpacks to less may be looked at afterwards."""

MOST_XML_BYTES = 256 << 20
MOST_XML_ELEMENTS = 20_000_000
"""XML takes many times its size in memory."""

MOST_NODES = 2**31 - 2
"""Node numbers are 32 bits wide."""

MOST_CELLS = 4_000_000_000
"""Cells of a table: a column of nothing but one value costs no bytes in Parquet, but does in memory."""


def check_bytes(path: Path | str, what: str, size: int) -> None:
    """Refuse what would unpack to more than :func:`most_bytes`."""
    if size > most_bytes():
        raise DataError(f"'{path}' would unpack to {size:,} bytes ({what}); at most {most_bytes():,} are read.")


def sha256(path: Path) -> str:
    """The hash of a file that can be read."""
    check_file(path)
    try:
        return reading.sha256(path)
    except OSError as cause:
        raise DataError(f"'{path}' can't be read: {cause.strerror or cause}.") from None
