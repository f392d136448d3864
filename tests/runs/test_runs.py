"""Runs: their description, their folder, and seeds over processes. Models here are fakes; test_cli has real ones."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import gdamn
from gdamn.errors import ConfigError, DataError, OutputError, TrainingError
from gdamn.graph.graph import Graph
from gdamn.runs import pool
from gdamn.runs import run as runs
from gdamn.runs.execution import Execution
from gdamn.runs.spec import RunSpec
from gdamn.system import io

PARAMS = {"seed": 0, "device": "cpu", "epochs": 3, "learning_rate": 1e-05, "hard": True}


class FakeModel:
    """Predicts the label that it is told, but for test nodes with seed 2; planted edges get a low weight."""

    protocol_: ClassVar[dict[str, Any]] = {"split": "fixed", "selection": "last epoch", "seed": 0}
    best_epoch_: ClassVar[dict[str, Any]] = {}
    seconds_ = 0.5
    epochs_ = 3
    attention = True

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params

    def fit(self, graph: Graph, progress: Any = None) -> FakeModel:
        self.graph = graph
        self.history_ = [{"phase": "pre-train", "epoch": epoch, "loss": 1 / (1 + epoch)} for epoch in range(3)]
        if progress is not None:
            for record in self.history_:
                progress("pre-train", record["epoch"], 3, record)
        return self

    @property
    def edge_weights_(self) -> dict[str, Any] | None:
        weight = np.where(self.graph.meta["planted"], 0.1, 0.9).astype(np.float32)
        return {"hard": weight, "soft": weight / 2, "stable": weight / 3} if self.attention else None

    def predict(self, names: bool = True) -> np.ndarray:
        wrong = self.graph.test_mask & (self.params["seed"] == 2)
        return np.where(wrong, 0, self.graph.labels)

    def predict_proba(self) -> np.ndarray:
        return (0.25 + 0.5 * np.eye(3, dtype=np.float32))[self.graph.labels]

    def _check_nodes(self, graph: Graph) -> None:
        assert graph.num_nodes == self.graph.num_nodes

    def get_params(self) -> dict[str, Any]:
        return self.params

    def save(self, path: Path) -> None:
        io.write_text(path, "model")


def small_graph(name: str, data_root: Any = None, seed: int = 0, noise: float = 0.0, **options: Any) -> Graph:
    if name != "small":
        raise DataError(f"There is no data set '{name}'.")
    edges = np.array([[0, 1, 2, 0], [1, 2, 3, 3]])
    graph = Graph.build(
        edges,
        np.eye(4),
        [0, 0, 1, 2],
        train_mask=[0],
        val_mask=[1],
        test_mask=[2],
        node_ids=["a", "b,c", "d", "e"],
        class_names=["x", "y", "z"],
        meta={"split": options.get("split", seed)},
    )
    return replace(graph, meta={**graph.meta, "planted": graph.rows + graph.indices == 5})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(method: str, dataset: str | None, *, seed: int, overrides: dict[str, Any]) -> FakeModel:
        unknown = set(overrides) - set(PARAMS)
        if unknown:
            raise ConfigError(f"There is no setting '{unknown.pop()}'.")
        return FakeModel({**PARAMS, **overrides, "seed": seed})

    monkeypatch.setattr("gdamn.estimators.registry.make", make)
    monkeypatch.setattr(
        gdamn,
        "data",
        SimpleNamespace(load=small_graph, DATASETS={"small": SimpleNamespace(split="random", splits=())}),
        raising=False,
    )


def test_spec_round_trips_through_toml(tmp_path: Path) -> None:
    spec = RunSpec("cora", "gcn", (3, 4), 0.5, {"split": "random"}, {"rate": 1e-05, "on": True, "n": 3, "name": 'a"b'})
    (tmp_path / "config.toml").write_text(spec.to_toml(), encoding="utf-8")
    assert RunSpec.from_toml(tmp_path / "config.toml") == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset = ", "isn't a TOML file"),
        ("method = 'gcn'", "names no data set"),
        ("dataset = 'cora'\nepoch = 3", "unknown entry 'epoch'"),
        ("dataset = 5", "wrong type"),
        ("dataset = 'cora'\nnoise = true", "wrong type"),
        ("dataset = 'cora'\nnoise = -1", "0 or more"),
        ("dataset = 'cora'\nnoise = nan", "0 or more"),
        ("dataset = 'cora'\nseeds = []", "at least one seed"),
        ("dataset = 'cora'\nseeds = [1, 1]", "differ"),
        ("dataset = 'cora'\nseeds = [-1]", "whole numbers"),
        ("dataset = 'cora'\nseeds = [0.5]", "whole numbers"),
    ],
)
def test_bad_configs_are_told(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        RunSpec.from_toml(tmp_path / "c.toml")


def test_missing_and_binary_configs_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no file"):
        RunSpec.from_toml(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="isn't a TOML file"):
        RunSpec.from_toml(tmp_path / "b.toml")


@pytest.mark.usefixtures("fake")
def test_run_writes_every_file(tmp_path: Path) -> None:
    seen: list[Any] = []
    out = tmp_path / "out"
    spec = RunSpec("small", seeds=(2, 4), noise=1.0, settings={"epochs": 7})
    summary = runs.run(spec, out, progress=lambda *args: seen.append(args))

    assert json.loads((out / "summary.json").read_text()) == summary
    assert list(summary) == [
        *("dataset", "method", "protocol", "test_accuracy", "val_accuracy"),
        *("test_balanced_accuracy", "test_macro_f1", "val_balanced_accuracy", "val_macro_f1", "recall"),
        *("seconds_per_seed", "epochs_per_seed", "peak_rss_mb", "config", "versions", "processors"),
        *("confidence_warning", "noise"),
    ]
    assert summary["protocol"] == {"split": "random: 2, 4", "selection": "last epoch", "seeds": [2, 4]}
    assert summary["test_accuracy"]["per_seed"] == [0.0, 1.0]
    assert summary["test_accuracy"]["mean"] == pytest.approx(0.5)
    assert summary["test_accuracy"]["std"] == pytest.approx(np.std([0.0, 1.0], ddof=1))
    assert list(summary["versions"]) == ["gdamn", "python", "torch", "torch_geometric", "numpy", "scipy", "numba"]
    assert summary["peak_rss_mb"] > 1
    assert summary["noise"] == {
        "planted": 1,
        "cut_share": 1,
        "true_kept_share": 1,
        "hard_auc": 1,
        "inter_class_weight_before": 0.75,
        "inter_class_weight_after": pytest.approx((0.9 + 0.1 + 0.9) / (3 * 0.9 + 0.1)),
    }
    assert RunSpec.from_toml(out / "config.toml").settings == {
        key: value for key, value in {**PARAMS, "epochs": 7}.items() if key != "seed"
    }
    assert [(seed, epoch) for seed, _, epoch, _, _ in seen] == [(s, e) for s in (2, 4) for e in (0, 1, 2)]

    with (out / "seed-4" / "predictions.csv").open(newline="") as file:
        head, *rows = list(csv.reader(file))
    assert head == ["node", "predicted", "confidence", "split"]
    assert [(node, label, split) for node, label, _, split in rows] == [
        *(("a", "x", "train"), ("b,c", "x", "val"), ("d", "y", "test"), ("e", "z", "none"))
    ]
    confidence = [float(row[2]) for row in rows]
    assert confidence == pytest.approx([2 / 3] * 4, abs=1e-5)  # the one validation node is right: (1 + 1) / (1 + 2)
    with (out / "seed-4" / "edges.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["source", "target", "hard", "soft", "stable"]
    assert rows[1] == ["b,c", "a", "0.9", "0.45", "0.3"]
    assert len(rows) == 1 + 8
    assert len((out / "seed-2" / "history.jsonl").read_text().splitlines()) == 3
    assert (out / "seed-2" / "model.gdamn").read_text() == "model"


@pytest.mark.usefixtures("fake")
def test_a_method_without_attention_has_no_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.run(RunSpec("small"), tmp_path)
    assert (tmp_path / "seed-0" / "edges.csv").exists()
    monkeypatch.setattr(FakeModel, "attention", False)
    summary = runs.run(RunSpec("small"), tmp_path)
    assert not (tmp_path / "seed-0" / "edges.csv").exists()
    assert "noise" not in summary
    assert summary["test_accuracy"]["std"] == 0.0


@pytest.mark.usefixtures("fake")
def test_another_finished_run_is_kept_unless_forced(tmp_path: Path) -> None:
    runs.run(RunSpec("small", seeds=(0, 1)), tmp_path)
    runs.run(RunSpec("small", seeds=(0, 1)), tmp_path)
    (tmp_path / "seed-1" / "mine.txt").write_text("keep")
    with pytest.raises(OutputError, match=r"--force"):
        runs.run(RunSpec("small", seeds=(5,)), tmp_path)
    assert (tmp_path / "seed-0" / "model.gdamn").exists()
    runs.run(RunSpec("small", seeds=(5,)), tmp_path, Execution(force=True))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(".gdamn.json", "config.toml", "seed-1", "seed-5", "summary.json")
    ]
    assert [path.name for path in (tmp_path / "seed-1").iterdir()] == ["mine.txt"]


@pytest.mark.usefixtures("fake")
def test_failures_before_training_leave_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        runs.run(RunSpec("nosuch"), tmp_path / "out")
    with pytest.raises(ConfigError):
        runs.run(RunSpec("small", settings={"nosuch": 1}), tmp_path / "out")
    with pytest.raises(ConfigError, match="--jobs"):
        runs.run(RunSpec("small"), tmp_path / "out", Execution(jobs=0))
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="is a file, not a folder"):
        runs.run(RunSpec("small"), tmp_path / "file" / "below")


def test_spread_of_nothing_is_nothing() -> None:
    assert runs.spread([None]) == {"mean": None, "std": None, "per_seed": [None]}


def echo(seed: int, progress: pool.SeedProgress | None) -> dict[str, Any]:
    if progress is not None:
        for epoch in range(3):
            progress("phase", epoch, 3, {"loss": float(seed)})
    time.sleep(0.2 if seed == 0 else 0)
    return {"seed": seed, "process": os.getpid(), "threads": os.environ["NUMBA_NUM_THREADS"]}


def all_results(work: pool.Work) -> list[dict[str, Any]]:
    with pool.handed_out(work, [0, 1], jobs=2) as each:
        return [result() for _, result in each]


def die(seed: int, progress: pool.SeedProgress | None) -> dict[str, Any]:
    if seed == 1:
        os._exit(9)
    time.sleep(60)
    return {}


def refuse(seed: int, progress: pool.SeedProgress | None) -> dict[str, Any]:
    raise OutputError("The disk is full.")


def stumble(seed: int, progress: pool.SeedProgress | None) -> dict[str, Any]:
    raise ZeroDivisionError("a bug")


def test_workers_do_every_task_and_report() -> None:
    seen: list[Any] = []
    before = os.environ.get("NUMBA_NUM_THREADS")
    with pool.handed_out(echo, [0, 1, 2], 2, 1, lambda *args: seen.append(args)) as each:
        results = [result() for _, result in each]
    assert sorted(result["seed"] for result in results) == [0, 1, 2]
    assert len({result["process"] for result in results} | {os.getpid()}) == 3
    assert {result["threads"] for result in results} == {"1"}
    assert os.environ.get("NUMBA_NUM_THREADS") == before
    for seed in (0, 1, 2):
        epochs = [epoch for s, _, epoch, _, record in seen if s == seed and record == {"loss": float(seed)}]
        assert epochs[0] == 0
        assert epochs[-1] == 2


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (die, TrainingError, "seed 1 ended with code 9"),
        (refuse, OutputError, "The disk is full."),
        (stumble, RuntimeError, "ZeroDivisionError: a bug"),
    ],
)
def test_a_worker_that_fails_ends_the_run(work: pool.Work, error: type[Exception], message: str) -> None:
    started = time.monotonic()
    with pytest.raises(error, match=message):
        all_results(work)
    assert time.monotonic() - started < 30


def test_kernels_compile_after_threads_were_set_for_their_import() -> None:
    """numba reads its variable at every compilation and refuses a change: a fresh install compiles late in a fit."""
    code = (
        "import os; os.environ.pop('NUMBA_NUM_THREADS', None)\n"
        "from gdamn.runs import pool\n"
        "with pool.thread_variables(1):\n"
        "    import numba\n"
        "    numba.njit(parallel=True)(lambda x: x + 1)(__import__('numpy').ones(8))\n"
        "with pool.thread_variables(2):\n"
        "    numba.njit(lambda x: x * 2)(3)\n"
        "print(numba.njit(lambda x: x + 1)(3))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "4", done.stderr
