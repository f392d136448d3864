"""The command ``gdamn suggest`` on a run of own files: a table, JSON, CSV, and errors in one line."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from gdamn import load
from gdamn.cli import root as cli

pytestmark = pytest.mark.usefixtures("one_thread", "without_pages")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on two files in which half of the nodes have a label; one class has an odd name."""
    folder = tmp_path_factory.mktemp("suggest")
    graph = load("sbm", num_nodes=120, num_classes=3, feature_signal=2.0, train_per_class=4, val_per_class=6)
    x = np.round(graph.features[:, :4].toarray() if graph.is_sparse else graph.features[:, :4], 3)
    rows = [[f"n{i}", ("a[red]", "b", "c")[y] if i % 2 else "", *x[i]] for i, y in enumerate(graph.labels)]
    with (folder / "nodes.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "label", "x1", "x2", "x3", "x4"], *rows])
    with (folder / "edges.csv").open("w", newline="") as file:
        edges = [[f"n{a}", f"n{b}"] for a, b in zip(graph.rows, graph.indices, strict=True) if a < b]
        csv.writer(file).writerows([["source", "target"], *edges])
    few = "--method gcn --set epochs=5 --set threads=1 --no-reference"
    done = gdamn(folder, f"train nodes.csv --edges edges.csv {few} --out run")
    assert done.exit_code == 0, done.stderr
    return folder


def gdamn(folder: Path, words: str) -> Result:
    """A command within this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return CliRunner().invoke(cli.app, words.split())


def test_table_json_and_csv_say_the_same(own: Path) -> None:
    command = [sys.executable, "-m", "gdamn", *["suggest", "run", "5", "-o", "next.csv"]]
    done = subprocess.run(command, cwd=own, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "Nodes to label next (diverse)" in done.stdout
    assert "validation node" in done.stdout  # what the confidence rests on
    rows = list(csv.DictReader((own / "next.csv").open(newline="")))
    assert len(rows) == 5
    assert all(int(row["node"][1:]) % 2 == 0 for row in rows)  # those without a label
    printed = json.loads(gdamn(own, "suggest run 5 --json").stdout)
    assert [each["node"] for each in printed["nodes"]] == [row["node"] for row in rows]
    assert printed["rule"] == "diverse"
    for row, each in zip(rows, printed["nodes"], strict=True):
        assert row["node"] in done.stdout
        assert int(row["stands_for"]) == each["stands_for"] >= 1
        assert 0 < each["second_probability"] <= each["confidence"] <= 1


WRONG = [
    ("suggest run 0", "1 or more; got 0"),
    ("suggest run 5 --rule best", "choose diverse, coverage, uncertainty"),
    ("suggest run 5 --seed 3", "has no seed 3"),
    ("suggest run 5 -o nodes.csv --force", "nodes.csv"),
    ("suggest run 5 -o x.txt", ".csv or .parquet"),
    ("suggest nosuch 5", "no run at 'nosuch'"),
    ("suggest FULL 5", "none to label"),
]


@pytest.mark.parametrize(("words", "expected"), WRONG)
def test_errors(
    own: Path,
    run: Path,
    words: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """FULL is a run in which every node is in a set."""
    monkeypatch.chdir(own)
    monkeypatch.setattr(sys, "argv", ["gdamn", *words.replace("FULL", str(run)).split()])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert expected in shown.err
