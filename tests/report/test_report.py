"""The pages without a browser: their numbers, their size, and that names stay names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from report_runs import FEW, HOSTILE, small_graph, write_large_run, write_run
from sklearn import metrics
from typer.testing import CliRunner

from gdamn import report
from gdamn.cli import report as cli_report
from gdamn.cli.root import app
from gdamn.errors import ConfigError, DataError
from gdamn.estimators.calibration import Calibration, expected_calibration_error
from gdamn.graph.graph import Graph
from gdamn.report import charts, measures
from gdamn.report.check_next import SUSPICIOUS
from gdamn.report.text import script_json, visible
from gdamn.runs import run as runs

CLASSES = ("cats", "dogs", "birds")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return small_graph(CLASSES)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, graph: Graph, one_thread: None) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("report") / "run"
    write_run(folder, graph, "gdamn", (0, 1), **FEW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "load_graph", lambda spec, root, seed: graph)
        yield folder


class Page(HTMLParser):
    """The text of a page, its elements and attributes."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.raw = path.read_text(encoding="utf-8")
        self.feed(self.raw)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def data(self) -> dict[str, object]:
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', self.raw, re.DOTALL)
        assert found
        content: dict[str, object] = json.loads(found[1])
        return content


@given(hnp.arrays(np.int64, st.integers(1, 40), elements=st.integers(0, 4)), st.integers(0, 2**31))
def test_confusion_precision_and_recall_are_those_of_scikit_learn(labels: np.ndarray, seed: int) -> None:
    predicted = np.random.default_rng(seed).integers(0, 5, len(labels))
    table = measures.confusion(labels, predicted, 5)
    precision, recall = measures.precision_recall(table)
    expected = metrics.precision_recall_fscore_support(labels, predicted, labels=range(5), zero_division=np.nan)
    assert np.array_equal(table, metrics.confusion_matrix(labels, predicted, labels=range(5)))
    np.testing.assert_allclose(precision, expected[0])
    np.testing.assert_allclose(recall, expected[1])


@given(st.integers(0, 2**31), st.integers(1, 60), st.integers(1, 60))
def test_calibration_adds_up_and_agrees_with_the_other_one(seed: int, first: int, second: int) -> None:
    draw = np.random.default_rng(seed)
    shares = draw.dirichlet(np.ones(4), first + second)
    labels = draw.integers(0, 4, first + second)
    parts = [Calibration.of(shares[at], labels[at]) for at in (slice(first), slice(first, None))]
    assert (parts[0] + parts[1]).error == pytest.approx(expected_calibration_error(shares, labels))


def test_mean_over_seeds_leaves_out_what_is_missing() -> None:
    mean, std = measures.over_seeds([np.array([1.0, np.nan, np.nan]), np.array([0.5, 0.25, np.nan])])
    np.testing.assert_allclose(mean, [0.75, 0.25, np.nan])
    np.testing.assert_allclose(std, [np.std([1, 0.5], ddof=1), 0, np.nan])


def test_strength_and_counts_of_a_graph_that_can_be_counted_by_hand() -> None:
    graph = Graph.build([[0, 0, 1, 2], [1, 2, 3, 3]], np.eye(4), [0, 0, 1, -1])
    np.testing.assert_allclose(measures.class_strength(graph, None), [[2 / 3, 1 / 3], [1, 0]])
    hard = np.where((graph.rows + graph.indices) == 2, 0.1, 0.9)  # the edge between 0 and 2
    counts = measures.EdgeCounts.of(graph, hard)
    assert (counts.edges, counts.cut, counts.within, counts.within_cut) == (4, 1, 1, 0)
    assert (counts.between, counts.between_cut) == (1, 1)
    assert counts.histogram.sum(axis=1).tolist() == [1, 1]
    assert np.flatnonzero(counts.histogram[1]).tolist() == [2]


def test_strength_agrees_with_the_share_of_the_graph(graph: Graph) -> None:
    weights = np.random.default_rng(1).random(len(graph.indices))
    shares = measures.class_strength(graph, weights)
    received = np.bincount(graph.labels[graph.rows], weights)
    own = np.diag(shares) @ received / received.sum()
    assert own == pytest.approx(1 - graph.inter_class_share(weights))


@given(st.text())
def test_json_in_a_page_can_not_end_its_element(text: str) -> None:
    written = script_json({"name": text})
    assert json.loads(written) == {"name": text}
    assert not set(written) & set("<>&\u2028\u2029")


def test_what_draws_nothing_is_spelled_out() -> None:
    assert visible("a\u202eb\x00\ud800") == "a\\u202eb\\x00\\ud800"
    assert visible("x" * 500, 10) == "x" * 9 + "…"
    assert visible("שלום") == "שלום"


def test_page_tells_what_the_run_says(run: Path) -> None:
    page = Page(report.write_run(run))
    summary = json.loads((run / "summary.json").read_text())
    text = "".join(page.texts)
    accuracy = summary["test_accuracy"]
    assert f"{100 * accuracy['mean']:.1f} ± {100 * accuracy['std']:.1f} %" in text
    assert "gdamn train --config" in text
    links = [attributes.get("href") for tag, attributes in page.tags if tag == "a"]
    assert "./seed-1/predictions.csv" in links
    for name in (link for link in links if link and link.startswith("./")):
        assert (run / name).is_file()
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv"))
    assert policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not [a for tag, a in page.tags if "style" in a or a.get("src")]


def test_explorer_has_the_numbers_of_the_files(run: Path, graph: Graph) -> None:
    data = Page(report.write_run(run, seed=1)).data
    edges, nodes = data["edges"], data["nodes"]
    weights = {}
    for line in (run / "seed-1" / "edges.csv").read_text().splitlines()[1:]:
        source, target, *values = line.split(",")
        weights[source, target] = [float(value) for value in values]
    for at, (a, b) in enumerate(zip(edges["a"], edges["b"], strict=True)):
        a, b = nodes["id"][a], nodes["id"][b]
        for name, there, back in zip(("hard", "soft", "stable"), weights[b, a], weights[a, b], strict=True):
            assert edges[name][at] == pytest.approx(1e4 * there, abs=0.6)
            assert edges.get(f"{name}Back", edges[name])[at] == pytest.approx(1e4 * back, abs=0.6)
    assert len(edges["a"]) == graph.num_edges
    suspicion = data["check"]["edges"]["suspicion"]
    assert suspicion == sorted(suspicion, reverse=True)
    assert len(suspicion) == min(SUSPICIOUS, graph.num_edges)


def test_pages_are_the_same_every_time(run: Path, tmp_path: Path) -> None:
    first, second = (report.write_run(run, tmp_path / name) for name in ("a.html", "b.html"))
    assert first.read_bytes() == second.read_bytes()


def test_method_without_attention_says_so(tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "load_graph", lambda spec, root, seed: graph)
    write_run(tmp_path / "run", graph, "gcn", (0,), epochs=3)
    page = Page(report.write_run(tmp_path / "run"))
    assert "has no attention over edges" in "".join(page.texts)
    assert page.data["attention"] is False


def test_graph_without_test_labels_is_measured_elsewhere(
    tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = graph.with_labels(np.where(graph.test_mask, -1, graph.labels)).with_masks(
        graph.train_mask, graph.val_mask, np.zeros(graph.num_nodes, bool)
    )
    monkeypatch.setattr(runs, "load_graph", lambda spec, root, seed: bare)
    write_run(tmp_path / "run", bare, "gcn", (0,), epochs=3)
    assert "On the validation nodes" in "".join(Page(report.write_run(tmp_path / "run")).texts)


def test_directed_graph_has_every_edge_once(tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    one_way = graph.rows < graph.indices
    ends = np.stack([graph.rows[one_way], graph.indices[one_way]])
    masks = {f"{name}_mask": graph.mask(name) for name in ("train", "val", "test")}
    directed = Graph.build(ends, graph.features, graph.labels, class_names=CLASSES, directed=True, **masks)
    monkeypatch.setattr(runs, "load_graph", lambda spec, root, seed: directed)
    write_run(tmp_path / "run", directed, "gdamn", (0,), **FEW)
    data = Page(report.write_run(tmp_path / "run")).data
    ends = np.array([data["edges"]["a"], data["edges"]["b"]])
    assert ends.shape[1] == graph.num_edges
    assert np.bincount(ends.ravel(), minlength=graph.num_nodes).tolist() == data["nodes"]["degree"]


def test_hostile_names_stay_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [f"{HOSTILE[at % len(HOSTILE)]} {at}" for at in range(60)]
    graph = small_graph(HOSTILE, ids)
    monkeypatch.setattr(runs, "load_graph", lambda spec, root, seed: graph)
    folder = tmp_path / "<b onclick='x'>&\" run"
    write_run(folder, graph, "gdamn", (0,), **FEW)
    page = Page(report.write_run(folder))
    assert sum(tag == "script" for tag, _ in page.tags) == 2
    assert not [tag for tag, _ in page.tags if tag in {"img", "b", "iframe", "object"}]
    assert not [a for _, a in page.tags if any(name.startswith("on") for name in a)]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2028\u2029]", page.raw)
    assert page.data["classes"] == [visible(name) for name in HOSTILE]


def test_large_run_stays_below_eight_megabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = write_large_run(tmp_path / "run")
    monkeypatch.setattr(runs, "load_graph", lambda spec, root, seed: graph)
    wanted = str(graph.node_ids[54_321])
    page = report.write_run(tmp_path / "run", nodes=[wanted])
    assert page.stat().st_size < 8_000_000
    read = Page(page)
    data = read.data
    assert "The graph is too large for one page" in "".join(read.texts)
    assert data["totalNodes"] == 100_000
    assert data["centres"] > 1000
    assert data["nodes"]["id"][0] == wanted
    degree = np.bincount([*data["edges"]["a"], *data["edges"]["b"]])
    for node in range(data["centres"]):
        assert degree[node] == data["nodes"]["degree"][node]
    assert not any(edge < 0 or edge >= len(data["edges"]["a"]) for edge in data["check"]["edges"]["edge"])


def test_what_is_wrong_is_told_in_a_sentence(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no finished run"):
        report.write_run(tmp_path)
    with pytest.raises(ConfigError, match="no seed 9; it has 0, 1"):
        report.write_run(run, seed=9)
    with pytest.raises(ConfigError, match="no node 'nobody'"):
        report.write_run(run, nodes=["nobody"])
    other = small_graph(CLASSES, nodes=30)
    monkeypatch.setattr(runs, "load_graph", lambda spec, root, seed: other)
    with pytest.raises(DataError, match="trained on other data"):
        report.write_run(run)


def test_command_writes_the_page(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["report", str(run), "-o", str(target), "--seed", "1"])
    assert done.exit_code == 0, done.output
    assert target.is_file()
    assert "./" in Page(target).raw
    assert CliRunner().invoke(app, ["report", str(tmp_path)]).exit_code == 2


def test_failed_page_does_not_lose_the_run(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("no\nink")

    monkeypatch.setattr(report, "write_run", fail)
    cli_report.report_of_training(run, None, quiet=False)
    assert "The run is whole, but its report.html could not be made: no ink" in capsys.readouterr().err
    assert (run / "summary.json").is_file()


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_names_of_the_phases_stand_apart(iterations: int) -> None:
    """With ``start=auto`` there are five pre-trainings, and little room for their names."""
    steps = [f"{step}-step {number}" for number in range(1, iterations + 1) for step in "ME"]
    history = [{"phase": phase} for phase in (*charts.PRE_TRAININGS, *steps) for _ in range(200)]
    with charts.chart(3.3) as (axes, _):
        charts.draw_phases(axes, history)
        axes.set_xlim(0, len(history))
        axes.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in axes.texts]
        names = [text.get_text() for text in axes.texts]
    assert names == ["graph", "sim.", "feat.", "evid.", "hops", *(step.replace("-step ", "") for step in steps)]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
