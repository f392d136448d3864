"""What people are shown as accuracy and confidence: nodes and intervals everywhere, no calibration from few nodes."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from report_runs import small_graph, write_run

from gdamn import Graph, report
from gdamn.cli import display
from gdamn.errors import DataError
from gdamn.estimators.accuracy import interval, short
from gdamn.runs import run as runs
from gdamn.runs.spec import RunSpec
from gdamn.using.run_folder import RunFolder

CLASSES = ("cats", "dogs", "birds")
pytestmark = pytest.mark.usefixtures("one_thread")


def made(folder: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch, seeds: tuple[int, ...] = (0,)) -> Path:
    monkeypatch.setattr(runs, "load_graph", lambda spec, root, seed: graph)
    write_run(folder, graph, "gcn", seeds, epochs=6)
    return folder


def text_of(page: Path) -> str:
    """What a page says, without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.read_text(encoding="utf-8"))).split())


def test_few_validation_nodes_give_a_warning_instead_of_a_calibration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = small_graph(CLASSES, nodes=24)
    folder = made(tmp_path / "run", graph, monkeypatch)
    page = text_of(report.write_run(folder))
    assert "The confidence is uncalibrated: it rests on only 8 validation nodes" in page
    assert "Calibration error" not in page
    assert "expected calibration error" not in page
    assert "perfectly calibrated" not in page
    right = json.loads((folder / "summary.json").read_text())["val_accuracy"]["per_seed"][0]
    low, high = interval(right, 8)
    assert f"8 nodes, 95 % interval {100 * low:.1f}–{100 * high:.1f}" in page


def test_enough_nodes_give_a_calibration_with_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = small_graph(CLASSES, nodes=180)
    page = text_of(report.write_run(made(tmp_path / "run", graph, monkeypatch, (0, 1))))
    assert "Calibration error" in page
    assert "confidence against accuracy, 120 nodes" in page
    assert "mean ± std over 2 seeds, 60 nodes" in page
    assert "rests on only" not in page
    moved = graph.with_masks(graph.train_mask, graph.test_mask & False, graph.test_mask)
    page = text_of(report.write_run(made(tmp_path / "without", moved, monkeypatch)))
    assert "There are no validation nodes, so the confidence isn't calibrated." in page
    assert "Calibration error" not in page


def test_summary_and_terminal_tell_nodes_and_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folder = made(tmp_path / "run", small_graph(CLASSES, nodes=24), monkeypatch, (0, 1))
    summary = json.loads((folder / "summary.json").read_text())
    test = summary["test_accuracy"]
    assert test["nodes"] == [8, 8]
    assert test["interval_95"] == [pytest.approx(interval(value, 8)) for value in test["per_seed"]]
    display.show_summary(summary, "somewhere")
    shown = capsys.readouterr().out
    assert short(test["per_seed"][1], 8) in shown
    assert "8 nodes" in shown
    assert "rests on only 8 validation nodes" in shown
    table = shown.split("In brackets")[0]
    assert max(map(len, table.splitlines())) <= 80


def test_a_run_of_an_earlier_version_has_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its summary tells no nodes, and its predictions.csv has a raw ``probability``."""
    folder = made(tmp_path / "run", small_graph(CLASSES), monkeypatch)
    summary = json.loads((folder / "summary.json").read_text())
    for name in ("test_accuracy", "val_accuracy"):
        del summary[name]["nodes"], summary[name]["interval_95"]
    (folder / "summary.json").write_text(json.dumps(summary))
    table = folder / "seed-0" / "predictions.csv"
    table.write_text(table.read_text().replace("confidence", "probability", 1))
    assert "one seed" in text_of(report.write_run(folder))
    display.show_summary(summary, "somewhere")
    assert "In brackets" not in capsys.readouterr().out


@pytest.mark.parametrize("nodes", [[8, 8], [], 8, ["8"], [-1], [True], [1.5], [10**20]])
def test_a_summary_with_impossible_nodes_is_refused(
    nodes: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    if not folder.exists():
        made(folder, small_graph(CLASSES, nodes=24), monkeypatch)
    summary = json.loads((folder / "summary.json").read_text())
    summary["test_accuracy"]["nodes"] = nodes
    (folder / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(DataError, match="test_accuracy isn't mean, std and a share per seed"):
        RunFolder(folder).summary  # noqa: B018


def test_predict_and_replicate_tell_nodes_and_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Karate has 8 validation and 22 test nodes: intervals and a warning, no calibration error."""
    from gdamn.cli.results_view import show_predictions
    from gdamn.runs.replicate import replicate
    from gdamn.using.predict import predict

    monkeypatch.setenv("COLUMNS", "80")
    runs.run(RunSpec("karate", "gcn", (0,), settings={"epochs": 3}), tmp_path)
    told = predict(RunFolder(tmp_path), [0]).report
    assert (told["validation"]["nodes"], told["test"]["nodes"]) == (8, 22)
    assert told["test"]["interval_95"] == list(interval(told["test"]["accuracy"], 22))
    assert [told[part][f"ece_{when}"] for part in ("validation", "test") for when in ("before", "after")] == [None] * 4
    assert "only 8 validation nodes" in told["warning"]
    show_predictions(told)
    shown = capsys.readouterr().out
    assert "Accuracy (95 % interval)" in shown
    assert short(told["test"]["accuracy"], 22) in shown
    assert "error before" not in shown
    assert told["warning"] in shown
    (row,) = replicate(tmp_path / "summary.json")
    assert row["same"]
    assert row["nodes"] == 22
    assert row["interval_95"] == list(interval(row["now"], 22))
