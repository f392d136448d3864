"""What a file may be before it is read: there, not empty, not larger than memory allows, unchanged."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..errors import DataError

MOST_BYTES = 8 << 30
"""No file may be larger, nor unpack to more than this (or half of the memory): a bomb must not fill the memory."""

SMALL = 64 << 20
"""What unpacks to less may be looked at afterwards."""

MOST_XML_BYTES = 256 << 20
MOST_XML_ELEMENTS = 20_000_000
"""XML takes many times its size in memory."""

MOST_NODES = 2**31 - 2
"""Node numbers are 32 bits wide."""

MOST_CELLS = 4_000_000_000
"""Cells of a table: a column of nothing but one value costs no bytes in Parquet, but does in memory."""


def check_regular(path: Path) -> int:
    """The size of a regular file; a sentence for everything else, before anything waits for a pipe to speak."""
    try:
        if path.is_dir():
            raise DataError(f"'{path}' is a folder, not a file; name the file in it.")
        if not path.exists():
            raise DataError(f"There is no file '{path}'; check the name and the folder.")
        if not path.is_file():
            raise DataError(f"'{path}' is not a regular file; copy its content into one.")
        return path.stat().st_size
    except (OSError, ValueError) as cause:  # a loop of links, a name with a NUL in it
        reason = getattr(cause, "strerror", None) or cause
        raise DataError(f"'{path}' can't be opened: {reason}.") from None


def check_file(path: Path, most: int | None = None) -> int:
    """The size of a file that can be read; a sentence for everything else."""
    size = check_regular(path)
    if size == 0:
        raise DataError(f"'{path}' is empty (0 bytes); write it again.")
    limit = min(most_bytes(), most or MOST_BYTES)
    if size > limit:
        raise DataError(f"'{path}' is too large to read: {size:,} bytes, at most {limit:,} are read.")
    return size


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; one that can't be asked for isn't."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def check_bytes(path: Path | str, what: str, size: int) -> None:
    """Refuse what would unpack to more than :func:`most_bytes`."""
    if size > most_bytes():
        raise DataError(f"'{path}' would unpack to {size:,} bytes ({what}); at most {most_bytes():,} are read.")


def most_bytes() -> int:
    """:data:`MOST_BYTES`, or half of the memory where that is less."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not told on this system
        return MOST_BYTES
    return min(MOST_BYTES, memory // 2) if memory > 0 else MOST_BYTES


def sha256(path: Path) -> str:
    """The hash of a file that can be read."""
    check_file(path)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as cause:
        raise DataError(f"'{path}' can't be read: {cause.strerror or cause}.") from None
