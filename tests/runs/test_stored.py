"""Files of the first format must open as long as there is gdamn; those of a newer one are refused in a sentence.

``stored/run`` is a run of ``gdamn train sbm`` on 30 nodes, ``stored/comparison`` a fit of ``gdamn compare karate``, as
version 0.1.0 wrote them. They are never written anew: where one of these tests fails, people's files don't open.
"""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from gdamn import GDAMN
from gdamn.errors import ConfigError, DataError
from gdamn.estimators.model_file import FORMAT
from gdamn.runs.compare import engine
from gdamn.runs.spec import RunSpec
from gdamn.using.predict import predict
from gdamn.using.run_folder import RunFolder

STORED = Path(__file__).parents[1] / "stored"
RUN = STORED / "run"
MODEL = RUN / "seed-0" / "model.gdamn"


def told() -> tuple[list[str], list[float]]:
    with (RUN / "seed-0" / "predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["predicted"] for row in rows], [float(row["probability"]) for row in rows]


def test_a_stored_model_opens_and_predicts_the_same() -> None:
    model = GDAMN.load(MODEL)
    labels, probabilities = told()
    assert list(map(str, model.predict())) == labels
    assert set(labels) == {"0", "1"}
    assert np.abs(model.predict_proba().max(axis=1) - probabilities).max() < 1e-6
    assert model.settings.hidden == 4
    assert model.epochs_ == 23


def test_a_stored_run_opens_with_its_graph() -> None:
    run = RunFolder(RUN)
    labels, probabilities = told()
    graph = run.graph(0)
    found = predict(run, [0], calibrate=False)
    assert [graph.class_names[label] for label in found.predicted] == labels
    assert np.abs(found.probabilities.max(axis=1) - probabilities).max() < 1e-6
    assert RunSpec.from_toml(RUN / "config.toml").resolved().settings["pretrain_epochs"] == 15


def test_a_stored_model_computes_what_it_predicted() -> None:
    """Its networks, put together again on the graph, give the probabilities that it was saved with."""
    from gdamn.estimators.inductive import answer

    run = RunFolder(RUN)
    graph = run.graph(0)
    again = answer(run.model(0), graph, graph).probabilities
    assert np.abs(again - run.model(0).predict_proba()).max() < 1e-4


def test_a_stored_fit_is_not_fitted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(STORED / "comparison", tmp_path / "out")
    monkeypatch.setattr(engine, "fit_one", lambda *args: pytest.fail("fitted again"))
    specs = engine.make_specs("karate", ["gcn"], [0], settings={"epochs": 3})
    result = engine.compare(specs, tmp_path / "out").result
    kept = json.loads((STORED / "comparison" / "fits" / "gcn" / "seed-0.json").read_text())["result"]
    assert result["results"][0]["test_accuracy"]["per_seed"] == [kept["test_accuracy"]]


def test_newer_files_are_told(tmp_path: Path) -> None:
    content = MODEL.read_bytes()
    now = rb"{\"format\": " + str(FORMAT).encode()
    assert content.count(now) == 1
    newer = tmp_path / "model.gdamn"
    newer.write_bytes(content.replace(now, rb"{\"format\": " + str(FORMAT + 1).encode()))
    with pytest.raises(DataError, match=r"saved by a newer gdamn \(format 2\); upgrade gdamn to open it"):
        GDAMN.load(newer)
    config = (RUN / "config.toml").read_text()
    (tmp_path / "config.toml").write_text(config.replace('version = "0.1.0"', 'version = "99.0"\nfuture = 1'))
    with pytest.raises(ConfigError, match=r"unknown entry 'future'.* A newer gdamn \(99.0\) wrote it; upgrade gdamn"):
        RunSpec.from_toml(tmp_path / "config.toml")
    (tmp_path / "config.toml").write_text(config.replace("[options]", "future = 1\n[options]"))
    with pytest.raises(ConfigError, match=r"unknown entry 'future'; .*settings, noise\.$"):
        RunSpec.from_toml(tmp_path / "config.toml")
