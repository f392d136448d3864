"""New files, read as a run read its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data import structure_features as structure
from ..data.assemble import build, class_numbers, file_split, stem
from ..data.encode import Encoder
from ..data.files.options import Options
from ..data.files.parts import Parts
from ..data.files.reader import check_hashes, read_parts
from ..errors import DataError
from ..graph.graph import Graph
from ..runs.spec import RunSpec
from ..system.reading import is_there, read_json

ENCODER = "encoder.json"


def read_encoder(run: Path) -> tuple[Encoder, list[str]]:
    """The encoder and the classes of a run."""
    path = run / ENCODER
    if not is_there(path):
        raise DataError(f"There is no '{path}'; is '{run}' a run on own files?")
    try:
        content = read_json(path)
        classes = content.pop("class_names")
        if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
            raise ValueError
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise DataError(f"'{path}' is not an encoder that gdamn wrote, or it is damaged.") from None
    return Encoder.from_dict(content, str(path)), classes


def read_new_files(run: Path, spec: RunSpec, nodes: Path | None, edges: Path | None) -> Graph:
    """New nodes, edges or both; what isn't new are the run's own files, which must be as they were."""
    trained_on = Options.make({key: value for key, value in spec.options.items() if key != "split"})
    hashes = dict(trained_on.sha256)
    if nodes is not None:
        hashes.pop("nodes", None)
    if edges is not None:
        hashes.pop("edges", None)
    options = replace(trained_on, edges=trained_on.edges if edges is None else str(edges), sha256=hashes)
    path = Path(spec.dataset) if nodes is None else Path(nodes)
    if nodes is not None and path.suffix.lower() not in (".csv", ".tsv", ".parquet"):
        options = replace(options, edges=None if edges is None else str(edges))
    check_hashes(path, options)
    encoder, classes = read_encoder(run)
    if encoder.kind == "given":
        options = replace(options, features=None, text=None)
    elif encoder.kind == "columns":
        options = _with_columns(options, encoder)
    parts = read_parts(path, options, need_label=False)
    labels, names = class_numbers(parts, classes)
    features, notes = _features(run, spec, trained_on, encoder, parts)
    graph = build(parts, options, features, labels, names, stem(path))
    notes = [*parts.notes, *encoder.describe(), *notes]
    graph = replace(graph, meta={**graph.meta, "notes": notes, "encoder": encoder.as_dict()})
    if parts.masks is None:
        return graph
    masks, kind, note = file_split(graph, parts.masks, 0, False, str(path))
    return graph.with_masks(masks["train"], masks["val"], masks["test"], split=kind, notes=[*notes, note])


def _with_columns(options: Options, encoder: Encoder) -> Options:
    """The columns that the encoder reads, by name, so that others in the new file don't matter."""
    columns = tuple(str(each["name"]) for each in (*encoder.numeric, *encoder.categorical))
    text = None if encoder.text is None else str(encoder.text["name"])
    return replace(options, features=columns or None, text=text)


def _features(run: Path, spec: RunSpec, trained_on: Options, encoder: Encoder, parts: Parts) -> tuple[Any, list[str]]:
    """Features of new parts by an encoder that was fitted on others, and notes about them."""
    if encoder.kind == "given":
        width = 0 if parts.matrix is None else int(parts.matrix.shape[1])
        if width != encoder.width:
            raise DataError(f"'{parts.source}' has {width} features, but '{run}' was trained on {encoder.width}.")
        return parts.matrix, []
    if encoder.kind == "columns":
        if parts.table is None:
            raise DataError(f"'{parts.source}' has no columns, but '{run}' was trained on those of a table.")
        return encoder.transform(parts.table), []
    return _structural_features(spec, trained_on, encoder, parts)


def _structural_features(spec: RunSpec, trained_on: Options, encoder: Encoder, parts: Parts) -> tuple[Any, list[str]]:
    """Structural features: nodes of the run keep their eigenvectors, new ones get them from their neighbours."""
    assert encoder.structural is not None
    path = Path(spec.dataset)
    check_hashes(path, trained_on)
    old = read_parts(path, trained_on, need_label=True)
    vectors, values = structure.eigenvectors(structure.adjacency(old.edges, len(old.ids)))
    numbers = {str(name): at for at, name in enumerate(old.ids.tolist())}
    known = np.array([numbers.get(str(name), -1) for name in parts.ids.tolist()], dtype=np.int64)
    carried = structure.extended(parts.edges, len(parts.ids), known, vectors.astype(np.float32), values)
    new = int((known < 0).sum())
    note = f"Features: the eigenvectors of {new:,} new nodes are those of their neighbours, which is approximate."
    return encoder.structural_features(parts.edges, len(parts.ids), carried), [note] if new else []
