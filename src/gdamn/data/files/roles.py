"""Roles: which columns of the nodes are ids, labels, splits and features, and which of the edges ends and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import DataError
from .options import Options
from .table import Table

ID_NAMES = ("id", "node", "node_id")
ENDS = (("source", "target"), ("src", "dst"), ("from", "to"))
LABEL = "label"
WEIGHT = "weight"
NO_FEATURES = ("none",)
MOST_LISTED = 6


@dataclass(frozen=True)
class Roles:
    """Which columns of the node table are what.

    Attributes:
        by_name: those that were taken by their names, as words for a sentence.
        notes: those that were taken by their place.
    """

    id: str
    label: str | None
    split: str | None
    others: tuple[str, ...]
    by_name: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        return [name for name in (self.id, self.label, self.split, *self.others) if name is not None]


@dataclass(frozen=True)
class Ends:
    """Which columns of the edge table are what.

    Attributes:
        by_name: those that were taken by their names, as words for a sentence.
        notes: the ends that were taken by their place, and the columns that aren't used.
    """

    source: str
    target: str
    weight: str | None
    by_name: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        return [name for name in (self.source, self.target, self.weight) if name is not None]


def role_notes(roles: Roles, ends: Ends) -> tuple[str, ...]:
    """Notes about the columns that were guessed, and those that aren't used."""
    named = (*roles.by_name, *ends.by_name)
    return (*((f"Columns: {', '.join(named)}, by name.",) if named else ()), *roles.notes, *ends.notes)


def not_used(columns: Sequence[str], file: str, weighted: bool) -> tuple[str, ...]:
    """The note about columns or attributes of the edges that nothing reads."""
    if not columns:
        return ()
    listed = ", ".join(f"'{name}'" for name in columns[:MOST_LISTED])
    more = f" and {len(columns) - MOST_LISTED:,} more" if len(columns) > MOST_LISTED else ""
    what = "column" if len(columns) == 1 else "columns"
    advice = "" if weighted else "; name the one with the weights with --weight"
    verb = "is" if len(columns) == 1 else "are"
    return (f"{Path(file).name}: {what} {listed}{more} of the edges {verb} not used{advice}.",)


def not_read(names: Sequence[str], file: str) -> tuple[str, ...]:
    """The note about arrays or tensors in a file that nothing reads."""
    listed = ", ".join(f"'{name[:40]}'" for name in names[:MOST_LISTED])
    more = f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
    verb = "is" if len(names) == 1 else "are"
    return (f"{Path(file).name}: {listed}{more} {verb} not used.",) if names else ()


def node_roles(table: Table, options: Options, need_label: bool) -> Roles:
    """The columns of the nodes by their options, or by their names where the options leave them out."""
    names = table.columns
    by_name = next((name for name in ID_NAMES if name in names), names[0])
    id_column = by_name if options.id is None else table.need(options.id, "ids")
    by_place = options.id is None and id_column not in ID_NAMES
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
        if other == id_column:
            raise DataError(f"Column '{id_column}' of '{table.name}' can't be the ids and the {what} at once.")
    if split is not None and split == label:
        raise DataError(f"Column '{label}' of '{table.name}' can't be the labels and the split at once.")
    guessed = (
        ("ids", id_column if options.id is None and not by_place else None),
        ("labels", label if options.label is None else None),
    )
    return Roles(
        id_column,
        label,
        split if split in names else None,
        _others(table, options, {id_column, label, split}),
        tuple(f"'{column}' for the {what}" for what, column in guessed if column is not None),
        (f"{Path(table.name).name}: the node id is column '{id_column}' (the first).",) if by_place else (),
    )


def _others(table: Table, options: Options, taken: set[str | None]) -> tuple[str, ...]:
    """The columns that may be features."""
    features = list(options.features or ())
    if options.features == NO_FEATURES and "none" not in table.columns:
        features = []
    elif options.features is None and options.text is None:
        features = [name for name in table.columns if name not in taken]
    if options.text is not None:
        features.append(options.text)
    known = set(table.columns)
    for name in features:
        if name not in known:
            table.need(name, "features")
        if name in taken:
            raise DataError(f"Column '{name}' of '{table.name}' is no feature: it has the ids, labels or split.")
    return tuple(dict.fromkeys(features))


def edge_roles(table: Table, options: Options) -> Ends:
    """The columns with the two ends of the edges and with their weights."""
    names = table.columns
    ends_by_name = next(((a, b) for a, b in ENDS if a in names and b in names), None)
    if ends_by_name is None and len(names) < 2:
        raise DataError(f"'{table.name}' must have two columns, the ends of each edge; it has only '{names[0]}'.")
    first, second = ends_by_name or (names[0], names[1])
    source = table.need(options.source, "sources") if options.source else first
    target = table.need(options.target, "targets") if options.target else second
    if source == target:
        raise DataError(f"The source and the target of an edge can't be the same column '{source}' of '{table.name}'.")
    weight = options.weight or (WEIGHT if WEIGHT in names else None)
    if weight is not None:
        table.need(weight, "weights")
        if weight in (source, target):
            raise DataError(f"Column '{weight}' of '{table.name}' can't be an end of the edges and their weight.")
    if table.first == 2 and ends_by_name is None and not options.source and all(_is_number(name) for name in names[:2]):
        raise DataError(
            f"The first row of '{table.name}' looks like an edge ({names[0]}, {names[1]}), not like names of columns; "
            "add a header such as source,target."
        )
    by_name = (f"'{weight}' for the weights",) if weight is not None and options.weight is None else ()
    unused = [name for name in names if name not in (source, target, weight)]
    notes = _by_place(table, options, source, target) if ends_by_name is None else ()
    return Ends(source, target, weight, by_name, (*notes, *not_used(unused, table.name, weight is not None)))


def _by_place(table: Table, options: Options, source: str, target: str) -> tuple[str, ...]:
    """The ends of the edges that were taken because their columns stand first."""
    taken = [] if options.source else [f"source is column '{source}' (the first)"]
    taken += [] if options.target else [f"target is column '{target}' (the second)"]
    return (f"{Path(table.name).name}: {', '.join(taken)}.",) if taken else ()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
