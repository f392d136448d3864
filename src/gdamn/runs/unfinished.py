"""What an unfinished run keeps in its folder to go on from: finished seeds, and checkpoints of those under way.

All of it is below ``.unfinished`` and goes when the run is whole. A seed counts as finished when its record tells of
the same configuration and versions, and its files are still those that were written. Comparisons, experiments and
searches keep their finished fits themselves, and here the checkpoints of the others, by what decides a fit.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..system import io, reading

FOLDER = ".unfinished"


def checkpoints(out: Path, seed: int) -> Path:
    """Where the fit of a seed keeps its checkpoints."""
    return out / FOLDER / f"seed-{seed}"


def checkpoints_by(out: Path, config: Mapping[str, Any]) -> Path:
    """Where the fits of a piece of work keep their checkpoints; another configuration never finds them."""
    return out / FOLDER / hashlib.sha256(io.to_json(config).encode()).hexdigest()[:16]


def drop_checkpoints(out: Path, config: Mapping[str, Any]) -> None:
    """The piece of work is finished and kept elsewhere."""
    shutil.rmtree(checkpoints_by(out, config), ignore_errors=True)


@contextmanager
def stoppable(done: Sized, total: int, what: str) -> Iterator[None]:
    """Ctrl-C within the block tells how much is done, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        how = "the same command goes on from there"
        raise KeyboardInterrupt(f"stopped with {len(done)} of {total} {what} finished; {how}") from None


def keep(out: Path, seed: int, identity: Mapping[str, Any], names: Iterable[str], result: Mapping[str, Any]) -> None:
    """Keep what the summary will need of a seed whose files are written, and forget its checkpoints."""
    record = {"identity": identity, "files": _hashes(out / f"seed-{seed}", names), "result": result}
    io.write_text(_record(out, seed), json.dumps(record))
    shutil.rmtree(checkpoints(out, seed), ignore_errors=True)


def find(out: Path, seed: int, identity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The result of a seed that an earlier attempt finished; None where it must be trained."""
    try:
        record = reading.read_json(_record(out, seed))
        same = record["identity"] == identity and record["files"] == _hashes(out / f"seed-{seed}", record["files"])
        result: dict[str, Any] = record["result"]
    except (DataError, OSError, ValueError, KeyError, TypeError):
        return None  # none, or one that can't be read: the seed is trained again
    return result if same and isinstance(result, dict) else None


def forget(out: Path) -> None:
    """The run is whole: nothing has to go on."""
    shutil.rmtree(out / FOLDER, ignore_errors=True)


def remove_leftovers(out: Path, names: Sequence[str], seeds: Sequence[int], seed_names: Sequence[str]) -> None:
    """Remove the temporary files of a process that was killed while it wrote."""
    for name in names:
        io.remove_leftovers(out / name)
    for seed in seeds:
        for name in seed_names:
            io.remove_leftovers(out / f"seed-{seed}" / name)


def _record(out: Path, seed: int) -> Path:
    return out / FOLDER / f"seed-{seed}.json"


def _hashes(folder: Path, names: Iterable[str]) -> dict[str, str | None]:
    """SHA-256 of the files of a seed; None for one that isn't there."""
    found: dict[str, str | None] = {}
    for name in names:
        path = folder / Path(name).name
        with path.open("rb") if path.is_file() else nullcontext() as file:
            found[name] = None if file is None else hashlib.file_digest(file, "sha256").hexdigest()
    return found
