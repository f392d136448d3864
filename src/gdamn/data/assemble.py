"""From parts to a graph: classes, features, and the split that is given, made, or held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, GraphError
from ..graph.extension import Extension
from ..graph.graph import Graph
from ..graph.label_names import alike_notes
from ..graph.label_names import in_order as in_order
from .encode import Encoder
from .files.arrow import pa, pc
from .files.options import AUTO, Options
from .files.parts import NO_FEATURES, Parts, from_tables, with_unknown
from .files.table import from_frame
from .held_out import FEW, held_out, validation_from, validation_share
from .progress import Progress, silent

MOST_CLASSES = 10_000

Masks = dict[str, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Assembled:
    """A graph without a split, the splits that its files give, and how its features were made."""

    graph: Graph
    masks: Mapping[str, NDArray[np.bool_]] | None
    encoder: Encoder
    notes: tuple[str, ...]


def assemble(
    parts: Parts, options: Options, *, name: str, strict: bool = True, progress: Progress = silent
) -> Assembled:
    """The graph of the parts, its encoder fitted on them.

    Args:
        strict: refuse labels that nothing can be learned from.
        progress: called as features and graph are made.
    """
    labels, classes = class_numbers(parts)
    if strict:
        check_labels(parts, labels, classes)
    progress("making features", 0, 1)
    encoder, features = fit_features(parts, options)
    progress("making features", 1, 1)
    graph = build(parts, options, features, labels, classes, name, progress)
    similar = (f"Labels: {note}" for note in alike_notes(classes))
    return Assembled(graph, parts.masks, encoder, (*parts.notes, *similar, *encoder.describe(), *graph_notes(graph)))


def build(
    parts: Parts,
    options: Options,
    features: Any,
    labels: NDArray[np.int64],
    classes: Sequence[str],
    name: str,
    progress: Progress = silent,
) -> Graph:
    """Build the graph; errors name the file."""
    progress("building the graph", 0, 1)
    try:
        graph = Graph.build(
            parts.edges,
            features,
            labels,
            num_nodes=len(parts.ids),
            weights=parts.weights,
            class_names=classes,
            name=name,
            meta={"dangling_edges": parts.dangling},
            directed=options.directed,
        )
    except GraphError as cause:
        raise GraphError(f"'{parts.source}': {cause}") from None
    progress("building the graph", 1, 1)
    return replace(graph, node_ids=parts.ids)


def fit_features(parts: Parts, options: Options) -> tuple[Encoder, Any]:
    """The encoder, fitted on the parts, and their features [N, F]."""
    if parts.matrix is not None and parts.matrix.shape[1] > 0:
        return Encoder.of_matrix(int(parts.matrix.shape[1])), parts.matrix
    encoder = Encoder("structural", 0)
    if parts.table is not None:
        asked = options.features is not None or options.text is not None
        columns = [column for column in parts.others if column != options.text] if asked else None
        if options.features == NO_FEATURES and "none" not in parts.table.columns:
            columns = []
        encoder = Encoder.fit(parts.table, columns, options.text, parts.others)
        if encoder.kind == "columns":
            return encoder, encoder.transform(parts.table)
    return encoder.fit_structure(parts.edges, len(parts.ids))


def class_numbers(parts: Parts, known: Sequence[str] | None = None) -> tuple[NDArray[np.int64], list[str]]:
    """[N] class numbers, -1 where unknown, and the names: those that are ``known``, the file's, or all in order."""
    n = len(parts.ids)
    if parts.labels is None:
        return np.full(n, -1, np.int64), list(known or parts.class_names or ())
    labels_present = pc.unique(parts.labels).drop_null().to_pylist()
    if len(labels_present) > MOST_CLASSES:
        raise DataError(f"There are {len(labels_present):,} different labels in {parts.label_place}; are they classes?")
    stored = parts.class_names if set(labels_present) <= set(parts.class_names or ()) else None
    names = list(known or stored or in_order(labels_present))
    at = pc.index_in(parts.labels, value_set=pa.array(names, pa.large_string()), skip_nulls=True)
    labels = np.asarray(pc.fill_null(at, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    unknown_label = next((label for label in labels_present if label not in set(names)), None)
    if unknown_label is not None:
        listed = ", ".join(names[:20])
        raise DataError(
            f"The label '{unknown_label[:60]}' in {parts.label_place} is no class of the run, which has {listed}."
        )
    return labels, names


def check_labels(parts: Parts, labels: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Refuse labels that nothing can be learned from."""
    known = labels[labels >= 0]
    unknown = next((f" {note}" for note in parts.notes if note.startswith("Labels:")), "")
    if len(known) == 0:
        raise DataError(f"There is no label in {parts.label_place}; some nodes must have one.{unknown}")
    present = np.unique(known)
    if len(present) == 1:
        raise DataError(
            f"There is only one class, '{classes[present[0]]}', in {parts.label_place}; at least two are needed."
            f"{unknown}"
        )
    if len(present) == len(known) and len(known) > 20:
        raise DataError(f"Every label in {parts.label_place} is different; are they classes?")


def graph_notes(graph: Graph) -> list[str]:
    """Sentences about edges that were dropped or merged."""
    notes = []
    if graph.meta["dropped_self_loops"]:
        notes.append(f"Edges: {graph.meta['dropped_self_loops']:,} from a node to itself were dropped.")
    if graph.meta["merged_duplicates"]:
        count = f"{graph.meta['merged_duplicates']:,}"
        if graph.meta["merged_duplicates"] == graph.num_edges:
            notes.append("Edges: each is listed twice, as in both directions, and counts once.")
        else:
            notes.append(f"Edges: {count} are listed more than once, or in both directions, and count once.")
    return notes


def with_split(assembled: Assembled, options: Options, number: int, *, explicit: bool, source: str) -> Graph:
    """The graph with its split: that of its files, or one that is made with a number; a note says which.

    Args:
        number: of the split where there are several, else the seed of the one that is made.
        explicit: it was asked for, so there must be one of that number.
        source: the file, for sentences.
    """
    graph = assembled.graph
    if assembled.masks is not None:
        masks, kind, note = file_split(graph, assembled.masks, number, explicit, source)
        share = 0.0 if masks["val"].any() else validation_share(options.val_share, masks["train"], graph.labels)
        if share > 0:
            masks["train"], masks["val"] = validation_from(masks["train"], graph.labels, share, number)
            held = int(masks["val"].sum())
            note += f" It has no validation nodes, so {held:,} training nodes are held out, with seed {number}."
    else:
        masks, kind, note = made_split(graph, options, number)
    if not masks["val"].any():
        note += unvalidated(options, masks["train"], graph.labels)
    notes = [*assembled.notes, note]
    facts = {"notes": notes, "encoder": assembled.encoder.as_dict(), "reading": options.reading()}
    return graph.with_masks(masks["train"], masks["val"], masks["test"], split=kind, **facts)


def made_split(graph: Graph, options: Options, number: int) -> tuple[Masks, str, str]:
    """The masks of a split that is drawn, its kind, and a note about it."""
    known = graph.labels >= 0
    share = validation_share(options.val_share, known, graph.labels, options.test_share)
    train, val, test = held_out(graph.labels, share, options.test_share, number)
    masks = {"train": train, "val": val, "test": test}
    if not val.any() and not test.any():
        return masks, "all labels train", f"Split: none given, so all {int(known.sum()):,} labelled nodes train."
    tested = f"{int(test.sum()):,} for the test" if test.any() else "none for a test"
    held = f"{int(val.sum()):,} are held out for validation and {tested}"
    if not val.any():
        held = f"{int(test.sum()):,} are held out for the test"
    note = (
        f"Split: none given, so of {int(known.sum()):,} labelled nodes {held}, in each class alike, with seed {number}."
    )
    return masks, f"held out with seed {number}", note


def unvalidated(options: Options, train: NDArray[np.bool_], labels: NDArray[np.int64]) -> str:
    """What to know of a split without validation nodes."""
    if options.val_share == AUTO and validation_share(AUTO, train, labels) == 0:
        return (
            f" Labels are few (fewer than {FEW} a class on average), so none is held out for validation and the "
            "last epoch counts; --val-share 0.2 holds out a fifth."
        )
    return " There is no validation node, so the last epoch counts."


def file_split(
    graph: Graph, file_masks: Mapping[str, NDArray[np.bool_]], number: int, explicit: bool, source: str
) -> tuple[Masks, str, str]:
    """The masks of one of the file's splits; training and validation nodes must have labels."""
    splits = max(mask.shape[1] for mask in file_masks.values())
    if explicit and splits > 1 and number >= splits:
        raise DataError(f"'{source}' has {splits} splits, numbered from 0; there is no split {number}.")
    at = number % splits
    masks = {name: mask[:, at if mask.shape[1] > 1 else 0].copy() for name, mask in file_masks.items()}
    known = graph.labels >= 0
    for name in ("train", "val"):
        bad = masks[name] & ~known
        if bad.any():
            node = graph.node_ids[int(bad.argmax())]
            raise DataError(f"Node '{node}' of '{source}' is in the {name} set but has no label.")
    twice = masks["train"].astype(int) + masks["val"] + masks["test"] > 1
    if twice.any():
        node = graph.node_ids[int(twice.argmax())]
        raise DataError(f"Node '{node}' of '{source}' is in more than one of train, val and test.")
    if not masks["train"].any():
        raise DataError(f"The split of '{source}' has no training node; mark some labelled nodes with train.")
    unknown = int((masks["test"] & ~known).sum())
    masks["test"] &= known
    kind = f"of the file, number {at}" if splits > 1 else "of the file"
    counts = " / ".join(f"{int(masks[name].sum()):,}" for name in ("train", "val", "test"))
    note = f"Split: {kind}, {counts} nodes for training, validation and test."
    if unknown:
        note += f" {unknown:,} test nodes have no label and don't count."
    return masks, kind, note


def from_frames(nodes: Any, edges: Any, options: Options, *, seed: int, name: str) -> Graph:
    """A graph from data frames; what was done is in ``meta["notes"]``, the encoder in ``meta["encoder"]``.

    Without a column of labels no node has one, and there is no split.
    """
    if seed < 0:
        raise GraphError(f"The seed must be a whole number that isn't negative, not {seed}.")
    tables = from_frame(nodes, "node table"), from_frame(edges, "edge table")
    try:
        parts = with_unknown(from_tables(*tables, options, need_label=options.label is not None), options)
        assembled = assemble(parts, options, name=name, strict=parts.labels is not None)
        if parts.labels is None:
            facts = {
                "notes": list(assembled.notes),
                "encoder": assembled.encoder.as_dict(),
                "reading": options.reading(),
            }
            return replace(assembled.graph, meta={**assembled.graph.meta, **facts})
        return with_split(assembled, options, seed, explicit=False, source="the node table")
    except DataError as cause:
        raise GraphError(str(cause)) from None


def more_rows(graph: Graph, nodes: Any, edges: Any) -> Extension:
    """A graph with new nodes and edges: tables like its own, or arrays (:meth:`gdamn.Graph.extended`)."""
    from .new_rows import extended

    try:
        return extended(graph, nodes, edges)
    except DataError as cause:
        raise GraphError(str(cause)) from None


def stem(path: Path) -> str:
    """The name of a graph: that of its file without the suffix."""
    return path.stem or path.name
