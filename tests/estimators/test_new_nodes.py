"""New nodes in Python: tables and arrays beside the graph of the fit, also from nothing but a model file."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load_file, save_file

from gdamn import GDAMN, Graph, load
from gdamn.baselines.gcn import GCNClassifier
from gdamn.errors import ConfigError, DataError, GraphError
from gdamn.estimators.inductive import answer
from gdamn.estimators.model_file import read_model
from gdamn.runs.run import run as train
from gdamn.runs.spec import RunSpec
from gdamn.using.predict import predict
from gdamn.using.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("one_thread")
SHORT = {"pretrain_epochs": 20, "epochs": 5, "em_iterations": 1, "hidden": 8, "projection": 8, "threads": 1}
TOPICS = np.array(["art", "news", "sport"])


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """200 articles with two numbers, a city and a topic, and links that mostly stay within a topic."""
    rng, n = np.random.default_rng(0), 200
    kind = rng.integers(0, 3, n)
    columns = {"id": [f"p{i}" for i in range(n)], "x": rng.normal(size=n) + kind, "y": rng.normal(size=n) - kind}
    nodes = pd.DataFrame({**columns, "city": np.array(["rome", "oslo", "lima"])[kind], "topic": TOPICS[kind]})
    ends = rng.integers(0, n, (2, 900))
    ends = ends[:, (kind[ends[0]] == kind[ends[1]]) | (rng.random(900) < 0.15)]
    return nodes, pd.DataFrame({"source": nodes.id.to_numpy()[ends[0]], "target": nodes.id.to_numpy()[ends[1]]})


def split(tables: tuple[pd.DataFrame, pd.DataFrame]) -> tuple[pd.DataFrame, ...]:
    """Nodes and edges of the fit; new nodes without their topics, and all edges that touch one of them."""
    nodes, edges = tables
    old, new = nodes[:180], nodes[180:]
    inside = edges.source.isin(set(old.id)) & edges.target.isin(set(old.id))
    return old, edges[inside], new.drop(columns="topic"), edges[~inside]


@pytest.fixture(scope="module")
def fitted(tables: tuple[pd.DataFrame, pd.DataFrame]) -> GDAMN:
    old, inside, *_ = split(tables)
    graph = Graph.from_tables(old, inside, label="topic", test_share=0.2)
    return GDAMN(**SHORT, normalize="none", start="graph").fit(graph)


@pytest.fixture(scope="module")
def saved(fitted: GDAMN, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fitted.save(tmp_path_factory.mktemp("alone") / "model.gdamn", graph=True)


def test_new_rows_and_their_edges_are_enough(tables, fitted: GDAMN) -> None:
    """The same as the whole graph: the fit's nodes with the same features, the new ones encoded as they were."""
    *_, new, touching = split(tables)
    found = fitted.predict(nodes=new, edges=touching)
    assert (found == tables[0].topic[180:]).mean() > 0.7
    encoded = fitted.graph_.extended(new).graph.features
    number = {name: at for at, name in enumerate(tables[0].id)}
    ends = np.array([[number[name] for name in tables[1][side]] for side in ("source", "target")])
    whole = Graph.build(
        ends,
        np.vstack([fitted.graph_.features, encoded]),
        node_ids=tables[0].id.to_numpy(),
        class_names=fitted.class_names_,
    )
    assert np.allclose(fitted.predict_proba(whole)[180:], fitted.predict_proba(nodes=new, edges=touching), atol=1e-6)
    assert fitted.predict(whole)[180:].tolist() == found.tolist()


def test_a_process_that_has_nothing_but_the_model_file(tables, fitted: GDAMN, saved: Path) -> None:
    *_, new, touching = split(tables)
    new.to_csv(saved.parent / "new.csv", index=False)
    touching.to_csv(saved.parent / "links.csv", index=False)
    code = (
        "import json; from gdamn import GDAMN; model = GDAMN.load('model.gdamn')\n"
        "files = {'nodes': 'new.csv', 'edges': 'links.csv'}\n"
        "frame = model.predict_frame(**files)\n"
        "import sys; facts = [model.n_features_in_, 'sklearn' in sys.modules]\n"
        "print(json.dumps([model.predict(**files).tolist(), frame.confidence.tolist(), facts]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=saved.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    labels, confidence, facts = json.loads(done.stdout)
    frame = fitted.predict_frame(nodes=new, edges=touching)
    assert labels == frame.predicted.tolist() == fitted.predict(nodes=new, edges=touching).tolist()
    assert np.allclose(confidence, frame.confidence, atol=1e-7)
    assert frame.node.tolist() == new.id.tolist()
    assert set(frame.split) == {"new"}
    assert facts == [5, False]  # scikit-learn, which takes a second to import, is not asked for


def test_no_label_is_in_the_graph_of_a_file(fitted: GDAMN, saved: Path, tmp_path: Path, caplog) -> None:
    _, arrays = read_model(saved)
    assert {name for name in arrays if name.startswith("graph.")} == {"graph.features"}  # the edges are there already
    assert (GDAMN.load(saved).kept_graph_.labels == -1).all()
    with caplog.at_level("INFO", "gdamn"):
        fitted.save(tmp_path / "m", graph=True)
    header = json.loads(_metadata(tmp_path / "m"))
    size = arrays["graph.features"].nbytes + len(json.dumps(header["graph"]))
    assert caplog.messages == [
        f"{tmp_path / 'm'} has {saved.stat().st_size:,} bytes, {size:,} of them for the graph of the fit."
    ]


def _metadata(path: Path) -> str:
    raw = path.read_bytes()
    text: str = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]["gdamn"]
    return text


def test_the_command_says_the_same(tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for frame, name in zip(split(tables), ("old", "links", "new", "more"), strict=True):
        frame.to_csv(f"{name}.csv", index=False)
    options = {"edges": "links.csv", "label": "topic"}
    train(RunSpec("old.csv", "gcn", (0,), 0.0, options, {"epochs": 10, "hidden": 8}), Path("run"))
    run = RunFolder(Path("run"))
    said = predict(run, [0], Path("new.csv"), Path("more.csv"))
    model = GCNClassifier.load("run/seed-0/model.gdamn")
    frame = model.predict_frame(nodes="new.csv", edges="more.csv", fitted_on=run.graph(0))
    assert said.short_columns()["node"].tolist() == frame.node.tolist() == [f"p{i}" for i in range(180, 200)]
    assert said.short_columns()["predicted"].tolist() == frame.predicted.tolist()
    assert np.allclose(said.confidence, frame.confidence, atol=1e-9)
    assert set(said.split) == set(frame.split) == {"new"}
    assert said.report["new_nodes"] == said.report["nodes"] == 20
    alone = predict(run, [0], Path("new.csv"), None)  # the run's own edges touch no new node
    assert alone.graph.num_nodes == 20
    with pytest.raises(GraphError, match="fitted_on"):
        model.predict(nodes="new.csv")


def test_arrays_continue_the_numbers_of_the_fit() -> None:
    graph = load("sbm", num_nodes=200, num_classes=3, feature_signal=2.0, seed=1)
    rest, held = np.arange(180), np.arange(180, 200)
    ends = np.stack([graph.indices, graph.rows])
    inside = (ends < 180).all(axis=0)
    masks = {f"{name}_mask": graph.mask(name)[rest] for name in ("train", "val", "test")}
    part = Graph.build(ends[:, inside], graph.features[rest], graph.labels[rest], **masks)
    model = GDAMN(**SHORT, start="graph").fit(part)
    x = graph.features[held]
    found = model.predict_proba(nodes=x, edges=ends[:, ~inside])
    assert np.allclose(found, answer(model, graph).probabilities[180:], atol=1e-6)
    tensors = model.predict_proba(nodes=torch.as_tensor(x), edges=torch.as_tensor(ends[:, ~inside]))
    assert np.array_equal(found, tensors)
    assert model.predict(nodes=x).shape == (20,)


def test_a_graph_without_names_of_its_classes(fitted: GDAMN) -> None:
    """No label of a new graph is read, so that PyTorch Geometric's data need none."""
    data = replace(fitted.graph_, node_ids=np.arange(180)).to_pyg()
    for name in ("class_names", "node_ids", "y", "train_mask", "val_mask", "test_mask"):
        del data[name]
    found = fitted.predict(data)
    data.y = torch.zeros(180, dtype=torch.int64)
    assert np.array_equal(fitted.predict(data), found)
    assert set(found) <= set(TOPICS)
    data.y[0] = 3
    with pytest.raises(GraphError, match="other classes"):
        fitted.predict(data)


def test_rows_of_nodes_that_the_fit_knows(tables, fitted: GDAMN) -> None:
    """The same row is the same node; another row of that id takes its place, with its edges."""
    old, _, new, _ = split(tables)
    link = pd.DataFrame({"source": ["p180"], "target": ["p7"]})
    rows = pd.concat([old[:2].drop(columns="topic"), new[:1]])
    frame = fitted.predict_frame(nodes=rows, edges=link)
    assert frame.node.tolist() == ["p0", "p1", "p180"]
    assert frame.split.tolist() == [*fitted.predict_frame().split[:2], "new"]
    extension = fitted.graph_.extended(rows.assign(x=rows.x + np.array([5.0, 0, 0])), link)
    assert extension.rows.tolist() == [0, 1, 180]
    assert extension.known[:3].tolist() == [-1, 1, 2]
    assert extension.graph.num_edges == fitted.graph_.num_edges + 1
    assert not np.array_equal(extension.graph.features[0], fitted.graph_.features[0])
    assert np.array_equal(extension.graph.features[1:180], fitted.graph_.features[1:])


def test_structural_features_and_texts(tables) -> None:
    old, inside, new, touching = split(tables)
    for options in ({"features": ["none"]}, {"features": ["x"], "text": "city"}):
        graph = Graph.from_tables(old, inside, label="topic", **options)
        model = GCNClassifier(epochs=3, threads=1).fit(graph)
        assert len(model.predict(nodes=new, edges=touching)) == 20
        assert len(model.predict(nodes=new)) == 20
        known = graph.extended(new, touching).graph.features[:180]
        first = 0 if "text" in options else 1  # degrees change
        assert np.array_equal(known[:, first:], graph.features[:, first:])


def test_weights_and_directions_join() -> None:
    nodes = {"id": ["a", "b", "c", "d"], "x": [0.0, 1, 0, 1], "label": ["u", "v", "u", "v"]}
    edges = {"source": ["a", "b"], "target": ["c", "d"], "weight": [2.0, 3.0]}
    graph = Graph.from_tables(nodes, edges, directed=True, val_share=0)
    new = graph.extended({"id": ["e"], "x": [1.0]}, {"source": ["e"], "target": ["a"], "weight": [0.5]}).graph
    assert new.directed
    assert sorted(zip(new.indices.tolist(), new.rows.tolist(), new.weights.tolist(), strict=True)) == [
        (0, 2, 2.0),
        (1, 3, 3.0),
        (4, 0, 0.5),
    ]
    assert new.node_ids.tolist() == ["a", "b", "c", "d", "e"]


def test_what_can_not_be_is_said(tables, fitted: GDAMN, saved: Path) -> None:
    *_, new, touching = split(tables)
    ask = fitted.predict
    for wrong, message in (
        ({"graph": fitted.graph_, "nodes": new}, "both were given"),
        ({"edges": touching}, "give the nodes, too"),
        ({"nodes": new, "edges": pd.DataFrame({"source": ["p180"], "target": ["p999"]})}, "names 'p999'"),
        ({"nodes": new.drop(columns="x"), "edges": touching}, "no column 'x'"),
        ({"nodes": np.zeros((2, 3))}, "3 features, but those of the fit have 5"),
        ({"nodes": np.zeros((2, 5)), "edges": [[0.5], [1.0]]}, "integer array"),
        ({"nodes": np.zeros((2, 5)), "edges": [[0], [999]]}, r"Edge 0 is \(0, 999\)"),
        ({"graph": replace(fitted.graph_, class_names=("a", "b", "c"))}, "other classes"),
    ):
        with pytest.raises((GraphError, ConfigError), match=message):
            ask(**wrong)
    with pytest.raises(GraphError, match="p tells of those of the fit alone"):
        fitted.predict_proba(nodes=new, network="p")
    karate = GCNClassifier(epochs=2).fit(load("karate"))
    with pytest.raises(GraphError, match="was not made of tables"):
        karate.predict(nodes=new)


def test_a_file_without_the_graph_says_what_to_do(fitted: GDAMN, saved: Path, tmp_path: Path, tables) -> None:
    *_, new, touching = split(tables)
    loaded = GDAMN.load(fitted.save(tmp_path / "m"))
    with pytest.raises(GraphError, match=r"save\(path, graph=True\)"):
        loaded.predict(nodes=new)
    with pytest.raises(GraphError, match="can't be saved with it"):
        loaded.save(tmp_path / "n", graph=True)
    given = loaded.predict(nodes=new, edges=touching, fitted_on=fitted.graph_)
    assert np.array_equal(given, fitted.predict(nodes=new, edges=touching))
    assert loaded.predict_frame().equals(fitted.predict_frame())


DAMAGES = [
    ("num_features", "five", "of a wrong type"),
    ("num_features", -1, "number of features can't be"),
    ("num_features", 4, "its graph can't be"),
    ("num_features", None, "tells of its graph"),
    ("temperature", {"value": 1.0}, "temperature can't be"),
    ("temperature", [1], "of a wrong type"),
    ("graph", {"encoder": 3}, "tells of its graph"),
    ("graph", {}, "its graph can't be"),
]


@pytest.mark.parametrize(("entry", "value", "message"), DAMAGES, ids=lambda each: str(each)[:20])
def test_a_damaged_file_is_refused(saved: Path, tmp_path: Path, entry: str, value: object, message: str) -> None:
    header = {**json.loads(_metadata(saved)), entry: value}
    save_file(load_file(saved), tmp_path / "bad", metadata={"gdamn": json.dumps(header)})
    with pytest.raises(DataError, match=message):
        GDAMN.load(tmp_path / "bad")


def test_parts_of_nodes_that_can_not_be(saved: Path, tmp_path: Path) -> None:
    arrays = load_file(saved)
    for wrong in (arrays["split"][:5], arrays["split"] + 9, arrays["split"].astype(np.int64)):
        save_file({**arrays, "split": wrong}, tmp_path / "bad", metadata={"gdamn": _metadata(saved)})
        with pytest.raises(DataError, match="part of each node"):
            GDAMN.load(tmp_path / "bad")
