"""Where numba keeps the compiled kernels, also on machines where nothing can be written.

numba keeps them beside the source or in the user's cache, and refuses to import a kernel where it may write to
neither, as in a container with a read-only file system and no home. Such a process gets a folder of its own for them,
which ends with it: not a shared one, since numba unpickles what it finds there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"


def prepare(package: Path = Path(__file__).parents[1]) -> None:
    """Give numba a folder where it has none; the processes that this one starts use it, too."""
    if not os.environ.get(VARIABLE) and not _writable(package) and not _writable(_user_cache()):
        _use_own_folder()


def _use_own_folder() -> None:
    import atexit
    import logging
    import tempfile

    log = logging.getLogger("gdamn")
    try:
        folder = tempfile.mkdtemp(prefix="gdamn-kernels-")
    except OSError as cause:
        log.warning("The compiled kernels can't be kept (%s); set %s to a folder.", cause, VARIABLE)
        return
    atexit.register(_remove, folder, os.getpid())
    os.environ[VARIABLE] = folder
    if "numba" in sys.modules:  # it has read its variables
        sys.modules["numba"].config.CACHE_DIR = folder
    log.warning("The kernels are compiled anew: no folder for them can be written; set %s to one that stays.", VARIABLE)


def _user_cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("numba", appauthor=False)


def _writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or it can be made itself."""
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    return os.access(there, os.W_OK | os.X_OK)


def _remove(folder: str, maker: int) -> None:
    """At the end of the process that made it; not of one that was forked from it."""
    import shutil

    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)
