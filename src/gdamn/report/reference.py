"""The reference of a run on its page: simple methods on the same labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..estimators import accuracy
from ..runs.text import percent
from . import charts
from .page import Cell, Chart, Table
from .text import visible

if TYPE_CHECKING:
    from ..using.run_folder import RunFolder

START = "start"
"""The row of what gdamn starts from."""


def reference(run: RunFolder) -> dict[str, Any] | None:
    """Sentences, and the chart with its table; None for runs without a reference."""
    known = run.summary.get("reference")
    if not known:
        return None
    verdicts = [known[what]["sentence"] for what in ("edges", "gdamn") if what in known]
    sentences = [visible(sentence, 600) for sentence in (*verdicts, *known.get("notes", ()))]
    methods = known.get("methods", ())
    if not methods:
        return {"sentences": sentences, "chart": None}
    rows: list[list[Cell]] = []
    for method in methods:
        (low, high), nodes = method["interval_95"], method["nodes"]
        share = percent(method["accuracy"]), method["accuracy"]
        title = visible(method["title"])
        rows.append([(title, title), share, (f"{100 * low:.1f}–{100 * high:.1f}", low), (f"{nodes:,}", nodes)])
    columns = ("method", "accuracy", "95 % interval", "labels")
    table = Table("Simple methods on the same labels", columns, rows, numeric=columns[1:])
    drawn = [
        (
            visible(m["title"]),
            float(m["accuracy"]),
            (float(m["interval_95"][0]), float(m["interval_95"][1])),
            is_start(m),
        )
        for m in methods
    ]
    text = (
        "Every training label is held out in turn, and judged by models that have not seen it. gdamn’s start are the "
        "regressions that it starts from without validation nodes. Bars are 95 % intervals; the dashed line is the "
        "best simple method."
    )
    own = own_row(run)
    if own is not None:
        drawn.append(own)
        text += " The last row is this run’s model on other nodes; compare it with care."
    return {"sentences": sentences, "chart": Chart("On the same labels", charts.reference_chart(drawn), text, table)}


def is_start(method: Any) -> bool:
    """Whether a row is what gdamn starts from."""
    return bool(method.get("name") == START)


def own_row(run: RunFolder) -> tuple[str, float, tuple[float, float], bool] | None:
    """The accuracy of a run of one seed on its test nodes, else on its validation nodes."""
    for key, name in (("test_accuracy", "test"), ("val_accuracy", "validation")):
        spread = run.summary[key]
        nodes = accuracy.nodes_at(spread, 0)
        if spread["mean"] is not None and nodes and len(spread["per_seed"]) == 1:
            return f"this run, {nodes:,} {name} nodes", spread["mean"], accuracy.interval(spread["mean"], nodes), True
    return None
