"""The four commands: what they write and show, errors in one line, and names that can't steer a terminal."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from after_helpers import SCHEDULE, digits, part

from gdamn import Graph
from gdamn.cli import root as cli
from gdamn.text import safe, safe_json
from gdamn.using import predict as predictions
from gdamn.using.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("one_thread", "without_pages")


class Called(NamedTuple):
    code: int
    out: str
    err: str


class Command:
    """The command within this process, in a folder of its own."""

    def __init__(self, where: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.where, self.patch, self.capsys = where, monkeypatch, capsys
        monkeypatch.chdir(where)
        monkeypatch.setenv("COLUMNS", "120")

    def __call__(self, *args: object) -> Called:
        self.patch.setattr(sys, "argv", ["gdamn", *map(str, args)])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        shown = self.capsys.readouterr()
        return Called(int(ended.value.code or 0), shown.out, shown.err)

    def fails(self, *args: object) -> str:
        """The one sentence of a command that must fail and leave nothing behind."""
        before = sorted(self.where.rglob("*"))
        code, out, err = self(*args)
        assert code == 2
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert sorted(self.where.rglob("*")) == before
        return err


@pytest.fixture
def gdamn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("name", ["predict", "refine", "explain", "edges", "labels"])
def test_help_has_an_example(name: str, gdamn: Command) -> None:
    code, out, _ = gdamn(name, "--help")
    assert code == 0
    assert f"Example: gdamn {name}" in out


def test_the_command_as_a_process(run: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gdamn", "predict", str(run), "-o", str(tmp_path / "p.csv"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert json.loads(done.stdout)["nodes"] == 300
    assert (tmp_path / "p.csv").is_file()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predict(suffix: str, run: Path, gdamn: Command) -> None:
    done = gdamn("predict", run, "-o", f"p{suffix}")
    assert done.code == 0, done.err
    assert "cross-fitted" in done.out
    assert "test (read last)" in done.out
    assert "95 % interval" in done.out
    path = gdamn.where / f"p{suffix}"
    table = pd.read_csv(path) if suffix == ".csv" else pd.read_parquet(path)
    probabilities = table[["probability_0", "probability_1", "probability_2"]].to_numpy()
    assert np.allclose(probabilities.sum(1), 1, atol=1e-4)
    assert np.allclose(probabilities.max(1), table.confidence, atol=1e-5)
    folder = RunFolder(run)
    assert (table.predicted.astype(int) == folder.model(0).predict()).all()
    told = json.loads(gdamn("predict", run, "-o", f"p{suffix}", "--force", "--json", "--seed", 1).out)
    assert told["seeds"] == [1]
    for name, mask in (("validation", "val"), ("test", "test")):
        assert told[name]["interval_95"][0] < told[name]["accuracy"] <= told[name]["interval_95"][1]
        assert told[name]["nodes"] == int(folder.graph(1).mask(mask).sum())
    assert told["validation"]["nll_after"] <= told["validation"]["nll_before"]
    assert told["test"]["accuracy"] == folder.model(1).score_on(folder.graph(1))


def test_test_labels_change_nothing_that_is_written(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the error that is reported of them differs."""
    one = predictions.predict(RunFolder(run), [0])
    graph = one.graph
    scrambled = replace(graph, labels=np.where(graph.test_mask, (graph.labels + 1) % 3, graph.labels))
    monkeypatch.setattr(RunFolder, "graph", lambda _, seed: scrambled)
    two = predictions.predict(RunFolder(run), [0])
    assert all(np.array_equal(column, two.columns()[name]) for name, column in one.columns().items())
    different = {name for name in one.report if one.report[name] != two.report[name]}
    assert different == {"test"}


def test_raw_probabilities_are_the_saved_ones(run: Path, gdamn: Command) -> None:
    assert gdamn("predict", run, "-o", "raw.csv", "--raw").code == 0
    saved = RunFolder(run).model(0).predict_proba().max(axis=1)
    assert np.allclose(pd.read_csv(gdamn.where / "raw.csv").confidence, saved, atol=1e-5)


def test_one_confidence_at_every_door(run: Path, gdamn: Command) -> None:
    """predictions.csv of train, predict, explain, edges and the page's explorer say the same of every node."""
    from gdamn.report import write_run

    saved = pd.read_csv(run / "seed-0" / "predictions.csv", dtype={"node": str}).set_index("node").confidence
    raw = RunFolder(run).model(0).predict_proba().max(axis=1)
    assert np.abs(saved - raw).max() > 0.01  # calibrating did change something
    assert gdamn("predict", run, "-o", "p.csv").code == 0
    predicted = pd.read_csv(gdamn.where / "p.csv", dtype={"node": str}).set_index("node").confidence
    assert np.allclose(saved, predicted, atol=1e-5)
    node = saved.index[7]
    told = json.loads(gdamn("explain", run, node, "--json").out)
    assert told["confidence"] == pytest.approx(saved[node], abs=1e-5)
    for each in told["neighbours"]:
        assert each["confidence"] == pytest.approx(saved[each["node"]], abs=1e-5)
    listed = json.loads(gdamn("edges", run, "--suspicious", 9, "--json").out)["edges"]
    for row in listed:
        assert row["source_confidence"] == pytest.approx(saved[str(row["source"])], abs=1e-5)
    page = write_run(run, gdamn.where / "r.html", seed=0).read_text(encoding="utf-8")
    data = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    shown = np.array(data["nodes"]["share"]).reshape(-1, data["nodes"]["tops"])[:, 0] / 1000
    assert np.allclose(shown, saved[data["nodes"]["id"]], atol=6e-4)
    edges, nodes = data["edges"], data["nodes"]["id"]
    ranked = [{nodes[edges["a"][at]], nodes[edges["b"][at]]} for at in data["check"]["edges"]["edge"]]
    assert ranked[:9] == [{str(row["source"]), str(row["target"])} for row in listed]
    told = np.array(data["check"]["edges"]["suspicion"][:9]) / 1e4
    assert np.allclose(told, [row["suspicion"] for row in listed], atol=6e-5)


def test_the_mean_of_the_seeds(run: Path, gdamn: Command) -> None:
    refused = gdamn.fails("predict", run, "-o", "p.csv", "--ensemble")  # each seed has its own noise
    assert "different splits or edges" in refused
    same = ["wine", "--seeds", 2, "--split", 0, "--method", "gcn", "--out", "same", *settings(3)]
    assert gdamn("train", *same).code == 0
    told = json.loads(gdamn("predict", "same", "-o", "p.csv", "--ensemble", "--raw", "--json").out)
    assert told["seeds"] == [0, 1]
    both = [RunFolder(gdamn.where / "same").model(seed).predict_proba() for seed in (0, 1)]
    table = pd.read_csv(gdamn.where / "p.csv")
    assert np.allclose(table.iloc[:, 4:], np.mean(both, axis=0), atol=1e-4)


def settings(epochs: int) -> list[object]:
    return ["--set", f"epochs={epochs}", "--set", "threads=1"]


def test_refine(run: Path, gdamn: Command) -> None:
    told = json.loads(gdamn("refine", run, "--keep", "hard>0.5", "-o", "r.csv", "--json").out)
    rows = list(csv.DictReader((gdamn.where / "r.csv").open(newline="")))
    assert len(rows) == 2 * told["edges_after"] < 2 * told["edges_before"]
    assert all(float(row["hard"]) > 0.5 for row in rows)
    for suffix in ("parquet", "npz", "pt", "graphml"):
        done = gdamn("refine", run, "--top", 3, "-o", f"r.{suffix}")
        assert done.code == 0, done.err
        assert "edges kept" in done.out
        assert (gdamn.where / f"r.{suffix}").stat().st_size > 0


def test_explain(run: Path, gdamn: Command) -> None:
    done = gdamn("explain", run, 17, "--plot", "n.svg", "--most", 3)
    assert done.code == 0, done.err
    for part_of_it in ("Opinions", "pseudo-label", "What counted (exact", "(itself)", "Drawn to n.svg"):
        assert part_of_it in done.out
    told = json.loads(gdamn("explain", run, 17, "--json").out)
    assert told["node"] == "17"
    assert sum(each["share"] for each in [told["own"], told["bias"], *told["neighbours"]]) == pytest.approx(1)


def test_edges(run: Path, gdamn: Command) -> None:
    done = gdamn("edges", run, "--suspicious", 5, "-o", "e.csv")
    assert done.code == 0, done.err
    rows = list(csv.DictReader((gdamn.where / "e.csv").open(newline="")))
    told = json.loads(gdamn("edges", run, "--suspicious", 5, "--json").out)["edges"]
    assert [row["source"] for row in rows] == [str(each["source"]) for each in told]
    assert len(rows) == 5


WRONG = [
    ("predict nosuch -o p.csv", "no run at 'nosuch'"),
    ("predict file -o p.csv", "is a file, not a run"),
    ("predict empty -o p.csv", "has no config.toml"),
    ("predict hollow -o p.csv", "has no model"),
    ("predict damaged -o p.csv", "damaged"),
    ("predict cut -o p.csv", "damaged"),
    ("predict RUN -o p.txt", ".csv or .parquet"),
    ("predict RUN -o p", ".csv or .parquet"),
    ("predict RUN -o file.csv", "--force"),
    ("predict RUN -o file/p.csv", "is a file, not a folder"),
    ("predict RUN -o folder.csv --force", "is a folder"),
    ("predict RUN -o p.csv --seed 7", "has no seed 7; it has 0, 1"),
    ("predict RUN -o p.csv --seed 0 --ensemble", "only one"),
    ("predict RUN -o p.csv --nodes n.csv", "data set sbm"),
    ("predict RUN -o p.csv --edges e.csv", "data set sbm"),
    ("refine RUN -o r.xyz", ".graphml"),
    ("refine RUN -o r.csv --keep hard>>1", "can't be read"),
    ("refine RUN -o r.csv --keep hard>1 --top 3", "not both"),
    ("refine RUN -o r.csv --top 0", "--top"),
    ("refine gcn -o r.csv", "no attention"),
    ("explain RUN nosuch", "no node 'nosuch'"),
    ("explain RUN 299999", "did you mean"),
    ("explain RUN 1 --plot x.pdf", ".png or .svg"),
    ("explain RUN 1 --most 0", "--most"),
    ("explain gcn 1", "no attention"),
    ("edges RUN --suspicious 0", "--suspicious"),
    ("edges RUN -o e.npz", ".csv or .parquet"),
    ("edges gcn", "no attention"),
]


@pytest.fixture(scope="module")
def broken(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders that aren't runs, and runs that aren't whole."""
    where = tmp_path_factory.mktemp("broken")
    (where / "file").write_text("x")
    (where / "file.csv").write_text("mine")
    (where / "empty").mkdir()
    (where / "folder.csv").mkdir()
    for name in ("hollow", "damaged", "cut", "gcn"):
        shutil.copytree(run, where / name)
    for model in (where / "hollow").glob("seed-*/model.gdamn"):
        model.unlink()
    whole = (where / "cut/seed-0/model.gdamn").read_bytes()
    (where / "cut/seed-0/model.gdamn").write_bytes(whole[: len(whole) // 2])
    from safetensors.numpy import load, save

    tensors = load(whole)
    header = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])["__metadata__"]
    (where / "damaged/seed-0/model.gdamn").write_bytes(
        save({name: value for name, value in tensors.items() if name != "edge.soft"}, metadata=header)
    )
    plain = {name: value for name, value in tensors.items() if name.startswith("q.") or name == "probabilities"}
    (where / "gcn/seed-0/model.gdamn").write_bytes(save(plain, metadata=header))
    return where


@pytest.mark.parametrize(("args", "told"), WRONG)
def test_errors(args: str, told: str, run: Path, broken: Path, gdamn: Command) -> None:
    gdamn.where = broken
    gdamn.patch.chdir(broken)
    message = gdamn.fails(*(run if word == "RUN" else word for word in args.split()))
    assert told in message
    assert (broken / "file.csv").read_text() == "mine"


def test_changed_data_are_noticed(run: Path, gdamn: Command, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "other")
    config = (tmp_path / "other/config.toml").read_text()
    for old, new, told in (
        ("noise = 0.5", "noise = 0.6", "other edges"),
        ("num_nodes = 300", "num_nodes = 302", "knows 300 nodes"),
        ("num_classes = 3", "num_classes = 4", "other classes"),
    ):
        (tmp_path / "other/config.toml").write_text(config.replace(old, new))
        assert told in gdamn.fails("predict", "other", "-o", "p.csv")


def test_methods_without_attention_are_predicted_too(gdamn: Command) -> None:
    small = ["--option", "num_nodes=200", "--option", "num_classes=3", *settings(5)]
    assert gdamn("train", "sbm", "--method", "lpa", "--out", "lpa", "--json", *small[:4]).code == 0
    assert gdamn("predict", "lpa", "-o", "p.csv").code == 0
    assert "method 'lpa' has no attention" in gdamn.fails("refine", "lpa", "-o", "r.csv")


ODD = ["[red]x", "\x1b[31m", "a\tb", "\u202eright", "\x9b31m", "=1+1", "[/bold]"]


def write_files(graph: Graph, where: Path, name: str) -> None:
    """A graph as two tables."""
    ids = graph.node_ids.tolist()
    rows = [
        [ids[at], graph.class_names[graph.labels[at]] if graph.labels[at] >= 0 else "", *graph.features[at].tolist()]
        for at in range(graph.num_nodes)
    ]
    titles = ["id", "kind", *(f"x{at}" for at in range(graph.num_features))]
    once = graph.indices < graph.rows
    pairs = [(ids[a], ids[b]) for a, b in zip(graph.indices[once], graph.rows[once], strict=True)]
    for path, head, lines in ((f"{name}-nodes.csv", titles, rows), (f"{name}-edges.csv", ["source", "target"], pairs)):
        with (where / path).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *lines])


def test_own_files_new_nodes_and_odd_names(gdamn: Command) -> None:
    """From tables to labels of nodes that the fit never saw, with names that would steer a terminal."""
    graph = digits(600, 0.5, 0)
    ids = graph.node_ids.astype(object)
    ids[: len(ODD)] = ODD
    graph = replace(graph, node_ids=ids, class_names=tuple(f"[bold]{at}\x1b[2J" for at in range(10)))
    held = np.arange(3, 600, 10)
    fitted = np.setdiff1d(np.arange(600), held)
    write_files(part(graph, fitted), gdamn.where, "old")
    write_files(graph, gdamn.where, "new")
    schedule = [word for key, value in SCHEDULE.items() for word in ("--set", f"{key}={str(value).lower()}")]
    old = ["old-nodes.csv", "--edges", "old-edges.csv", "--label", "kind", "--id", "id", "--no-reference"]
    done = gdamn("train", *old, "--out", "run", "--set", "normalize=standard", "--set", "start=graph", *schedule)
    assert done.code == 0, done.err

    new = ["--nodes", "new-nodes.csv", "--edges", "new-edges.csv"]
    shown = [gdamn("predict", "run", *new, "-o", "p.csv")]
    assert shown[0].code == 0, shown[0].err
    with (gdamn.where / "p.csv").open(newline="", encoding="utf-8") as file:
        table = {row["node"]: row for row in csv.DictReader(file)}
    assert set(table) == set(ids.tolist())
    of_new = [table[ids[at]] for at in held]
    assert {row["split"] for row in of_new} == {"new"}
    assert "new" not in {table[ids[at]]["split"] for at in fitted}
    right = [row["predicted"] == graph.class_names[graph.labels[at]] for at, row in zip(held, of_new, strict=True)]
    assert np.mean(right) > 0.75

    shown.append(gdamn("predict", "run", "--edges", "old-edges.csv", "-o", "same.csv", "--json"))
    saved = pd.read_csv(gdamn.where / "run/seed-0/predictions.csv")
    same = pd.read_csv(gdamn.where / "same.csv")
    assert np.allclose(saved.confidence, same.confidence, atol=1e-5)  # the same graph under the name of a new one

    shown += [gdamn("explain", "run", ODD[0], "--plot", "n.png"), gdamn("explain", "run", ODD[1])]
    shown += [gdamn("explain", "run", ODD[1], "--json"), gdamn("edges", "run", "--suspicious", 400)]
    shown += [gdamn("edges", "run", "--suspicious", 400, "--json"), gdamn("refine", "run", "-o", "r.csv")]
    shown.append(gdamn("predict", "run", "-o", "q.parquet", "--json"))
    for each in shown:
        assert each.code == 0, each.err
        assert each.out.replace("\n", "").isprintable()
    assert "Node [red]x: [bold]" in shown[2].out
    assert r"Node \x1b[31m: " in shown[3].out
    assert json.loads(shown[4].out)["node"] == ODD[1]
    assert gdamn.fails("explain", "run", "\x1b[32m").replace("\n", "").isprintable()
    assert "GraphML can't hold" in gdamn.fails("refine", "run", "-o", "r.graphml")


def test_unprintable_text_is_spelled_out() -> None:
    assert safe("a\x1b[31m\x9b\u202e\ud800é[red]") == r"a\x1b[31m\x9b\u202e\ud800é[red]"
    text = json.dumps({"a": "\x7f\x9b\u2028 é"}, ensure_ascii=False, indent=1)
    assert json.loads(safe_json(text)) == json.loads(text)
    assert re.fullmatch(r"[\n -~é]*", safe_json(text))
