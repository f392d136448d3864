"""A graph with a person's decisions in it: wrong edges cut, right ones marked, labels corrected, added or dropped."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import GraphError
from ..text import nearest, safe
from .decisions import Decisions, Row, edge_name
from .entries import entry_of, keep_entries
from .graph import Graph


@dataclass
class Changes:
    """What follows from decisions, by positions in a graph.

    Attributes:
        confirmed, cut: entries of its CSR.
        labels: class numbers by node; -1 where the label is dropped.
    """

    confirmed: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    labels: dict[int, int] = field(default_factory=dict)


def decided(graph: Graph, decisions: Decisions) -> Graph:
    """The graph that a fit with these decisions learns from.

    A node that a decision labels becomes a training node: it leaves the validation and test sets, and no score counts
    it. ``meta["decisions"]`` has the counts and the hash of the log; ``meta["notes"]`` says them.
    """
    changes = resolved(graph, decisions)
    g, about = _labelled(graph, changes)
    confirmed = np.zeros(len(g.indices), bool) if g.confirmed is None else g.confirmed.copy()
    confirmed[changes.confirmed] = True
    keep = np.ones(len(g.indices), bool)
    keep[changes.cut] = False
    g = replace(g, confirmed=confirmed if confirmed.any() else None)
    g = keep_entries(g, keep) if changes.cut else g
    ways = 1 if graph.directed else 2
    counts = {"confirmed": len(changes.confirmed) // ways, "cut": len(changes.cut) // ways, **about}
    record = {"rows": len(decisions), "sha256": decisions.sha256, **counts}
    return replace(g, meta={**g.meta, "decisions": record, "notes": [*graph.notes, *sentences(counts)]})


def resolved(graph: Graph, decisions: Decisions) -> Changes:
    """What the last word on every item means in a graph; a sentence with the row for what it doesn't have."""
    number_of = {str(name): at for at, name in enumerate(graph.node_ids.tolist())}
    class_of = {name: at for at, name in reversed(list(enumerate(graph.class_names)))}
    changes = Changes()
    for number in decisions.last(graph.directed).values():
        row, where = decisions.rows[number], decisions.where(number)
        for name in (row.node, *([row.other] if row.kind == "edge" else [])):
            if name not in number_of:
                raise GraphError(f"{where} names the node '{safe(name)}'; {nearest(name, list(number_of))}")
        if row.verdict == "unsure":
            continue
        if row.kind == "edge":
            _add_edge(graph, row, where, number_of, changes)
        else:
            _add_label(graph, row, where, number_of[row.node], class_of, changes)
    return changes


def _add_edge(graph: Graph, row: Row, where: str, number_of: dict[str, int], changes: Changes) -> None:
    ends = number_of[row.node], number_of[row.other]
    entries = [entry_of(graph, *ends), *([] if graph.directed else [entry_of(graph, *ends[::-1])])]
    if -1 in entries:
        raise GraphError(f"{where} judges the edge {edge_name(row)}, which the graph doesn't have.")
    (changes.confirmed if row.verdict == "right" else changes.cut).extend(entries)


def _add_label(graph: Graph, row: Row, where: str, node: int, class_of: dict[str, int], changes: Changes) -> None:
    if row.label and row.label not in class_of:
        raise GraphError(f"{where} gives the label '{safe(row.label)}'; {nearest(row.label, graph.class_names)}")
    trained = bool(graph.train_mask[node])
    if row.kind == "label" and row.verdict == "right":
        if not trained and not row.label:
            raise GraphError(f"{where} calls the label of '{safe(row.node)}' right, but it isn't a training node's.")
        if trained and row.label and class_of[row.label] != graph.labels[node]:
            held = safe(graph.class_names[graph.labels[node]])
            raise GraphError(f"{where} calls the label '{safe(row.label)}' right where the graph has '{held}'.")
    if row.label:
        changes.labels[node] = class_of[row.label]
    elif row.kind == "label" and row.verdict == "wrong":
        changes.labels[node] = -1


def _labelled(graph: Graph, changes: Changes) -> tuple[Graph, dict[str, Any]]:
    """The graph with these labels, and how many were corrected, added and dropped, and left which set."""
    nodes = np.array(list(changes.labels), np.int64)
    classes = np.array(list(changes.labels.values()), np.int64)
    known, trained = classes >= 0, graph.train_mask[nodes]
    about = {
        "corrected": int((known & trained & (graph.labels[nodes] != classes)).sum()),
        "added": int((known & ~trained).sum()),
        "dropped": int((~known).sum()),
        "left_val": int(graph.val_mask[nodes].sum()),
        "left_test": int(graph.test_mask[nodes].sum()),
    }
    labels, train = graph.labels.copy(), graph.train_mask.copy()
    val, test = graph.val_mask.copy(), graph.test_mask.copy()
    labels[nodes], train[nodes], val[nodes], test[nodes] = classes, known, False, False
    return replace(graph, labels=labels, train_mask=train, val_mask=val, test_mask=test), about


def sentences(counts: dict[str, int]) -> list[str]:
    """What decisions did, for people."""
    edges = f"edges confirmed {counts['confirmed']:,}, cut {counts['cut']:,}"
    labels = f"labels corrected {counts['corrected']:,}, added {counts['added']:,}, dropped {counts['dropped']:,}"
    said = [f"Decisions: {edges}; {labels}."]
    if counts["left_val"] or counts["left_test"]:
        said.append(
            f"Nodes that were decided about train now, and no score counts them: {counts['left_val']:,} of the "
            f"validation set, {counts['left_test']:,} of the test set."
        )
    return said
