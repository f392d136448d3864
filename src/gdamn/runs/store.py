"""Store: the results of finished work in a folder, and the checkpoints of work under way.

Runs, comparisons, experiments and searches resume with it. A result is one small JSON that appears whole or not at
all. Checkpoints lie below ``.unfinished`` and go when the work is finished.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import DataError, OutputError
from ..system import io, reading
from ..system.versions import versions
from ..text import safe

FOLDER = ".unfinished"


@dataclass(frozen=True)
class Work:
    """A piece of work, usually one fit.

    Attributes:
        name: what it is called in messages.
        path: its record, relative to the folder of the store.
        config: everything that decides the result, as it comes back from JSON.
    """

    name: str
    path: str
    config: Mapping[str, Any]


class Store:
    """What is finished in a folder, and what is under way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, work: Work, result: Mapping[str, Any]) -> None:
        """Keep the result of finished work with its configuration and versions, and remove its checkpoints."""
        self.write(work.path, {"config": work.config, "versions": versions(), "result": result})
        shutil.rmtree(self.checkpoints(work.config), ignore_errors=True)

    def find(self, work: Work, force: bool = False) -> dict[str, Any] | None:
        """The record of finished work; None where there is none that can be read.

        One of other settings is an error, unless ``force`` asks to do it again.
        """
        record = self.read_record(work.path)
        different = "" if record is None else difference(record["config"], work.config)
        if different and not force:
            raise OutputError(
                f"'{self.folder}' holds '{work.name}' with other settings ({different}); "
                "pass --force to do it again, or another --out."
            )
        return None if different else record

    def read_record(self, path: str) -> dict[str, Any] | None:
        """A record that :meth:`save` wrote; None where there is none that can be read."""
        record = self.read(path)
        whole = all(isinstance(record.get(name), dict) for name in ("config", "versions", "result"))
        return record if whole and isinstance(record["config"].get("settings", {}), dict) else None

    def write(self, path: str, content: Mapping[str, Any]) -> None:
        """Write a small JSON, whole or not at all."""
        io.write_json(self.folder / path, content)

    def read(self, path: str) -> dict[str, Any]:
        """The content of a small JSON; empty where there is none that can be read."""
        try:
            content = reading.read_json(self.folder / path)
        except DataError:
            return {}
        return content if isinstance(content, dict) else {}

    def checkpoints(self, config: Mapping[str, Any]) -> Path:
        """Where work keeps its checkpoints; another configuration never finds them."""
        return self.folder / FOLDER / hashlib.sha256(io.to_json(config).encode()).hexdigest()[:16]

    def forget(self) -> None:
        """Remove everything that is under way: all of it is finished."""
        shutil.rmtree(self.folder / FOLDER, ignore_errors=True)

    def remove_leftovers(self, paths: Iterable[str]) -> None:
        """Remove the temporary files of a process that was killed while it wrote these."""
        for path in paths:
            io.remove_leftovers(self.folder / path)


@contextmanager
def stoppable(done: Sized, total: int, what: str) -> Iterator[None]:
    """Ctrl-C within the block says how much is finished, and how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        advice = "the same command goes on from there"
        raise KeyboardInterrupt(f"stopped with {len(done)} of {total} {what} finished; {advice}") from None


def difference(stored: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """The first thing in which two configurations differ; empty where they are the same.

    The version of gdamn doesn't count, nor do settings that an older version didn't have and that aren't changed.
    """
    from ..model.settings import completed  # late: it needs NumPy, and the command line starts without

    settings = completed(stored.get("settings") or {}, expected.get("settings") or {})
    old, new = (flat(config) for config in ({**stored, "settings": settings}, expected))
    for key in sorted({*old, *new} - {"version"}):
        if key not in old or key not in new or old[key] != new[key]:
            there, now = (safe(config.get(key, "not set")) for config in (old, new))
            return f"{key} is {there} there, {now} now"
    return ""


def flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with its settings beside its other entries."""
    settings = {f"settings.{key}": value for key, value in (config.get("settings") or {}).items()}
    return {**{key: value for key, value in config.items() if key != "settings"}, **settings}
