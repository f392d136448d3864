"""Finds the files of a data set, and downloads those that are missing.

Folders are searched in this order: the ``data_root`` that was passed, the folder in the environment variable
``GDAMN_DATA``, and the user's cache folder. Nothing is ever written beside files that were found, so all of them
may be read-only. Missing files are downloaded over https to the ``data_root``, or to the cache folder where none was
passed or it can't be written. ``GDAMN_OFFLINE=1`` forbids that.

Nothing that is downloaded is trusted: the size is bounded by the pinned size, the SHA-256 must be the pinned one,
and a file appears under its name only after that.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import IO, Any

from ..errors import DataError
from ..system import io
from ..system.reading import is_file
from .progress import Progress, silent

ENV_ROOT = "GDAMN_DATA"
ENV_OFFLINE = "GDAMN_OFFLINE"

TIMEOUT = 10.0
"""Seconds that a host may stay silent."""

DEADLINE = 300.0
"""Seconds that one file may take."""

CHUNK = 1 << 16

Root = str | PathLike[str] | None


class UnreachableError(Exception):
    """A host that can't be reached or doesn't have the file."""


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes:
        name: path inside the set's folder.
        sha256, size: pinned from the published file; empty and 0 where it can't be downloaded.
    """

    name: str
    sha256: str = ""
    size: int = 0


@dataclass(frozen=True)
class FileSet:
    """The files of a data set, which must stand together in one folder.

    Attributes:
        title: the data set's name.
        folder: where the files stand below a root; downloads go there.
        also: other folders below a root that are accepted.
        files: what is needed.
        base_url: https address of the folder to download from; empty where there is none.
    """

    title: str
    folder: str
    files: tuple[DataFile, ...]
    also: tuple[str, ...] = ()
    base_url: str = ""


def cache_root() -> Path:
    """The user's cache folder for gdamn."""
    from platformdirs import user_cache_path

    return Path(user_cache_path("gdamn"))


def roots(data_root: Root = None) -> list[Path]:
    """The folders to search, in this order."""
    first = [Path(data_root).expanduser()] if data_root is not None else []
    env = os.environ.get(ENV_ROOT, "").strip()
    return [*first, *([Path(env).expanduser()] if env else []), cache_root()]


def offline() -> bool:
    """Whether the environment forbids downloads."""
    return os.environ.get(ENV_OFFLINE, "").strip().lower() not in ("", "0", "false", "no")


def locate(file_set: FileSet, data_root: Root = None) -> Path | None:
    """The first folder that holds all files of the set, or None."""
    for root in roots(data_root):
        for folder in (file_set.folder, *file_set.also):
            if all(is_file(root / folder / file.name) for file in file_set.files):
                return root / folder
    return None


def ensure(file_set: FileSet, data_root: Root = None, progress: Progress = silent) -> Path:
    """The folder that holds the files of the set, after a download where need be.

    Raises:
        DataError: in one sentence, which files to put where.
    """
    present = locate(file_set, data_root)
    if present is not None:
        return present
    if not file_set.base_url:
        raise missing(file_set, data_root, "they can't be downloaded")
    if offline():
        raise missing(file_set, data_root, f"{ENV_OFFLINE} forbids to download them")
    folder = writable(data_root) / file_set.folder
    try:
        download(file_set, folder, progress)
    except UnreachableError as error:
        raise missing(file_set, data_root, f"the download failed ({error})") from None
    return folder


def missing(file_set: FileSet, data_root: Root, why: str) -> DataError:
    """The error that says which files to put where."""
    root = roots(data_root)[0]
    names = [file.name for file in file_set.files]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return DataError(
        f"The files of {file_set.title} were not found and {why}: put {listed} into {root / file_set.folder}, or pass "
        f"a data_root (or set {ENV_ROOT}) whose subfolder {file_set.folder} has them."
    )


def writable(data_root: Root = None) -> Path:
    """The data root if one is given and can be written, else the cache folder."""
    candidates: Sequence[Path] = [*([Path(data_root).expanduser()] if data_root is not None else []), cache_root()]
    for root in candidates:
        try:
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root):
                return root
        except OSError:
            continue
    tried = " and ".join(map(str, candidates))
    raise DataError(f"Neither the data nor the cache folder can be written ({tried}); pass a data_root that can.")


def download(file_set: FileSet, folder: Path, progress: Progress = silent) -> None:
    """Put all files of a set into a folder: each is fetched, checked and written in turn.

    Raises:
        UnreachableError: the host could not be reached.
        DataError: it sent something else than the published file.
    """
    todo = [file for file in file_set.files if not (folder / file.name).is_file()]
    total, done = sum(file.size for file in todo), 0
    for file in todo:
        content = _fetch(file_set.base_url + file.name, file, partial(_report, progress, file_set.title, total, done))
        _check_content(content, file, file_set.base_url)
        io.write_bytes(folder / file.name, content)
        done += file.size


def _check_content(content: bytes, file: DataFile, origin: str) -> None:
    """Refuse content with another hash than the pinned one."""
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise DataError(
            f"The file {file.name} from {origin} is not the published one (SHA-256 {digest[:12]}… instead of "
            f"{file.sha256[:12]}…) and was not kept; get it from another source or try again."
        )


def _report(progress: Progress, title: str, total: int, before: int, done: int) -> None:
    """Report the bytes that have arrived by now."""
    progress(f"downloading {title}", before + done, total)


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
