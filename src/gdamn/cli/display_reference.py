"""The reference of a run in the terminal: simple methods on the same labels, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..runs.reference.verdict import taken, taken_text
from ..runs.text import percent
from . import display


def headline(summary: Mapping[str, Any]) -> str | None:
    """The first line of a result where a simple method is better beyond noise; None where none is."""
    reference = summary.get("reference", {})
    better = taken(reference)
    if better is None:
        return None
    sentence = str(reference["gdamn"]["sentence"])
    return sentence if summary["method"] == better[0] else f"{sentence} Train it with {taken_text(better)}."


def show_reference(reference: Mapping[str, Any], first_line: bool) -> None:
    """The table of simple methods, and a sentence each about the edges and gdamn.

    Args:
        first_line: what is said of gdamn was the first line of the result already.
    """
    if reference.get("methods"):
        rows = [reference_row(method) for method in reference["methods"]]
        columns = ("method", "accuracy", "95 % interval", "labels")
        display.show_rows("Simple methods on the same labels, each held out in turn", columns, rows, right=columns[1:])
        display.sentence(reference["edges"]["sentence"])
        if not first_line:
            display.sentence(reference["gdamn"]["sentence"])
    for note in reference.get("notes", ()):
        display.note(note)


def reference_row(method: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """A row of the table: name, accuracy, interval and labels."""
    low, high = method["interval_95"]
    return method["title"], percent(method["accuracy"]), f"{100 * low:.1f}–{100 * high:.1f}", f"{method['nodes']:,}"
