"""Facts of a person's files before training: read leniently, so that what is wrong can be counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.assemble import build, class_numbers, file_split, fit_features, graph_notes, stem
from ..data.encode import Encoder
from ..data.files.options import Options
from ..data.files.parts import NO_FEATURES, Parts
from ..data.files.reader import read_parts
from ..data.progress import Progress, silent
from ..graph.graph import Graph
from .facts import Facts, collect, edge_counts


def file_facts(path: Path, reading: Mapping[str, Any], progress: Progress = silent) -> Facts:
    """The facts of a person's files. Edges without nodes are counted, and a missing label column is no error."""
    options = Options.make(reading)
    parts = read_parts(path, options, need_label=options.label is not None, lenient=True, progress=progress)
    encoder, features = _features(parts, options)
    labels, classes = class_numbers(parts)
    graph = build(parts, options, features, labels, classes, stem(path), progress)
    graph = _with_file_split(graph, parts, path)
    notes = [*parts.notes, *encoder.describe(), *graph_notes(graph)]
    counts = edge_counts(parts.edges, len(parts.ids))
    return collect(graph, {**counts, "dangling_edges": parts.dangling, "notes": notes})


def _features(parts: Parts, options: Options) -> tuple[Encoder, Any]:
    """The features that the files have; structural ones are left for training, because they take time."""
    structural = parts.matrix is None and (not parts.others or options.features == NO_FEATURES)
    if structural:
        return Encoder("structural", 0), np.zeros((len(parts.ids), 0), np.float32)
    return fit_features(parts, options)


def _with_file_split(graph: Graph, parts: Parts, path: Path) -> Graph:
    """The graph with the first split of its files, where they have any."""
    if parts.masks is None:
        return graph
    masks, kind, note = file_split(graph, parts.masks, 0, False, str(path))
    split = graph.with_masks(masks["train"], masks["val"], masks["test"], split=kind)
    return replace(split, meta={**split.meta, "note": note})
