"""New rows of tables, read and encoded as those of a graph were, and the graph of both.

Where an edge names a node that no row describes, the older graph must know it, and the new rows join that graph.
Otherwise the rows are a graph of their own, in which nodes of the older one may be known again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import DataError, GraphError
from ..graph.extension import Extension, joined, known_nodes, numbers_of, with_arrays
from ..graph.graph import Graph
from . import structure_features as structure
from .assemble import build, class_numbers
from .encode import Encoder
from .files.options import Options
from .files.parts import Parts, from_tables, with_unknown
from .files.table import Table, from_frame


def extended(graph: Graph, nodes: Any, edges: Any = None) -> Extension:
    """The graph with new nodes; see :meth:`gdamn.Graph.extended`."""
    if not is_table(nodes):
        return with_arrays(graph, nodes, edges)
    if "encoder" not in graph.meta:
        raise GraphError(
            f"The graph '{graph.name}' was not made of tables, so there are no columns to read new nodes by; "
            "give their features [M, F], and edges [2, E] by numbers."
        )
    encoder = Encoder.from_dict(graph.meta["encoder"], "the encoder of the graph")
    options = for_new(Options.make(graph.meta.get("reading", {})), encoder)
    table = as_table(nodes, "node table")
    if edges is None:
        links = Table(pa.table({name: pa.array([], pa.string()) for name in ("source", "target")}), "edge table")
        options = replace(options, source=None, target=None, weight=None)
    else:
        links = as_table(edges, "edge table")
    parts = from_tables(table, links, options, need_label=False, known=graph.node_ids.tolist())
    return of_parts(graph, with_unknown(parts, options), options, encoder, graph.name)


def is_table(nodes: Any) -> bool:
    """Whether something is a data frame, columns by name, or a file."""
    frame = any(hasattr(nodes, name) for name in ("reset_index", "__arrow_c_stream__", "to_arrow"))
    return frame or isinstance(nodes, (dict, str, os.PathLike))


def as_table(value: Any, name: str) -> Table:
    """A table from a data frame, columns by name, or a file."""
    from .files.reader import read_table

    return read_table(Path(value)) if isinstance(value, (str, os.PathLike)) else from_frame(value, name)


def for_new(options: Options, encoder: Encoder) -> Options:
    """The options for new rows: the columns that the encoder reads by name, so that others don't matter."""
    if encoder.kind == "given":
        return replace(options, features=None, text=None)
    if encoder.kind != "columns":
        return options
    columns = tuple(str(each["name"]) for each in (*encoder.numeric, *encoder.categorical))
    text = None if encoder.text is None else str(encoder.text["name"])
    return replace(options, features=columns or None, text=text)


def of_parts(older: Graph, parts: Parts, options: Options, encoder: Encoder, name: str) -> Extension:
    """What new files or tables hold, as a graph of their own or with the older graph.

    Args:
        older: the graph that the encoder was fitted on.
        parts: of the new tables; their ``beyond`` are numbers in the older graph.
    """
    labels, classes = class_numbers(parts, older.class_names)
    own = bool((parts.edges < len(parts.ids)).all())
    numbers = numbers_of(parts.ids, older)
    if own:
        features = features_of(older, parts, encoder, parts.edges, numbers)
        graph = build(parts, options, features, labels, classes, name)
        extension = Extension(graph, np.arange(graph.num_nodes), known_nodes(graph, older))
    else:
        fresh = numbers < 0
        rows = numbers.copy()
        rows[fresh] = older.num_nodes + np.arange(int(fresh.sum()))
        edges = np.concatenate([rows, parts.beyond])[parts.edges]
        extension = _joined(older, parts, encoder, rows, edges)
        every = np.concatenate([older.labels, np.full(int(fresh.sum()), -1)])
        every[rows] = np.where(labels >= 0, labels, every[rows])
        extension = replace(extension, graph=replace(extension.graph, labels=every, name=name))
    graph, new = extension.graph, int((extension.known[extension.rows] < 0).sum())
    notes = [*parts.notes, *encoder.describe(), *carried_note(encoder, new)]
    meta = {**graph.meta, "notes": notes, "encoder": encoder.as_dict()}
    return replace(extension, graph=replace(graph, meta=meta))


def _joined(older: Graph, parts: Parts, encoder: Encoder, rows: Any, edges: Any) -> Extension:
    """The older graph with the rows and their edges, by the numbers of both."""
    if encoder.kind != "structural":
        features = features_of(older, parts, encoder, edges, rows)
        return joined(older, rows, parts.ids, features, edges, parts.weights)
    features = np.zeros((len(rows), older.num_features), np.float32)
    features[rows < older.num_nodes] = _dense(older)[rows[rows < older.num_nodes]]
    extension = joined(older, rows, parts.ids, features, edges, parts.weights)
    graph = extension.graph
    every = _structural(older, encoder, np.stack([graph.indices, graph.rows]).astype(np.int64), extension.known)
    return replace(extension, graph=replace(graph, features=every))


def features_of(older: Graph, parts: Parts, encoder: Encoder, edges: Any, numbers: Sequence[int] | Any) -> Any:
    """[M, F] features of new parts by an encoder that was fitted on others.

    Args:
        edges: [2, E] between the parts' nodes; numbers: [M] their numbers in the older graph, -1 for new ones.
    """
    if encoder.kind == "given":
        width = 0 if parts.matrix is None else int(parts.matrix.shape[1])
        if width != encoder.width:
            raise DataError(f"'{parts.source}' has {width} features, but the model was trained on {encoder.width}.")
        return parts.matrix
    if encoder.kind == "columns":
        if parts.table is None:
            raise DataError(f"'{parts.source}' has no columns, but the model was trained on those of a table.")
        return encoder.transform(parts.table)
    return _structural(older, encoder, edges, np.asarray(numbers))


def _structural(older: Graph, encoder: Encoder, edges: Any, known: Any) -> Any:
    """[N, F] structural features: known nodes keep their eigenvectors, new ones get them from their neighbours."""
    assert encoder.structural is not None
    vectors, values = _dense(older)[:, 1:], np.asarray(encoder.structural["values"])
    carried = structure.extended(edges, len(known), known, vectors, values)
    return encoder.structural_features(edges, len(known), carried)


def _dense(graph: Graph) -> Any:
    features: Any = graph.features
    return features.toarray() if graph.is_sparse else features


def carried_note(encoder: Encoder, new: int) -> list[str]:
    """The note about eigenvectors of new nodes."""
    if encoder.kind != "structural" or not new:
        return []
    return [f"Features: the eigenvectors of {new:,} new nodes are those of their neighbours, which is approximate."]
