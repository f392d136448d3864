"""Runs on own files: written, repeated bit for bit, refused where files changed, and carried to new files."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from broken_graphs import good_npz
from broken_tables import EDGES, NODES, files
from typer.testing import CliRunner

from gdamn import GdamnError
from gdamn.cli import root as cli
from gdamn.data import files as own
from gdamn.data import load
from gdamn.runs.spec import RunSpec
from gdamn.using.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("without_pages")

FEW = ["--set", "pretrain_epochs=3", "--set", "epochs=2", "--set", "em_iterations=1", "--threads", "1"]
FILES = ["nodes.csv", "--edges", "edges.csv", "--label", "label", "--no-reference"]
TRAIN = ["train", *FILES, *FEW]
LPA = ["train", *FILES, "--method", "lpa"]


def test_a_giant_star_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{'ab'[i % 2]}\n" for i in range(3000))
    Path("nodes.csv").write_text("id,label\n" + rows)
    Path("edges.csv").write_text("source,target\n" + "".join(f"0,{i}\n" for i in range(1, 3000)))
    done = CliRunner().invoke(cli.app, LPA)
    assert done.exit_code == 0, done.stderr
    done = CliRunner().invoke(cli.app, ["inspect", "nodes.csv", "edges.csv"])
    assert "One node is joined to 100% of all others" in done.stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    files()(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(cli.app, [*TRAIN, "--seeds", "2", "--val-share", "0.2"])
    assert done.exit_code == 0, done.stderr
    assert "Features: 'age' is standardised" in done.stdout
    assert "held out for validation" in done.stdout
    return folder


def hashes(run: Path) -> dict[str, str]:
    found = [*run.glob("seed-*/*.csv"), *run.glob("seed-*/model.gdamn"), run / "encoder.json", run / "config.toml"]
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def test_train_writes_names_and_what_was_done(trained: Path) -> None:
    run = trained / "runs" / "nodes-gdamn"
    predictions = pd.read_csv(run / "seed-0" / "predictions.csv")
    assert predictions["node"].tolist() == [f"n{i}" for i in range(24)]
    assert set(predictions["predicted"]) <= {"a", "b"}
    assert set(pd.read_csv(run / "seed-0" / "edges.csv")["source"]) <= {f"n{i}" for i in range(24)}
    encoder = json.loads((run / "encoder.json").read_text())
    assert encoder["class_names"] == ["a", "b"]
    assert encoder["numeric"][0]["name"] == "age"
    summary = json.loads((run / "summary.json").read_text())
    assert any("held out" in note for note in summary["notes"])


def test_the_config_repeats_the_run_bit_for_bit_from_any_folder(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trained / "runs" / "nodes-gdamn"
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, ["train", "--config", str(run / "config.toml"), "--out", "again"])
    assert done.exit_code == 0, done.stderr
    assert hashes(Path("again")) == hashes(run)


def test_files_that_changed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files()(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli.app, LPA).exit_code == 0
    run = Path("runs/nodes-lpa")
    Path("edges.csv").write_bytes(EDGES + b"n1,n9,1\n")
    done = CliRunner().invoke(cli.app, ["train", "--config", str(run / "config.toml"), "--out", "again"])
    assert done.exit_code == 2
    assert "edges.csv" in done.stderr
    assert "SHA-256" in done.stderr
    assert not Path("again").exists()
    with pytest.raises(GdamnError, match="SHA-256"):
        RunFolder(run).graph(0)
    fresh = CliRunner().invoke(cli.app, [*LPA, "--out", "new"])
    assert fresh.exit_code == 0, fresh.stderr


def test_a_run_gives_the_graph_of_a_seed_again(trained: Path) -> None:
    run = trained / "runs" / "nodes-gdamn"
    spec = RunSpec.from_toml(run / "config.toml")
    for seed in (0, 1):
        split = pd.read_csv(run / f"seed-{seed}" / "predictions.csv")["split"]
        graph = RunFolder(run).graph(seed)
        assert np.array_equal(graph.val_mask, split == "val")
    assert RunFolder(run).graph(0).meta["split"] == "held out with seed 0"
    assert spec.options["label"] == "label"


def test_a_run_reads_new_files_as_it_read_its_own(trained: Path, tmp_path: Path) -> None:
    run = trained / "runs" / "nodes-gdamn"
    old = RunFolder(run).graph(0)
    (tmp_path / "new.csv").write_text("city,extra,id,age\nX,?,n0,0.0\nZ,?,new,0.5\nQ,?,n2,0.5\n")
    (tmp_path / "links.csv").write_text("source,target,weight\nn0,new,2\nnew,n2,1\n")
    graph: Any = RunFolder(run).new_graph(tmp_path / "new.csv", tmp_path / "links.csv")
    assert graph.class_names == old.class_names
    assert graph.labels.tolist() == [-1, -1, -1]
    assert not graph.train_mask.any()
    assert np.array_equal(graph.features[0], old.features[0])  # n0 has the same age and city as before
    assert graph.features[2, 1:].tolist() == [0, 0, 0]  # a city that training had not
    assert graph.node_ids.tolist() == ["n0", "new", "n2"]
    (tmp_path / "labelled.csv").write_text("id,label,age,city\nn0,b,0,X\nnew,zebra,1,Y\nn2,,1,Y\n")
    with pytest.raises(GdamnError, match="zebra"):
        RunFolder(run).new_graph(tmp_path / "labelled.csv", tmp_path / "links.csv")


def test_a_run_on_a_named_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli.app, ["train", "karate", "--method", "lpa", "--first-seed", "4"]).exit_code == 0
    run = RunFolder(Path("runs/karate-lpa"))
    graph = run.graph(4)
    assert np.array_equal(graph.train_mask, load("karate", seed=4).train_mask)
    with pytest.raises(GdamnError, match="karate"):
        run.new_graph(tmp_path / "new.csv", None)


def test_structural_features_are_carried_to_new_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files()(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, [*LPA, "--features", "none"])
    assert done.exit_code == 0, done.stderr
    run = Path("runs/nodes-lpa")
    old = RunFolder(run).graph(0)
    Path("more.csv").write_bytes(NODES + b"new,,1,X\n")
    Path("links.csv").write_bytes(EDGES + b"new,n3,1\n")
    graph: Any = RunFolder(run).new_graph(Path("more.csv"), Path("links.csv"))
    assert np.allclose(graph.features[:24, 1:], old.features[:, 1:], atol=1e-6)
    assert np.abs(graph.features[24, 1:]).sum() > 0
    assert any("approximate" in note for note in graph.meta["notes"])


def test_compare_reads_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files()(tmp_path)
    monkeypatch.chdir(tmp_path)
    options = ["--option", "edges=edges.csv", "--option", "label=label", "--option", "test_share=0.3"]
    args = ["compare", "nodes.csv", *options, "--methods", "lpa,logreg", "--seeds", "2", "--out", "cmp"]
    done = CliRunner().invoke(cli.app, [*args, "--set", "epochs=2"])
    assert done.exit_code == 0, done.stderr
    assert len(json.loads(Path("cmp/compare.json").read_text())["results"]) == 2


def test_the_command_line_counts_before_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files()(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli.app, LPA).exit_code == 0
    args = ["train", "--config", "runs/nodes-lpa/config.toml", "--test-share", "0.3", "--features", "age", "--out", "b"]
    done = CliRunner().invoke(cli.app, [*args, "--json"])
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["test_accuracy"]["mean"] is not None
    assert summary["config"]["options"]["features"] == ["age"]
    assert (
        summary["config"]["options"]["sha256"]
        == RunSpec.from_toml(Path("runs/nodes-lpa/config.toml")).options["sha256"]
    )


def test_other_commands_take_a_graph_in_one_file_and_refuse_what_they_can_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("graph.npz").write_bytes(good_npz())
    shown = CliRunner().invoke(cli.app, ["data", "info", "graph.npz"])
    assert shown.exit_code == 0, shown.stderr
    assert "24" in shown.stdout
    refused = CliRunner().invoke(cli.app, ["tune", "nodes.csv"])
    assert refused.exit_code == 2
    assert "There is no file 'nodes.csv'" in refused.stderr


def test_a_directed_graphml_is_told(tmp_path: Path) -> None:
    graph = nx.DiGraph([(i, (i + 1) % 20) for i in range(20)])
    nx.set_node_attributes(graph, {i: "ab"[i % 2] for i in range(20)}, "label")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    both, one = (own.load(tmp_path / "g.graphml", directed=directed) for directed in (False, True))
    assert any("--directed" in note for note in both.meta["notes"])
    assert not any("--directed" in note for note in one.meta["notes"])
    assert (both.directed, one.directed) == (False, True)


def test_an_encoder_that_is_a_pipe_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading it would wait for ever."""
    files()(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli.app, LPA).exit_code == 0
    encoder = Path("runs/nodes-lpa/encoder.json")
    encoder.unlink()
    os.mkfifo(encoder)
    with pytest.raises(GdamnError, match=r"encoder.json' is not a regular file"):
        RunFolder(encoder.parent).new_graph(Path("nodes.csv"), Path("edges.csv"))
    encoder.unlink()
    encoder.mkdir()
    with pytest.raises(GdamnError, match=r"encoder.json' is a folder"):
        RunFolder(encoder.parent).new_graph(Path("nodes.csv"), Path("edges.csv"))
    encoder.rmdir()
    with pytest.raises(GdamnError, match="is 'runs/nodes-lpa' a run on own files"):
        RunFolder(encoder.parent).new_graph(Path("nodes.csv"), Path("edges.csv"))
