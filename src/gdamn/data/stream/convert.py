"""Tables of any size to a graph folder, as ``gdamn data convert`` makes it of small ones."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import DataError
from ...graph.graph import Graph
from ...graph.label_names import alike_notes
from ...system import lock
from ...system.folders import MARKER
from ...system.versions import __version__
from ..assemble import Assembled, check_labels, class_numbers, graph_notes, with_split
from ..encode import Encoder
from ..files import INDEX
from ..files.folder import check_target, write_array, write_index, write_small
from ..files.options import Options
from ..files.parts import NO_FEATURES, Parts, with_unknown
from ..files.roles import Ends, Roles, edge_roles, node_roles, role_notes
from ..files.table import Table
from ..progress import Progress, silent
from .arrays import Spill, hashed, mapped
from .edges import EdgeList, Facts, read_edges, write_csr
from .nodes import FeatureRows, Nodes, feature_columns, fit_encoder, read_nodes, write_features, write_ids
from .sources import Source
from .stages import Stages

UNFINISHED = ".unfinished"
"""Where edges are sorted, within the folder that is written: 24 bytes per edge, 36 with weights, and 8 per number."""


def convert(
    nodes: str, folder: Path, options: Options, *, seed: int = 0, half: bool = False, progress: Progress = silent
) -> Graph:
    """Write the graph of these tables, mapped; its arrays are those of :func:`gdamn.data.load` and ``write_folder``.

    Repeated after an interruption it goes on behind the last finished stage: the nodes with their features, or the
    edges as node numbers.

    Args:
        nodes: a file, a folder or a glob; ``options.edges`` is one, too.
        seed: of the split, where one is made.
    """
    check_target(folder)
    assert options.edges is not None
    tables = Tables.find(nodes, options)
    try:
        return _convert(nodes, tables, folder, seed, half, progress)
    except DataError:  # the files must change, so that nothing here is of use
        _remove(folder)
        raise


def _remove(folder: Path) -> None:
    """Remove what a conversion has written, and the folder where nothing else is in it."""
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    for path in (*folder.glob("*.npy"), folder / MARKER):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _convert(nodes: str, tables: Tables, folder: Path, seed: int, half: bool, progress: Progress) -> Graph:
    """The stages one after the other."""
    options = tables.options
    with lock.alone_in(folder, "graph"):
        (folder / INDEX).unlink(missing_ok=True)  # what is half replaced must not open
        stages = Stages(folder / UNFINISHED, {**tables.identity(), "half": half})
        if "nodes" in stages.done and not _are_there(folder, stages.done["nodes"]["arrays"]):
            stages.forget()
        facts = stages.run("nodes", lambda: _nodes(tables, folder, half, progress))
        known = stages.run("edges", lambda: _edges(tables, folder, facts, progress))
        n, spills = facts["count"], folder / UNFINISHED
        weights = Spill.there(spills / "weights", np.float32) if known["weighted"] else None
        edges = EdgeList(Spill.there(spills / "ends", np.int32), weights)
        sort = write_csr(edges, n, options.directed, folder, spills, progress)
        names = ["indptr", "indices", "reverse", *(["weights"] if sort.weighted else [])]
        graph = _graph(folder, [*facts["arrays"], *names], facts, sort, directed=options.directed)
        notes = (*role_notes(tables.roles, tables.ends), *facts["odd"], *known["odd"], *facts["notes"])
        notes += tuple(graph_notes(graph))
        masks = {name: np.load(spills / f"{name}_mask.npy", allow_pickle=False) for name in facts["masks"]} or None
        encoder = Encoder.from_dict(facts["encoder"], str(folder))
        assembled = Assembled(replace(graph, name=tables.nodes.stem), masks, encoder, notes)
        graph = with_split(assembled, options, seed, explicit=False, source=nodes)
        graph = replace(graph, meta={**graph.meta, "dataset": nodes, "seed": seed})
        write_index(graph, folder, {**facts["arrays"], **hashed(folder, names), **write_small(graph, folder)})
        stages.close()
    return graph


def can_stream(nodes: str, options: Options) -> bool:
    """Whether a stream can make the features: of columns, none of which is a text."""
    tables = Tables.find(nodes, options)
    return options.text is None and options.features != NO_FEATURES and bool(tables.roles.others)


@dataclass(frozen=True)
class Tables:
    """The tables of a graph, and which of their columns are what."""

    nodes: Source
    edges: Source
    roles: Roles
    ends: Ends
    outline: Table
    options: Options

    @classmethod
    def find(cls, nodes: str, options: Options) -> Tables:
        """The tables of these files, folders or globs."""
        node_source, edge_source = Source.find(nodes), Source.find(str(options.edges))
        outline = node_source.outline()
        roles, ends = node_roles(outline, options, need_label=True), edge_roles(edge_source.outline(), options)
        return cls(node_source, edge_source, roles, ends, outline, options)

    def identity(self) -> dict[str, Any]:
        """What decides a conversion, as JSON gives it back."""
        stats = [(str(file), file.stat()) for file in (*self.nodes.files, *self.edges.files)]
        stamps = [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
        return {"files": stamps, "options": repr(self.options), "gdamn": __version__}


def _nodes(tables: Tables, folder: Path, half: bool, progress: Progress) -> dict[str, Any]:
    """Read the nodes and write their features and ids; keep labels, split and hashes of ids beside the journal."""
    spills, options, source = folder / UNFINISHED, tables.options, tables.nodes
    columns = feature_columns(tables.roles, options, tables.outline, spills)
    seeds = np.frombuffer(os.urandom(16), np.uint64)
    read = read_nodes(source, tables.roles, columns, spills, seeds, progress)
    parts = _parts(read, source, tables.roles.label, options)
    labels, classes = class_numbers(parts)
    check_labels(parts, labels, classes)
    encoder = fit_encoder(columns, options.features is None, source.name)
    names = write_features(FeatureRows(encoder, columns, read.count), folder, half, progress)
    write_ids(read, folder)
    for column in columns:
        column.remove()
    kept = {"labels": labels, **{f"{name}_mask": mask for name, mask in (parts.masks or {}).items()}}
    for name, array in kept.items():
        write_array(spills, name, array)
    return {
        "count": read.count,
        "seeds": seeds.tolist(),
        "rows": source.rows,
        "odd": source.notes,
        "classes": classes,
        "masks": list(parts.masks or {}),
        "encoder": encoder.as_dict(),
        "notes": [*parts.notes, *(f"Labels: {note}" for note in alike_notes(classes)), *encoder.describe()],
        "arrays": hashed(folder, [*names, "node_ids"]),
    }


def _edges(tables: Tables, folder: Path, facts: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Read the edges; keep them as node numbers beside the journal."""
    spills = folder / UNFINISHED
    tables.nodes.rows = facts["rows"]
    keys = Spill.there(spills / "keys", np.uint64)
    seeds = np.array(facts["seeds"], np.uint64)
    edges = read_edges(tables.edges, tables.ends, (tables.nodes, keys), spills, seeds, progress)
    return {"weighted": edges.weights is not None, "odd": tables.edges.notes}


def _are_there(folder: Path, arrays: dict[str, str]) -> bool:
    """Whether arrays that an interrupted conversion wrote are what they were."""
    return all((folder / f"{name}.npy").is_file() for name in arrays) and hashed(folder, list(arrays)) == arrays


def _parts(read: Nodes, source: Source, label: str | None, options: Options) -> Parts:
    """Labels and split of the nodes, as those of a small table; the ids and edges are on disk."""
    parts = Parts(
        source=source.name,
        ids=np.empty(read.count, np.int8),
        edges=np.zeros((2, 0), np.int64),
        labels=read.label_texts(),
        label_place=f"column '{label}' of '{source.name}'",
        masks=read.split(),
    )
    return with_unknown(parts, options)


def _graph(folder: Path, names: list[str], facts: dict[str, Any], sort: Facts, *, directed: bool) -> Graph:
    """The graph that was written, mapped, before it has a split."""
    arrays: dict[str, Any] = {name: mapped(folder, name) for name in names}
    n = len(arrays["node_ids"])
    none = np.zeros(n, bool)
    features = arrays.pop("features", None)
    if features is None:
        data, indices, indptr = (arrays.pop(f"features_{name}") for name in ("data", "indices", "indptr"))
        features = sp.csr_array((data, indices, indptr), shape=(n, facts["encoder"]["width"]))
    return Graph(
        **{"weights": None, **arrays},
        features=features,
        labels=np.load(folder / UNFINISHED / "labels.npy", allow_pickle=False),
        train_mask=none,
        val_mask=none,
        test_mask=none,
        class_names=tuple(facts["classes"]),
        meta={"dropped_self_loops": sort.loops, "merged_duplicates": sort.merged, "dangling_edges": 0},
        directed=directed,
    )
