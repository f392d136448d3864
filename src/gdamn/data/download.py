"""Downloads of pinned files over https.

Nothing that is downloaded is trusted: the size is bounded by the pinned size, the SHA-256 must be the pinned one,
and a file appears under its name only after that.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

from ..errors import DataError
from . import progress
from .fetch import DataFile, FileSet, store

TIMEOUT = 10.0
"""Seconds that a host may stay silent."""

DEADLINE = 300.0
"""Seconds that one file may take."""

CHUNK = 1 << 16


class UnreachableError(Exception):
    """A host that can't be reached or doesn't have the file."""


def download(wanted: FileSet, folder: Path) -> None:
    """Put all files of a set into a folder: each is fetched, checked and stored in turn.

    Raises:
        UnreachableError: the host could not be reached.
        DataError: it sent something else than the published file, or the folder can't be written.
    """
    todo = [file for file in wanted.files if not (folder / file.name).is_file()]
    total, done = sum(file.size for file in todo), 0
    for file in todo:
        report = partial(_report, f"downloading {wanted.title}", total, done)
        store(_fetch(wanted.base_url + file.name, file, report), file, folder, wanted.base_url)
        done += file.size


def _report(what: str, total: int, before: int, done: int) -> None:
    """Tell who listens how many bytes there are by now."""
    progress.tell(what, before + done, total)


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    """Follows redirects to https alone."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Refuse to leave https."""
        if not newurl.lower().startswith("https://"):
            raise UnreachableError("the host redirects away from https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetch(url: str, file: DataFile, report: Callable[[int], None]) -> bytes:
    """The content behind an https address, at most one byte more than the file should have."""
    if not url.startswith("https://"):
        raise DataError(f"Files are downloaded over https only, not from {url}.")
    host = url.split("/")[2]
    content = bytearray()
    until = time.monotonic() + DEADLINE
    try:
        with urllib.request.build_opener(_HttpsOnly).open(url, timeout=TIMEOUT) as answer:
            while len(content) <= file.size and time.monotonic() < until:
                chunk = answer.read(min(CHUNK, file.size + 1 - len(content)))
                if not chunk:
                    return bytes(content)
                content += chunk
                report(len(content))
    except urllib.error.HTTPError as error:
        raise UnreachableError(f"{host} answers {error.code} for {file.name}") from None
    except (OSError, http.client.HTTPException) as error:
        raise UnreachableError(f"{host} can't be reached: {getattr(error, 'reason', error)}") from None
    if time.monotonic() >= until:
        raise UnreachableError(f"{host} is too slow")
    return bytes(content)
