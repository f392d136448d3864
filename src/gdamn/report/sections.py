"""How well a run does and how it learned, as tables, charts and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimators import accuracy
from ..estimators.calibration import BINS, Calibration
from ..model.metrics import METRICS, NAMES, score_key
from ..model.temperature import ENOUGH, warning
from ..runs.text import mean_std, percent, score_text
from . import charts, measures
from .page import Cell, Chart, Table, cells
from .text import number, visible, whole

if TYPE_CHECKING:
    from ..using.run_folder import RunFolder
    from .run import SeedResult
    from .seed_fit import Learned

MOST_CLASSES = 60
"""Classes that a matrix shows: of more than that, the most frequent ones."""

ACCURACIES = {"train_accuracy": ("training", "second"), "val_accuracy": ("validation", "first")}
SCORES = (
    ("balanced_accuracy", "Balanced accuracy", "mean recall of the classes"),
    ("macro_f1", "Macro F1", "mean F1 of the classes"),
)
"""The scores that count every class alike: their keys, their names, and what they are."""
FEW_MEASURED = f"Fewer than {ENOUGH} nodes are measured: too few to tell how well the confidence is calibrated."
LOSSES = {"loss": ("training loss", "second"), "val_loss": ("validation loss", "first")}


def tiles(run: RunFolder, results: Sequence[SeedResult]) -> list[tuple[str, str, str]]:
    """The numbers at the top: name, number, remark."""
    test = run.summary["test_accuracy"]
    rows = [
        (name, *tile_text(a, len(results)))
        for name, a in (("Test accuracy", test), judged(run, "Validation accuracy", "Cross-fitted accuracy"))
        if a["mean"] is not None
    ]
    part = "val" if test["mean"] is None else "test"
    nodes = "validation nodes" if part == "val" else "test nodes"
    for key, name, what in SCORES:
        scores = run.summary.get(f"{part}_{key}")
        if scores is not None and scores["mean"] is not None:
            rows.append((name, *score_tile(scores, f"{what}, {nodes}")))
    simple = best_simple(run)
    if simple is not None:
        rows.append(simple)
    bins = pooled(results)
    if bins is not None:
        rows.append(("Calibration error", percent(bins.error), f"confidence against accuracy, {pooled_nodes(bins)}"))
    edges = [result.edges for result in results if result.edges is not None]
    if edges:
        cut = float(np.mean([e.cut / e.edges for e in edges if e.edges] or [0.0]))
        rows.append(("Edges cut", percent(cut), f"of {whole(float(np.mean([e.edges for e in edges])))}"))
    return rows


def score_tile(scores: Mapping[str, Any], remark: str) -> tuple[str, str]:
    """A score for a tile, and its remark: with the interval of one seed, where it has one."""
    ends = (scores.get("interval_95") or [None])[0] if len(scores["per_seed"]) == 1 else None
    if ends is None:
        return score_text(scores), remark
    return percent(scores["mean"]), f"{remark}, 95 % interval {100 * ends[0]:.1f}–{100 * ends[1]:.1f}"


def best_simple(run: RunFolder) -> tuple[str, str, str] | None:
    """The tile of the simple method of the highest accuracy; None for runs without a reference."""
    methods = [m for m in (run.summary.get("reference") or {}).get("methods", ()) if m.get("name") != "start"]
    if not methods:
        return None
    best = max(methods, key=lambda method: float(method["accuracy"]))
    (low, high), nodes = best["interval_95"], accuracy.count_text([best["nodes"]])
    remark = f"{visible(best['title'])}, {nodes} held out in turn, 95 % interval {100 * low:.1f}–{100 * high:.1f}"
    return "Best simple method", percent(best["accuracy"]), remark


def judged(run: RunFolder, validation: str, cross_fitted: str) -> tuple[str, Mapping[str, Any]]:
    """The name and spread of the validation accuracy; of the cross-fitted one in runs without validation nodes."""
    known: Mapping[str, Any] = run.summary["val_accuracy"]
    if known["mean"] is None and "cross_fitted_accuracy" in run.summary:
        return cross_fitted, run.summary["cross_fitted_accuracy"]
    return validation, known


def tile_text(spread: Mapping[str, Any], count: int) -> tuple[str, str]:
    """An accuracy for a tile, and its remark: the nodes, with the interval of one seed or the spread over several."""
    nodes = accuracy.spread_nodes(spread)
    if count > 1:
        return mean_std(spread["mean"], spread["std"]), ", ".join(
            filter(None, (f"mean ± std over {count} seeds", nodes))
        )
    if not nodes:
        return percent(spread["mean"]), "one seed"
    low, high = accuracy.interval(spread["mean"], spread["nodes"][0])
    return percent(spread["mean"]), f"{nodes}, 95 % interval {100 * low:.1f}–{100 * high:.1f}"


def pooled_nodes(bins: Calibration) -> str:
    """The nodes behind a calibration, those of all seeds."""
    return accuracy.count_text([int(bins.count.sum())])


def caveat(results: Sequence[SeedResult]) -> str | None:
    """The warning that too few nodes calibrate or are measured; None where they are enough for every seed."""
    said = (warning(each.validation, each.kind, each.accuracy) for each in sorted(results, key=lambda r: r.validation))
    nothing_held_out = all(result.evaluated == "train" for result in results)
    measured = None if nothing_held_out or pooled(results) else FEW_MEASURED
    return next((text for text in said if text is not None), None) or measured


def seeds(run: RunFolder) -> dict[str, Any]:
    """The spread over seeds."""
    summary, numbers = run.summary, run.spec.seeds
    test, (name, validation) = summary["test_accuracy"], judged(run, "validation", "cross-fitted")
    heads = [f"{name}, {nodes}" if nodes else name for name, nodes in seed_heads(test, name, validation)]
    columns = ("seed", *heads, "epochs", "seconds")
    rows: list[list[Cell]] = []
    for at, seed in enumerate(numbers):
        t, v = test["per_seed"][at], validation["per_seed"][at]
        epochs, seconds = summary["epochs_per_seed"][at], summary["seconds_per_seed"][at]
        texts = (accuracy.short(value, accuracy.nodes_at(a, at)) for value, a in ((t, test), (v, validation)))
        cells_of = zip(texts, (t, v), strict=True)
        rows.append([(str(seed), seed), *cells_of, (str(epochs), epochs), (number(seconds, 1), seconds)])
    known = test["mean"] is not None or validation["mean"] is not None
    return {
        "chart": charts.seeds_chart(numbers, test, name, validation) if known and len(numbers) > 1 else None,
        "table": Table("Accuracy by seed", columns, rows, numeric=columns),
    }


def seed_heads(test: Mapping[str, Any], second: str, validation: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The names of the two accuracies, and the nodes behind each."""
    return [(name, accuracy.spread_nodes(a)) for name, a in (("test", test), (second, validation))]


def pooled(results: Sequence[SeedResult]) -> Calibration | None:
    """The calibration of all seeds together; None where a seed has too few nodes for one."""
    known = [result.calibration for result in results if result.calibration is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(results) else None


def classes(run: RunFolder, results: Sequence[SeedResult], names: Sequence[str]) -> dict[str, Any] | None:
    """Precision and recall by class, confusion and calibration; None where no label was held out.

    Of the labels that it has learned, a model is mostly right, which tells nothing.
    """
    known = [result.confusion for result in results if result.confusion is not None and result.evaluated != "train"]
    if not known:
        return None
    bins = pooled(results)
    return {
        "table": class_table(known, names),
        "recall": recall_table(run.summary.get("recall", {})),
        "confusion": confusion_chart(np.sum(known, axis=0), names),
        "calibration": None if bins is None else calibration(bins),
    }


def class_table(tables: Sequence[measures.Ints], names: Sequence[str]) -> Table:
    """A row per class: over several seeds mean ± standard deviation, of one its value with the 95 % interval."""
    measured = [(measures.f1(table), *measures.precision_recall(table)[::-1]) for table in tables]
    several = len(tables) > 1
    spreads = [measures.over_seeds([scores[at] for scores in measured]) for at in range(3)]
    support = np.mean([table.sum(axis=1) for table in tables], axis=0)
    behind = (None, tables[0].sum(axis=1), tables[0].sum(axis=0))  # the nodes behind F1, recall and precision
    rows: list[list[Cell]] = []
    for c, name in enumerate(names):
        row: list[Cell] = [(visible(name), visible(name))]
        for (mean, std), nodes in zip(spreads, behind, strict=True):
            value = None if np.isnan(mean[c]) else float(mean[c])
            one = percent(value) if nodes is None else accuracy.short(value, int(nodes[c]))
            row.append((mean_std(value, float(std[c])) if several else one, value))
        rows.append([*row, (whole(support[c]), float(support[c]))])
    columns = ("class", "F1", "recall", "precision", "nodes")
    return Table("F1, recall and precision by class", columns, rows, numeric=columns[1:])


def recall_table(recall: Mapping[str, Any]) -> Table | None:
    """The recall of each class on test and validation nodes; None for runs of earlier versions."""
    parts = {part: name for part, name in (("test", "test"), ("val", "validation")) if recall.get(part)}
    if not parts:
        return None
    columns = ["class"]
    for name in parts.values():
        columns += [f"{name} nodes", f"recall, {name}"]
    rows: list[list[Cell]] = []
    for entries in zip(*(recall[part] for part in parts), strict=False):
        name = visible(entries[0]["class"])
        row: list[Cell] = [(name, name)]
        for entry in entries:
            nodes = float(np.mean([count or 0 for count in entry.get("nodes") or [0]]))
            row += [(whole(nodes), nodes), (score_text(entry), entry["mean"])]
        rows.append(row)
    return Table("Recall by class", columns, rows, numeric=columns[1:])


def most_frequent(counts: measures.Ints, most: int = MOST_CLASSES) -> measures.Ints:
    """The classes that a matrix shows, in their own order."""
    return np.sort(np.argsort(-counts, kind="stable")[:most])


def confusion_chart(table: measures.Ints, names: Sequence[str]) -> Chart:
    """Rows are true classes, columns predicted ones."""
    at = most_frequent(table.sum(axis=1))
    with np.errstate(invalid="ignore"):
        shares = (table / table.sum(axis=1, keepdims=True))[np.ix_(at, at)]
    listed = [names[c] for c in at]
    label = "Confusion matrix: of the nodes of a class, the share predicted as each class, in per cent"
    text = "Of the nodes of each class (row), the share in per cent that was predicted as each class (column)."
    if len(at) < len(names):
        text += f" The {len(at)} most frequent of {len(names)} classes."
    svg = charts.matrix_chart(shares, listed, "confusion", label, "true class", "predicted class")
    short = [visible(name, 40) for name in listed]
    rows: list[list[Cell]] = [
        [(name, name), *((str(n), int(n)) for n in table[c, at])] for name, c in zip(short, at, strict=True)
    ]
    numbers = Table("Nodes by true class (row) and predicted class", ["true class", *short], rows, short, False)
    return Chart("Confusion matrix", svg, text, numbers)


def calibration(bins: Calibration) -> Chart:
    """Confidence against accuracy."""
    text = (
        "Nodes are grouped by their confidence, the calibrated probability of the predicted class; on the dashed line "
        "a model is right as often as it is sure. Bars are 95 % intervals (Wilson). The mean distance (expected "
        "calibration error) is "
        f"{percent(bins.error)}, over {pooled_nodes(bins)}."
    )
    rows: list[list[Cell]] = []
    for at in np.flatnonzero(bins.count):
        count = int(bins.count[at])
        confidence, share_right = float(bins.confidence[at] / count), float(bins.right[at] / count)
        low, high = accuracy.interval(share_right, count)
        rows.append(
            [
                *cells(f"{at / BINS:.2f} to {(at + 1) / BINS:.2f}"),
                (whole(count), count),
                (percent(confidence), confidence),
                (percent(share_right), share_right),
                (f"{100 * low:.1f}–{100 * high:.1f}", low),
            ]
        )
    columns = ("confidence", "nodes", "mean confidence", "predicted right", "95 % interval")
    numbers = Table("Calibration by bin", columns, rows, columns[1:], False)
    return Chart("Calibration", charts.calibration_chart(bins), text, numbers)


def learning(results: Sequence[SeedResult], fit: Learned) -> dict[str, Any] | None:
    """Accuracy and loss over the epochs; None where the method has none."""
    others = [result.history for result in results if result.seed != fit.seed]
    curves = (
        charts.learning_chart(fit.history, others, fit.best, ACCURACIES, "accuracy-curve", "accuracy"),
        charts.learning_chart(fit.history, others, fit.best, LOSSES, "loss-curve", "loss", log=True),
    )
    phases = {record.get("phase") for record in fit.history}
    several = len(phases) > 1
    titles = (
        ("Accuracy over epochs", "Measured in the phases that train the feature network." if several else ""),
        ("Loss over epochs", "Each phase has an objective of its own; compare within a phase." if several else ""),
    )
    chart_list = [Chart(title, svg, text) for svg, (title, text) in zip(curves, titles, strict=True) if svg is not None]
    if not chart_list:
        return None
    starts = [f"{what} ({name})" for phase, (name, what) in charts.PRE_TRAININGS.items() if phase in phases]
    return {"charts": chart_list, "chosen": chosen_epoch(fit), "phases": len(phases), "starts": starts}


def chosen_epoch(fit: Learned) -> str:
    """The chosen epoch in words; empty where none is recorded."""
    best = fit.best
    if "epoch" not in best:
        return ""
    value = best.get("val_accuracy")
    if value is None and isinstance(best.get("cross_fitted"), Mapping):
        return chosen_without_validation(best)
    where = f"epoch {int(best['epoch']) + 1} of {visible(best.get('phase', 'training'))}"
    text = where + ("" if value is None else f", validation accuracy {accuracy.full(value, fit.temperature.nodes)}")
    others = [(NAMES[metric], best.get(score_key(metric))) for metric in METRICS if metric != "accuracy"]
    return text + "".join(f", validation {name} {percent(score)}" for name, score in others if isinstance(score, float))


def chosen_without_validation(best: Mapping[str, Any]) -> str:
    """The last epoch in words, with the cross-fitted accuracy of what the fit started from."""
    known = best["cross_fitted"]
    where = f"epoch {int(best['epoch']) + 1} of {visible(best.get('phase', 'training'))}"
    return f"{where}; cross-fitted accuracy of its start {accuracy.full(known.get('accuracy'), known.get('nodes'))}"
