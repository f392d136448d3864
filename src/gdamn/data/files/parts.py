"""Parts: what a person's files hold, with ids turned into node numbers, before features and splits are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ...graph.label_names import is_missing, missing_note
from .arrow import pa, pc
from .columns import as_numbers, as_texts
from .options import USUAL, Options
from .roles import NO_FEATURES as NO_FEATURES
from .roles import Ends, Roles, edge_roles, node_roles, role_notes
from .table import Table

LONGEST_ID = 256
SPLIT_WORDS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass(frozen=True, eq=False)
class Parts:
    """What files hold.

    Attributes:
        source: the file of the nodes, for sentences.
        ids: [N] the node ids.
        edges: [2, E] node numbers.
        weights: [E], or None.
        labels: [N] Arrow strings, null where unknown; None where there is no column of labels.
        label_place: what the labels are called in a sentence.
        table: the node table, where features come from columns.
        others: columns that may be features.
        matrix: [N, F] features that the file holds as numbers, or None.
        masks: ``train``, ``val`` and ``test`` [N, k], k splits, where the file says so.
        class_names: the classes in their order, where the file says so.
        dangling: edges that were dropped because an end is no node; only where that was allowed.
        beyond: [K] numbers of nodes that another graph knows and no row describes; edges call them N, N + 1, ….
        notes: sentences about what was guessed or left out.
    """

    source: str
    ids: NDArray[Any]
    edges: NDArray[np.int64]
    weights: NDArray[np.float32] | None = None
    labels: Any = None
    label_place: str = "labels"
    table: Table | None = None
    others: Sequence[str] = ()
    matrix: Any = None
    masks: Mapping[str, NDArray[np.bool_]] | None = None
    class_names: Sequence[str] | None = None
    dangling: int = 0
    beyond: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    notes: Sequence[str] = field(default_factory=tuple)


def from_tables(
    nodes: Table,
    edges: Table,
    options: Options,
    *,
    need_label: bool,
    lenient: bool = False,
    roles: Roles | None = None,
    ends: Ends | None = None,
    known: Sequence[Any] = (),
) -> Parts:
    """Parts from a table of nodes and one of edges.

    Args:
        need_label: there must be a column of labels.
        lenient: drop and count edges whose ends are no nodes, in place of an error.
        roles, ends: which columns are what, where that was found out from more columns than the tables have.
        known: ids of another graph's nodes, which edges may name, too.
    """
    if nodes.data.num_rows == 0:
        raise DataError(f"'{nodes.name}' has no rows, so the graph has no nodes.")
    roles = roles or node_roles(nodes, options, need_label)
    ids = node_ids(nodes, roles.id)
    named, beyond = _with_known(ids, known)
    ends = ends or edge_roles(edges, options)
    with ThreadPoolExecutor(2) as both:  # Arrow looks up without holding Python's lock
        columns = (ends.source, ends.target)
        numbers = both.map(lambda column: _numbers_of(edges, column, named, nodes.name, lenient), columns)
        pairs = np.stack(list(numbers))
    weights = None if ends.weight is None else edge_weights(edges, ends.weight)
    complete = (pairs >= 0).all(axis=0)
    dangling = int((~complete).sum())
    if dangling:
        pairs, weights = pairs[:, complete], None if weights is None else weights[complete]
    masks = None if roles.split is None else split_masks(nodes, roles.split)
    return Parts(
        source=nodes.name,
        ids=plain_ids(ids),
        edges=pairs,
        weights=weights,
        labels=None if roles.label is None else as_texts(nodes, roles.label),
        label_place=f"column '{roles.label}' of '{nodes.name}'",
        table=nodes,
        others=roles.others,
        masks=masks,
        dangling=dangling,
        beyond=beyond,
        notes=(*role_notes(roles, ends), *nodes.notes, *edges.notes),
    )


def with_unknown(parts: Parts, options: Options) -> Parts:
    """The parts, with labels that mean that there is none (``NA``, ``-``, …) unknown; a note says so.

    Classes that the file lists itself are what they are called.
    """
    if options.missing != USUAL or parts.labels is None or parts.class_names is not None:
        return parts
    counts = pc.value_counts(parts.labels)
    every = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    missing_words = {label: count for label, count in every if label is not None and is_missing(label)}
    if not missing_words:
        return parts
    words = pc.is_in(parts.labels, value_set=pa.array(list(missing_words), parts.labels.type))
    labels = pc.if_else(words, pa.scalar(None, parts.labels.type), parts.labels)
    return replace(parts, labels=labels, notes=(*parts.notes, missing_note(missing_words, parts.label_place)))


def node_ids(table: Table, column: str) -> Any:
    """[N] the ids as Arrow strings; empty, repeated and very long ones are refused."""
    ids = as_texts(table, column)
    if ids.null_count:
        at = int(pc.index(pc.is_null(ids), True).as_py())
        raise DataError(f"The id of {table.location(at, column)} is empty; every node needs one.")
    long = pc.greater(pc.utf8_length(ids), LONGEST_ID)
    if pc.any(long).as_py():
        at = int(pc.index(long, True).as_py())
        length = len(ids[at].as_py())
        raise DataError(
            f"The id of {table.location(at, column)} has {length:,} characters; at most {LONGEST_ID} are taken."
        )
    codes = pc.dictionary_encode(ids).indices.to_numpy(zero_copy_only=False)
    if len(codes) and int(codes.max()) + 1 < len(codes):
        first = np.unique(codes, return_index=True)[1]
        repeat = int(np.setdiff1d(np.arange(len(codes)), first, assume_unique=True)[0])
        rows = f"rows {int(first[codes[repeat]]) + table.first:,} and {repeat + table.first:,}"
        raise DataError(
            f"The id '{ids[repeat].as_py()}' stands twice in '{table.name}', in {rows} of column '{column}'; "
            "ids must be unique."
        )
    return ids


def _with_known(ids: Any, known: Sequence[Any]) -> tuple[Any, NDArray[np.int64]]:
    """The ids, then those of another graph that aren't among them; and these ones' numbers there."""
    if not len(known):
        return ids, np.empty(0, np.int64)
    others = pa.array([str(each) for each in known], ids.type)
    beyond = np.flatnonzero(~np.asarray(pc.is_in(others, value_set=ids).to_numpy(zero_copy_only=False), dtype=bool))
    first = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    return pa.concat_arrays([first, others.take(pa.array(beyond))]), beyond


def plain_ids(ids: Any) -> NDArray[Any]:
    """[N] ids as whole numbers where all are written as such, else as texts."""
    try:
        numbers = pc.cast(ids, pa.int64())
        if pc.all(pc.equal(pc.cast(numbers, pa.large_string()), ids)).as_py():
            return np.asarray(numbers.to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        pass
    texts = np.empty(len(ids), dtype=object)
    texts[:] = ids.to_pylist()
    longest = pc.max(pc.utf8_length(ids)).as_py() or 1
    return texts.astype(str) if longest * len(ids) < 1 << 26 else texts


def _numbers_of(edges: Table, column: str, ids: Any, nodes: str, lenient: bool) -> NDArray[np.int64]:
    """[E] node numbers of one end of the edges; -1 where it is no node, if that is allowed."""
    texts = edges.data[column]
    if pa.types.is_string(texts.type):  # of a CSV, where an empty cell is null: nothing need be copied
        ids = pc.cast(ids, pa.string())
    else:
        texts = as_texts(edges, column)
    if texts.null_count and not lenient:
        at = int(pc.index(pc.is_null(texts), True).as_py())
        raise DataError(f"The cell of {edges.location(at, column)} is empty; an edge needs both ends.")
    positions = pc.index_in(texts, value_set=ids)
    numbers = np.asarray(pc.fill_null(positions, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    missing = numbers < 0
    if missing.any() and not lenient:
        at = int(missing.argmax())
        wrong = "" if missing.sum() == 1 else f" (nor have {int(missing.sum()) - 1:,} more)"
        raise DataError(
            f"The edge in row {at + edges.first:,} of '{edges.name}' names '{str(texts[at].as_py())[:60]}' in column "
            f"'{column}', but no node of '{nodes}' has that id{wrong}; correct the ids or add the nodes."
        )
    return numbers


def edge_weights(table: Table, column: str) -> NDArray[np.float32]:
    """[E] weights, finite and greater than 0."""
    numbers = as_numbers(table, column, "correct it, or name another --weight")
    if numbers is None:
        if table.data.num_rows == 0:
            return np.zeros(0, np.float32)
        raise DataError(f"Column '{column}' of '{table.name}' must hold numbers, since it has the weights.")
    weights = numbers.astype(np.float32)
    if (weights <= 0).any():
        at = int((weights <= 0).argmax())
        raise DataError(f"The weight in {table.location(at, column)} is {numbers[at]:g}; it must be greater than 0.")
    return weights


def split_masks(table: Table, column: str) -> dict[str, NDArray[np.bool_]]:
    """[N, 1] masks from a column of train, val and test; an empty cell is in no set."""
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(as_texts(table, column)))
    for word in pc.unique(texts).drop_null().to_pylist():
        if word not in SPLIT_WORDS:
            at = int(pc.index(texts, pa.scalar(word, texts.type)).as_py())
            raise DataError(
                f"There is '{word[:40]}' in {table.location(at, column)}; a split is train, val, test or an empty cell."
            )
    masks = {}
    for name in ("train", "val", "test"):
        words = [word for word, set_name in SPLIT_WORDS.items() if set_name == name]
        in_set = pc.is_in(texts, value_set=pa.array(words, texts.type))
        masks[name] = np.asarray(in_set.to_numpy(zero_copy_only=False), dtype=bool)[:, None]
    return masks
