"""One class reads a run: lazily, seed by seed, with a sentence for what is missing or damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gdamn.errors import ConfigError, DataError
from gdamn.estimators.model_file import read_model
from gdamn.runs import run as runs
from gdamn.runs.spec import RunSpec
from gdamn.system import io
from gdamn.using.run_folder import RunFolder

STORED = Path(__file__).parents[1] / "stored" / "run"
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The stored run with a summary."""
    shutil.copytree(STORED, tmp_path / "run")
    spec = RunSpec.from_toml(STORED / "config.toml")
    measured = {"split": None, "selection": "x", "test_accuracy": 0.5, "val_accuracy": 0.5, "noise": None}
    times = {"seconds": 1.0, "epochs": 23, "peak_rss_mb": 1.0}
    io.write_json(tmp_path / "run" / "summary.json", runs.summarise(spec, [measured | times]))
    return tmp_path / "run"


def test_what_a_run_knows(folder: Path) -> None:
    run = RunFolder(folder)
    assert run.seeds == list(run.spec.seeds) == run.summary["protocol"]["seeds"] == [0]
    assert run.choose_seed(None) == run.best_seed() == 0
    assert run.history(0) == run.model(0).history_
    assert run.predictions(0).graph is run.graph(0)
    assert len(run.predictions(0).predicted) == run.graph(0).num_nodes == 30
    assert [path.name for path in run.files()] == ["config.toml", "summary.json"]
    assert "model.gdamn" in {path.name for path in run.files(0)}


def test_the_model_file_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the commands that need the model and its graph, and by the report, which needs no model."""
    reads = []

    def counted(path: Path) -> object:
        reads.append(path)
        return read_model(path)

    for module in ("gdamn.estimators.saving", "gdamn.using.run_folder"):
        monkeypatch.setattr(f"{module}.read_model", counted)
    run = RunFolder(folder)
    assert run.model(0).graph_ is None
    assert run.predictions(0).graph is run.graph(0)
    assert len(reads) == 1
    run = RunFolder(folder)
    assert len(run.saved(0)[1]["probabilities"]) == run.graph(0).num_nodes
    assert len(reads) == 2


def test_only_what_is_asked_for_is_read(folder: Path) -> None:
    """A damaged file is no matter to who doesn't need it."""
    (folder / "summary.json").write_text("{")
    (folder / "seed-0" / "model.gdamn").write_bytes(b"x")
    run = RunFolder(folder)
    assert run.spec.dataset == "sbm"
    assert run.seeds == [0]
    with pytest.raises(DataError, match=r"summary.json' isn't a JSON file"):
        run.best_seed()
    for read in (run.model, run.graph, run.history, run.predictions):
        with pytest.raises(DataError, match="not a model that gdamn saved, or it is damaged"):
            read(0)


def test_what_is_missing_is_told(folder: Path) -> None:
    with pytest.raises(ConfigError, match="has no seed 3; it has 0"):
        RunFolder(folder).choose_seed(3)
    with pytest.raises(ConfigError, match="has no seed 3; it has 0"):
        RunFolder(folder).best_seed(3)
    (folder / "seed-0" / "model.gdamn").unlink()
    with pytest.raises(DataError, match=r"has no model \(seed-N/model.gdamn\); train it again"):
        RunFolder(folder).choose_seed(None)
    (folder / "config.toml").unlink()
    with pytest.raises(DataError, match=r"isn't a run: it has no config.toml"):
        RunFolder(folder).choose_seed(None)
    (folder / "summary.json").unlink()
    with pytest.raises(DataError, match="holds no finished run"):
        RunFolder(folder).best_seed()


def test_config_and_summary_must_agree(folder: Path) -> None:
    text = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(text.replace("    0,\n", "    0,\n    1,\n"))
    assert RunSpec.from_toml(folder / "config.toml").seeds == (0, 1)
    with pytest.raises(DataError, match="have different seeds"):
        RunFolder(folder).best_seed()


def test_files_of_one_seed_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []
    load = runs.load_graph
    monkeypatch.setattr(runs, "load_graph", lambda spec, root, seed: seeds.append(seed) or load(spec, root, 0))
    shutil.copytree(folder / "seed-0", folder / "seed-1")
    run = RunFolder(folder)
    first = run.graph(0)
    assert run.graph(0) is first
    assert run.graph(1) is not first
    assert run.graph(0) is not first  # only the last seed is kept
    assert seeds == [0, 1, 0]
