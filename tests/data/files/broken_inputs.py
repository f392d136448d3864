"""More than a hundred broken inputs, made by code: each with the command that reads it and what must be said."""

from __future__ import annotations

from broken_graphs import archives, torch_files, xml_files
from broken_silent import silent
from broken_tables import Case, edge_tables, parquet_files, paths, tables, too_many_rows


def cases() -> list[Case]:
    return [
        *tables(),
        *edge_tables(),
        *paths(),
        *parquet_files(),
        too_many_rows(),
        *archives(),
        *torch_files(),
        *xml_files(),
        *silent(),
    ]
