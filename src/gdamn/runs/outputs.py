"""Files that a command is asked to write: checked before the work, so that nothing that is needed is replaced."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.files import is_path
from ..errors import OutputError
from ..system import folders, io
from .decided import LOG
from .partitioned.files import KINDS, NETWORKS
from .run import RUN_FILES, SEED_FILES
from .store import FOLDER

if TYPE_CHECKING:
    from .spec import RunSpec


def check_output(
    path: Path | None,
    suffixes: Sequence[str],
    force: bool,
    *,
    inputs: Sequence[Path | None] = (),
    run: Path | None = None,
) -> None:
    """Refuse, before anything is computed, an unknown kind of file, a folder, and a file that stands there.

    Args:
        suffixes: how the name may end; empty where any end will do.
        force: whether a file that stands there may be replaced; never one of ``inputs``, nor a file of ``run``.
        inputs: files that the command reads.
        run: the folder of a run that the command reads.
    """
    if path is None:
        return
    if suffixes and path.suffix.lower() not in suffixes:
        kinds = suffixes[0] if len(suffixes) == 1 else ", ".join(suffixes[:-1]) + f" or {suffixes[-1]}"
        raise OutputError(f"Can't tell what kind of file '{path}' should be; let its name end in {kinds}.")
    folders.check_writable(path.parent)
    check_apart(path, inputs)
    if run is not None:
        check_not_of_run(path, run)
    try:
        if path.is_dir():
            raise OutputError(f"Can't write '{path}': it is a folder; name a file.")
        exists = path.exists()
    except OutputError:
        raise
    except OSError as cause:
        raise io.output_error(path, cause) from None
    if exists and not force:
        raise OutputError(f"'{path}' exists; pass --force to replace it, or choose another name.")


def check_apart(path: Path, inputs: Sequence[Path | None]) -> None:
    """Refuse to write over, or into, what the command itself reads."""
    target = _whole(path)
    for source in inputs:
        if source is not None and _whole(source) in (target, *target.parents):
            raise OutputError(f"Can't write '{path}': the command reads '{source}'; choose another name.")


def check_not_of_run(path: Path, run: Path) -> None:
    """Refuse to write over a file of a run: its models, tables and records."""
    target, folder = _whole(path), _whole(run)
    if folder in target.parents and is_ours(target.relative_to(folder)):
        raise OutputError(f"Can't write '{path}': it is a file of the run '{run}' itself; choose another name.")


def files_of(spec: RunSpec) -> list[Path]:
    """The user's own files that a run was trained on."""
    if not is_path(spec.dataset):
        return []
    edges = spec.options.get("edges")
    return [Path(spec.dataset), *([Path(edges)] if isinstance(edges, str) else [])]


def _whole(path: Path) -> Path:
    """The path without links and dots."""
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links
        return path.absolute()


def is_ours(path: Path) -> bool:
    """Whether a path, seen from the folder of a run, is one that gdamn uses: a mark, a model, a checkpoint, a table."""
    first, *rest = path.parts
    kept = (len(rest) == 1 and rest[0] in (*SEED_FILES, NETWORKS)) or (len(rest) == 2 and rest[0] in KINDS)
    of_seed = kept and re.fullmatch(r"seed-\d+", first) is not None
    return of_seed or first == FOLDER or (not rest and first in (*RUN_FILES, LOG, folders.MARKER, folders.LOCK))
