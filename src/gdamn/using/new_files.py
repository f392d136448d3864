"""New files, read as a run read its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..data.assemble import file_split, stem
from ..data.encode import Encoder
from ..data.files.options import Options
from ..data.files.reader import check_hashes, read_parts
from ..data.new_rows import for_new, of_parts
from ..errors import DataError
from ..graph.extension import Extension
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


def read_new_files(run: Path, spec: RunSpec, nodes: Path | None, edges: Path | None, fitted_on: Graph) -> Extension:
    """New nodes, edges or both; what isn't new are the run's own files, which must be as they were.

    Args:
        fitted_on: the graph of the run, whose nodes new edges may name.
    """
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
    if classes != list(fitted_on.class_names):
        raise DataError(f"'{run / ENCODER}' names other classes than the run's graph has; train the run again.")
    options = for_new(options, encoder)
    parts = read_parts(path, options, need_label=False, known=fitted_on.node_ids.tolist())
    extension = of_parts(fitted_on, parts, options, encoder, stem(path))
    if parts.masks is None or extension.graph.num_nodes != len(parts.ids):
        return extension
    graph = extension.graph
    masks, kind, note = file_split(graph, parts.masks, 0, False, str(path))
    notes = [*graph.meta["notes"], note]
    return replace(
        extension, graph=graph.with_masks(masks["train"], masks["val"], masks["test"], split=kind, notes=notes)
    )
