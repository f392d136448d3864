"""Graphs from a person's files, each format in a module of its name.

    csv_table.py, parquet_table.py      a table of the nodes and one of the edges
    npz.py, torch_file.py, graphml.py   one file with a whole graph
    folder.py                           a folder of arrays that ``gdamn data convert`` makes

    >>> from gdamn.data import files
    >>> graph = files.load("nodes.csv", edges="edges.csv", label="topic")

This module is light: what reads files is imported on first use, because the command line asks :func:`is_path` early.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..progress import Progress, silent
from .formats import FORMATS, TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph.graph import Graph

__all__ = ["FOLDER", "FORMATS", "INDEX", "RECORDED", "TABLES", "is_path", "load", "prepare"]

FOLDER, INDEX = ".graph", "graph.json"
"""How the name of a folder of arrays ends, and the file in it that describes them."""

RECORDED = ("sha256", "missing")
"""Options that only ``config.toml`` has: they make a replay read the same files in the same way."""


def is_path(dataset: str) -> bool:
    """Whether it is the path of a file or folder, not the name of a data set: it has a suffix or a folder in it."""
    path = Path(dataset)
    return path.suffix != "" or len(path.parts) > 1 or dataset.endswith(os.sep)


is_own = is_path
"""Its name in 0.1.0."""


def load(
    path: str | os.PathLike[str],
    *,
    seed: int = 0,
    split: int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Graph:
    """The graph in a person's files.

    Args:
        path: the table of the nodes, or the one file that holds a whole graph.
        seed: of the split, where one is made.
        split: number of the split in place of the seed.
        progress: called as ``progress(what, done, total)`` while the files are read.
        **options: the fields of ``Options`` (options.py), such as ``edges``, ``label`` and ``features``.
    """
    from .reader import load as read

    return read(path, seed=seed, split=split, options=options, progress=progress)


def prepare(dataset: str, options: Mapping[str, Any], *, fresh: bool) -> tuple[str, dict[str, Any]]:
    """The data set and the options as ``config.toml`` keeps them: whole paths, and the hash of every file.

    Args:
        dataset: path of the nodes or of the graph.
        options: what the command line or an older ``config.toml`` gives.
        fresh: take the files as they are now; otherwise hashes that the options have must still be right.
    """
    from .reader import prepare as make

    return make(dataset, options, fresh=fresh)
