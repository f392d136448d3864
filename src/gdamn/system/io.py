"""Writing results: a file appears whole or not at all, and what goes wrong is told in one sentence.

Every write goes to a temporary file in the same folder, is flushed to disk and then renamed over the target, so
that a run that is stopped, or a disk that fills up, never leaves half a file where a good one stood.
"""

from __future__ import annotations

import csv
import errno
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import OutputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

CSV_BLOCK = 65_536
"""Rows that are turned into text at a time: enough to be fast, few enough to cost no memory worth counting."""

REASONS = {
    errno.EACCES: "you have no permission to write there; choose another folder",
    errno.EPERM: "you have no permission to write there; choose another folder",
    errno.EROFS: "the file system is read-only; choose another folder",
    errno.ENOSPC: "the disk is full; free some space or choose another folder",
    errno.EDQUOT: "your disk quota is used up; free some space or choose another folder",
    errno.EFBIG: "it would be larger than files may be here; raise that limit or choose another folder",
    errno.ENOTDIR: "a part of the path is a file, not a folder; choose another folder",
    errno.EEXIST: "a file of that name stands there; choose another folder",
    errno.EISDIR: "a folder of that name stands there; choose another name or remove it",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


def output_error(path: Path, cause: OSError) -> OutputError:
    """The sentence for a write that failed: where, why, and what to do."""
    reason = REASONS.get(cause.errno or 0, cause.strerror or str(cause) or type(cause).__name__)
    return OutputError(f"Can't write '{_final_path(path)}': {reason}.")


def _final_path(path: Path) -> Path:
    """The file that a temporary one stands for, or the path itself."""
    temporary = re.fullmatch(r"\.+(.+?)(-[a-z0-9_]{8})+(\.\w+)?", path.name)
    return path.with_name(temporary[1] + (temporary[3] or "")) if temporary else path


def make_folder(path: Path) -> Path:
    """Create a folder and its parents where they are missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise output_error(path, cause) from cause
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well, and is removed when not.

    For writers that want a path of their own; the name keeps the suffix because some writers go by it.
    """
    make_folder(path.parent)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:60]}-", suffix=path.suffix)
        os.close(handle)
    except OSError as cause:
        raise output_error(path, cause) from cause
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        _sync(temporary)
        temporary.replace(path)
        _sync_folder(path.parent)
    except OutputError:
        raise
    except OSError as cause:
        raise output_error(path, cause) from cause
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(path: Path) -> None:
    """Remove what a process that was killed while it wrote ``path`` left beside it; only where no other one writes."""
    name = re.compile(rf"\.+{re.escape(path.stem[:60])}(-[a-z0-9_]{{8}})+{re.escape(path.suffix)}")
    for other in path.parent.glob(".*"):
        if name.fullmatch(other.name):
            other.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file at once."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Write a UTF-8 text file at once, its line ends as they are."""
    write_bytes(path, content.encode("utf-8"))


def write_json(path: Path, content: Any) -> None:
    """Write readable JSON at once; numbers that JSON doesn't know become null."""
    write_text(path, to_json(content, indent=2) + "\n")


def write_jsonl(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write one JSON object per line at once."""
    write_text(path, "".join(to_json(record) + "\n" for record in records))


def write_csv(path: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write equally long columns at once; floats with six digits, names quoted where they need it."""
    write_csv_blocks(path, [columns])


def write_csv_blocks(path: Path, blocks: Iterable[Mapping[str, NDArray[Any]]]) -> None:
    """The same of columns that come in blocks of rows.

    The text of each is made some rows at a time, because the edges of a large graph are millions of rows.
    """
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(_UnixLines(file), lineterminator="\r\n")
        for number, columns in enumerate(blocks):
            lengths = {len(column) for column in columns.values()}
            if len(lengths) > 1:
                raise ValueError(f"columns of different lengths: {sorted(lengths)}")
            if number == 0:
                writer.writerow(columns)
            for start in range(0, max(lengths, default=0), CSV_BLOCK):
                block = slice(start, start + CSV_BLOCK)
                writer.writerows(zip(*(_as_text(column[block]) for column in columns.values()), strict=True))


def append_text(path: Path, line: str, header: str, complete: Callable[[str], str]) -> None:
    """Add a line to a log in one write, and flush it to disk; what an earlier kill cut off at its end goes.

    Args:
        header: what a new file begins with.
        complete: the text of a log without a last line that was cut off.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            size = os.fstat(handle).st_size
            held = path.read_bytes().decode("utf-8")
            whole = complete(held)
            if len(whole) < len(held):
                os.ftruncate(handle, len(whole.encode()))
            between = "\n" if whole and not whole.endswith("\n") else ""
            _write_whole(handle, ((header if not whole else between) + line).encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        if not size:
            _sync_folder(path.parent)
    except OSError as cause:
        raise output_error(path, cause) from cause


def _write_whole(handle: int, content: bytes) -> None:
    """All of it in one write, or an error: half a line is no decision."""
    if os.write(handle, content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class _UnixLines:
    """Lines end with a line feed, though the csv writer believes in \\r\\n: only so does it quote a cell with a \\r."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def write(self, row: str) -> int:
        """One row, as the csv writer hands it over."""
        return self.file.write(row[:-2] + "\n")


def to_json(content: Any, indent: int | None = None) -> str:
    """JSON text of plain data and NumPy values; nan and infinity become null, since JSON has neither."""
    return json.dumps(_plain(content), indent=indent, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """The value as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _as_text(column: NDArray[Any]) -> list[Any]:
    """The cells of one block of a column, as the csv writer takes them."""
    values: list[Any] = column.tolist()
    return [f"{value:.6g}" for value in values] if column.dtype.kind == "f" else values


def _umask() -> int:
    """The mask that files of this process get; it can be read only by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _sync(path: Path) -> None:
    """Flush a file to disk, so that the rename can't overtake its content."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    """Flush the rename itself; some file systems can't, and then there is nothing to do."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
