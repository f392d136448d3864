"""Graphs in parts on disk: the parts are the graph renumbered, and nothing else opens."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from partitioned import GRAPHS, together
from typer.testing import CliRunner

from gdamn.cli import app
from gdamn.data import load
from gdamn.data.partition.layout import Layout, aligned_bounds
from gdamn.data.partition.write import UNFINISHED, write_parts
from gdamn.errors import ConfigError, DataError, OutputError
from gdamn.graph.graph import Graph
from gdamn.graph.order import renumbered
from gdamn.graph.parts import read_parts
from gdamn.system.folders import PARTS, is_parts


def random_layout(graph: Graph, count: int, seed: int = 0) -> Layout:
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, count, graph.num_nodes).astype(np.int32)
    return Layout.make(parts, rng.permutation(graph.num_nodes), count, "order")


def written(graph: Graph, folder: Path, count: int, **options: Any) -> Layout:
    layout = random_layout(graph, count)
    write_parts(graph, folder, lambda: layout, **options)
    return layout


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_parts_are_the_graph_renumbered(name: str, count: int, tmp_path: Path) -> None:
    graph = GRAPHS[name]
    layout = written(graph, tmp_path / "parts", count)
    read = read_parts(tmp_path / "parts")
    moved, _ = renumbered(graph, layout.order)
    whole = together(read)
    for array in ("indptr", "indices", "labels", "train_mask", "val_mask", "test_mask", "node_ids"):
        np.testing.assert_array_equal(whole[array], getattr(moved, array), err_msg=array)
    np.testing.assert_array_equal(whole["nodes"], layout.order)
    structure = moved.structure
    np.testing.assert_array_equal(whole["pair"], structure.pair[structure.off_loop])
    assert whole["pair"].dtype == structure.pair.dtype
    np.testing.assert_array_equal(whole["features"], sp.csr_array(moved.features).toarray())
    if moved.weights is not None:
        np.testing.assert_array_equal(whole["weights"], moved.weights)
    assert (read.num_nodes, read.num_edges, read.num_classes) == (graph.num_nodes, graph.num_edges, graph.num_classes)
    assert (read.is_sparse, read.directed, read.weighted) == (
        graph.is_sparse,
        graph.directed,
        graph.weights is not None,
    )
    part_of = np.searchsorted(layout.bounds, np.arange(graph.num_nodes), side="right")
    assert read.cut == pytest.approx((part_of[moved.rows] != part_of[moved.indices]).mean())
    for part in read.parts:
        part.check()
        assert part.first_node % 4 == 0
        assert part.num_nodes >= 4


def test_a_part_has_at_least_four_nodes_and_begins_at_a_multiple_of_four() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(1, 9))
        sizes = rng.multinomial(int(rng.integers(4 * count, 80)), rng.dirichlet(np.full(count, 0.3)))
        bounds = aligned_bounds(sizes)
        assert (bounds[0], bounds[-1]) == (0, sizes.sum())
        assert (bounds[:-1] % 4 == 0).all()
        assert (np.diff(bounds) >= 4).all()
    even = aligned_bounds(np.array([10, 10, 10]))
    np.testing.assert_array_equal(even, [0, 8, 20, 30])
    with pytest.raises(ConfigError, match="34 nodes, so there can be 1 to 8 parts"):
        aligned_bounds(np.array([34] + [0] * 8))


def test_half_width_features(tmp_path: Path) -> None:
    graph = GRAPHS["digits"]
    layout = written(graph, tmp_path / "parts", 3, half=True)
    whole = together(read_parts(tmp_path / "parts"))
    assert whole["features"].dtype == np.float16
    np.testing.assert_array_equal(whole["features"], graph.features[layout.order].astype(np.float16))


def test_it_shows_itself_in_one_line(tmp_path: Path) -> None:
    written(GRAPHS["directed"], tmp_path / "parts", 3)
    shown = repr(read_parts(tmp_path / "parts"))
    edges = GRAPHS["directed"].num_edges
    assert shown.startswith(f"PartitionedGraph('graph', nodes=101, edges={edges}, features=40, classes=3, parts=3")
    assert shown.endswith("sparse=True, directed=True)")


class StoppedError(Exception):
    """As a kill between two parts."""


@pytest.mark.parametrize("name", ["weighted", "directed"])
def test_an_interrupted_run_goes_on_where_it_was(name: str, tmp_path: Path) -> None:
    graph, calls = GRAPHS[name], []
    layout = random_layout(graph, 5)
    write_parts(graph, tmp_path / "once", lambda: layout)

    def make() -> Layout:
        calls.append("layout")
        return layout

    def stop(what: str, done: int, total: int) -> None:
        if done == 3:
            raise StoppedError

    again, identity = tmp_path / "again", {"graph": "a"}
    with pytest.raises(StoppedError):
        write_parts(graph, again, make, identity=identity, progress=stop)
    assert not is_parts(again)
    times = {path: path.stat().st_mtime_ns for path in again.glob("part-*/*.npy")}
    spoiled = again / "part-00001" / "labels.npy"
    np.save(spoiled, np.load(spoiled) + 1)
    write_parts(graph, again, make, identity=identity)
    assert calls == ["layout"]
    assert (again / PARTS).read_bytes() == (tmp_path / "once" / PARTS).read_bytes()
    kept = {path.parent.name for path, time in times.items() if path.stat().st_mtime_ns == time}
    assert kept == {"part-00000", "part-00002"}
    assert not (again / UNFINISHED).exists()
    written(GRAPHS["karate"], again, 2)  # another graph, fewer parts
    assert len(list(again.glob("part-*"))) == 2
    assert read_parts(again).num_nodes == 34


def test_folders_of_others_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="did not write"):
        written(GRAPHS["karate"], tmp_path / "mine", 2)
    with pytest.raises(ConfigError, match="whole graphs"):
        written(GRAPHS["karate"], tmp_path / "parts.graph", 2)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound") / "parts"
    graph = GRAPHS["weighted"]
    written(graph, folder, 3)
    return folder


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("indptr", lambda a: a * 2, "does not fit"),
        ("indptr", lambda a: a[:-1], "has shape"),
        ("indices", lambda a: a + 10_000, "leads out"),
        ("indices", lambda a: a[::-1].copy(), "sorted"),
        ("indices", lambda a: a.astype(np.int64), "type int64"),
        ("halo", lambda a: a[::-1].copy(), "not sorted"),
        ("halo", lambda a: a * 0 + 1, "not sorted"),
        ("pair", lambda a: a + 10**8, "pair"),
        ("pair", lambda a: a * 0 - 1, "pair"),
        ("weights", lambda a: a * 0, "above 0"),
        ("labels", lambda a: a + 50, "label outside"),
        ("train_mask", lambda a: ~a, "masks"),
        ("nodes", lambda a: a - 5000, "number outside"),
        ("features", lambda a: a[:, 1:], "has shape"),
        ("node_ids", lambda a: a.astype("V8"), "can't name"),
    ],
)
def test_a_damaged_part_is_refused(name: str, change: Any, said: str, sound: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sound, tmp_path / "parts")
    path = folder / "part-00001" / f"{name}.npy"
    np.save(path, change(np.load(path)))
    part = read_parts(folder).parts[1]
    with pytest.raises(DataError, match=said) as caught:
        part.check()
    assert "part-00001" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "newer gdamn"),
        ({"nodes": 5}, "was changed"),
        ({"nodes": "5"}, "does not describe"),
        ({"parts": []}, "does not describe"),
        ({"class_names": [1]}, "does not describe"),
    ],
)
def test_a_damaged_description_is_refused(change: dict[str, Any], said: str, sound: Path, tmp_path: Path) -> None:
    head = json.loads((sound / PARTS).read_text(encoding="utf-8"))
    (tmp_path / PARTS).write_text(json.dumps(head | change), encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_parts(tmp_path)


def test_what_is_missing_is_named(sound: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no parts"):
        read_parts(tmp_path)
    (tmp_path / PARTS).write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="can't be read"):
        read_parts(tmp_path)
    folder = shutil.copytree(sound, tmp_path / "parts")
    (folder / "part-00002" / "halo.npy").unlink()
    with pytest.raises(DataError, match=r"halo\.npy"):
        read_parts(folder).parts[2].check()
    with pytest.raises(DataError, match="no array 'confirmed'"):
        read_parts(folder).parts[0].array("confirmed")


@pytest.mark.parametrize("command", [("inspect",), ("data", "info")])
def test_commands_say_who_takes_a_partitioned_graph(command: tuple[str, ...], sound: Path) -> None:
    done = CliRunner().invoke(app, [*command, f"{sound}/"])
    assert done.exit_code == 2
    assert "is a partitioned graph; gdamn train takes it" in " ".join(done.output.split())


def test_load_says_who_takes_a_partitioned_graph(sound: Path) -> None:
    with pytest.raises(DataError, match="is a partitioned graph; gdamn train takes it"):
        load(str(sound))
