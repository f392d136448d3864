"""Where the files of a data set are looked for, and what happens when they aren't there.

Looked into, in this order: the ``data_root`` that was passed, the folder in the environment variable
``GDAMN_DATA``, and the user's cache folder. Nothing is ever written beside files that were found, so all of them
may be read-only. Missing files are downloaded (:mod:`gdamn.data.download`) to the ``data_root``, or to the cache
folder where none was passed or it can't be written. ``GDAMN_OFFLINE=1`` forbids that.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from ..errors import DataError
from ..system.reading import is_file

ENV_ROOT = "GDAMN_DATA"
ENV_OFFLINE = "GDAMN_OFFLINE"

Root = str | PathLike[str] | None


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
    """The folders to look into, first one first."""
    given = [Path(data_root).expanduser()] if data_root is not None else []
    env = os.environ.get(ENV_ROOT, "").strip()
    return [*given, *([Path(env).expanduser()] if env else []), cache_root()]


def offline() -> bool:
    """Whether the environment forbids downloads."""
    return os.environ.get(ENV_OFFLINE, "").strip().lower() not in ("", "0", "false", "no")


def locate(wanted: FileSet, data_root: Root = None) -> Path | None:
    """The first folder that holds all files of the set, or None."""
    for root in roots(data_root):
        for folder in (wanted.folder, *wanted.also):
            if all(is_file(root / folder / file.name) for file in wanted.files):
                return root / folder
    return None


def ensure(wanted: FileSet, data_root: Root = None) -> Path:
    """The folder that holds the files of the set, after a download where need be.

    Raises:
        DataError: in one sentence, which files to put where.
    """
    found = locate(wanted, data_root)
    if found is not None:
        return found
    if not wanted.base_url:
        raise missing(wanted, data_root, "they can't be downloaded")
    if offline():
        raise missing(wanted, data_root, f"{ENV_OFFLINE} forbids to download them")
    from .download import UnreachableError, download

    folder = writable(data_root) / wanted.folder
    try:
        download(wanted, folder)
    except UnreachableError as error:
        raise missing(wanted, data_root, f"the download failed ({error})") from None
    return folder


def missing(wanted: FileSet, data_root: Root, why: str) -> DataError:
    """The error that says which files to put where."""
    root = roots(data_root)[0]
    names = [file.name for file in wanted.files]
    shown = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return DataError(
        f"The files of {wanted.title} were not found and {why}: put {shown} into {root / wanted.folder}, or pass "
        f"a data_root (or set {ENV_ROOT}) whose subfolder {wanted.folder} has them."
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


def store(content: bytes, file: DataFile, folder: Path, origin: str) -> None:
    """Check the content against the pinned hash and put it into the folder: whole, or not at all."""
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise DataError(
            f"The file {file.name} from {origin} is not the published one (SHA-256 {digest[:12]}… instead of "
            f"{file.sha256[:12]}…) and was not kept; get it from another source or try again."
        )
    target = folder / file.name
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".part-", delete=False) as out:
            temporary = Path(out.name)
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise DataError(f"The file {target} could not be written: {error.strerror or error}.") from None
