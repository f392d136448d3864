"""Standard output and error: what their encoding doesn't know is replaced, and a failed write ends the command.

A table must not fail for a "±", and a full disk behind ``> table.txt`` is no bug of the program.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from ..system.io import REASONS
from . import display

_STREAM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE)
"""What goes wrong with a stream; errors of files have the file's name with them."""


def prepare() -> None:
    """Let both streams take any text; one that is closed swallows it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


@contextmanager
def ending_on_failure() -> Iterator[None]:
    """Within the block, and when it ends, a stream that can't be written ends the process with one sentence."""
    try:
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
    except OSError as cause:
        if cause.filename is not None or cause.errno not in _STREAM:
            raise
        for stream in (sys.stdout, sys.stderr):
            _silence(stream)
        if cause.errno == errno.EPIPE:  # the reader has seen enough
            raise SystemExit(1) from None
        with suppress(OSError):
            display.error(f"Can't print the output: {REASONS.get(cause.errno or 0, cause.strerror)}.")
        _silence(sys.stderr)
        raise SystemExit(2) from None


def _silence(stream: TextIO) -> None:
    """Redirect a stream that can't be written to the null device, so that closing it raises nothing."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
            stream.flush()
