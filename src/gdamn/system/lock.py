"""One run at a time in a folder, by a lock that dies with the process that holds it.

The system holds the lock, not the file: a run that is killed leaves an empty file behind, and no lock. On a file
system without such locks (some network disks) a run says so and goes without.
"""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import OutputError
from . import folders
from .io import make_folder, output_error

if TYPE_CHECKING:
    from filelock import BaseFileLock

NAME = folders.LOCK
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
"""What a file system without locks answers."""

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
        raise _locked_error(folder)
    try:
        folders.check(folder, kind)
        with _locked_folder(folder, kind):
            yield True
    finally:
        del _owners[where]


@contextmanager
def _locked_folder(folder: Path, kind: str) -> Iterator[None]:
    """Within the block the folder is there, marked, with the lock of this process on it."""
    new_folders = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        make_folder(folder)
        lock = _acquired(folder)
        try:
            folders.mark(folder, kind)
            yield
        finally:
            folders.unmark(folder)
            with suppress(OSError):  # Windows removes no file that is open; release() does it there
                (folder / NAME).unlink()  # while it is still ours: who waits for it looks for a new one
            lock.release()
    finally:
        _remove_empty(new_folders)


def _acquired(folder: Path) -> BaseFileLock:
    """The lock of the folder, held; an error where another process holds it."""
    from filelock import FileLock, Timeout  # here, because it imports asyncio

    lock = FileLock(folder / NAME, blocking=False, fallback_to_soft=False)  # a soft lock would outlive its process
    try:
        lock.acquire()
    except Timeout:
        raise _locked_error(folder) from None
    except OSError as cause:
        if cause.errno not in NO_LOCKS:
            raise output_error(folder / NAME, cause) from cause
        log.warning("'%s' can't be locked (%s): take care that no second run writes to it.", folder, cause.strerror)
    return lock


def _locked_error(folder: Path) -> OutputError:
    return OutputError(
        f"Another run is writing to '{folder}' at this moment; wait until it ends, or choose another --out."
    )


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders from the innermost outwards, as long as they are empty."""
    for path in folders:
        try:
            path.rmdir()
        except OSError:
            return
