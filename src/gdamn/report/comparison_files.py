"""What a comparison leaves for people: ``compare.md`` and ``compare.csv`` beside ``compare.json``, and its plot."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..estimators.accuracy import measured
from ..runs.compare.engine import Fit, Outcome
from ..runs.compare.fits import data_name
from ..runs.compare.verdict import left_note, wilcoxon_note
from ..runs.text import accuracy_text, nodes_text, p_text, score_text, signed
from ..system import io

COLUMNS = (
    "method",
    "test accuracy",
    "validation",
    "balanced accuracy",
    "macro F1",
    "seeds",
    "to the highest",
    "p (t-test)",
    "p (Wilcoxon)",
    "p (t-test, Holm)",
    "seconds a fit",
)

SHORT = {0: "method", 1: "test", 2: "validation", 6: "to top", 9: "p (Holm)", 8: "p (W)", 10: "s a fit"}
"""The columns that fit into a terminal, by their place in :data:`COLUMNS`, and their short names."""

SCORES = {0: "method", 1: "accuracy", 3: "balanced accuracy", 4: "macro F1"}
"""The scores on test nodes beside each other, which are a table of their own in a terminal."""

TESTED = (6, 7, 8, 9)
"""The columns that need a test, which one seed can't have."""

HOW_TO_READ = (
    "`to the highest` is the mean difference in points to the method of the highest mean, over the seeds of both. "
    "The p-values are two-sided: how often a difference this large would come up if the two methods were equally good. "
    "The third one is the first, raised for the number of rows (Holm); below 0.05 it separates two methods. "
    "`balanced accuracy` is the mean recall of the classes, `macro F1` the mean F1 of the classes, on test nodes."
)


def write_all(outcome: Outcome, out: Path) -> None:
    """Write every file of a finished comparison; ``compare.json`` comes last and tells that the others are whole."""
    from .comparison import write_comparison
    from .comparison_plot import draw

    io.write_text(out / "compare.md", markdown(outcome))
    write_csv(out / "compare.csv", outcome.fits)
    with io.replacing(out / "compare.png") as temporary:
        draw(outcome.result, temporary)
    write_comparison(outcome, out)
    io.write_text(out / "compare.json", compact_json(outcome.result))


def table_rows(outcome: Outcome) -> list[tuple[str, ...]]:
    """One row per method, in the order of :data:`COLUMNS`."""
    rows: list[tuple[str, ...]] = []
    for r in outcome.result["results"]:
        name = r["method"]
        spreads = (accuracy_text(r["test_accuracy"]), accuracy_text(r["val_accuracy"]))
        scores = (score_text(r.get(key)).replace(" %", "") for key in ("test_balanced_accuracy", "test_macro_f1"))
        times = [outcome.fits[name, seed]["seconds"] for seed in r["protocol"]["seeds"]]
        known = [seconds for seconds in times if seconds is not None]  # published fits don't tell
        tested = test_cells(outcome.result["tests"].get(name), name == outcome.result["best"])
        took = f"{statistics.median(known):.1f}" if known else "–"
        rows.append((name, *spreads, *scores, str(len(r["protocol"]["seeds"])), *tested, took))
    return rows


def test_cells(test: Mapping[str, Any] | None, best: bool) -> tuple[str, ...]:
    """The difference to the method of the highest mean and its three p-values."""
    if test is None:
        return ("highest", "", "", "") if best else ("–", "–", "–", "–")
    return (signed(100 * test["difference"]), *(p_text(test[key]) for key in ("t_p", "wilcoxon_p", "t_p_holm")))


def markdown(outcome: Outcome) -> str:
    """The page of a comparison."""
    result = outcome.result
    seeds = sorted({seed for _, seed in outcome.fits})
    split, nodes = result["results"][0]["protocol"]["split"].partition(":")[0], nodes_text(result)
    lines = [
        f"# Methods on {data_name(result)}",
        "",
        f"Test accuracy in per cent, {how_spread(result)} ({ranges(seeds)}); split: {split}; "
        f"every method has the same splits and seeds{', ' if nodes else ''}{nodes}.",
        "",
        result["verdict"],
        "",
        markdown_table(COLUMNS, table_rows(outcome)),
        "",
        HOW_TO_READ,
    ]
    for footnote in (wilcoxon_note(result["tests"]), left_note(result)):
        lines += ["", footnote] if footnote else []
    if result["failed"]:
        lines += ["", "Not finished:", ""]
        lines += [f"- {f['method']}, seed {f['seed']}: {f['reason']}" for f in result["failed"]]
    return "\n".join([*lines, "", "![the spread over seeds](compare.png)", ""])


def how_spread(result: Mapping[str, Any]) -> str:
    """What stands behind a mean: the deviation over seeds, or the interval of a single one."""
    several = any(len(r["protocol"]["seeds"]) > 1 for r in result["results"])
    return "mean ± standard deviation over seeds" if several else "with its 95 % interval (Wilson), of one seed"


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_csv(path: Path, fits: Mapping[Fit, Mapping[str, Any]]) -> None:
    """One row per fit."""
    import numpy as np

    keys = ("split", "test_accuracy", "val_accuracy", "epochs", "seconds", "peak_rss_mb")
    columns: dict[str, Any] = {
        "method": np.array([method for method, _ in fits], dtype=object),
        "seed": np.array([seed for _, seed in fits]),
    }
    for key in keys:
        values = ["" if fit[key] is None else fit[key] for fit in fits.values()]
        cells = [f"{value:.6g}" if isinstance(value, float) else value for value in values]
        columns[key] = np.array(cells, dtype=object)
    for key in (f"{part}_{score}" for part in ("test", "val") for score in ("balanced_accuracy", "macro_f1")):
        columns[key] = np.array(["" if fit.get(key) is None else f"{fit[key]:.6g}" for fit in fits.values()], object)
    for part in ("test", "val"):
        entries = [measured(fit[f"{part}_accuracy"], fit.get(f"{part}_nodes")) for fit in fits.values()]
        ends = [each["interval_95"] or ["", ""] for each in entries]
        columns[f"{part}_nodes"] = np.array([each["nodes"] or "" for each in entries], dtype=object)
        for at, name in enumerate(("low", "high")):
            cells = [f"{end[at]:.6g}" if end[at] != "" else "" for end in ends]
            columns[f"{part}_{name}"] = np.array(cells, dtype=object)
    io.write_csv(path, columns)


def ranges(numbers: Sequence[int]) -> str:
    """Rising numbers with neighbours drawn together: 0–3, 7."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    return ", ".join(str(g[0]) if len(g) == 1 else f"{g[0]}–{g[-1]}" for g in groups)


def compact_json(content: Any) -> str:
    """Readable JSON with every list of plain values on one line: a seed is a number, not a paragraph."""
    text = io.to_json(content, indent=2)
    return re.sub(r"\[\n\s+([^\[\]{}]*?)\n\s+\]", lambda m: "[" + re.sub(r",\n\s+", ", ", m[1]) + "]", text) + "\n"
