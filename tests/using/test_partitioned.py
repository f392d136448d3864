"""Runs on partitioned graphs: predict, refine and edges say what the ordinary functions say of the whole graph."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from partitioned_runs import Whole, cut, graphs, trained
from typer.testing import CliRunner

from gdamn import Graph
from gdamn.cli import app
from gdamn.estimators.predictions import Predictions, split_names
from gdamn.estimators.selection import chosen_entries
from gdamn.model.fitted_state import FittedState, edge_index
from gdamn.model.temperature import fit_temperature, scaled
from gdamn.using.partitioned.folder import PartitionedRun
from gdamn.using.partitioned.spread import StreamedSpread
from gdamn.using.predict import describe
from gdamn.using.refine import Refined, columns, spread
from gdamn.using.suspicious import suspicious

GRAPHS = graphs()


@pytest.fixture(scope="module", params=list(GRAPHS))
def fitted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[PartitionedRun, Whole]:
    folder = tmp_path_factory.mktemp(request.param)
    run = trained(cut(GRAPHS[request.param], folder / "parts"), folder / "run")
    return run, Whole(run, GRAPHS[request.param])


@pytest.fixture(scope="module")
def gcn(tmp_path_factory: pytest.TempPathFactory) -> PartitionedRun:
    folder = tmp_path_factory.mktemp("gcn")
    return trained(cut(GRAPHS["plain"], folder / "parts"), folder / "run", "gcn")


def gdamn(*words: object, code: int = 0) -> str:
    """What a command prints."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    assert not isinstance(result.exception, Exception) or isinstance(result.exception, SystemExit)
    return result.stdout if code == 0 else " ".join(result.output.split())


def same_table(found: pd.DataFrame, wanted: dict[str, Any]) -> None:
    assert list(found) == list(wanted)
    for name, values in wanted.items():
        if np.asarray(values).dtype.kind == "f":
            np.testing.assert_allclose(found[name], values, rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            assert list(map(str, found[name])) == list(map(str, values)), name


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predict_writes_the_table_of_a_whole_graph(
    fitted: tuple[PartitionedRun, Whole], tmp_path: Path, suffix: str
) -> None:
    run, whole = fitted
    out = tmp_path / f"predictions{suffix}"
    report = json.loads(gdamn("predict", run.path, "-o", out, "--json"))
    graph = whole.graph
    temperature = fit_temperature(whole.probabilities[graph.val_mask], graph.labels[graph.val_mask])
    calibrated = scaled(whole.probabilities, temperature.value)
    wanted = Predictions(graph, calibrated, split_names(graph), temperature, {}).columns()
    same_table(pd.read_csv(out) if suffix == ".csv" else pd.read_parquet(out), wanted)
    told = describe(whole.probabilities, graph, temperature)
    for key in ("temperature", "warning"):
        assert report[key] == pytest.approx(told[key])
    for key in ("validation", "test"):
        assert report[key] == {
            name: None if name == "ece_after_cross_fitted" else pytest.approx(value, rel=1e-6)
            for name, value in told[key].items()
        }
    assert sum(report["predicted"].values()) == report["nodes"] == graph.num_nodes


def test_predict_without_calibration(gcn: PartitionedRun, tmp_path: Path) -> None:
    out = tmp_path / "raw.parquet"
    gdamn("predict", gcn.path, "-o", out, "--raw")
    raw = Whole(gcn, GRAPHS["plain"]).probabilities
    np.testing.assert_allclose(pd.read_parquet(out)["confidence"], raw.max(1), rtol=1e-5)
    assert "exists" in gdamn("predict", gcn.path, "-o", out, code=2)
    gdamn("predict", gcn.path, "-o", out, "--force")
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("rule", [{}, {"keep": "hard>middle"}, {"keep": "stable<=0.1"}, {"top": 2}, {"top": 50}])
def test_refine_keeps_what_it_keeps_of_a_whole_graph(
    fitted: tuple[PartitionedRun, Whole], tmp_path: Path, rule: dict[str, Any]
) -> None:
    run, whole = fitted
    graph, weights = whole.graph, whole.weights
    index = edge_index(graph)
    rule = {name: str(value).replace("middle", str(np.median(weights["hard"]))) for name, value in rule.items()}
    rule |= {"top": int(rule["top"])} if "top" in rule else {}
    chosen = chosen_entries(index, weights, graph.num_nodes, **rule, directed=graph.directed) & (weights["stable"] > 0)
    kept = {name: values[chosen] for name, values in weights.items()}
    refined = Refined(chosen, index[:, chosen].astype(np.int64), kept, {}, index, weights, graph)
    out = tmp_path / "refined.parquet"
    words = [word for name, value in rule.items() for word in (f"--{name}", value)]
    report = json.loads(gdamn("refine", run.path, *words, "-o", out, "--json"))
    same_table(pd.read_parquet(out), columns(refined))
    for key, value in refined.report().items():
        assert report[key] == value or report[key] == {k: pytest.approx(v) for k, v in value.items()}, key
    if "hard" in rule.get("keep", "") or rule.get("top") == 2:
        assert 0 < report["edges_after"] < report["edges_before"]
    assert list(tmp_path.iterdir()) == [out]


def test_edges_come_in_the_order_of_a_whole_graph(fitted: tuple[PartitionedRun, Whole], tmp_path: Path) -> None:
    run, whole = fitted
    graph = whole.graph
    state = FittedState(pseudo_labels=whole.labels, edge_index=edge_index(graph), edge_weights=whole.weights)
    model: Any = SimpleNamespace(state_=state, edge_weights_=whole.weights, method="gdamn")
    temperature = run.temperature(0)
    calibrated = scaled(whole.probabilities, temperature.value)
    predictions = Predictions(graph, calibrated, split_names(graph), temperature, {})
    wanted = pd.DataFrame(suspicious(model, graph, predictions, 40))
    out = tmp_path / "check.parquet"
    told = json.loads(gdamn("edges", run.path, "--suspicious", 40, "-o", out, "--json"))
    found = pd.read_parquet(out)
    assert len(told["edges"]) == len(found) == 40
    assert list(found) == list(wanted)
    np.testing.assert_allclose(found["suspicion"], wanted["suspicion"], atol=1e-7)
    if not graph.directed:  # the parts' order turns some edges around
        position = {str(name): at for at, name in enumerate(ids_of_whole(graph, run))}
        turned = [position[str(s)] > position[str(t)] for s, t in zip(wanted["source"], wanted["target"], strict=True)]
        for name in ("", "_predicted", "_confidence"):
            one, other = f"source{name}", f"target{name}"
            wanted.loc[turned, [one, other]] = wanted.loc[turned, [other, one]].to_numpy()
    same_table(found, {name: wanted[name].to_numpy() for name in wanted})


def ids_of_whole(graph: Graph, run: PartitionedRun) -> Any:
    """The nodes' ids in the order of the graph that was cut."""
    numbers = np.concatenate([part.array("nodes") for part in run.parts.parts])
    return graph.node_ids[np.argsort(numbers)]


def test_a_run_without_attention_refuses(gcn: PartitionedRun, tmp_path: Path) -> None:
    assert "has no attention to refine" in gdamn("refine", gcn.path, "-o", tmp_path / "r.csv", code=2)
    assert "has no attention to judge" in gdamn("edges", gcn.path, code=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words", [["explain", "RUN", "3"], ["labels", "RUN"], ["suggest", "RUN"], ["review", "RUN", "--no-open"]]
)
def test_what_needs_the_whole_graph_says_what_to_do(gcn: PartitionedRun, words: list[str]) -> None:
    told = gdamn(*(gcn.path if word == "RUN" else word for word in words), code=2)
    assert "was trained on a partitioned graph" in told
    assert "use gdamn predict, refine, edges or report" in told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["refine", "RUN", "--add", "2", "-o", "x.csv"], "leave out --add"),
        (["refine", "RUN", "-o", "x.npz"], "refined as a table: .csv or .parquet"),
        (["predict", "RUN", "--nodes", "n.csv", "-o", "x.csv"], "--nodes can't be used; see --parts"),
        (["predict", "RUN", "--ensemble", "-o", "x.csv"], "--ensemble can't be used"),
        (["predict", "RUN", "--seed", "3", "-o", "x.csv"], "has no seed 3"),
        (["predict", "RUN", "-o", "RUN/seed-0/predictions/part-00000.parquet", "--force"], "a file of the run"),
        (["inspect", "PARTS"], "is a partitioned graph; gdamn train takes it, and here the whole graph is needed"),
    ],
)
def test_what_a_partitioned_run_refuses(
    gcn: PartitionedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"RUN": str(gcn.path), "PARTS": gcn.spec.dataset}
    for name, path in names.items():
        words = [word.replace(name, path) for word in words]
    assert sentence in gdamn(*words, code=2)


def test_missing_and_damaged_files_have_their_sentence(tmp_path: Path) -> None:
    run = trained(cut(GRAPHS["plain"], tmp_path / "parts"), tmp_path / "run")
    seed, out = run.path / "seed-0", tmp_path / "x.csv"
    (seed / "probabilities" / "part-00001.npy").write_bytes(b"nothing")
    assert "part-00001.npy' can't be read" in gdamn("predict", run.path, "-o", out, code=2)
    (seed / "probabilities" / "part-00001.npy").unlink()
    assert "copy the files of every machine" in gdamn("predict", run.path, "-o", out, code=2)
    (seed / "edges" / "part-00002.parquet").write_bytes(b"nothing")
    assert "part-00002.parquet' can't be read" in gdamn("refine", run.path, "-o", out, code=2)
    (seed / "networks.safetensors").write_bytes(b"nothing")
    assert "holds no networks that gdamn saved" in gdamn("predict", run.path, "-o", out, code=2)
    (tmp_path / "parts").rename(tmp_path / "moved")
    assert "There is no partitioned graph at" in gdamn("predict", run.path, "-o", out, code=2)
    assert not out.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"moved", "run"}


def test_a_run_in_the_place_of_another_leaves_nothing_of_it(tmp_path: Path) -> None:
    """Fewer parts, no attention, and then a whole graph."""
    parts = cut(GRAPHS["plain"], tmp_path / "parts")
    trained(parts, tmp_path / "run")
    seed = tmp_path / "run" / "seed-0"
    (tmp_path / "run" / "config.toml").unlink()
    (tmp_path / "run" / "summary.json").unlink()
    (seed / "predictions" / "part-00009.parquet").write_bytes(b"of a graph with more parts")
    trained(parts, tmp_path / "run", "gcn")
    kinds = {path.name for path in seed.iterdir()}
    assert kinds == {"history.jsonl", "networks.safetensors", "predictions", "probabilities"}
    assert not (seed / "predictions" / "part-00009.parquet").exists()
    from gdamn.runs.run import run as train
    from gdamn.runs.spec import RunSpec

    for name in ("config.toml", "summary.json"):
        (tmp_path / "run" / name).unlink()
    train(RunSpec("karate", "lpa", (0,), 0.0, {}, {}), tmp_path / "run")
    assert {path.name for path in seed.iterdir()} == {"history.jsonl", "model.gdamn", "predictions.csv"}


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000, 1001])
def test_a_streamed_spread_is_that_of_all_values(count: int) -> None:
    values = np.random.default_rng(count).choice([0.0, 0.25, 0.2500001, 1e-9, 1.0, 0.7], count).astype(np.float32)
    streamed = StreamedSpread()
    for step in (streamed.count, streamed.place):
        for block in np.array_split(values, 3):
            step(block)
    assert streamed.report() == spread(values)
