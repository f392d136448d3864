"""Saved networks on a partitioned graph: that of the fit says what training said, a later one what a whole one says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from partitioned_runs import SETTINGS, Whole, cut, graphs, trained
from typer.testing import CliRunner

from gdamn import GDAMN, Graph
from gdamn.cli import app
from gdamn.estimators.gdamn_inductive import on_graph
from gdamn.estimators.predictions import split_names
from gdamn.graph.order import renumbered
from gdamn.graph.parts import read_parts
from gdamn.model.fitted_state import edge_index
from gdamn.runs.run import run as train
from gdamn.runs.spec import RunSpec
from gdamn.system.scratch import scratch
from gdamn.using.partitioned.folder import PartitionedRun
from gdamn.using.partitioned.infer import answers, infer
from gdamn.using.partitioned.known import find_known

GRAPHS = graphs()
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gcn": ("plain", "gcn", {}),
    "gcn, sparse": ("weighted", "gcn", {}),
    "gcn, directed": ("directed", "gcn", {"epochs": 12, "layers": 3, "normalize": "standard"}),
    "sgc": ("weighted", "sgc", {"normalize": "idf"}),
    "appnp": ("plain", "appnp", {}),
    "gmnn": ("plain", "gmnn", {**SETTINGS, "kl_weight": 1.0}),
    "gdamn": ("plain", "gdamn", {}),
    "gdamn, weighted": ("weighted", "gdamn", {**SETTINGS, "attention_temperature": 2.0, "batch_norm": True}),
    "gdamn, directed": ("directed", "gdamn", {**SETTINGS, "reweight": "hard", "stable_norm": "row"}),
    "gdamn, appnp": ("plain", "gdamn", {**SETTINGS, "propagator": "appnp"}),
    "gdamn, features alone": (
        "plain",
        "gdamn",
        {**SETTINGS, "start": "features", "em_iterations": 0, "candidates": "all"},
    ),
}


@pytest.mark.parametrize("case", list(CASES))
def test_the_graph_of_the_fit_gets_the_answers_of_training(case: str, tmp_path: Path) -> None:
    name, method, settings = CASES[case]
    parts = cut(GRAPHS[name], tmp_path / "parts")
    if method == "gmnn":
        settings = {key: settings[key] for key in ("pretrain_epochs", "epochs", "em_iterations", "start", "threads")}
    run = trained(parts, tmp_path / "run", method, **settings)
    report = infer(run, 0, tmp_path / "again.parquet", parts, calibrate=False)
    found, whole = pd.read_parquet(tmp_path / "again.parquet"), Whole(run, GRAPHS[name])
    np.testing.assert_allclose(found.iloc[:, 4:].to_numpy(), whole.probabilities, atol=1e-5)
    assert list(found["split"]) == list(split_names(whole.graph))
    assert report["new_nodes"] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"parts", "run", "again.parquet"}


def as_model(run: PartitionedRun, whole: Whole) -> GDAMN:
    """The run as a model of the whole graph."""
    model = GDAMN(**SETTINGS)
    index = {"edge.index": edge_index(whole.graph), **{f"edge.{name}": x for name, x in whole.weights.items()}}
    arrays = {"probabilities": whole.probabilities, "pseudo_labels": whole.labels, **index}
    model.settings_, model.class_names_ = model.settings, whole.graph.class_names
    model.best_epoch_, model.history_ = run.best(0), run.history(0)
    model.tensors_ = {**arrays, **run.networks(0)[1]}
    return model


def earlier_of(later: Graph) -> Graph:
    """Most of the nodes and the edges between them; node 5 has other features."""
    kept = np.flatnonzero(later.train_mask | later.val_mask | (np.arange(later.num_nodes) % 4 > 0))
    number = np.full(later.num_nodes, -1)
    number[kept] = np.arange(len(kept))
    edges = number[np.stack([later.indices, later.rows])]
    x = np.array(later.features[kept])
    x[5] += 1
    about: dict[str, Any] = {f"{split}_mask": later.mask(split)[kept] for split in ("train", "val", "test")}
    about |= {"node_ids": later.node_ids[kept], "class_names": later.class_names, "directed": later.directed}
    return Graph.build(edges[:, (edges >= 0).all(axis=0)], x, later.labels[kept], **about)


@pytest.mark.parametrize("name", ["plain", "directed"])
def test_a_later_graph_gets_the_answers_of_a_whole_one(name: str, tmp_path: Path) -> None:
    """Of its nodes most are known; one has other features now."""
    later = GRAPHS[name]
    earlier = earlier_of(later)
    run = trained(cut(earlier, tmp_path / "parts"), tmp_path / "run")
    whole = Whole(run, earlier)
    parts = read_parts(cut(later, tmp_path / "later", seed=9))
    moved, _ = renumbered(later, np.concatenate([part.array("nodes") for part in parts.parts]))
    with scratch(tmp_path / "room") as room:
        known = find_known(parts, run.parts, room, most=50)
        number_of = {str(name): at for at, name in enumerate(whole.graph.node_ids)}
        wanted = np.array([number_of.get(str(each), -1) for each in moved.node_ids])
        wanted[wanted == number_of[str(earlier.node_ids[5])]] = -1
        assert known.numbers.tolist() == wanted.tolist()
        logits = answers(run, 0, parts, known, room, lambda *_: None)
        found = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert run.best(0)["iteration"] > 0  # q read the refined graph
    expected = on_graph(as_model(run, whole), moved, whole.graph, wanted, 1)
    np.testing.assert_allclose(found, expected.probabilities, atol=2e-5)
    out = tmp_path / "later.csv"
    result = CliRunner().invoke(app, ["predict", str(run.path), "--parts", str(parts.folder), "-o", str(out), "--json"])
    assert result.exit_code == 0, result.output
    table = pd.read_csv(out)
    new = np.where(wanted < 0, "new", split_names(whole.graph)[wanted])
    assert list(table["split"]) == list(new)
    assert list(table["node"]) == list(moved.node_ids)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [("nowhere", "is no partitioned graph"), ("narrow", "has 3 features"), ("classes", "has other classes")],
)
def test_graphs_that_do_not_fit_are_refused(other: str, sentence: str, tmp_path: Path) -> None:
    graph = GRAPHS["plain"]
    run = trained(cut(graph, tmp_path / "parts"), tmp_path / "run", "gcn", epochs=2)
    cut(replace(graph, features=np.array(graph.features)[:, :3]), tmp_path / "narrow")
    cut(replace(graph, class_names=("x", "y", "z")), tmp_path / "classes")
    words = ["predict", str(run.path), "--parts", str(tmp_path / other), "-o", str(tmp_path / "x.csv")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())


def test_other_propagators_and_whole_runs_are_refused(tmp_path: Path) -> None:
    parts = cut(GRAPHS["plain"], tmp_path / "parts")
    run = trained(parts, tmp_path / "run", "gdamn", **{**SETTINGS, "propagator": "sage", "epochs": 2})
    words = ["predict", str(run.path), "--parts", str(parts), "-o", str(tmp_path / "x.csv")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "only with a GCN, APPNP or SGC" in " ".join(result.output.split())
    train(RunSpec("karate", "lpa", (0,), 0.0, {}, {}), tmp_path / "karate")
    result = CliRunner().invoke(app, ["predict", str(tmp_path / "karate"), *words[2:]])
    assert result.exit_code == 2
    assert "--parts is for runs on partitioned graphs" in " ".join(result.output.split())
