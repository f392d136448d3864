"""Files by their suffix: read, checked against their hashes, assembled, split."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import ConfigError, DataError
from ...graph import parts
from ...graph.graph import Graph
from ...graph.parts import PartitionedGraph
from ...system.folders import PARTS, is_parts
from ...system.reading import check_kind
from ..assemble import Assembled, assemble, stem, with_split
from ..progress import Progress, silent
from . import FOLDER, INDEX, limits
from .formats import COMPRESSED, FORMATS, TABLES, table_suffix
from .options import Options
from .parts import Parts, from_tables, with_unknown
from .roles import edge_roles, node_roles
from .table import Table


def load(
    path: str | os.PathLike[str],
    *,
    seed: int = 0,
    split: int | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Graph:
    """The graph in a person's files, with its split; see :func:`gdamn.data.files.load`."""
    nodes = Path(path)
    chosen = Options.make(options or {})
    if nodes.suffix == FOLDER:
        return _load_folder(nodes, chosen)
    assembled = _assembled(nodes, chosen, progress)
    number = seed if split is None else split
    return with_split(assembled, chosen, number, explicit=split is not None, source=str(nodes))


def _load_folder(folder: Path, options: Options) -> Graph:
    """The graph in a folder that ``gdamn data convert`` made, with the split that it has."""
    from .folder import read_folder

    _refuse_columns(folder, options)
    limits.check_file(folder / INDEX)
    for array in sorted(folder.glob("*.npy")):
        check_kind(array)
    check_hashes(folder, options)
    return read_folder(folder)


def load_parts(path: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> PartitionedGraph:
    """The graph in a folder that ``gdamn data partition`` made; its arrays stay on disk."""
    folder, chosen = Path(path).expanduser(), Options.make(options or {})
    _refuse_columns(folder, chosen)
    check_hashes(folder, chosen)
    return parts.read_parts(folder)


def _refuse_columns(folder: Path, options: Options) -> None:
    """Options about columns are for tables."""
    needless = [*options.column_options(), *(["--edges"] if options.edges is not None else [])]
    if needless:
        raise ConfigError(f"'{folder}' holds a whole graph; leave {needless[0]} out.")


_latest: list[tuple[object, Assembled]] = []
"""The graph that was read last, with its files and options: at most one."""


def _assembled(nodes: Path, options: Options, progress: Progress) -> Assembled:
    """The graph before its split, kept for the next seed of the same run; files that have changed are read again."""
    key = str(nodes), repr(options), _stamp(nodes), _stamp(options.edges)
    for known, assembled in _latest:
        if known == key:
            return assembled
    _latest.clear()
    check_hashes(nodes, options)
    tables = read_parts(nodes, options, need_label=True, progress=progress)
    assembled = assemble(tables, options, name=stem(nodes), progress=progress)
    _latest[:] = [(key, assembled)]  # at once, as another thread may load, too
    return assembled


def _stamp(path: str | Path | None) -> object:
    """Time of change, size and inode of a file; None where there is none."""
    try:
        stat = None if path is None else Path(path).stat()
    except (OSError, ValueError):
        return None
    return None if stat is None else (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def read_parts(
    nodes: Path,
    options: Options,
    *,
    need_label: bool,
    lenient: bool = False,
    progress: Progress = silent,
    known: Sequence[Any] = (),
) -> Parts:
    """What the files hold, their labels unknown where they say so.

    Args:
        need_label: a table must have a column of labels.
        lenient: count edges without nodes and drop them, in place of an error.
        progress: called as tables are read.
        known: ids of another graph's nodes, which the edges of a table may name, too.
    """
    return with_unknown(_read_parts(nodes, options, need_label, lenient, progress, known), options)


def _read_parts(
    nodes: Path, options: Options, need_label: bool, lenient: bool, progress: Progress, known: Sequence[Any]
) -> Parts:
    """What the files hold, with labels as they are written."""
    suffix = check_suffix(nodes)
    if suffix in TABLES:
        return _read_tables(nodes, options, need_label, lenient, progress, known)
    limits.check_file(nodes)
    if options.edges is not None:
        raise ConfigError(f"'{nodes}' holds a whole graph; --edges is for tables of nodes ({', '.join(TABLES)}).")
    form = FORMATS[suffix]
    needless = options.column_options()
    if needless and not form.columns:
        raise ConfigError(f"'{nodes}' has no columns to choose from; leave {needless[0]} out.")
    return form.read(nodes, options, need_label)


def check_suffix(path: Path) -> str:
    """The suffix of a file that can be read."""
    suffix = path.suffix.lower()
    if is_parts(path):
        raise DataError(f"'{path}' is a partitioned graph; gdamn train takes it, and here the whole graph is needed.")
    if limits.is_folder(path):
        limits.check_file(path)
    known = (*TABLES, *FORMATS)
    if suffix in COMPRESSED and table_suffix(path) in TABLES:
        raise DataError(f"'{path}' is compressed; make a graph folder of it: gdamn data convert, or unpack it.")
    if suffix not in known:
        raise DataError(f"'{path}' can't be read by its name; files end in {', '.join(known)}.")
    return suffix


def _read_tables(
    path: Path, options: Options, need_label: bool, lenient: bool, progress: Progress, known: Sequence[Any]
) -> Parts:
    """Parts from two tables; columns that aren't needed are never read."""
    if options.edges is None:
        limits.check_file(path)
        raise ConfigError(f"'{path}' is a table of nodes; pass the table of the edges, too: --edges FILE.")
    edges_path = Path(options.edges)
    if check_suffix(edges_path) not in TABLES:
        raise DataError(f"'{edges_path}' can't be a table of edges; it must end in {', '.join(TABLES)}.")
    roles = node_roles(outline(path), options, need_label)
    ends = edge_roles(outline(edges_path), options)
    nodes = read_table(path, roles.needed, progress)
    edges = read_table(edges_path, ends.needed, progress)
    return from_tables(
        nodes, edges, options, need_label=need_label, lenient=lenient, roles=roles, ends=ends, known=known
    )


def read_table(path: Path, columns: Sequence[str] | None = None, progress: Progress = silent) -> Table:
    """A table from a CSV, TSV or Parquet file, all of its columns or these; those that it lacks are left out."""
    from .csv_table import read_csv
    from .parquet_table import read_parquet

    size = limits.check_file(path)
    try:
        return read_parquet(path, columns, progress) if _is_parquet(path) else read_csv(path, size, columns, progress)
    except (OSError, MemoryError) as cause:
        raise DataError(
            f"'{path}' can't be read: {getattr(cause, 'strerror', None) or cause or 'no memory'}."
        ) from None


def outline(path: Path) -> Table:
    """A table's columns without its rows."""
    from .arrow import pa
    from .csv_table import csv_header
    from .parquet_table import parquet_header

    limits.check_file(path)
    names = parquet_header(path) if _is_parquet(path) else csv_header(path)
    empty = pa.table({name: pa.array([], pa.string()) for name in names})
    return Table(empty, str(path), first=1 if _is_parquet(path) else 2)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def prepare(dataset: str, options: Mapping[str, Any], *, fresh: bool) -> tuple[str, dict[str, Any]]:
    """Whole paths and hashes; see :func:`gdamn.data.files.prepare`. The option ``split`` is kept as it is."""
    file_options = {key: value for key, value in options.items() if key != "split" and value is not None}
    earlier = Options.make(file_options)
    hashes_before = {} if fresh else dict(earlier.sha256)
    file_options.pop("sha256", None)
    chosen = Options.make(file_options)
    path = Path(dataset).expanduser()
    if _hashed(path) == path:
        check_suffix(path)
    files = {"nodes": _hashed(path)}
    if chosen.edges is not None:
        files["edges"] = Path(chosen.edges).expanduser()
    hashes = {name: hashes_before.get(name) or limits.sha256(file) for name, file in files.items()}
    recorded = dict(file_options)
    if not hashes_before and _hashed(path) == path:
        recorded["missing"] = chosen.missing  # runs that were stored without it keep what they did
    if "features" in file_options:
        recorded["features"] = list(chosen.features or ())
    if "edges" in files:
        recorded["edges"] = str(files["edges"].absolute())
    if "split" in options:
        recorded["split"] = options["split"]
    return str(path.absolute()), {**recorded, "sha256": hashes}


def _hashed(path: Path) -> Path:
    """The file to hash for a path: of a folder of arrays its index, which has the hashes of all of them."""
    if path.suffix == FOLDER:
        return path / INDEX
    return path / PARTS if is_parts(path) else path


def check_hashes(nodes: Path, options: Options) -> None:
    """Refuse files that are not those that the run was made with."""
    for name, path in (("nodes", nodes), ("edges", options.edges)):
        recorded = options.sha256.get(name)
        if recorded is None or path is None:
            continue
        if limits.sha256(_hashed(Path(path))) != recorded:
            raise DataError(
                f"'{path}' is not the file that the run was made with (its SHA-256 is another); "
                "put the old file back, or train again on the new one."
            )
