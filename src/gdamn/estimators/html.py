"""A model in a notebook: its settings and scores, its learning curve, and the confusion of its validation nodes.

The drawings are plain SVG in the colours of the page around them, so that a cell of a notebook stays small and needs
neither Matplotlib nor a style sheet.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..graph.shown import table, text
from ..model.confusion import confusion
from .accuracy import full
from .chosen_epoch import chosen_epoch

if TYPE_CHECKING:
    from .base import NodeClassifier

BLUE, ORANGE = "#3b7dd8", "#d9822b"
WIDTH, HEIGHT, LEFT, BOTTOM = 420, 200, 36, 24
POINTS = 300
"""Most points of a curve."""
CLASSES = 12
"""Classes up to which a confusion matrix is drawn."""


def model_html(model: NodeClassifier) -> str:
    """The model's settings; of a fitted one also what it reached, its learning curve and its confusion."""
    s = model.settings
    changed = [f for f in dataclasses.fields(s) if getattr(s, f.name) != f.default]
    rows = [(f.name, str(getattr(s, f.name))) for f in changed] or [("settings", "all at their defaults")]
    title = f"{type(model).__name__} (method {model.method})"
    if not model.__sklearn_is_fitted__():
        return table(title, [*rows, ("fitted", "not yet")])
    drawings = [learning_curve(model.history_, model.best_epoch_), confusion_matrix(model)]
    boxes = "".join(f'<div style="margin:6px 18px 6px 0">{each}</div>' for each in drawings if each)
    return f'{table(title, [*rows, *reached(model)])}<div style="display:flex;flex-wrap:wrap">{boxes}</div>'


def reached(model: NodeClassifier) -> list[tuple[str, str]]:
    """What a fit has come to, in words."""
    nodes, classes = model.probabilities_.shape
    best = model.best_epoch_
    rows = [("fitted", f"{nodes:,} nodes, {classes} classes, {model.epochs_:,} epochs")]
    if best.get("phase") is not None:
        rows.append(("chosen epoch", f"{best['phase']}, {best.get('epoch', 0) + 1}"))
    if best.get("val_accuracy") is not None:
        counted = None if model.graph_ is None else int(model.graph_.val_mask.sum())
        rows.append(("validation accuracy", full(best["val_accuracy"], counted)))
    return rows


def learning_curve(history: Sequence[Mapping[str, Any]], best: Mapping[str, Any]) -> str:
    """Training and validation accuracy over all epochs, the chosen one marked; empty where none was measured."""
    curves = [("train_accuracy", "training", ORANGE), ("val_accuracy", "validation", BLUE)]
    lines, names = [], []
    for key, name, colour in curves:
        parts = runs(history, key)
        lines += [_line(part, len(history), colour) for part in parts]
        names += [(name, colour)] if parts else []
    if not lines:
        return ""
    at = chosen_epoch(history, best)
    mark = "" if at is None else _vertical(_x(at, len(history)))
    names += [] if at is None else [("chosen epoch", "currentColor")]
    legend = "".join(
        f'<text x="{LEFT + 8 + 80 * place}" y="14" fill="{colour}">{name}</text>'
        for place, (name, colour) in enumerate(names)
    )
    axis = f"{_axes()}{_label(WIDTH - 4, HEIGHT - 6, f'{len(history):,} epochs', 'end')}"
    return _svg(WIDTH, HEIGHT, "Accuracy over the epochs", f"{axis}{''.join(lines)}{mark}{legend}")


def runs(history: Sequence[Mapping[str, Any]], key: str) -> list[list[tuple[int, float]]]:
    """Epochs and values of each phase that measures a value, thinned where they are very many."""
    step = max(1, len(history) // POINTS)
    parts = []
    for _, records in groupby(enumerate(history), key=lambda each: each[1].get("phase")):
        part = [(at, record[key]) for at, record in records if record.get(key) is not None]
        parts += [[*part[:-1:step], part[-1]]] if part else []
    return parts


def confusion_matrix(model: NodeClassifier) -> str:
    """Of the validation nodes: how many of a class (row) were predicted as one (column); empty without such nodes."""
    graph = model.graph_
    if graph is None or not graph.val_mask.any() or not 2 <= graph.num_classes <= CLASSES:
        return ""
    predicted = model.predict(names=False)[graph.val_mask]
    counts = confusion(graph.labels[graph.val_mask], predicted, graph.num_classes)
    names = [_short(name) for name in graph.class_names]
    size, left, top = 26, 14 + 6 * max(map(len, names)), 40 + 4 * max(map(len, names))
    cells = "".join(
        _cell(counts, row, column, left + size * column, top + size * row, size)
        for row in range(len(names))
        for column in range(len(names))
    )
    rows = "".join(_label(left - 4, top + size * (at + 0.65), name, "end") for at, name in enumerate(names))
    columns = "".join(_turned(left + size * (at + 0.6), top - 4, name) for at, name in enumerate(names))
    head = _label(left, 12, "validation nodes: label (rows) and predicted", "start")
    width, height = left + size * len(names) + 4 * max(map(len, names)) + 8, top + size * len(names) + 4
    return _svg(max(width, left + 240), height, "Confusion of the validation nodes", head + rows + columns + cells)


def _cell(counts: NDArray[np.int64], row: int, column: int, x: float, y: float, size: int) -> str:
    """One cell: darker for a larger share of its row."""
    count, total = int(counts[row, column]), max(int(counts[row].sum()), 1)
    colour = BLUE if row == column else ORANGE
    box = f'<rect x="{x:g}" y="{y:g}" width="{size}" height="{size}" fill="{colour}" '
    box += f'fill-opacity="{0.04 + 0.7 * count / total:.2f}" stroke="currentColor" stroke-opacity="0.15"/>'
    return box + (_label(x + size / 2, y + 0.65 * size, str(count), "middle") if count else "")


def _short(name: str, longest: int = 14) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _x(at: float, epochs: int) -> float:
    return LEFT + (WIDTH - LEFT - 4) * at / max(epochs - 1, 1)


def _y(value: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 24) * value


def _line(points: Sequence[tuple[int, float]], epochs: int, colour: str) -> str:
    places = " ".join(f"{_x(at, epochs):.1f},{_y(value):.1f}" for at, value in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.6"/>'


def _axes() -> str:
    """Lines at 0, 50 and 100 per cent."""
    return "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - 4}" y1="{_y(value):g}" y2="{_y(value):g}" stroke="currentColor" '
        f'stroke-opacity="0.2"/>{_label(LEFT - 4, _y(value) + 4, f"{100 * value:.0f} %", "end")}'
        for value in (0.0, 0.5, 1.0)
    )


def _vertical(x: float) -> str:
    ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{_y(1):g}" y2="{_y(0):g}"'
    return f'<line {ends} stroke="currentColor" stroke-dasharray="3 3"/>'


def _label(x: float, y: float, value: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="currentColor">{text(value)}</text>'


def _turned(x: float, y: float, value: str) -> str:
    turn = f'transform="rotate(-45 {x:g} {y:g})"'
    return f'<text x="{x:g}" y="{y:g}" {turn} fill="currentColor">{text(value)}</text>'


def _svg(width: float, height: float, label: str, content: str) -> str:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    style = 'font-family="sans-serif" font-size="11"'
    about = f'role="img" aria-label="{text(label)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} {about}>{content}</svg>'
