"""The table of published results."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdamn.errors import DataError
from gdamn.replicate import read_result
from gdamn.results import BEGIN, END, markdown, read_results, table_rows, write_into
from gdamn.runs import run
from gdamn.spec import RunSpec

ROOT = Path(__file__).parents[1]


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
def test_the_readme_shows_what_the_files_say():
    table = markdown(table_rows(read_results(ROOT / "results")))
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")
