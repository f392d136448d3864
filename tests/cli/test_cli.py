"""The command line as a process: help, errors in one line, and real training runs with few epochs."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from gdamn.cli import root as cli

pytestmark = pytest.mark.usefixtures("without_pages")  # the run in a process of its own has one

COMMANDS = ["", "train", "methods", "demo", "data", "data list", "data info", "data get"]
COMMANDS += ["doctor", "compare", "reproduce", "report", "inspect", "predict", "refine", "explain", "edges"]
COMMANDS += ["labels", "suggest"]
SEED_FILES = ("predictions.csv", "edges.csv", "model.gdamn")
FEW = ["--set", "pretrain_epochs=4", "--set", "epochs=3", "--set", "em_iterations=1", "--set", "start=graph"]
TRAIN = ["train", "wine", "--noise", "0.5", "--seeds", "2", "--first-seed", "3", *FEW]


Trained = tuple[Path, subprocess.CompletedProcess[str]]


class Called(NamedTuple):
    code: int
    out: str
    err: str


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "gdamn", *args]


def gdamn(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    plain = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(command(*args), capture_output=True, text=True, cwd=cwd, env=plain, timeout=600, check=False)


def hashes(out: Path) -> dict[str, str]:
    found = {}
    for folder in sorted(out.glob("seed-*")):
        for name in SEED_FILES:
            found[f"{folder.name}/{name}"] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    out = tmp_path_factory.mktemp("cli") / "run"
    done = gdamn(*TRAIN, "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    return out, done


def test_version_and_lightness() -> None:
    assert gdamn("--version").stdout.startswith("gdamn 0.")
    code = (
        "import sys; from gdamn.cli.root import app; app(['--help'], standalone_mode=False); "
        "print([m for m in ('torch', 'scipy', 'sklearn', 'numba', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_is_quick() -> None:
    best = min(_seconds("--help") for _ in range(3))
    assert best < 1.0


def _seconds(*args: str) -> float:
    """What the processor does for it, whatever else it does at the time."""
    before = os.times()
    gdamn(*args)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def called(args: list[str], where: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    """The command within this process, for the cases that would spend their time on importing torch again."""
    monkeypatch.setattr(sys, "argv", ["gdamn", *args])
    monkeypatch.chdir(where)
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    shown = capsys.readouterr()
    return Called(int(ended.value.code or 0), shown.out, shown.err)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = called([*name.split(), "--help"], tmp_path, monkeypatch, capsys)
    assert done.code == 0
    assert "Example: gdamn" in done.out


ERRORS = [
    ("train", "No data set is named"),
    ("train digits --set epochs", "KEY=VALUE"),
    ("train digits --seeds 0", "--seeds"),
    ("train digits --first-seed -1", "whole numbers"),
    ("train digits --jobs 0", "--jobs"),
    ("train digits --noise -1", "0 or more"),
    ("train --config none.toml", "none.toml"),
    ("train --config bad.toml", "bad.toml"),
    ("train digits --out file", "is a file"),
    ("train digits --out file/below", "is a file"),
    ("data info nosuch", "nosuch"),
    ("data get nosuch", "nosuch"),
    ("train nosuch", "nosuch"),
    ("train digits --method nosuch", "nosuch"),
    ("train digits --set epoch=5", "epochs"),
    ("train digits --set epochs=many", "epochs"),
    ("train digits --set epochs=0", "epochs"),
    ("train digits --option nosuch=1", "nosuch"),
    ("train digits --device nosuch", "nosuch"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("x")
    (tmp_path / "bad.toml").write_text("dataset = ")
    return tmp_path


def check_error(code: int, out: str, err: str, said: str, folder: Path) -> None:
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["bad.toml", "file"]


def test_errors_of_the_process_are_one_line(folder: Path) -> None:
    done = gdamn("train", "digits", "--out", "file/below", cwd=folder)
    check_error(done.returncode, done.stdout, done.stderr, "is a file", folder)


@pytest.mark.parametrize(("args", "said"), ERRORS)
def test_errors_are_one_line(
    folder: Path, args: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = called(args.split(), folder, monkeypatch, capsys)
    check_error(*done, said, folder)


def test_usage_errors_have_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = called(["train", "digits", "--seeds", "many"], tmp_path, monkeypatch, capsys)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "--seeds" in done.err


def test_train_writes_every_file(trained: Trained) -> None:
    out, done = trained
    summary = json.loads(done.stdout)
    assert summary == json.loads((out / "summary.json").read_text())
    assert summary["dataset"] == "wine"
    assert summary["method"] == "gdamn"
    assert summary["protocol"]["seeds"] == [3, 4]
    assert {"split", "selection", "seeds"} <= set(summary["protocol"])
    assert all(0 <= accuracy <= 1 for accuracy in summary["test_accuracy"]["per_seed"])
    assert summary["config"]["settings"]["epochs"] == 3
    assert set(summary["noise"]) == {
        *("planted", "cut_share", "true_kept_share", "hard_auc"),
        *("inter_class_weight_before", "inter_class_weight_after"),
    }
    files = [".gdamn.json", "config.toml", "report.html", "seed-3", "seed-4", "summary.json"]
    assert sorted(path.name for path in out.iterdir()) == files
    for seed in ("seed-3", "seed-4"):
        assert sorted(path.name for path in (out / seed).iterdir()) == sorted([*SEED_FILES, "history.jsonl"])
        assert header(out / seed / "predictions.csv") == ["node", "predicted", "confidence", "split"]
        assert header(out / seed / "edges.csv") == ["source", "target", "hard", "soft", "stable"]
        history = [json.loads(line) for line in (out / seed / "history.jsonl").read_text().splitlines()]
        assert [record["phase"] for record in history] == ["pre-train"] * 4 + ["M-step 1"] * 3 + ["E-step 1"] * 3


def header(path: Path) -> list[str]:
    with path.open(newline="") as file:
        return next(csv.reader(file))


def test_progress_is_one_line_per_phase(trained: Trained) -> None:
    lines = trained[1].stderr.splitlines()
    assert lines[:3] == ["seed 3: pre-train, 4 epochs", "seed 3: M-step 1, 3 epochs", "seed 3: E-step 1, 3 epochs"]
    assert len(lines) == 6


def test_the_accuracy_is_that_of_the_predictions(trained: Trained) -> None:
    from gdamn.data import load

    graph = load("wine", seed=3, noise=0.5)
    with (trained[0] / "seed-3" / "predictions.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "test"]
    true = {str(node): graph.class_names[label] for node, label in zip(graph.node_ids, graph.labels, strict=True)}
    right = sum(row["predicted"] == true[row["node"]] for row in rows)
    summary = json.loads(trained[1].stdout)
    assert len(rows) == graph.test_mask.sum()
    assert right / len(rows) == pytest.approx(summary["test_accuracy"]["per_seed"][0], abs=1e-6)


@pytest.mark.usefixtures("forked_workers")
def test_config_repeats_the_run_with_any_number_of_jobs(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = trained[0]
    args = ["train", "--config", str(out / "config.toml"), "--jobs", "2", "--out", "again"]
    done = called(args, tmp_path, monkeypatch, capsys)
    assert done.code == 0, done.err
    assert "mean ± std" in done.out
    assert hashes(tmp_path / "again") == hashes(out)
    assert (tmp_path / "again" / "config.toml").read_text() == (out / "config.toml").read_text()


def test_the_same_command_repeats_the_run(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = called([*TRAIN, "--threads", "1"], tmp_path, monkeypatch, capsys)
    assert done.code == 0, done.err
    assert hashes(tmp_path / "runs" / "wine-gdamn") == hashes(trained[0])


def test_another_run_in_the_same_folder_is_refused(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = hashes(trained[0])
    args = ["train", "--config", str(trained[0] / "config.toml"), "--seeds", "1", "--out", str(trained[0])]
    done = called(args, tmp_path, monkeypatch, capsys)
    assert done.code == 2
    assert "--force" in done.err
    assert hashes(trained[0]) == before


def test_the_command_line_counts_before_the_file(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--method", "mlp", "--seeds", "1", "--set", "epochs=2", "--noise", "0", "--json"]
    done = called(["train", "--config", str(trained[0] / "config.toml"), *options], tmp_path, monkeypatch, capsys)
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert summary["method"] == "mlp"
    assert summary["protocol"]["seeds"] == [0]
    assert "noise" not in summary
    assert not (tmp_path / "runs" / "wine-mlp" / "seed-0" / "edges.csv").exists()


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_is_one_line_and_ends_the_workers(tmp_path: Path, jobs: int) -> None:
    args = ["train", "karate", "--seeds", "2", "--jobs", str(jobs), "--set", "pretrain_epochs=1000000"]
    with subprocess.Popen(command(*args), cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "pre-train" in process.stderr.readline()
        workers = psutil.Process(process.pid).children(recursive=True)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(timeout=30) == 130
        assert time.monotonic() - asked < 2
    assert rest.splitlines()[-1] == "stopped with 0 of 2 seeds finished; the same command goes on from there"
    assert "Traceback" not in rest
    assert not (tmp_path / "runs").exists()
    assert len(workers) >= (jobs if jobs > 1 else 0)
    assert psutil.wait_procs(workers, timeout=10)[1] == []


def test_demo_shows_three_methods_and_the_edges(capsys: pytest.CaptureFixture[str]) -> None:
    from gdamn.cli.demo import run_demo

    result = run_demo(
        settings={"gdamn": {"pretrain_epochs": 2, "epochs": 2}, "gcn": {"epochs": 2}, "mlp": {"epochs": 2}}
    )
    assert list(result["accuracy"]) == ["gdamn", "gcn", "mlp"]
    assert 0 <= result["noise"]["cut_share"] <= 1
    shown = capsys.readouterr().out
    assert "planted edges that were cut" in shown
    assert "gdamn train cora" in shown


def test_lists_and_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown = {}
    for args in ("methods", "data list", "data info digits", "data get karate"):
        done = called(args.split(), tmp_path, monkeypatch, capsys)
        assert done.code == 0, done.err
        shown[args] = done.out
    assert "gdamn" in shown["methods"]
    assert "gcn" in shown["methods"]
    assert "coauthor-physics" in shown["data list"]
    assert "1,797" in shown["data info digits"]
    assert "34 nodes" in shown["data get karate"]
