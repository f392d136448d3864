"""A graph in one line, and as a small table for notebooks; no label of a validation or test node is read."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, cast

import numpy as np

from ..text import safe

if TYPE_CHECKING:
    from .graph import Graph

LISTED = 12
"""Classes that a table names."""


class Shown:
    """How a graph shows itself to people."""

    def __repr__(self) -> str:
        return one_line(cast("Graph", self))

    def _repr_html_(self) -> str:
        return html_table(cast("Graph", self))


def one_line(graph: Graph) -> str:
    """``Graph('karate', nodes=34, edges=78, features=34, classes=4, train=4, val=8, test=22)``."""
    counts = {"nodes": graph.num_nodes, "edges": graph.num_edges, "features": graph.num_features}
    counts |= {"classes": graph.num_classes}
    counts |= {name: int(graph.mask(name).sum()) for name in ("train", "val", "test")}
    facts = [repr(safe(graph.name)), *(f"{name}={count}" for name, count in counts.items())]
    facts += [f"{name}=True" for name, there in _kinds(graph).items() if there]
    return f"Graph({', '.join(facts)})"


def _kinds(graph: Graph) -> dict[str, bool]:
    return {"sparse": graph.is_sparse, "directed": graph.directed, "weighted": graph.weights is not None}


def html_table(graph: Graph) -> str:
    """The same as a table, with the classes and how many training nodes each has."""
    kinds = _kinds(graph)
    edges = ", ".join(["directed" if kinds["directed"] else "undirected", *(["weighted"] if kinds["weighted"] else [])])
    known = np.bincount(graph.labels[graph.train_mask], minlength=graph.num_classes)
    classes = [f"{name} ({count})" for name, count in zip(graph.class_names, known.tolist(), strict=False)]
    listed = ", ".join(classes[:LISTED]) + (f" and {len(classes) - LISTED:,} more" if len(classes) > LISTED else "")
    rows = [
        ("nodes", f"{graph.num_nodes:,}"),
        ("edges", f"{graph.num_edges:,}, {edges}"),
        ("features", f"{graph.num_features:,}, held {'sparse' if kinds['sparse'] else 'dense'}"),
        ("classes", f"{graph.num_classes:,}: {listed}" if classes else "none"),
        *((name, f"{int(graph.mask(name).sum()):,} nodes") for name in ("train", "val", "test")),
    ]
    return table(f"Graph '{graph.name}'", rows, "In brackets: training nodes of the class." if classes else "")


def table(title: str, rows: Sequence[tuple[str, str]], note: str = "") -> str:
    """Two columns of text under a title; whatever stands in them can't act."""
    cells = "".join(
        f'<tr><th style="text-align:left;font-weight:600">{text(name)}</th>'
        f'<td style="text-align:left">{text(value)}</td></tr>'
        for name, value in rows
    )
    below = f'<div style="opacity:.7;font-size:smaller">{text(note)}</div>' if note else ""
    return f'<div><b>{text(title)}</b><table style="font-size:inherit">{cells}</table>{below}</div>'


def text(value: object) -> str:
    """Text of data in a page: unprintable signs spelled out, marks of HTML escaped."""
    return escape(safe(value))
