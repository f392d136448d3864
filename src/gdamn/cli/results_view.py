"""The commands' answers as tables in the terminal; names from data are spelled out where they can't be printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from ..estimators import accuracy
from ..runs.text import percent
from ..text import safe
from . import display

WEIGHTS = (
    "Refined: the graph with learned weights. Hard: how likely an edge should be there, by the labels of its ends; "
    "soft: how much it counts among those that are, by features; stable: hard times soft."
)
NETWORKS = (
    "q carries features over the edges and gives the prediction; p carries labels and learns which edges to trust; "
    "the pseudo-label is what both learn from."
)
MOST_CLASSES = 20
"""Classes that are listed with their counts."""


def show_predictions(report: Mapping[str, Any]) -> None:
    """How many nodes have each class, and what the confidence is worth."""
    chosen = sorted(report["predicted"].items(), key=lambda item: -item[1])
    rows = [(safe(name), f"{count:,}", percent(count / report["nodes"])) for name, count in chosen]
    for note in report["notes"]:
        display.note(safe(note))
    title = f"{report['nodes']:,} nodes" + (f", {report['new_nodes']:,} of them new" if report["new_nodes"] else "")
    display.show_rows(title, ("predicted", "nodes", "share"), rows[:MOST_CLASSES], right=("nodes", "share"))
    if len(rows) > MOST_CLASSES:
        display.note(f"and {len(rows) - MOST_CLASSES} classes with fewer nodes")
    display.note(f"Temperature {report['temperature']:.3f}: {report['temperature_reason']}.")
    show_accuracies(report)
    show_remarks(report["warning"], report["labels_before_em"])


def show_remarks(warning: str | None, *sentences: str | None) -> None:
    """What people should know before they trust an answer, a line each."""
    if warning:
        display.warning(warning)
    for sentence in filter(None, sentences):
        display.sentence(sentence)


def show_accuracies(report: Mapping[str, Any]) -> None:
    """Accuracies with their nodes and intervals, and the expected calibration errors where enough nodes tell them."""
    rows: list[tuple[str, str, str, str, str]] = []
    for key, name in (("validation", "validation"), ("test", "test (read last)"), ("new_labelled", "new with labels")):
        part = report[key]
        if part:
            errors = percent(part["ece_before"]), percent(part["ece_after"])
            rows.append((name, f"{part['nodes']:,}", accuracy.short(part["accuracy"], part["nodes"]), *errors))
            halves = part.get("ece_after_cross_fitted")
            if halves is not None:
                rows.append(("cross-fitted halves", "", "", errors[0], percent(halves)))
    if not rows:
        return
    columns = ("nodes of", "nodes", "accuracy", "error before", "after")
    width = 5 if any(row[3] != "–" for row in rows) else 3
    title = "Accuracy (95 % interval)" + (" and expected calibration error" if width == 5 else "")
    display.show_rows(title, columns[:width], [row[:width] for row in rows], right=columns[1:])


def show_refined(report: Mapping[str, Any]) -> None:
    """How much of the graph is left."""
    total, left = report["edges_before"], report["edges_after"]
    rule = (
        f"where {report['keep']}" if report["keep"] else f"top {report['top']} of each node" if report["top"] else "all"
    )
    rows = [
        ("edges before", f"{total:,}"),
        ("edges kept", f"{left:,} ({percent(left / total if total else None)})"),
        ("rule", rule),
        *([("of them new", f"{report['edges_added']:,}")] if "edges_added" in report else []),
        ("nodes left without edges", f"{report['nodes_left_alone']:,} of {report['nodes']:,}"),
    ]
    for name, stats in report["weights"].items():
        if stats["median"] is not None:
            text = f"{stats['lowest']:.3g} to {stats['highest']:.3g}, median {stats['median']:.3g}"
            rows.append((f"{name} of all edges", text))
    display.show_rows("Refined graph", ("what", "value"), rows)
    display.sentence(WEIGHTS)
    show_remarks(None, report["labels_before_em"])
    display.note(f"Written to {report['written']}")


def show_explanation(node: Mapping[str, Any], most: int) -> None:
    """Opinions, the neighbours that counted, and the edges that were cut."""
    label = f", training label {safe(node['training_label'])}" if node["training_label"] is not None else ""
    sure = percent(node["confidence"])
    display.sentence(
        f"Node {safe(node['node'])}: {safe(node['predicted'])}, confidence {sure} ({node['split']}{label})"
    )
    show_remarks(node["warning"])
    display.sentence(f"{NETWORKS} Here {node['read']}.")
    opinions = [(network, *top_three(values)) for network, values in node["opinions"].items()]
    display.show_rows("Opinions", ("who", "first", "second", "third"), opinions)
    neighbours = [each for each in node["neighbours"] if not each["cut"]]
    cut = [each for each in node["neighbours"] if each["cut"]]
    rows: list[tuple[str | Text, ...]] = [("(itself)", safe(node["predicted"]), sure, "", "", "", *added(node["own"]))]
    rows += [neighbour_row(each) for each in neighbours[:most]]
    if node["bias"]["contribution"]:
        rows.append(("(bias)", "", "", "", "", "", *added(node["bias"])))
    columns = ("neighbour", "label", "confidence", "hard", "soft", "stable", "adds", "share")
    display.show_rows(f"What counted ({node['basis']})", columns, rows, right=columns[2:], wrap=False)
    if len(neighbours) > most:
        display.note(f"and {len(neighbours) - most} neighbours that counted less; --most shows more")
    if not cut:
        display.note("No edge of this node was cut.")
        return
    display.show_rows("Cut edges", columns, [neighbour_row(each) for each in cut[:most]], right=columns[2:], wrap=False)
    if len(cut) > most:
        display.note(f"and {len(cut) - most} more cut edges; --most shows more")


def top_three(values: Mapping[str, float]) -> list[str]:
    """The three likeliest classes."""
    classes = [f"{safe(name)} {percent(share)}" for name, share in list(values.items())[:3]]
    return classes + [""] * (3 - len(classes))


def neighbour_row(each: Mapping[str, Any]) -> tuple[str | Text, ...]:
    """One neighbour as cells."""
    weights = (f"{each[name]:.3f}" for name in ("hard", "soft", "stable"))
    return (safe(each["node"]), safe(each["predicted"]), percent(each["confidence"]), *weights, *added(each))


def added(part: Mapping[str, Any]) -> tuple[Text, str]:
    """What a part adds, green for the label and red against it, and its share of the whole."""
    value = part["contribution"]
    text = f"{value:+.3f}"
    return (display.good(text) if value > 0 else display.bad(text)), percent(part["share"])


def show_suspicious(columns: Mapping[str, Any], *remarks: str | None) -> None:
    """The edges in their order, and what should be known of them."""
    rows = [
        (
            safe(row["source"]),
            safe(row["target"]),
            f"{safe(row['source_predicted'])} {percent(row['source_confidence'])}",
            f"{safe(row['target_predicted'])} {percent(row['target_confidence'])}",
            f"{row['hard']:.3f}",
            display.bad(f"{row['suspicion']:.3f}") if row["suspicion"] >= 0.5 else f"{row['suspicion']:.3f}",
        )
        for row in as_rows(columns)
    ]
    names = ("source", "target", "label of source", "label of target", "hard", "suspicion")
    display.show_rows("Edges most likely to be wrong", names, rows, right=names[4:], wrap=False)
    display.sentence(
        "Suspicion: how likely the edge is wrong, drawn by lot or between classes. "
        "Hard: how likely the edge should be there, by the labels of its ends; below 0.5 it counts as cut."
    )
    show_remarks(*remarks)


def show_labels(columns: Mapping[str, Any], summary: str) -> None:
    """The contradicted labels in their order, and how many there are."""
    rows = [
        (
            safe(row["node"]),
            safe(row["label"]),
            percent(row["label_probability"]),
            safe(row["suggested"]),
            percent(row["suggested_probability"]),
        )
        for row in as_rows(columns)
    ]
    names = ("node", "label", "its probability", "suggested", "its probability")
    if rows:
        display.show_rows("Labels most likely to be wrong", names, rows, right=names[2:3], wrap=False)
    display.sentence(summary)
    display.sentence("Probabilities are those of models that have not seen the node's label.")


def show_suggested(columns: Mapping[str, Any], rule: str, *remarks: str | None) -> None:
    """The nodes in their order, why each, and what should be known of them."""
    rows = [
        (
            safe(row["node"]),
            f"{safe(row['predicted'])} {percent(row['confidence'])}",
            f"{safe(row['second'])} {percent(row['second_probability'])}",
            f"{row['entropy']:.2f}",
            f"{row['stands_for']:,}",
        )
        for row in as_rows(columns)
    ]
    names = ("node", "predicted", "or", "entropy", "stands for")
    display.show_rows(f"Nodes to label next ({rule})", names, rows, right=names[3:], wrap=False)
    display.sentence("Entropy: 0 is sure, 1 knows nothing. Stands for: unlabelled nodes that are likest to this one.")
    show_remarks(*remarks)


def as_rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A table of columns as one mapping per row."""
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*lists, strict=True)]
