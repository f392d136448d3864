"""The page of a run on a partitioned graph: its counts are those of the whole graph, and it needs nothing else."""

from __future__ import annotations

import re
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from partitioned_runs import SETTINGS, Whole, cut, graphs, trained
from typer.testing import CliRunner

from gdamn.cli import app
from gdamn.estimators.calibration import Calibration
from gdamn.model.temperature import scaled
from gdamn.report.measures import EdgeCounts, confusion
from gdamn.report.partitioned_counts import count
from gdamn.system.scratch import scratch
from gdamn.using.partitioned.folder import PartitionedRun

GRAPHS = graphs()


@pytest.fixture(scope="module", params=["plain", "directed"])
def fitted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[PartitionedRun, Whole]:
    folder = tmp_path_factory.mktemp(request.param)
    run = trained(cut(GRAPHS[request.param], folder / "parts"), folder / "run")
    return run, Whole(run, GRAPHS[request.param])


def test_streamed_counts_are_those_of_the_whole_graph(fitted: tuple[PartitionedRun, Whole], tmp_path: Path) -> None:
    run, whole = fitted
    graph = whole.graph
    with scratch(tmp_path) as room:
        found = count(run, 0, room)
    assert not list(tmp_path.iterdir())
    calibrated = scaled(whole.probabilities, found.temperature.value)
    chosen = graph.test_mask & (graph.labels >= 0)
    labels = graph.labels[chosen]
    result = found.result
    assert result.evaluated == "test"
    assert result.confusion is not None
    assert result.edges is not None
    np.testing.assert_array_equal(result.confusion, confusion(labels, calibrated[chosen].argmax(1), 3))
    if result.calibration is not None:
        wanted = Calibration.of(calibrated[chosen], labels)
        np.testing.assert_allclose(result.calibration.confidence, wanted.confidence)
    for mine, theirs in zip(astuple(result.edges), astuple(EdgeCounts.of(graph, whole.weights["hard"])), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert found.confidence.sum() == found.predicted.sum() == graph.num_nodes
    assert found.splits == {name: int(graph.mask(name).sum()) for name in ("train", "val", "test")}


def test_the_page_has_what_a_person_needs(fitted: tuple[PartitionedRun, Whole]) -> None:
    run, whole = fitted
    result = CliRunner().invoke(app, ["report", str(run.path)])
    assert result.exit_code == 0, result.output
    page = (run.path / "report.html").read_text(encoding="utf-8")
    for part in ("accuracy", "classes", "confidence", "learning", "attention", "check", "ranks", "overview", "files"):
        assert f'<section id="{part}"' in page, part
    for link in set(re.findall(r'href="#([^"]+)"', page)):
        assert f'id="{link}"' in page, link
    assert f"{whole.graph.num_edges:,} {'directed' if whole.graph.directed else 'undirected'} edges" in page
    assert "c, d" in page
    assert not re.search(r'(src|href)="(https?:|//)', page)
    assert "Trained by 1 process;" in page


@pytest.mark.parametrize("more", [["--node", "3"], ["--name", "title"], ["--map", "map.png"]])
def test_what_would_need_the_whole_graph_is_refused(
    fitted: tuple[PartitionedRun, Whole], more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["report", str(fitted[0].path), *more])
    assert result.exit_code == 2
    assert f"leave out {more[0]}" in " ".join(result.output.split())


def test_training_writes_a_page_of_two_seeds_without_attention(tmp_path: Path) -> None:
    parts = cut(GRAPHS["plain"], tmp_path / "parts")
    words = [
        "train",
        str(parts),
        "--method",
        "gcn",
        "--seeds",
        "2",
        "--set",
        "epochs=3",
        "--out",
        str(tmp_path / "run"),
    ]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "report.html" in result.output
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "This run has no attention over edges" in page
    assert 'id="check"' not in page
    assert "Seed by seed" in page
    assert {path.name for path in tmp_path.iterdir()} == {"parts", "run"}


def test_a_run_whose_parts_are_elsewhere_stays_whole(tmp_path: Path) -> None:
    """As after training on several machines that share no disk."""
    run = trained(cut(GRAPHS["plain"], tmp_path / "parts"), tmp_path / "run", "gdamn", **{**SETTINGS, "epochs": 2})
    (run.path / "seed-0" / "edges" / "part-00003.parquet").unlink()
    result = CliRunner().invoke(app, ["report", str(run.path)])
    assert result.exit_code == 2
    assert "copy the files of every machine that trained into one folder" in " ".join(result.output.split())
    assert not (run.path / "report.html").exists()
