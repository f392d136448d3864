"""The command ``gdamn labels``: as a process, its files, and its mistakes in one line."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gdamn.cli import root as cli
from gdamn.using.run_folder import RunFolder


def call(*words: object) -> Result:
    """The command within this process."""
    return CliRunner().invoke(cli.app, ["labels", *map(str, words)])


def test_the_command_as_a_process(run: Path, tmp_path: Path) -> None:
    words = [str(run), "--suspicious", "3", "--json", "-o", str(tmp_path / "l.csv"), "--seed", "1"]
    command = [sys.executable, "-m", "gdamn", "labels", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    folder = RunFolder(run)
    judged = folder.model(1).judged_labels("train", folder.graph(1))
    table = judged.table(3)
    assert [row["node"] for row in report["labels"]] == table["node"].tolist()
    assert report["seed"] == 1
    assert report["judged"] == int(folder.graph(1).train_mask.sum())
    assert report["contradicted"] == len(judged.contradicted())
    assert report["label_noise"]["claimed"] == judged.noise.claimed
    with (tmp_path / "l.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == table["label"].tolist()
    assert list(rows[0]) == list(table)


def test_the_table_in_the_terminal(run: Path) -> None:
    done = call(run, "--split", "val")
    assert done.exit_code == 0, done.stderr
    assert "validation labels are contradicted" in done.stdout
    assert "models that have not seen the node's label" in done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--suspicious", 0), "--suspicious must be 1 or more; got 0."),
        (("--suspicious", -3), "--suspicious must be 1 or more; got -3."),
        (("--split", "test"), "Labels of the set 'test' can't be judged; choose train or val."),
        (("--seed", 7), "has no seed 7"),
        (("-o", "labels.txt"), ".csv"),
    ],
)
def test_mistakes_get_one_sentence(run: Path, words: tuple[object, ...], sentence: str) -> None:
    done = call(run, *words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    done = call(tmp_path)
    assert done.exit_code == 2
    assert "isn't a run" in done.stderr
