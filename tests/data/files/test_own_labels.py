"""Labels that say that there is none, labels that differ by a blank, and what is told of columns that nobody named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from broken_graphs import arrays, labelled
from broken_tables import EDGES, NODES, every_label, files, table
from torch_geometric.data import Data
from typer.testing import CliRunner

from gdamn import Graph
from gdamn.cli import inspect as cli_inspect
from gdamn.cli import root as cli
from gdamn.data import files as own
from gdamn.runs.spec import RunSpec
from gdamn.using.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("without_pages")

WORDS = ["nan", "NaN", "NA", "N/A", "n/a", "None", "NULL", "null", "-", "?", " ", " na "]
assert cli_inspect.app is cli.app


def run(*args: str) -> Any:
    more = ["--no-reference"] if args[0] == "train" else []
    done = CliRunner().invoke(cli.app, [*args, *more])
    assert done.exit_code == 0, done.stderr
    return done


def notes_of(graph: Graph, word: str) -> list[str]:
    return [note for note in graph.meta["notes"] if word in note]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_for_missing_is_no_class(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(nodes__csv=every_label(lambda i: ["a", "b", word][i % 3]))(tmp_path)
    monkeypatch.chdir(tmp_path)
    graph = own.load("nodes.csv", edges="edges.csv", label="label")
    assert graph.class_names == ("a", "b")
    assert (graph.labels < 0).sum() == 8
    (note,) = notes_of(graph, "read as unknown")
    assert f"8 in column 'label' of 'nodes.csv' are read as unknown: '{word}' (8)" in note
    assert "another name" in note


def test_every_door_reads_them_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["a", "b", "NA", "?"] * 6
    ring = pd.DataFrame({"source": range(24), "target": np.roll(range(24), 1)})
    frame = Graph.from_tables(pd.DataFrame({"id": range(24), "y": given}), ring, label="y")
    np.savez("g.npz", **arrays(labels=np.array(given)))
    Path("g.graphml").write_bytes(labelled(lambda i: given[i]))
    graph = nx.cycle_graph(24)
    nx.set_node_attributes(graph, dict(enumerate(given)), "label")
    for made in (frame, own.load("g.npz"), own.load("g.graphml"), Graph.from_networkx(graph)):
        assert made.class_names == ("a", "b")
        assert made.labels.tolist() == [0, 1, -1, -1] * 6
        assert "'NA' (6), '?' (6)" in notes_of(made, "read as unknown")[0]


def test_classes_that_are_listed_are_what_they_are_called(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", **arrays(class_names=np.array(["None", "-"])))
    assert own.load(tmp_path / "g.npz").class_names == ("None", "-")
    graph = Graph.build([[0], [1]], np.eye(2), [0, 1], class_names=["NA", "?"])
    assert Graph.from_networkx(graph.to_networkx()).class_names == ("NA", "?")


def test_the_words_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(nodes__csv=every_label(lambda i: ["a", "None"][i % 2]))(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert own.load("nodes.csv", edges="edges.csv", missing="none").class_names == ("None", "a")
    done = CliRunner().invoke(cli.app, ["train", "nodes.csv", "--edges", "edges.csv"])
    assert done.exit_code == 2
    assert "only one class" in done.stderr
    assert "'None' (12)" in done.stderr


def test_new_nodes_are_read_as_the_run_read_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(nodes__csv=every_label(lambda i: ["a", "b", "NA"][i % 3]))(tmp_path)
    monkeypatch.chdir(tmp_path)
    run("train", "nodes.csv", "--edges", "edges.csv", "--method", "lpa")
    Path("more.csv").write_bytes(NODES.replace(b"n3,b", b"n3,NA").replace(b"n4,a", b"n4,?"))
    graph = RunFolder(Path("runs/nodes-lpa")).new_graph(Path("more.csv"), None)
    assert graph.class_names == ("a", "b")
    assert graph.labels[[3, 4, 5]].tolist() == [-1, -1, 1]
    assert notes_of(graph, "read as unknown")


def test_a_run_from_before_keeps_its_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its config.toml has hashes and no word of this: it is replayed with the classes that it had."""
    files(nodes__csv=every_label(lambda i: ["a", "b", "NA"][i % 3]))(tmp_path)
    monkeypatch.chdir(tmp_path)
    run("train", "nodes.csv", "--edges", "edges.csv", "--method", "lpa", "--option", "missing=none", "--out", "old")
    config = Path("old/config.toml")
    text = config.read_text()
    assert 'missing = "none"' in text
    config.write_text(text.replace('missing = "none"\n', ""))
    assert "missing" not in RunSpec.from_toml(config).options
    assert RunFolder(Path("old")).graph(0).class_names == ("NA", "a", "b")
    run("train", "--config", "old/config.toml", "--out", "again")
    assert json.loads(Path("again/encoder.json").read_text())["class_names"] == ["NA", "a", "b"]
    predictions = [Path(name, "seed-0", "predictions.csv").read_bytes() for name in ("old", "again")]
    assert predictions[0] == predictions[1]
    run("train", "nodes.csv", "--edges", "edges.csv", "--method", "lpa", "--out", "new")
    assert RunSpec.from_toml(Path("new/config.toml")).options["missing"] == "usual"
    assert json.loads(Path("new/encoder.json").read_text())["class_names"] == ["a", "b"]


def test_labels_that_differ_by_blanks_or_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files(nodes__csv=every_label(lambda i: ["a", "a ", "b", "New  York", "new york", "B"][i % 6]))(tmp_path)
    monkeypatch.chdir(tmp_path)
    graph = own.load("nodes.csv", edges="edges.csv")
    assert graph.num_classes == 6
    assert [note for note in graph.meta["notes"] if "'a' and 'a '" in note]
    shown = json.loads(run("inspect", "nodes.csv", "edges.csv", "--json").stdout)["warnings"]
    for pair in ("'a' and 'a '", "'B' and 'b'", "'New  York' and 'new york'"):
        assert any(f"{pair} differ only by blanks or case" in line for line in shown), pair


def test_columns_that_nobody_named_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    edges = EDGES.replace(b"source,target,weight", b"a,b,w")
    files(nodes__csv=NODES.replace(b"id,", b"key,"), edges__csv=edges)(tmp_path)
    said = [
        "nodes.csv: the node id is column 'key' (the first).",
        "edges.csv: source is column 'a' (the first), target is column 'b' (the second).",
        "edges.csv: column 'w' of the edges is not used; name the one with the weights with --weight.",
    ]
    graph = own.load("nodes.csv", edges="edges.csv")
    shown = json.loads(run("inspect", "nodes.csv", "edges.csv", "--json").stdout)["notes"]
    trained = run("train", "nodes.csv", "--edges", "edges.csv", "--method", "lpa").stdout
    for line in said:
        assert line in graph.meta["notes"]
        assert line in shown
        assert line in " ".join(trained.split())
    named = own.load("nodes.csv", edges="edges.csv", id="key", source="a", target="b", weight="w", label="label")
    assert not [note for note in named.meta["notes"] if "column" in note.lower()]


def test_half_of_the_ends_by_place_and_many_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    more = table(["a", "b", *(f"c{i}" for i in range(9))], [[f"n{i}", f"n{i + 1}", *"123456789"] for i in range(20)])
    files(edges__csv=more)(tmp_path)
    notes = own.load("nodes.csv", edges="edges.csv", source="a", weight="c0").meta["notes"]
    assert "edges.csv: target is column 'b' (the second)." in notes
    assert any("'c1', 'c2', 'c3', 'c4', 'c5', 'c6' and 2 more of the edges are not used." in note for note in notes)
    files()(tmp_path)
    notes = own.load("nodes.csv", edges="edges.csv").meta["notes"]
    assert notes[0] == "Columns: 'id' for the ids, 'label' for the labels, 'weight' for the weights, by name."


def test_a_graphml_attribute_called_node_id(tmp_path: Path) -> None:
    graph = nx.cycle_graph([f"n{i}" for i in range(12)])
    for i, node in enumerate(graph):
        graph.nodes[node].update({"node id": "same", "node id*": i, "label": "ab"[i % 2]})
    for at, (_, _, values) in enumerate(graph.edges(data=True)):
        values.update(source=at + 1.0, colour="red")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    made = own.load(tmp_path / "g.graphml")
    assert made.node_ids.tolist() == [f"n{i}" for i in range(12)]
    assert made.num_edges == 12
    assert any("g.graphml: columns 'source', 'colour' of the edges are not used" in n for n in made.meta["notes"])
    weighted = own.load(tmp_path / "g.graphml", weight="source")
    assert weighted.weights is not None
    assert sorted(set(weighted.weights.tolist())) == list(range(1, 13))


def test_what_a_file_holds_and_nothing_reads_is_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", **arrays(), edge_weights=np.ones(24))
    assert "g.npz: 'edge_weights' is not used." in own.load(tmp_path / "g.npz").meta["notes"]
    ring = torch.stack([torch.arange(24), (torch.arange(24) + 1) % 24])
    values = {"edge_index": ring, "y": torch.arange(24) % 2, "edge_attr": torch.ones(24, 3), "weight": torch.ones(24)}
    torch.save(values, tmp_path / "g.pt")
    assert "g.pt: 'weight', 'edge_attr' are not used." in own.load(tmp_path / "g.pt").meta["notes"]
    one = Data(edge_index=ring, y=torch.arange(24) % 2, edge_attr=torch.full((24, 1), 2.0))
    torch.save(one, tmp_path / "g.pt")
    assert "g.pt: edge_attr is taken as the edges' weights." in own.load(tmp_path / "g.pt").notes
