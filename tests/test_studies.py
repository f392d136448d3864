"""gdamn.compare and gdamn.tune: results as objects, the same numbers as the commands, on graphs, files and names."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from gdamn import Graph, compare, load, tune
from gdamn.cli import root as cli
from gdamn.errors import ConfigError, DataError, NothingFinishedError, OutputError
from gdamn.estimators.base import NodeClassifier
from gdamn.estimators.registry import make
from gdamn.runs import tune_trials
from gdamn.runs.execution import Execution
from gdamn.runs.tune_space import Range, checked_space, make_space, read_range, read_space
from gdamn.studies import Comparison, Tuning
from gdamn.system.reading import read_toml

pytestmark = pytest.mark.usefixtures("one_thread")
FEW = {"epochs": 5}
SPACE = {"hidden": [4, 8], "learning_rate": Range(0.001, 0.1, log=True), "layers": {"low": 1, "high": 3}}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load("karate", seed=3)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    out = tmp_path_factory.mktemp("studies") / "out"
    return compare("karate", ["gcn", "mlp"], seeds=3, settings=FEW, out=out), out


def test_a_comparison_is_that_of_the_command(compared: tuple[Comparison, Path], tmp_path: Path) -> None:
    comparison, out = compared
    words = "compare karate --methods gcn,mlp --seeds 3 --set epochs=5 --out"
    assert CliRunner().invoke(cli.app, [*words.split(), str(tmp_path)]).exit_code == 0
    for name in ("compare.json", "compare.png"):
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes()
    assert comparison.result == json.loads((tmp_path / "compare.json").read_text())


def test_frames_have_the_numbers_of_the_fits(compared: tuple[Comparison, Path]) -> None:
    comparison, _ = compared
    fits = comparison.fits_frame()
    assert len(fits) == 6
    by_hand = fits.groupby("method")["test_accuracy"].agg(["mean", "std"])
    frame = comparison.frame().set_index("method")
    assert isinstance(frame, pd.DataFrame)
    for method in ("gcn", "mlp"):
        assert frame.loc[method, "test_mean"] == pytest.approx(by_hand.loc[method, "mean"])
        assert frame.loc[method, "test_std"] == pytest.approx(by_hand.loc[method, "std"])
    other = next(name for name in frame.index if name != comparison.best)
    lead = frame.loc[other, "test_mean"] - frame.loc[comparison.best, "test_mean"]
    assert frame.loc[other, "difference"] == pytest.approx(lead)
    assert repr(comparison).startswith(f"Comparison(karate: {comparison.best} ")
    assert comparison.best in comparison.verdict


def test_a_comparison_is_saved_and_opened(compared: tuple[Comparison, Path], tmp_path: Path) -> None:
    comparison, out = compared
    again = Comparison.open(out)
    assert again.frame().equals(comparison.frame())
    saved = again.save(tmp_path / "saved")
    assert (saved / "compare.md").read_bytes() == (out / "compare.md").read_bytes()
    figure = comparison.plot(tmp_path / "plot.svg")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == comparison.frame()["method"].tolist()
    assert b"<svg" in (tmp_path / "plot.svg").read_bytes()
    next(out.glob("fits/mlp/seed-1.json")).unlink()
    with pytest.raises(DataError, match="lacks the fit of mlp with seed 1"):
        Comparison.open(out)


def test_a_graph_in_memory_has_its_own_split(graph: Graph, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    comparison = compare(graph, "gcn", seeds=[4, 7], settings=FEW, progress=lambda *at: seen.append(at))
    assert comparison.result["dataset"] == graph.name
    for seed in (4, 7):
        model = make("gcn", seed=seed, overrides=FEW).fit(graph)
        assert comparison.fits["gcn", seed]["test_accuracy"] == model.score("test")
    assert seen == [(1, 2), (2, 2)]
    kept = compare(graph.to_pyg(), "gcn", seeds=[4], settings=FEW, out=tmp_path / "o")
    assert kept.fits["gcn", 4]["test_accuracy"] == comparison.fits["gcn", 4]["test_accuracy"]
    again: list[tuple[int, int]] = []
    compare(graph.to_pyg(), "gcn", seeds=[4], settings=FEW, out=tmp_path / "o", progress=lambda *at: again.append(at))
    assert again == []  # nothing is fitted twice
    other = graph.with_masks(graph.val_mask, graph.train_mask, graph.test_mask).to_pyg()
    with pytest.raises(OutputError, match="holds a study of another graph"):
        compare(other, "gcn", seeds=[4], settings=FEW, out=tmp_path / "o")


class Curious(NodeClassifier):
    """Keeps what it is shown, and predicts every label that it can see."""

    method = "curious"
    shown: Graph | None = None

    def _fit(self, graph: Graph, progress: Any) -> None:
        type(self).shown = graph
        known = np.eye(graph.num_classes, dtype=np.float32)[np.maximum(graph.labels, 0)]
        self.tensors_ = {"probabilities": known * (graph.labels >= 0)[:, None] + 1e-3}
        self.best_epoch_ = {}

    def score_on(self, *_: Any) -> float:  # type: ignore[override]
        return 1.0  # what it says of itself doesn't count


def test_an_own_method_sees_no_label_that_it_is_judged_by(tmp_path: Path) -> None:
    whole = load("karate", seed=0, noise=1.0)
    comparison = compare("karate", [Curious, "gcn"], seeds=1, noise=1.0, settings=FEW)
    name = f"{Curious.__module__}:Curious"
    shown = Curious.shown
    assert shown is not None
    known = whole.train_mask | whole.val_mask
    assert np.array_equal(shown.labels[known], whole.labels[known])
    assert (shown.labels[~known] == -1).all()
    assert not any(isinstance(value, np.ndarray) for value in shown.meta.values())  # no planted edges either
    assert comparison.fits[name, 0]["val_accuracy"] == 1
    right = (whole.labels == 0)[whole.test_mask].mean()  # of nothing it says class 0
    assert comparison.fits[name, 0]["test_accuracy"] == pytest.approx(right)
    Curious.shown = None
    assert tune("karate", Curious, space={"threads": [1]}, trials=1, seeds=1).best_score == 1  # by its predictions
    assert Curious.shown is not None
    assert (Curious.shown.labels[whole.test_mask] == -1).all()


def test_the_time_budget_of_a_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is stopped by hand: two of four fits are begun, and the same call goes on."""
    from gdamn.runs import pool

    counted = iter([False, False, True])
    monkeypatch.setattr(pool, "after", lambda seconds: pool.never if seconds is None else lambda: next(counted))
    part = compare("karate", ["gcn", "mlp"], seeds=2, settings=FEW, out=tmp_path, time_budget=60)
    assert part.result["left"] == 2
    assert part.result["best"] is not None
    note = "The time was over after 2 of 4 fits; the same command goes on."
    for name in ("compare.md", "compare.html"):
        assert note in (tmp_path / name).read_text()
    whole = compare("karate", ["gcn", "mlp"], seeds=2, settings=FEW, out=tmp_path)
    assert "left" not in whole.result
    assert len(whole.fits) == 4
    monkeypatch.setattr(pool, "after", lambda _: lambda: True)
    with pytest.raises(NothingFinishedError, match="the time was over"):
        compare("karate", "gcn", seeds=1, settings=FEW, time_budget=1)


def test_where_there_are_no_test_nodes(graph: Graph) -> None:
    none = graph.with_masks(graph.train_mask, graph.val_mask, [])
    assert "There are no test nodes" in compare(none, ["gcn", "mlp"], seeds=1, settings=FEW).verdict


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tuning, Path]:
    out = tmp_path_factory.mktemp("tuned") / "out"
    return tune("karate", "gcn", space=SPACE, trials=4, seeds=3, settings=FEW, out=out), out


def test_a_search_over_ranges(tuned: tuple[Tuning, Path]) -> None:
    tuning, out = tuned
    frame = tuning.frame()
    assert frame["trial"].tolist() == [0, 1, 2, 3]
    assert frame["learning_rate"].between(0.001, 0.1).all()
    assert frame["learning_rate"].nunique() == 4
    assert set(frame["layers"]) <= {1, 2, 3}
    assert set(frame["hidden"]) <= {4, 8}
    best = frame.loc[frame["val_accuracy"].idxmax()]
    assert tuning.best_score == best["val_accuracy"]
    assert tuning.best_settings["learning_rate"] == best["learning_rate"]
    fits = [tuning.estimator(seed).fit(load("karate", seed=seed)).best_epoch_["val_accuracy"] for seed in range(3)]
    assert tuning.best_score == pytest.approx(np.mean(fits))
    assert "Tuning(gcn, 4 trials: validation accuracy" in repr(tuning)
    assert read_toml(out / "best.toml")["settings"] == {**FEW, **tuning.best_settings}


def test_a_search_is_saved_opened_and_drawn(tuned: tuple[Tuning, Path], tmp_path: Path) -> None:
    tuning, out = tuned
    saved = tuning.save(tmp_path / "saved")
    assert sorted(path.name for path in saved.iterdir()) == [".gdamn.json", "best.toml", "trials.jsonl", "tune.png"]
    again = Tuning.open(saved)
    assert again.frame().equals(Tuning.open(out).frame())
    line = tuning.plot().axes[0].lines[0].get_ydata()
    assert line[-1] == pytest.approx(100 * tuning.best_score)
    assert list(line) == sorted(line)
    (saved / "trials.jsonl").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        Tuning.open(saved)


@pytest.mark.usefixtures("forked_workers")
def test_several_jobs_make_the_same_trials(tuned: tuple[Tuning, Path], tmp_path: Path) -> None:
    tune("karate", "gcn", space=SPACE, trials=4, seeds=3, settings=FEW, out=tmp_path / "o", jobs=3)
    for name in ("trials.jsonl", "best.toml"):
        assert (tmp_path / "o" / name).read_bytes() == (tuned[1] / name).read_bytes()


def test_settings_that_fail_in_a_worker_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in one process; the failure of the first seed in order counts."""
    from gdamn.errors import TrainingError

    search = tune_trials.Search(None, Path(), {})  # type: ignore[arg-type]
    monkeypatch.setattr(tune_trials, "fitted", lambda *_: (_ for _ in ()).throw(TrainingError("The loss is nan.")))
    assert tune_trials.fit_in_worker(search, ("{}", 0), None) == {"failed": "The loss is nan."}


def test_the_time_budget_of_a_search(tmp_path: Path) -> None:
    first = tune("karate", "gcn", space=SPACE, trials=4, seeds=1, settings=FEW, out=tmp_path, time_budget=1e-9)
    assert len(first.trials) == 1  # one is always made
    again = tune("karate", "gcn", space=SPACE, trials=3, seeds=1, settings=FEW, out=tmp_path)
    assert len(again.trials) == 3
    with pytest.raises(ConfigError, match="time budget is a number of seconds"):
        Execution(time_budget=0)


def test_a_search_on_a_graph_in_memory(graph: Graph, tmp_path: Path) -> None:
    tuning = tune(graph, "gcn", space={"hidden": [4, 8]}, trials=2, seeds=1, settings=FEW)
    assert "dataset" not in tuning.config
    model = tuning.estimator().fit(graph)
    assert model.best_epoch_["val_accuracy"] == pytest.approx(tuning.best_score)
    without = graph.with_masks(graph.train_mask, [], graph.test_mask)
    with pytest.raises(ConfigError, match="has no validation nodes"):
        tune(without, "gcn", trials=1)


NODES = "id,topic,a,b\n" + "".join(f"n{i},{'xy'[i % 2] if i < 40 else ''},{i % 2},{i % 3}\n" for i in range(48))
EDGES = "source,target\n" + "".join(f"n{i},n{(i + step) % 48}\n" for i in range(48) for step in (2, 4))


def test_own_files_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nodes.csv").write_text(NODES)
    Path("edges.csv").write_text(EDGES)
    Path("space.toml").write_text("hidden = [4, 8]\ndropout_hidden = {low = 0.1, high = 0.5}\n")
    files = ["nodes.csv", "--edges", "edges.csv", "--label", "topic", "--test-share", "0.25"]
    ranges = ["--space", "space.toml", "--range", "learning_rate=1e-3:1e-1:log", "--trials", "2", "--seeds", "1"]
    done = CliRunner().invoke(cli.app, ["tune", *files, "--method", "gcn", *ranges, "--out", "t"])
    assert done.exit_code == 0, done.output
    assert set(Tuning.open("t").best_settings) == {"hidden", "dropout_hidden", "learning_rate"}
    done = CliRunner().invoke(
        cli.app, ["compare", *files, "--methods", "gcn,lpa", "--seeds", "2", "--set", "epochs=3", "--out", "c"]
    )
    assert done.exit_code == 0, done.output
    options = {"edges": "edges.csv", "label": "topic", "test_share": 0.25}
    same = compare("nodes.csv", ["gcn", "lpa"], seeds=2, settings={"epochs": 3}, options=options)
    assert same.frame().equals(Comparison.open("c").frame())
    trained = ["train", "--config", "t/best.toml", "--out", "r", "--no-reference", "--set", "epochs=2"]
    monkeypatch.setattr("gdamn.cli.report.report_of_training", lambda *_, **__: None)
    assert CliRunner().invoke(cli.app, trained).exit_code == 0  # best.toml knows how the files are read


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"hidden": 4}, "a list of values per setting, or a range"),
        ({"hidden": []}, "a list of values"),
        ({"hidden": {"low": 1}}, "it has low, high"),
        ({"hidden": {"low": 3, "high": 3}}, "from a number to a higher one"),
        ({"hidden": {"low": 0, "high": 3, "log": True}}, "begins above 0"),
        ({"hidden": {"low": 1, "high": 3, "log": 1}}, "true or false"),
        ({"hidden": {"low": "1", "high": 3}}, "from a number"),
        ({"hidden": {"low": 1.0, "high": float("inf")}}, "from a number"),
        ({"seed": [1]}, "no setting of a search"),
    ],
)
def test_spaces_that_are_none(space: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_space(space, "The space")


def test_values_that_a_setting_can_t_take_are_told_before_anything_is_fitted(tmp_path: Path) -> None:
    for space, said in (
        ({"hiden": [3]}, "did you mean hidden"),
        ({"hidden": Range(0, 4)}, "Setting 'hidden' is 0"),
        ({"hidden": [4, "many"]}, "Setting 'hidden'"),
        ({"epochs": [3]}, "set for every trial"),
    ):
        with pytest.raises(ConfigError, match=said):
            tune("karate", "gcn", space=space, settings=FEW, out=tmp_path / "o")
    assert not (tmp_path / "o" / "study.journal").exists()
    with pytest.raises(ConfigError, match="nothing to search of"):
        tune("karate", Curious, trials=1)


def test_ranges_of_the_command_line(tmp_path: Path) -> None:
    assert read_range("hidden=4:64") == ("hidden", Range(4, 64))
    assert checked_space(dict([read_range("weight_decay=0:1")]), "gcn", {}) == {"weight_decay": Range(0.0, 1.0)}
    assert not checked_space({"weight_decay": Range(0, 1)}, "gcn", {})["weight_decay"].whole  # type: ignore[union-attr]
    assert checked_space({"hidden": Range(4, 64)}, "gcn", {})["hidden"].whole  # type: ignore[union-attr]
    assert read_range("learning_rate=1e-3:0.1:log") == ("learning_rate", Range(0.001, 0.1, log=True))
    for wrong in ("hidden", "hidden=4", "=1:2", "hidden=4:many", "hidden=1:2:lin"):
        with pytest.raises(ConfigError, match="--range takes KEY=LOW:HIGH"):
            read_range(wrong)
    (tmp_path / "space.toml").write_text("hidden = {low = 4, high = 8}\n")
    assert read_space(tmp_path / "space.toml") == {"hidden": Range(4, 8)}
    words = ["tune", "karate", "--space", str(tmp_path / "space.toml"), "--range", "hidden=1:2", "--out", "o"]
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 2
    assert "'hidden' is searched twice" in done.stderr


def test_a_data_frame_without_pandas(tuned: tuple[Tuning, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(Exception, match="pip install pandas"):
        tuned[0].frame()
