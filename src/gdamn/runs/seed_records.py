"""The finished seeds of a run that isn't whole yet.

A seed counts as finished when its record has the same configuration and versions, and its files are those that were
written.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..system import io, reading
from .store import FOLDER, Store


def checkpoints(out: Path, seed: int) -> Path:
    """Where the fit of a seed keeps its checkpoints."""
    return out / FOLDER / f"seed-{seed}"


def save_seed(
    out: Path, seed: int, identity: Mapping[str, Any], names: Iterable[str], result: Mapping[str, Any]
) -> None:
    """Keep what the summary needs of a seed whose files are written, and remove its checkpoints."""
    record = {"identity": identity, "files": _hashes(out / f"seed-{seed}", names), "result": result}
    io.write_text(out / _path(seed), json.dumps(record))  # a nan stays one
    shutil.rmtree(checkpoints(out, seed), ignore_errors=True)


def find_seed(out: Path, seed: int, identity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The result of a seed that an earlier attempt finished; None where it must be trained."""
    record = Store(out).read(_path(seed))
    files, result = record.get("files"), record.get("result")
    if not isinstance(files, dict) or not isinstance(result, dict) or record.get("identity") != identity:
        return None
    try:
        return result if files == _hashes(out / f"seed-{seed}", files) else None
    except (OSError, ValueError):  # a name that can't be one
        return None


def _path(seed: int) -> str:
    return f"{FOLDER}/seed-{seed}.json"


def _hashes(folder: Path, names: Iterable[str]) -> dict[str, str | None]:
    """SHA-256 of the files of a seed; None for one that isn't there."""
    hashes: dict[str, str | None] = {}
    for name in names:
        path = folder / Path(name).name
        hashes[name] = reading.sha256(path) if path.is_file() else None
    return hashes
