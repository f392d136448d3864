"""One run at a time in a folder, by a lock that dies with the process that holds it.

The system holds the lock, not the file: a run that is killed leaves an empty file behind, and no lock. Systems and
file systems that have no such locks (Windows, some network disks) are told of once, and go without.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import OutputError
from . import folders
from .io import make_folder, output_error

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NAME = folders.LOCK
log = logging.getLogger("gdamn")
_owners: dict[Path, int] = {}
"""The folders that this process works in, each with the thread that does."""


@contextmanager
def alone_in(folder: Path, kind: str) -> Iterator[bool]:
    """Within the block no other process or thread works in the folder; one that tries gets an error.

    The folder must be empty or our own (``folders.check``). It is made where it is missing, marked as one
    that holds this ``kind`` of thing, and removed again where nothing was put into it. A block within another one of
    the same folder and thread is part of that; the value tells whether this is the outer one.
    """
    where, me = folder.resolve(), threading.get_ident()
    if _owners.get(where) == me:
        yield False
        return
    if _owners.setdefault(where, me) != me:  # one step, so that of two threads only one can be first
        raise _taken(folder)
    try:
        folders.check(folder, kind)
        with _locked_folder(folder, kind):
            yield True
    finally:
        del _owners[where]


@contextmanager
def _locked_folder(folder: Path, kind: str) -> Iterator[None]:
    """Within the block the folder is there, marked, with the lock of this process on it."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        make_folder(folder)
        handle = _take(folder)
        try:
            folders.mark(folder, kind)
            yield
        finally:
            folders.unmark(folder)
            (folder / NAME).unlink(missing_ok=True)  # while it is still ours: who waits for it looks for a new one
            os.close(handle)
    finally:
        _remove_empty(made)


def _take(folder: Path) -> int:
    """An open file with the lock on it."""
    path = folder / NAME
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as cause:
            raise output_error(path, cause) from cause
        if _locked(handle, folder) and not _is_still(path, handle):
            os.close(handle)  # the owner before us removed it between our two calls
            continue
        return handle


def _locked(handle: int, folder: Path) -> bool:
    """Lock the file; False where the system has no locks, and an error where another process has it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise _taken(folder) from None
    except OSError as cause:
        log.warning("'%s' can't be locked (%s): take care that no second run writes to it.", folder, cause.strerror)
        return False
    return True


def _taken(folder: Path) -> OutputError:
    return OutputError(
        f"Another run is writing to '{folder}' at this moment; wait until it ends, or choose another --out."
    )


def _is_still(path: Path, handle: int) -> bool:
    """Whether the open file is the one that stands at the path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders from the innermost outwards, as long as they are empty."""
    for path in folders:
        try:
            path.rmdir()
        except OSError:
            return
