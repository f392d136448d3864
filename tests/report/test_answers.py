"""What a page says first: its findings and alerts, each with evidence, and the probabilities behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from own_tables import files
from report_runs import FEW, small_graph, write_run
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from typer.testing import CliRunner

from gdamn import report
from gdamn.cli.root import app
from gdamn.data.files.node_texts import node_texts
from gdamn.errors import ConfigError, DataError
from gdamn.estimators.accuracy import interval
from gdamn.graph.graph import Graph
from gdamn.report import judged_edges, measures
from gdamn.report import run as report_run
from gdamn.report.node_names import NodeNames, node_names
from gdamn.runs import run as runs
from gdamn.using.run_folder import RunFolder

CLASSES = ("cats", "dogs", "birds")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return small_graph(CLASSES, nodes=90)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, graph: Graph, one_thread: None) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("answers") / "run"
    write_run(made, graph, "gdamn", (0,), **FEW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "load_graph", lambda spec, root, seed: graph)
        yield made


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    pictures = [folder.parent / "map.png", folder.parent / "map.svg"]
    return report.write_run(folder, pictures=pictures).read_text(encoding="utf-8")


def words(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_platts_sigmoid_is_a_logistic_regression_on_smoothed_targets() -> None:
    """scikit-learn knows no targets between 0 and 1; every edge stands there twice, with the weight of either side."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=200)
    wrong = draw.random(200) < 1 / (1 + np.exp(1 - 2 * x))
    bad, good = wrong.sum(), (~wrong).sum()
    target = np.where(wrong, (bad + 1) / (bad + 2), 1 / (good + 2))
    model = LogisticRegression(C=np.inf, tol=1e-10)
    twice = np.concatenate([x, x])[:, None], np.repeat([1, 0], 200)
    model.fit(*twice, sample_weight=np.concatenate([target, 1 - target]))
    found = judged_edges.fit_sigmoid(x, wrong)
    assert found == pytest.approx((model.coef_[0, 0], model.intercept_[0]), abs=1e-4)
    assert judged_edges.fit_sigmoid(-x, wrong) is None, "suspicion that points the wrong way calibrates nothing"
    assert judged_edges.fit_sigmoid(x[:20], wrong[:20]) is None


def test_f1_is_that_of_scikit_learn() -> None:
    draw = np.random.default_rng(1)
    labels, predicted = draw.integers(0, 4, (2, 60))
    table = measures.confusion(labels, predicted, 4)
    np.testing.assert_allclose(measures.f1(table), f1_score(labels, predicted, average=None))


def test_findings_have_their_numbers_and_lead_to_their_evidence(folder: Path, graph: Graph, page: str) -> None:
    found = page[page.index('<ol class="findings"') : page.index('<nav aria-label="Sections"')]
    links = re.findall(r'href="#([\w-]+)"', found)
    assert len(links) >= 4
    for link in links:
        assert f' id="{link}"' in page, link
    text = words(found)
    run = RunFolder(folder)
    right = run.summary["test_accuracy"]["mean"]
    low, high = interval(right, 30)
    assert f"{100 * right:.1f} % of the test nodes are predicted right" in text
    assert f"{round(30 * right)} of 30 nodes, 95 % interval {100 * low:.1f}–{100 * high:.1f}" in text
    edges = judged_edges.judge_edges(report_run.read_seed(run, 0))
    first = edges.at[:100]
    bad = int((graph.labels[graph.rows[first]] != graph.labels[graph.indices[first]]).sum())
    assert f"{int(edges.looks_wrong.sum())} of {graph.num_edges} edges look wrong; {bad} of the first 100 are" in text
    assert "uncalibrated: it rests on only 30 validation nodes" in text


def test_order_of_the_page_is_answers_then_evidence_then_settings(page: str) -> None:
    parts = ["findings", "alerts-title", "map", "explorer", "check", "accuracy", "classes", "calibration", "learning"]
    places = [page.index(f'class="{parts[0]}"'), *(page.index(f'id="{part}"') for part in parts[1:])]
    places += [page.index(f'id="{part}"') for part in ("attention", "overview", "files")]
    assert places == sorted(places)


def test_class_that_is_never_predicted_gets_an_alert(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Graph.build(
        np.stack([graph.rows, graph.indices]),
        graph.features,
        graph.labels,
        **{f"{name}_mask": graph.mask(name) for name in ("train", "val", "test")},
        class_names=[*CLASSES, "<i>unicorns</i>"],
    )
    monkeypatch.setattr(runs, "load_graph", lambda spec, root, seed: named)
    write_run(tmp_path / "run", named, "gcn", (0,), epochs=20)
    text = words(report.write_run(tmp_path / "run").read_text(encoding="utf-8"))
    assert "warning Never predicted: <i>unicorns</i>." in text


def test_names_come_from_a_column_of_the_nodes(tmp_path: Path) -> None:
    files()(tmp_path)
    path = str(tmp_path / "nodes.csv")
    texts = node_texts(path, {"label": "label"}, "city")
    assert (texts["n0"], texts["n23"], len(texts)) == ("X", "Z", 24)
    assert node_texts(path, {"id": "age"}, "id")["0.25"] == "n1"
    with pytest.raises(DataError, match="no column 'title' for the names; its columns are 'id'"):
        node_texts(path, {}, "title")
    with pytest.raises(ConfigError, match="is no table of nodes"):
        node_texts("graph.npz", {}, "title")


def test_named_data_sets_have_pictures_at_most() -> None:
    run: Any = SimpleNamespace(path="runs/digits", spec=SimpleNamespace(dataset="digits", options={}))
    assert node_names(run, None) == NodeNames(None, (8, 8))
    with pytest.raises(ConfigError, match="which has no columns; --name is for runs on files of your own"):
        node_names(run, "title")


def test_pictures_have_a_sign_per_pixel(graph: Graph) -> None:
    columns = NodeNames({"0": "\u202eA"}, (1, 3)).columns(graph, np.array([0, 85]))
    assert columns["name"] == ["\\u202eA", ""]
    pixels = np.clip(np.rint(15 * graph.features[0]), 0, 15).astype(int)
    assert columns["picture"][0] == "".join(f"{pixel:x}" for pixel in pixels)


def test_map_is_a_picture_too(folder: Path, graph: Graph, page: str) -> None:
    png, svg = folder.parent / "map.png", folder.parent / "map.svg"
    assert png.read_bytes()[:4] == b"\x89PNG"
    text = svg.read_text(encoding="utf-8")
    assert f"Before: {graph.num_edges} edges" in text
    assert all(name in text for name in CLASSES)
    assert not re.search(r"\bnan\b", text)
    again = CliRunner().invoke(app, ["report", str(folder), "--map", str(svg)])
    assert again.exit_code == 2
    assert "exists; pass --force" in " ".join(again.output.split())


def test_command_refuses_what_it_can_not_name_or_draw(folder: Path, tmp_path: Path) -> None:
    for options, said in (
        (["--name", "title"], "is no table of nodes (.csv, .tsv, .parquet), so it has no column 'title'"),
        (["--map", str(tmp_path / "map.gif")], "let its name end in .png or .svg"),
    ):
        done = CliRunner().invoke(app, ["report", str(folder), *options])
        assert done.exit_code == 2
        assert said in " ".join(done.output.split())
