"""A column of the table of nodes as texts, for people who look at nodes: names, titles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from .columns import as_texts
from .formats import TABLES
from .options import Options
from .reader import outline, read_table
from .roles import node_roles


def node_texts(nodes: str, options: Mapping[str, Any], column: str) -> dict[str, str]:
    """The text of each node by its id; nodes whose cell is empty are left out.

    Args:
        nodes: path of the table of the nodes.
        options: how the files are read, as ``config.toml`` keeps it.
    """
    path = Path(nodes)
    if path.suffix.lower() not in TABLES:
        raise ConfigError(f"'{nodes}' is no table of nodes ({', '.join(TABLES)}), so it has no column '{column}'.")
    header = outline(path)
    header.need(column, "names")
    id_column = node_roles(header, Options.make({k: v for k, v in options.items() if k != "split"}), False).id
    table = read_table(path, list(dict.fromkeys([id_column, column])))
    ids, texts = (as_texts(table, name).to_pylist() for name in (id_column, column))
    return {name: text for name, text in zip(ids, texts, strict=True) if name is not None and text is not None}
