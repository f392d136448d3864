"""GraphML and GEXF through NetworkX, after a check of the XML that refuses what could explode.

The attributes of the nodes become a table, so that labels, features and texts are chosen as in any other table.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ...errors import DataError, in_short
from . import limits
from .arrow import pa
from .options import Options
from .parts import Parts, from_tables
from .roles import WEIGHT, not_used
from .table import MOST_COLUMNS, Table

DEEPEST = 64
LONGEST_TAG = 1 << 20
"""Bytes of one tag: the parser holds all of it, and every attribute in it, before it can be asked about them."""

MOST_ATTRIBUTES = 1000
"""XML attributes of one element; GraphML and GEXF know about ten."""

CHUNK = 1 << 16
KEYS = ("key", "attribute")
"""Elements that declare an attribute of nodes or edges."""

ID = "node id"
ENDS = ("source", "target")


def read_xml(path: Path, options: Options, *, need_label: bool) -> Parts:
    """What a GraphML or GEXF file holds."""
    from dataclasses import replace

    needless = [name for name in ("id", "source", "target") if getattr(options, name) is not None]
    if needless:
        raise DataError(f"'{path}' says itself what its ids and edges are; leave --{needless[0]} out.")
    check_xml(path)
    graph = _read(path)
    nodes, id_name = _nodes(graph, path, _unwanted(path, options))
    edges, ends = _edges(graph, path, options.weight)
    settled = replace(options, id=id_name, source=ends[0], target=ends[1], weight=options.weight)
    parts = from_tables(nodes, edges, settled, need_label=need_label)
    notes = not_used(_others_of_edges(graph, options.weight), str(path), len(edges.columns) > 2)
    if graph.is_directed() and not options.directed:
        notes += ("Edges: those of the file have a direction, but count both ways; --directed keeps it.",)
    return replace(parts, notes=(*parts.notes, *notes))


def check_xml(path: Path) -> None:
    """Refuse document types and entities (which can unfold to gigabytes), deep nesting, endless tags, broken XML."""
    limits.check_file(path, limits.MOST_XML_BYTES)
    depth = elements = keys = 0

    def refuse(*_: Any) -> None:
        raise DataError(f"'{path}' declares a document type or entities, which can hide a bomb; remove the DOCTYPE.")

    def down(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, elements, keys
        keys += name in KEYS
        if len(attributes) > MOST_ATTRIBUTES:
            raise DataError(
                f"An element '{name[:40]}' in '{path}' has {len(attributes):,} XML attributes; at most "
                f"{MOST_ATTRIBUTES:,} are read."
            )
        if keys > MOST_COLUMNS:
            raise DataError(f"'{path}' declares more than {MOST_COLUMNS:,} attributes; save the features as npz.")
        depth, elements = depth + 1, elements + 1
        if depth > DEEPEST:
            raise DataError(f"'{path}' nests its XML more than {DEEPEST} deep, which no graph needs.")
        if elements > limits.MOST_XML_ELEMENTS:
            raise DataError(f"'{path}' has more than {limits.MOST_XML_ELEMENTS:,} XML elements; save it as npz.")

    def up(*_: Any) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = down, up
    try:
        with path.open("rb") as file:
            _parse(parser, file, path)
    except expat.ExpatError as cause:
        raise DataError(f"'{path}' is not well-formed XML: {in_short(cause)}.") from None
    except (OSError, ValueError, LookupError) as cause:
        raise DataError(f"'{path}' can't be read: {in_short(cause)}.") from None


def _parse(parser: Any, file: Any, path: Path) -> None:
    """Parse in pieces, and stop where a tag doesn't end."""
    fed = 0
    while piece := file.read(CHUNK):
        parser.Parse(piece, False)
        fed += len(piece)
        if fed - max(parser.CurrentByteIndex, 0) > LONGEST_TAG:
            line = parser.CurrentLineNumber
            raise DataError(
                f"A tag or comment in line {line:,} of '{path}' is longer than {LONGEST_TAG:,} bytes; no graph needs "
                "so many attributes on one element."
            )
    parser.Parse(b"", True)


def _read(path: Path) -> Any:
    import networkx as nx

    reader = nx.read_gexf if path.suffix.lower() == ".gexf" else nx.read_graphml
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with path.open("rb") as file:
                graph = reader(file)
    except Exception as cause:  # its readers raise whatever a wrong attribute leads to
        kind = path.suffix.lower().lstrip(".")
        raise DataError(f"'{path}' can't be read as {kind}: {in_short(cause)}.") from None
    if graph.number_of_nodes() == 0:
        raise DataError(f"'{path}' has no nodes.")
    return graph


def _unwanted(path: Path, options: Options) -> str | None:
    """In GEXF a node's ``label`` is its name for people; it counts only where it is asked for."""
    asked = (options.label, options.text, *(options.features or ()))
    return "label" if path.suffix.lower() == ".gexf" and "label" not in asked else None


def _nodes(graph: Any, path: Path, unwanted: str | None) -> tuple[Table, str]:
    """The nodes with their attributes, one column each, and the column of the ids, which no attribute is called.

    An attribute that a node lacks is an empty cell.
    """
    n = graph.number_of_nodes()
    columns: dict[str, list[Any]] = {}
    for at, (_, values) in enumerate(graph.nodes(data=True)):
        for name, value in values.items():
            if name == unwanted:
                continue
            if str(name) not in columns:
                limits.check_bytes(path, f"{len(columns) + 1:,} attributes of {n:,} nodes", 8 * n * (len(columns) + 1))
                columns[str(name)] = [None] * n
            columns[str(name)][at] = value
    if len(columns) > MOST_COLUMNS:
        raise DataError(f"The nodes of '{path}' have {len(columns):,} attributes; at most {MOST_COLUMNS:,} are read.")
    id_name = _free(ID, columns)
    ids = pa.array([str(node) for node in graph.nodes], pa.large_string())
    data = pa.table({id_name: ids, **{name: _column(each) for name, each in columns.items()}})
    return Table(data, str(path)), id_name


def _free(name: str, taken: Collection[str]) -> str:
    """The name, or with a mark behind it where an attribute is called so."""
    while name in taken:
        name += "*"
    return name


def _column(values: list[Any]) -> Any:
    """Numbers as numbers, everything else as texts."""
    try:
        if not all(value is None or isinstance(value, (bool, int, float)) for value in values):
            raise pa.ArrowInvalid("texts")
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else str(value) for value in values], pa.large_string())


def _edges(graph: Any, path: Path, weight: str | None) -> tuple[Table, tuple[str, str]]:
    """The edges, with the attribute ``weight`` (or the one that was asked for) where there is one, and their ends."""
    name = weight or WEIGHT
    entries = list(graph.edges(data=name))
    ends = (_free(ENDS[0], (name,)), _free(ENDS[1], (name,)))
    columns = {end: pa.array([str(edge[at]) for edge in entries], pa.large_string()) for at, end in enumerate(ends)}
    weights = [edge[2] for edge in entries]
    if weight is not None or any(each is not None for each in weights):
        columns[name] = _column([1 if each is None else each for each in weights])
    return Table(pa.table(columns), str(path)), ends


def _others_of_edges(graph: Any, weight: str | None) -> list[str]:
    """Attributes of the edges that nothing reads; ``id`` is the name of an edge."""
    names = dict.fromkeys(str(name) for _, _, values in graph.edges(data=True) for name in values)
    return [name for name in names if name not in (weight or WEIGHT, "id")]
