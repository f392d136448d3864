"""``compare.html``: the page of a comparison."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.noise.kinds import noise_text
from ..estimators.accuracy import spread_nodes
from ..runs.compare.fits import data_name
from ..runs.compare.verdict import chance, left_note, separated, wilcoxon_note
from ..runs.text import accuracy_text, nodes_text
from ..system import io
from . import charts
from .overview import changed_from_preset
from .page import Cell, Table, render
from .text import link, visible

if TYPE_CHECKING:
    from ..runs.compare.engine import Outcome

FILES = {
    "compare.json": "settings, seeds and accuracies of every method",
    "compare.csv": "a row per fit",
    "compare.md": "this table as Markdown",
    "compare.png": "the plot",
}


def write_comparison(outcome: Outcome, out: Path) -> Path:
    """Write the page beside the other files of a finished comparison."""
    result = outcome.result
    page = out / "compare.html"
    text = render(
        "compare.html",
        {
            "title": f"Methods on {visible(data_name(result))}",
            "tiles": tiles(result),
            "verdict": visible(result["verdict"], 1000),
            "footnote": " ".join(filter(None, (wilcoxon_note(result["tests"]), left_note(result)))) or None,
            "chart": charts.methods_chart(result["results"], result["best"]),
            "table": method_table(outcome),
            "failed": [(visible(f["method"]), f["seed"], visible(f["reason"], 400)) for f in result["failed"]],
            "facts": facts(result),
            "files": [(link(out / name, page), name, meaning) for name, meaning in FILES.items()],
            "commands": [("Repeat the comparison", command(result, out))],
        },
    )
    io.write_text(page, text)
    return page


def tiles(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The method of the highest mean and whether the tests separate it, and how many were compared."""
    best = next((r for r in result["results"] if r["method"] == result["best"]), None)
    seeds = max(len(r["protocol"]["seeds"]) for r in result["results"])
    rows = [("Methods", str(len(result["results"])), f"up to {seeds} seeds each, the same for all")]
    if best is not None:
        unseparated = [
            r for r in result["results"] if r is not best and not separated(result["tests"].get(r["method"]))
        ]
        name = "Highest mean on test" if unseparated or len(result["results"]) == 1 else "Best on test"
        nodes = spread_nodes(best["test_accuracy"])
        parts = [f"{accuracy_text(best['test_accuracy'])} %{f' of {nodes}' if nodes else ''}"]
        if unseparated:
            first = unseparated[0]["method"]
            parts.append(f"not separated from {visible(first, 24)} ({chance(result['tests'].get(first))})")
        rows.insert(0, (name, visible(best["method"], 24), ", ".join(parts)))
    return rows


def method_table(outcome: Outcome) -> Table:
    """The table of ``compare.md``, sortable."""
    from .comparison_files import COLUMNS, how_spread, table_rows

    rows: list[list[Cell]] = []
    for texts, r in zip(table_rows(outcome), outcome.result["results"], strict=True):
        test = outcome.result["tests"].get(r["method"]) or {}
        is_best = r["method"] == outcome.result["best"]
        values: list[Any] = [visible(r["method"]), r["test_accuracy"]["mean"], r["val_accuracy"]["mean"]]
        values += [(r.get(key) or {}).get("mean") for key in ("test_balanced_accuracy", "test_macro_f1")]
        values += [len(r["protocol"]["seeds"]), 0.0 if is_best else test.get("difference")]
        values += [test.get(key) for key in ("t_p", "wilcoxon_p", "t_p_holm")]
        values += [None if texts[-1] == "–" else float(texts[-1])]
        rows.append([(visible(text), value) for text, value in zip(texts, values, strict=True)])
    return Table(f"Accuracy in per cent, {how_spread(outcome.result)}", COLUMNS, rows, COLUMNS[1:])


def facts(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was compared and how."""
    first = result["results"][0]
    return [
        ("Data", visible(data_name(dict(result)))),
        ("Split", visible(first["protocol"]["split"].partition(":")[0])),
        ("Nodes", nodes_text(result) or "–"),
        ("Epoch chosen by", visible(first["protocol"]["selection"], 200)),
        ("Versions", ", ".join(f"{name} {visible(version)}" for name, version in result["versions"].items())),
    ]


def command(result: Mapping[str, Any], out: Path) -> str:
    """The command that asks for the same comparison."""
    results = result["results"]
    names = ",".join(sorted(r["method"] for r in results))
    seeds = sorted({seed for r in results for seed in r["protocol"]["seeds"]})
    parts = ["gdamn", "compare", str(result["dataset"]), "--methods", names, "--seeds", str(seeds[-1] - seeds[0] + 1)]
    parts += ["--first-seed", str(seeds[0])] if seeds[0] else []
    parts += ["--noise", noise_text(result["noise"])] if result["noise"] else []
    for key, value in result["options"].items():
        parts += ["--split", str(value)] if key == "split" else ["--option", f"{key}={value}"]
    for r in results:
        config = r["config"]
        for key, value in (changed_from_preset(r["method"], result["dataset"], config["settings"]) or {}).items():
            parts += ["--set", f"{r['method']}.{key}={str(value).lower() if isinstance(value, bool) else value}"]
    return visible(shlex.join([*parts, "--out", str(out)]), 20_000)
