"""The one door through which files are read: only regular files, of a bounded size, are ever opened.

A FIFO or a device would be read without end, and a file of many gigabytes fills the memory. Whoever opens a file asks
:func:`check_file` first; documents (TOML, JSON, text) are read by the functions here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from ..errors import DataError, in_short
from .memory import limited_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_BYTES = 8 << 30
"""No data file may be larger (or than half of the memory): a bomb must not fill the memory."""

MOST_TOML = 4 << 20
"""A configuration or a search space: a list of ten thousand columns has a tenth of it."""

MOST_JSON = 256 << 20
"""A result, a record of a fit, an encoder with its vocabulary, the index of a graph."""

MOST_TEXT = 64 << 20
"""A document that people write."""

BLOCK = 1 << 20
"""Bytes that are read at a time."""

MOST_PARTS = 64
"""Parts of a dotted TOML key; the time to parse one grows with their cube."""

_STRINGS = re.compile(
    r"#[^\n]*"
    r'|"""(?:\\.|[^\\])*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|(?=\n)|\\?\Z)'
    r"|'[^'\n]*(?:'|(?=\n)|\Z)",
    re.DOTALL,
)
"""Comments and strings, closed or not: what is left of a text has dots in keys and numbers alone."""

_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{MOST_PARTS}}}")


def check_file(path: Path, most: int | None = None, *, empty: bool = False) -> int:
    """The size of a data file that can be read; a sentence for everything else.

    Args:
        most: the bytes that it may have; without it, what :func:`most_bytes` says.
        empty: whether a file without any bytes is fine, too.
    """
    if has_raw_bytes(str(path)):  # other libraries can't open it
        raise DataError(f"'{path}' has characters that this locale doesn't know; set PYTHONUTF8=1, or rename the file.")
    return check_regular(path, most, empty=empty)


def check_regular(path: Path, most: int | None = None, *, empty: bool = False) -> int:
    """The same for a file that is read here, whatever its name."""
    try:
        if path.is_dir():
            raise DataError(f"'{path}' is a folder, not a file; name the file in it.")
        if not path.exists():
            raise DataError(f"There is no file '{path}'; check the name and the folder.")
        if not path.is_file():
            raise DataError(f"'{path}' is not a regular file; copy its content into one.")
        size = path.stat().st_size
    except (OSError, ValueError) as cause:  # a loop of links, a name with a NUL in it
        reason = getattr(cause, "strerror", None) or cause
        raise DataError(f"'{path}' can't be opened: {reason}.") from None
    if size == 0 and not empty:
        raise DataError(f"'{path}' is empty (0 bytes); write it again.")
    limit = min(most_bytes(), most or MOST_BYTES)
    if size > limit:
        raise DataError(f"'{path}' is too large to read: {size:,} bytes, at most {limit:,} are read.")
    return size


def has_raw_bytes(text: str) -> bool:
    """Whether a name has bytes that aren't text in the encoding of the system."""
    return any("\ud800" <= each <= "\udfff" for each in text)


def is_there(path: Path) -> bool:
    """Whether a path exists; False where that can't be found out."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether a path is a regular file; False where that can't be found out."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; False where that can't be found out."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def most_bytes() -> int:
    """:data:`MOST_BYTES`, or half of the memory where that is less."""
    memory = memory_bytes()
    return min(MOST_BYTES, memory // 2) if memory else MOST_BYTES


def memory_bytes() -> int:
    """The memory of this machine, or the tightest limit on this process; 0 where the system doesn't tell."""
    known = [limit for limit, _ in limited_bytes()]
    with contextlib.suppress(AttributeError, ValueError, OSError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min((each for each in known if each > 0), default=0)


def check_own(path: Path) -> None:
    """Refuse a model or checkpoint that isn't a regular file, or larger than the memory, which it was written from."""
    check_kind(path)
    memory = memory_bytes()
    if memory and path.stat().st_size > memory:
        raise DataError(f"'{path}' is too large to read: it has more bytes than this machine has memory.")


def check_kind(path: Path) -> None:
    """Refuse what isn't a regular file; its size and content are looked at elsewhere."""
    if not is_file(path):
        check_regular(path, empty=True)


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file of at most so many bytes."""
    check_regular(path, most, empty=True)
    try:
        with path.open("rb") as file:
            content, more = bytearray(), b"?"
            while more and len(content) <= most:  # by blocks, as Python asks for as much memory as may be read at once
                content += (more := file.read(min(BLOCK, most + 1 - len(content))))
    except OSError as cause:
        raise DataError(f"Can't read '{path}': {cause.strerror or cause}.") from None
    if len(content) > most:  # it grew, or it is one of the system's files, which tell no size
        raise DataError(f"'{path}' is too large to read: at most {most:,} bytes are read.")
    return bytes(content)


def sha256(path: Path) -> str:
    """The hash of a file; OSError where it can't be read."""
    digest, block = hashlib.sha256(), memoryview(bytearray(1 << 18))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(block):
            digest.update(block[:size])
    return digest.hexdigest()


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """The content of a UTF-8 document."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as cause:
        raise DataError(f"'{path}' isn't UTF-8 ({in_short(cause)}); save it as UTF-8.") from None


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    content = read_bytes(path, MOST_JSON)
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as cause:  # not JSON, not UTF-8, or nested without end
        raise DataError(f"'{path}' isn't a JSON file: {in_short(cause)}.") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    content = read_bytes(path, MOST_TOML)
    try:
        return parse_toml(content.decode("utf-8").replace("\r\n", "\n"))
    except ValueError as cause:  # not TOML, not UTF-8
        raise DataError(f"'{path}' isn't a TOML file: {in_short(cause)}.") from None


def parse_toml(text: str) -> dict[str, Any]:
    """The content of a TOML text; ValueError for one that isn't, that nests without end, or has an endless key."""
    if _LONG_KEY.search(_STRINGS.sub("s", text)):
        raise ValueError(f"a key has more than {MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested without end") from None
