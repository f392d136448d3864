"""Stages of a long conversion: what is finished stays, and isn't done again when the same command is repeated."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import DataError
from ...system import io, reading

JOURNAL = "journal.json"


class Stages:
    """Finished stages with their facts, plain data each; files of theirs are beside the journal.

    Args:
        folder: of the journal; emptied where it belongs to another conversion.
        identity: what decides the result, as JSON gives it back: files with size and time, options.
    """

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder, self.identity = folder, identity
        self.done: dict[str, dict[str, Any]] = {}
        try:
            kept = reading.read_json(folder / JOURNAL) if reading.is_there(folder / JOURNAL) else {}
            if kept.get("identity") == identity:
                self.done = dict(kept["done"])
        except (DataError, AttributeError, KeyError, TypeError):
            self.done = {}
        if not self.done:
            shutil.rmtree(folder, ignore_errors=True)
            io.make_folder(folder)

    def run(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The facts of a stage, which is only made where it isn't done."""
        if name not in self.done:
            self.done[name] = make()
            io.write_json(self.folder / JOURNAL, {"identity": self.identity, "done": self.done})
        return self.done[name]

    def forget(self) -> None:
        """Begin again: what a stage left is not what it was."""
        self.done = {}

    def close(self) -> None:
        """All is done."""
        shutil.rmtree(self.folder, ignore_errors=True)
