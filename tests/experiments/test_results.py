"""The table of published results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy.stats import ttest_rel

from gdamn.errors import DataError
from gdamn.experiments.published import BEGIN, END, markdown, read_peers, read_results, table_rows, write_into
from gdamn.runs.replicate import read_result
from gdamn.runs.run import run, spread
from gdamn.runs.spec import RunSpec

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    run(RunSpec("karate", "gcn", seeds=(0, 1), settings={"epochs": 3}), out / "run")
    (out / "karate.json").write_text((out / "run" / "summary.json").read_text())
    return out


def test_a_row_says_what_was_measured(folder):
    (row,) = table_rows(read_results(folder))
    summary = read_result(folder / "karate.json")
    assert row[:2] == ("karate", "gcn")
    assert row[2].startswith(f"{100 * summary['test_accuracy']['mean']:.1f}")
    assert row[4] == "2"


def test_the_table_goes_between_the_markers(folder, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    table = markdown(table_rows(read_results(folder)))
    write_into(page, table)
    assert page.read_text() == f"before\n{BEGIN}\n{table}\n{END}\nafter\n"
    write_into(page, table)
    assert page.read_text().count("karate") == 1


def test_what_is_missing_is_told(tmp_path):
    with pytest.raises(DataError, match="no folder"):
        read_results(tmp_path / "nothing")
    with pytest.raises(DataError, match="holds no results"):
        read_results(tmp_path)
    (tmp_path / "page.md").write_text("no markers")
    with pytest.raises(DataError, match="needs one line"):
        write_into(tmp_path / "page.md", "")


@pytest.mark.skipif(not list((ROOT / "results").glob("*.json")), reason="no published results")
def test_the_page_shows_what_the_files_say():
    table = markdown(table_rows(read_results(ROOT / "results"), read_peers(ROOT / "results")))
    assert table in (ROOT / "docs/evidence/results.md").read_text(encoding="utf-8")


def result(method, accuracies, dataset="cora", seeds=(0, 1, 2, 3), split="public"):
    return {
        "dataset": dataset,
        "method": method,
        "config": {"dataset": dataset, "noise": 0.0, "options": {}},
        "protocol": {"split": split, "seeds": list(seeds)},
        "test_accuracy": spread(accuracies),
        "val_accuracy": spread(accuracies),
    }


def test_a_row_is_tested_against_the_next_best():
    first = result("a", [0.90, 0.92, 0.91, 0.95])
    second = result("b", [0.88, 0.90, 0.91, 0.93])
    last = result("c", [0.50, 0.51, 0.52, 0.53])
    rows = table_rows([last, first, second])
    said = [row[-1] for row in rows]
    p = ttest_rel(first["test_accuracy"]["per_seed"], second["test_accuracy"]["per_seed"]).pvalue
    assert said[0] == "–"
    assert said[1].startswith(f"+1.5 to b, p {p:.3f} (t), ")
    assert said[2].startswith("+39.0 to c")
    assert [row[7] for row in rows] == ["–"] * 3


def test_only_the_same_data_split_and_seeds_are_compared():
    mine = result("a", [0.9, 0.8, 0.9, 0.8])
    others = [
        result("b", [0.1, 0.2, 0.3], seeds=(0, 1, 2)),
        result("b", [0.1, 0.2, 0.3, 0.4], dataset="citeseer"),
        result("b", [0.1, 0.2, 0.3, 0.4], split="random: 0, 1"),
        result("a", [0.1, 0.2, 0.3, 0.4]),
    ]
    assert table_rows([mine], [mine, *others])[0][-1] == "–"


def test_a_comparison_is_compared_with_but_is_no_row(folder, tmp_path):
    summary = read_result(folder / "karate.json")
    (tmp_path / "karate.json").write_text(json.dumps(summary))
    lower = {**summary, "method": "low", "test_accuracy": spread([0.01, 0.02])}
    whole = {"kind": "table", "comparisons": {"karate": {"results": [lower, {**lower, "method": "lower"}]}}}
    (tmp_path / "table.json").write_text(json.dumps(whole))
    (row,) = table_rows(read_results(tmp_path), read_peers(tmp_path))
    assert "to low, p" in row[-1]
    assert read_result(tmp_path / "table.json", method="lower")["method"] == "lower"
    with pytest.raises(DataError, match="low on karate, lower on karate; choose one"):
        read_result(tmp_path / "table.json")


def test_only_comparable_numbers_of_the_paper_are_shown():
    rows = table_rows([result("gdamn", [0.8] * 4), result("mlp", [0.5] * 4), result("gcn", [0.8] * 4)])
    assert [row[6] for row in rows] == ["85.4", "–", "81.5"]
