"""Parts: what a person's files hold, with ids turned into node numbers, before features and splits are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import DataError
from .columns import as_numbers, as_texts
from .options import Options
from .tables import Table

ID_NAMES = ("id", "node", "node_id")
ENDS = (("source", "target"), ("src", "dst"), ("from", "to"))
LABEL = "label"
WEIGHT = "weight"
LONGEST_ID = 256
SPLIT_WORDS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}
NO_FEATURES = ("none",)


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
        notes: what was found out and should be told.
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
    notes: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Roles:
    """Which columns of the node table are what."""

    id: str
    label: str | None
    split: str | None
    others: tuple[str, ...]

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        return [name for name in (self.id, self.label, self.split, *self.others) if name is not None]


def node_roles(table: Table, options: Options, need_label: bool) -> Roles:
    """The columns of the nodes by their options, or by their names where the options leave them out."""
    names = table.columns
    by_name = next((name for name in ID_NAMES if name in names), names[0])
    chosen = by_name if options.id is None else table.need(options.id, "ids")
    label = options.label or (LABEL if LABEL in names else None)
    if label is not None and (need_label or label in names):
        table.need(label, "labels")
    else:
        label = None
    if label is None and need_label:
        listed = ", ".join(f"'{name}'" for name in names[:20])
        raise DataError(f"Which column of '{table.name}' has the labels? Pass --label COLUMN; there are {listed}.")
    split = options.split_column
    if split is not None and (need_label or split in names):
        table.need(split, "split")
    for what, other in (("labels", label), ("split", split)):
        if other == chosen:
            raise DataError(f"Column '{chosen}' of '{table.name}' can't be the ids and the {what} at once.")
    if split is not None and split == label:
        raise DataError(f"Column '{label}' of '{table.name}' can't be the labels and the split at once.")
    taken = {chosen, label, split}
    return Roles(chosen, label, split if split in names else None, _others(table, options, taken))


def _others(table: Table, options: Options, taken: set[str | None]) -> tuple[str, ...]:
    """The columns that may be features."""
    wanted = list(options.features or ())
    if options.features == NO_FEATURES and "none" not in table.columns:
        wanted = []
    elif options.features is None and options.text is None:
        wanted = [name for name in table.columns if name not in taken]
    if options.text is not None:
        wanted.append(options.text)
    for name in wanted:
        table.need(name, "features")
        if name in taken:
            raise DataError(f"Column '{name}' of '{table.name}' is no feature: it has the ids, labels or split.")
    return tuple(dict.fromkeys(wanted))


Ends = tuple[str, str, str | None]
"""Columns of the edges: source, target and weight."""


def edge_roles(table: Table, options: Options) -> Ends:
    """The columns with the two ends of the edges and with their weights."""
    names = table.columns
    found = next(((a, b) for a, b in ENDS if a in names and b in names), None)
    if found is None and len(names) < 2:
        raise DataError(f"'{table.name}' must have two columns, the ends of each edge; it has only '{names[0]}'.")
    first, second = found or (names[0], names[1])
    source = table.need(options.source, "sources") if options.source else first
    target = table.need(options.target, "targets") if options.target else second
    if source == target:
        raise DataError(f"The source and the target of an edge can't be the same column '{source}' of '{table.name}'.")
    weight = options.weight or (WEIGHT if WEIGHT in names else None)
    if weight is not None:
        table.need(weight, "weights")
        if weight in (source, target):
            raise DataError(f"Column '{weight}' of '{table.name}' can't be an end of the edges and their weight.")
    if table.first == 2 and found is None and not options.source and all(_is_number(name) for name in names[:2]):
        raise DataError(
            f"The first row of '{table.name}' looks like an edge ({names[0]}, {names[1]}), not like names of columns; "
            "add a header such as source,target."
        )
    return source, target, weight


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def from_tables(
    nodes: Table,
    edges: Table,
    options: Options,
    *,
    need_label: bool,
    lenient: bool = False,
    roles: Roles | None = None,
    ends: Ends | None = None,
) -> Parts:
    """Parts from a table of nodes and one of edges.

    Args:
        need_label: there must be a column of labels.
        lenient: drop and count edges whose ends are no nodes, in place of an error.
        roles, ends: which columns are what, where that was found out from more columns than the tables have.
    """
    if nodes.data.num_rows == 0:
        raise DataError(f"'{nodes.name}' has no rows, so the graph has no nodes.")
    roles = roles or node_roles(nodes, options, need_label)
    ids = node_ids(nodes, roles.id)
    source, target, weight = ends or edge_roles(edges, options)
    with ThreadPoolExecutor(2) as both:  # Arrow looks up without holding Python's lock
        found = both.map(lambda column: _numbers_of(edges, column, ids, nodes.name, lenient), (source, target))
        pairs = np.stack(list(found))
    weights = None if weight is None else _weights(edges, weight)
    kept = (pairs >= 0).all(axis=0)
    dangling = int((~kept).sum())
    if dangling:
        pairs, weights = pairs[:, kept], None if weights is None else weights[kept]
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
        notes=_role_notes(roles, options, weight),
    )


def _role_notes(roles: Roles, options: Options, weight: str | None) -> tuple[str, ...]:
    """Which columns were taken where nobody said which."""
    guessed = [
        ("ids", roles.id if options.id is None else None),
        ("labels", roles.label if options.label is None else None),
        ("weights", weight if options.weight is None else None),
    ]
    told = [f"'{column}' for the {what}" for what, column in guessed if column is not None]
    return (f"Columns: {', '.join(told)}, by name or place.",) if told else ()


def node_ids(table: Table, column: str) -> Any:
    """[N] the ids as Arrow strings: none empty, none twice, none endless."""
    ids = as_texts(table, column)
    if ids.null_count:
        at = int(pc.index(pc.is_null(ids), True).as_py())
        raise DataError(f"The id of {table.place(at, column)} is empty; every node needs one.")
    long = pc.greater(pc.utf8_length(ids), LONGEST_ID)
    if pc.any(long).as_py():
        at = int(pc.index(long, True).as_py())
        length = len(ids[at].as_py())
        raise DataError(
            f"The id of {table.place(at, column)} has {length:,} characters; at most {LONGEST_ID} are taken."
        )
    codes = pc.dictionary_encode(ids).indices.to_numpy(zero_copy_only=False)
    if len(codes) and int(codes.max()) + 1 < len(codes):
        first = np.unique(codes, return_index=True)[1]
        again = int(np.setdiff1d(np.arange(len(codes)), first, assume_unique=True)[0])
        rows = f"rows {int(first[codes[again]]) + table.first:,} and {again + table.first:,}"
        raise DataError(
            f"The id '{ids[again].as_py()}' stands twice in '{table.name}', in {rows} of column '{column}'; "
            "ids must be unique."
        )
    return ids


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
        raise DataError(f"The cell of {edges.place(at, column)} is empty; an edge needs both ends.")
    found = pc.index_in(texts, value_set=ids)
    numbers = np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    missing = numbers < 0
    if missing.any() and not lenient:
        at = int(missing.argmax())
        wrong = "" if missing.sum() == 1 else f" (nor have {int(missing.sum()) - 1:,} more)"
        raise DataError(
            f"The edge in row {at + edges.first:,} of '{edges.name}' names '{str(texts[at].as_py())[:60]}' in column "
            f"'{column}', but no node of '{nodes}' has that id{wrong}; correct the ids or add the nodes."
        )
    return numbers


def _weights(table: Table, column: str) -> NDArray[np.float32]:
    """[E] weights, finite and greater than 0."""
    numbers = as_numbers(table, column, "correct it, or name another --weight")
    if numbers is None:
        if table.data.num_rows == 0:
            return np.zeros(0, np.float32)
        raise DataError(f"Column '{column}' of '{table.name}' must hold numbers, since it has the weights.")
    made = numbers.astype(np.float32)
    if (made <= 0).any():
        at = int((made <= 0).argmax())
        raise DataError(f"The weight in {table.place(at, column)} is {numbers[at]:g}; it must be greater than 0.")
    return made


def split_masks(table: Table, column: str) -> dict[str, NDArray[np.bool_]]:
    """[N, 1] masks from a column of train, val and test; an empty cell is in no set."""
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(as_texts(table, column)))
    for word in pc.unique(texts).drop_null().to_pylist():
        if word not in SPLIT_WORDS:
            at = int(pc.index(texts, pa.scalar(word, texts.type)).as_py())
            raise DataError(
                f"There is '{word[:40]}' in {table.place(at, column)}; a split is train, val, test or an empty cell."
            )
    masks = {}
    for name in ("train", "val", "test"):
        words = [word for word, meant in SPLIT_WORDS.items() if meant == name]
        found = pc.is_in(texts, value_set=pa.array(words, texts.type))
        masks[name] = np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)[:, None]
    return masks
