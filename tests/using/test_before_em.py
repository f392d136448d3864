"""Labels from before EM beside edge weights from after it: said at every door, and not where it isn't so."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from gdamn import report
from gdamn.cli import root as cli
from gdamn.estimators.chosen_epoch import before_em, before_em_sentence, is_before_em
from gdamn.runs.run import run as train
from gdamn.runs.spec import RunSpec
from gdamn.using.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("one_thread", "without_pages")

SAID = "come from before EM: an epoch of pre-training was chosen"
OPTIONS = {"num_nodes": 160, "num_classes": 3, "feature_signal": 2.0, "split": 0}
SETTINGS = {"pretrain_epochs": 25, "epochs": 1, "em_iterations": 1, "start": "graph", "hidden": 8, "threads": 1}


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its E-step begins afresh and has one epoch, so that validation prefers the pre-training."""
    out = tmp_path_factory.mktemp("early") / "run"
    train(RunSpec("sbm", "gdamn", (0, 1), 0.5, OPTIONS, {**SETTINGS, "restart_q": True}), out)
    return out


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("late") / "run"
    train(RunSpec("sbm", "gdamn", (0,), 0.5, OPTIONS, {**SETTINGS, "candidates": "em"}), out)
    return out


def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *args: object) -> str:
    """What a command prints on stdout."""
    monkeypatch.setattr("sys.argv", ["gdamn", *map(str, args)])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("name", ["early", "late"])
def test_every_door_says_where_the_labels_come_from(
    name: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run: Path = request.getfixturevalue(name)
    wanted = name == "early"
    assert is_before_em(RunFolder(run).model(0)) is wanted
    commands = [
        ("train", "--config", run / "config.toml", "--out", tmp_path / "again"),
        ("predict", run, "-o", tmp_path / "p.csv"),
        ("refine", run, "-o", tmp_path / "r.csv"),
        ("edges", run),
    ]
    for command in commands:
        assert said(capsys, monkeypatch, *command).count(SAID) == wanted, command
    for command in (
        ("predict", run, "-o", tmp_path / "q.csv"),
        ("refine", run, "-o", tmp_path / "q.npz"),
        ("edges", run),
    ):
        told = json.loads(said(capsys, monkeypatch, *command, "--json"))["labels_before_em"]
        assert (told is not None) is wanted, command
    page = unescape(report.write_run(run, tmp_path / "r.html").read_text(encoding="utf-8"))
    assert page.count(SAID) == wanted
    summary = json.loads((run / "summary.json").read_text())
    assert summary.get("labels_before_em") == ([0, 1] if wanted else None)


def test_the_sentence_names_the_seeds_where_there_are_several() -> None:
    assert before_em_sentence([], 3) is None
    assert str(before_em_sentence([4], 1)).startswith("The labels come from before EM")
    assert str(before_em_sentence([4], 3)).startswith("The labels of seed 4 come")
    assert str(before_em_sentence([0, 2, 4], 5)).startswith("The labels of seeds 0, 2 and 4 come")


def test_only_pre_training_before_an_em_with_attention_counts() -> None:
    pre, step = {"iteration": 0, "epoch": 3}, {"iteration": 1, "epoch": 0}
    assert before_em(pre, [pre, step], attention=True)
    assert not before_em(step, [pre, step], attention=True)
    assert not before_em(pre, [pre], attention=True)
    assert not before_em(pre, [pre, step], attention=False)
    assert not before_em({}, [{"epoch": 0}], attention=True)  # a baseline has no iterations
