"""Graphs as folders that are mapped into memory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import gdamn
from gdamn.data import load
from gdamn.data.files.folder import read_folder, write_folder
from gdamn.errors import ConfigError, DataError, OutputError
from gdamn.graph.graph import Graph


def same(a: Graph, b: Graph) -> None:
    for name in ("indptr", "indices", "reverse", "labels", "train_mask", "val_mask", "test_mask", "node_ids"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (a.class_names, a.name, a.directed) == (b.class_names, b.name, b.directed)
    x, y = ((f.toarray() if sp.issparse(f) else f) for f in (a.features, b.features))
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", ["karate", "sbm", "digits"])
def test_a_graph_comes_back_from_its_folder(name: str, tmp_path: Path) -> None:
    graph = load(name)
    same(graph, read_folder(write_folder(graph, tmp_path / "g.graph")))


def test_names_weights_and_directions_come_back(tmp_path: Path) -> None:
    masks = np.eye(3, 4, dtype=bool)
    graph = Graph.build(
        [[0, 1, 2], [1, 2, 3]],
        np.eye(4),
        [0, 1, 0, 1],
        weights=[0.5, 2.0, 1.0],
        train_mask=masks[0],
        val_mask=masks[1],
        test_mask=masks[2],
        node_ids=["a", "ü", "<b>", "d"],
        class_names=["x", "y"],
        directed=True,
    )
    back = read_folder(write_folder(graph, tmp_path / "g.graph"))
    same(graph, back)
    assert back.weights is not None
    assert graph.weights is not None
    np.testing.assert_array_equal(back.weights, graph.weights)


def test_a_fit_on_the_folder_is_the_fit_on_the_graph(tmp_path: Path) -> None:
    graph = load("sbm", num_nodes=300)
    folder = write_folder(graph, tmp_path / "g.graph")
    few = {"pretrain_epochs": 5, "epochs": 5, "em_iterations": 1, "start": "graph"}
    for batch in ("full", "partition"):
        ours, theirs = (
            gdamn.GDAMN(batch=batch, batch_nodes=100, **few).fit(g) for g in (graph, load(str(folder), seed=0))
        )
        np.testing.assert_array_equal(ours.probabilities_, theirs.probabilities_)


def test_half_width_is_half_the_size_and_trains(tmp_path: Path) -> None:
    graph = load("sbm", num_nodes=300)
    whole = write_folder(graph, tmp_path / "a.graph") / "features.npy"
    half = write_folder(graph, tmp_path / "b.graph", half=True) / "features.npy"
    assert half.stat().st_size - 128 == (whole.stat().st_size - 128) / 2
    read = read_folder(half.parent)
    np.testing.assert_allclose(read.features, graph.features, rtol=1e-3, atol=1e-4)
    for batch in ("full", "partition"):
        gdamn.GDAMN(batch=batch, pretrain_epochs=2, epochs=2, em_iterations=1, start="graph").fit(read)


def spoil(folder: Path, name: str, change: object) -> None:
    array = np.load(folder / f"{name}.npy")
    np.save(folder / f"{name}.npy", change(array))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("indices", lambda a: a + 1000, "leads out"),
        ("indices", lambda a: a[::-1].copy(), "sorted"),
        ("indices", lambda a: a.astype(np.int64), "type int64"),
        ("indptr", lambda a: a[:-1], "shape"),
        ("indptr", lambda a: a * 2, "does not fit"),
        ("reverse", lambda a: a + 10**6, "leads out"),
        ("reverse", lambda a: a[::-1].copy(), "Row 0 .*other directions"),
        ("reverse", lambda a: np.full_like(a, -1), "other directions"),
        ("reverse", lambda a: np.where(np.arange(len(a)) == 7, -1, a).astype(a.dtype), "other directions"),
        ("indices", lambda a: a.reshape(1, -1), "2 dimensions, not 1"),
        ("indices", lambda a: a[0], "0 dimensions"),
        ("labels", lambda a: a.reshape(-1, 1), "2 dimensions"),
        ("labels", lambda a: a[0], "0 dimensions"),
        ("train_mask", lambda a: a.reshape(2, -1), "2 dimensions"),
        ("labels", lambda a: a + 50, "label"),
        ("train_mask", lambda a: ~a, "masks"),
        ("features", lambda a: a[:, :2], "shape"),
        ("node_ids", lambda a: a.astype("V8"), "can't name"),
    ],
)
def test_damaged_arrays_are_refused(name: str, change: object, said: str, tmp_path: Path) -> None:
    folder = write_folder(load("sbm", num_nodes=300), tmp_path / "g.graph")
    spoil(folder, name, change)
    with pytest.raises(DataError, match=said):
        read_folder(folder)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0, -1])
def test_weights_are_finite_and_above_0(bad: float, tmp_path: Path) -> None:
    graph = gdamn.Graph.build([[0, 1], [1, 2]], np.eye(3), [0, 1, 0], weights=[2.0, 3.0])
    folder = write_folder(graph, tmp_path / "g.graph")
    read_folder(folder)
    spoil(folder, "weights", lambda a: np.where(a == 2, bad, a).astype(np.float32))
    with pytest.raises(DataError, match="not finite and above 0"):
        read_folder(folder)


def test_a_directed_graph_comes_back(tmp_path: Path) -> None:
    graph = gdamn.Graph.build([[0, 1, 2, 2], [1, 0, 1, 0]], np.eye(3), [0, 1, 0], directed=True)
    folder = write_folder(graph, tmp_path / "g.graph")
    assert read_folder(folder).reverse.tolist() == graph.reverse.tolist()
    spoil(folder, "reverse", lambda a: np.full_like(a, -1))
    with pytest.raises(DataError, match="other directions"):
        read_folder(folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "can't be read"),
        ("[]", "does not describe"),
        ('{"format": 99}', "does not describe"),
        (None, "no graph.json"),
    ],
)
def test_a_damaged_index_is_refused(content: str | None, said: str, tmp_path: Path) -> None:
    folder = write_folder(load("karate"), tmp_path / "g.graph")
    (folder / "graph.json").unlink()
    if content is not None:
        (folder / "graph.json").write_text(content)
    with pytest.raises(DataError, match=said):
        read_folder(folder)


def test_pickles_and_newer_formats_and_other_names_are_refused(tmp_path: Path) -> None:
    folder = write_folder(load("karate"), tmp_path / "g.graph")
    index = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps({**index, "format": 99}))
    with pytest.raises(DataError, match="newer gdamn"):
        read_folder(folder)
    (folder / "graph.json").write_text(json.dumps({**index, "arrays": {**index["arrays"], "../../x": ""}}))
    with pytest.raises(DataError, match="not known"):
        read_folder(folder)
    (folder / "graph.json").write_text(json.dumps(index))
    np.save(folder / "labels.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(DataError, match="can't be read"):
        read_folder(folder)


def test_a_folder_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.graph").mkdir()
    (tmp_path / "mine.graph" / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="did not write"):
        write_folder(load("karate"), tmp_path / "mine.graph")
    with pytest.raises(ConfigError, match=r"must end in \.graph"):
        write_folder(load("karate"), tmp_path / "mine")


def test_the_command_converts_and_train_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gdamn.cli import convert as cli_convert
    from gdamn.cli import root as cli

    assert cli_convert.convert is not None
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, ["data", "convert", "karate", "k.graph"])
    assert done.exit_code == 0, done.output
    few = ["--set", "epochs=3", "--set", "pretrain_epochs=3", "--out", "run"]
    trained = CliRunner().invoke(cli.app, ["train", "k.graph", *few])
    assert trained.exit_code == 0, trained.output
    assert (tmp_path / "run" / "config.toml").exists()
    spoil(tmp_path / "k.graph", "labels", lambda a: a + 50)
    again = CliRunner().invoke(cli.app, ["train", "k.graph", *few, "--force"])
    assert again.exit_code == 2
    assert "labels.npy" in again.output
