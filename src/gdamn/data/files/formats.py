"""The formats of one file that holds a whole graph, a line each.

Tables of nodes and edges are in ``csv_table.py`` and ``parquet_table.py``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .options import Options
    from .parts import Parts

TABLES = (".csv", ".tsv", ".parquet")
"""Suffixes of tables: two files, one of the nodes and one of the edges."""

COMPRESSED = (".gz", ".bz2")
"""Suffixes behind .csv and .tsv that ``gdamn data convert`` unpacks as it reads."""


def table_suffix(path: Path) -> str:
    """The suffix that tells the format of a table: that before .gz or .bz2, where there is one."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSED else suffix


@dataclass(frozen=True)
class Format:
    """Who reads a format.

    Attributes:
        module: the file in this package, imported when it is needed.
        function: its reader: ``read(path, options, need_label=...) -> Parts``; without columns ``read(path) -> Parts``.
        columns: whether nodes have named attributes, so that ``--label`` and ``--features`` have a meaning.
    """

    module: str
    function: str
    columns: bool = False

    def read(self, path: Path, options: Options, need_label: bool) -> Parts:
        """What the file holds."""
        read = getattr(importlib.import_module(f".{self.module}", __package__), self.function)
        parts: Parts = read(path, options, need_label=need_label) if self.columns else read(path)
        return parts


FORMATS: dict[str, Format] = {
    ".npz": Format("npz", "read_npz"),
    ".pt": Format("torch_file", "read_torch"),
    ".graphml": Format("graphml", "read_xml", columns=True),
    ".gexf": Format("graphml", "read_xml", columns=True),
}
"""Every format by its suffix. A new one is a file beside the others and a line here."""
