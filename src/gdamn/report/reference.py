"""The reference of a run on its page: simple methods on the same labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..runs.text import percent
from .page import Cell, Table
from .text import visible

if TYPE_CHECKING:
    from ..using.run_folder import RunFolder


def reference(run: RunFolder) -> dict[str, Any] | None:
    """Sentences and the table; None for runs without a reference."""
    known = run.summary.get("reference")
    if not known:
        return None
    verdicts = [known[what]["sentence"] for what in ("edges", "gdamn") if what in known]
    sentences = [visible(sentence, 600) for sentence in (*verdicts, *known.get("notes", ()))]
    rows: list[list[Cell]] = []
    for method in known.get("methods", ()):
        (low, high), nodes = method["interval_95"], method["nodes"]
        interval = f"{100 * low:.1f}–{100 * high:.1f}"
        accuracy = percent(method["accuracy"]), method["accuracy"]
        rows.append(
            [(visible(method["title"]), visible(method["title"])), accuracy, (interval, low), (f"{nodes:,}", nodes)]
        )
    columns = ("method", "accuracy", "95 % interval", "labels")
    table = Table("Simple methods on the same labels", columns, rows, numeric=columns[1:]) if rows else None
    return {"sentences": sentences, "table": table}
