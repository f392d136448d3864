"""GraphML and GEXF through NetworkX, after a look at the XML that refuses what could explode.

The attributes of the nodes become a table, so that labels, features and texts are chosen as in any other table.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from xml.parsers import expat

import pyarrow as pa

from ..errors import DataError, in_short
from . import limits
from .options import Options
from .parts import Parts, from_tables
from .tables import Table

DEEPEST = 64
ID = "node id"
ENDS = ("source", "target")


def read_xml(path: Path, options: Options, *, need_label: bool) -> Parts:
    """What a GraphML or GEXF file holds."""
    from dataclasses import replace

    given = [name for name in ("id", "source", "target") if getattr(options, name) is not None]
    if given:
        raise DataError(f"'{path}' says itself what its ids and edges are; leave --{given[0]} out.")
    look(path)
    graph = _read(path)
    nodes, edges = _nodes(graph, path, _unwanted(path, options)), _edges(graph, path, options.weight)
    settled = replace(options, id=ID, source=ENDS[0], target=ENDS[1], weight=options.weight)
    parts = from_tables(nodes, edges, settled, need_label=need_label)
    if not graph.is_directed() or options.directed:
        return parts
    note = "Edges: those of the file have a direction, but count both ways; --directed keeps it."
    return replace(parts, notes=(*parts.notes, note))


def look(path: Path) -> None:
    """Refuse document types and entities (which can unfold to gigabytes), deep nesting, and broken XML."""
    limits.check_file(path, limits.MOST_XML_BYTES)
    depth = elements = 0

    def refuse(*_: Any) -> None:
        raise DataError(f"'{path}' declares a document type or entities, which can hide a bomb; remove the DOCTYPE.")

    def down(*_: Any) -> None:
        nonlocal depth, elements
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
            parser.ParseFile(file)
    except expat.ExpatError as cause:
        raise DataError(f"'{path}' is not well-formed XML: {in_short(cause)}.") from None
    except (OSError, ValueError, LookupError) as cause:
        raise DataError(f"'{path}' can't be read: {in_short(cause)}.") from None


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


def _nodes(graph: Any, path: Path, unwanted: str | None) -> Table:
    """The nodes with their attributes, one column each; an attribute that a node lacks is an empty cell."""
    names: dict[str, None] = {}
    for _, values in graph.nodes(data=True):
        names.update(dict.fromkeys(values))
    names.pop(unwanted or "", None)
    columns = {ID: pa.array([str(node) for node in graph.nodes], pa.large_string())}
    for name in names:
        values = [value for _, value in graph.nodes(data=name)]
        columns[str(name)] = _column(values)
    return Table(pa.table(columns), str(path))


def _column(values: list[Any]) -> Any:
    """Numbers as numbers, everything else as texts."""
    try:
        if not all(value is None or isinstance(value, (bool, int, float)) for value in values):
            raise pa.ArrowInvalid("texts")
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else str(value) for value in values], pa.large_string())


def _edges(graph: Any, path: Path, weight: str | None) -> Table:
    """The edges, with the attribute ``weight`` (or the one that was asked for) where there is one."""
    ends = list(graph.edges(data=weight or "weight"))
    columns = {name: pa.array([str(edge[at]) for edge in ends], pa.large_string()) for at, name in enumerate(ENDS)}
    weights = [edge[2] for edge in ends]
    if weight is not None or any(each is not None for each in weights):
        columns[weight or "weight"] = _column([1 if each is None else each for each in weights])
    return Table(pa.table(columns), str(path))
