"""gdamn tune and gdamn replicate, on a small synthetic graph."""

from __future__ import annotations

import json
from statistics import stdev

import pytest
from sklearn.metrics import f1_score

from gdamn.data import load
from gdamn.errors import ConfigError, DataError, OutputError
from gdamn.estimators.registry import METHODS, make
from gdamn.model.presets import preset
from gdamn.runs import tune as tuning
from gdamn.runs.replicate import agreement, read_result, replicate, verdict
from gdamn.runs.run import run
from gdamn.runs.spec import RunSpec
from gdamn.runs.tune_trials import load_graphs
from gdamn.system.processor import processor
from gdamn.system.reading import read_toml

pytest.importorskip("optuna")

SPACE = {"hidden": [4, 8], "epochs": [3, 6], "learning_rate": [0.01, 0.05]}


def search(out, trials):
    return tuning.tune(RunSpec("karate", "gcn", (0, 1)), out, trials=trials, space=SPACE)


def test_a_search_goes_on_and_keeps_its_trials(tmp_path):
    first = search(tmp_path, 2)
    assert first["trials"] == 2
    again = search(tmp_path, 4)
    assert again["trials"] == 4
    assert again["val_accuracy"] >= first["val_accuracy"]
    rows = [json.loads(line) for line in (tmp_path / "trials.jsonl").read_text().splitlines()]
    assert [row["val_accuracy"] for row in rows] == sorted((row["val_accuracy"] for row in rows), reverse=True)
    best = read_toml(tmp_path / "best.toml")
    assert best["settings"] == again["settings"]
    assert RunSpec.from_toml(tmp_path / "best.toml").resolved().settings["hidden"] in SPACE["hidden"]


def test_a_search_maximises_the_metric_that_is_asked_for(tmp_path):
    spec = RunSpec("karate", "gcn", (0,), settings={"metric": "macro_f1"})
    best = tuning.tune(spec, tmp_path, trials=3, space=SPACE)
    rows = [json.loads(line) for line in (tmp_path / "trials.jsonl").read_text().splitlines()]
    assert [row["val_macro_f1"] for row in rows] == sorted((row["val_macro_f1"] for row in rows), reverse=True)
    model = make("gcn", "karate", overrides={**best["settings"], "metric": "macro_f1"}).fit(load("karate"))
    graph = model.graph_
    wanted = f1_score(graph.labels[graph.val_mask], model.predict(names=False)[graph.val_mask], average="macro")
    assert best["val_macro_f1"] == pytest.approx(wanted)
    written = read_toml(tmp_path / "best.toml")
    assert written["settings"] == {"metric": "macro_f1", **best["settings"]}
    with pytest.raises(OutputError, match="a search with another metric"):
        tuning.tune(RunSpec("karate", "gcn", (0,)), tmp_path, trials=4, space=SPACE)
    with pytest.raises(ConfigError, match="Setting 'metric' is 'recall'"):
        tuning.tune(RunSpec("karate", "gcn", (0,), settings={"metric": "recall"}), tmp_path, trials=4, space=SPACE)
    (tmp_path / "space.toml").write_text("metric = ['accuracy']\n")
    with pytest.raises(ConfigError, match="pass --metric"):
        tuning.read_space(tmp_path / "space.toml")


def test_a_search_of_an_earlier_version_goes_on(tmp_path, monkeypatch):
    """Its journal names neither a metric nor settings."""
    older = tuning.open_study
    monkeypatch.setattr(
        tuning, "open_study", lambda out, name, now: older(out, name, {k: now[k] for k in ("seeds", "noise", "space")})
    )
    search(tmp_path, 1)
    monkeypatch.undo()
    assert search(tmp_path, 2)["trials"] == 2


def test_a_search_reads_no_test_label(tmp_path, monkeypatch):
    from gdamn.estimators.base import NodeClassifier

    def forbidden(*_, **__):
        raise AssertionError("a search must not score")

    monkeypatch.setattr(NodeClassifier, "score", forbidden)
    monkeypatch.setattr(NodeClassifier, "score_on", forbidden)
    assert search(tmp_path, 1)["trials"] == 1


@pytest.mark.parametrize("method", METHODS)
def test_spaces_name_settings_that_exist_and_are_not_fixed(method):
    space = tuning.space_of(method)
    chosen = METHODS[method]
    assert space
    assert not set(space) & set(chosen.fixed)
    for name, values in space.items():
        for value in values:
            chosen.estimator()(**{name: value})


@pytest.mark.parametrize("method", tuning.OWN_SPACES)
def test_no_own_space_is_lost(method):
    """Each name in it is a setting of the method, and the search tries it."""
    space = tuning.space_of(method)
    assert {name: space[name] for name in tuning.OWN_SPACES[method]} == tuning.OWN_SPACES[method]


def test_a_search_leaves_out_what_does_nothing():
    whole, soft_alone, neither = (set(tuning.space_of(m)) for m in ("gdamn", "gdamn-no-hard", "gmnn"))
    assert whole - soft_alone == {"kl_weight", "kl_per", "symmetric_q"}
    assert not neither & {"kl_weight", "kl_per", "symmetric_q", "stable_norm"}
    assert tuning.space_of("gmnn-gat")["heads"] == [4, 8]


def test_the_steps_and_the_teleport_of_appnp_are_searched(tmp_path):
    found = tuning.tune(RunSpec("karate", "appnp"), tmp_path, trials=1)
    assert {"steps", "teleport", "dropout_edges", "hidden"} <= set(found["settings"])


def test_one_graph_serves_all_seeds_of_a_fixed_split():
    graphs = load_graphs(RunSpec("sbm", seeds=(0, 1)), None)
    assert graphs[0] is not graphs[1]
    graphs = load_graphs(RunSpec("karate", seeds=(0, 1)), None)  # the same training nodes, others for validation
    assert all((graphs[seed].val_mask == load("karate", seed=seed).val_mask).all() for seed in (0, 1))
    graphs = load_graphs(RunSpec("karate", seeds=(0, 1), options={"split": 3}), None)
    assert graphs[0] is graphs[1]


def test_a_space_needs_lists(tmp_path):
    (tmp_path / "space.toml").write_text("hidden = 4\n")
    with pytest.raises(ConfigError, match="list of values"):
        tuning.read_space(tmp_path / "space.toml")


def test_replicate_finds_the_same_numbers(tmp_path):
    spec = RunSpec("karate", "gcn", seeds=(0, 1), settings={"epochs": 5})
    run(spec, tmp_path / "run")
    rows = replicate(tmp_path / "run" / "summary.json")
    assert [row["seed"] for row in rows] == [0, 1]
    assert all(row["same"] for row in rows)
    changed = json.loads((tmp_path / "run" / "summary.json").read_text())
    changed["test_accuracy"]["per_seed"][1] += 0.01
    (tmp_path / "changed.json").write_text(json.dumps(changed))
    assert [row["same"] for row in replicate(tmp_path / "changed.json")] == [True, False]


def rows_of(published, now):
    pairs = zip(published, now, strict=True)
    return [{"seed": at, "published": old, "now": new, "same": old == new} for at, (old, new) in enumerate(pairs)]


def test_seeds_that_differ_agree_in_the_mean_or_do_not():
    level = rows_of([0.80, 0.82, 0.81, 0.79], [0.81, 0.81, 0.81, 0.79])
    found = agreement(level)
    assert found["now"] == pytest.approx(0.805)
    assert found["standard_error"] == pytest.approx(stdev([0.01, -0.01, 0, 0]) / 2)
    assert found["t_p"] == pytest.approx(1)
    assert "2 of 4 seeds are the same. Mean of 4 seeds: 80.5 % published, 80.5 % now." in verdict(level)
    assert "within the luck of the seeds (paired t-test, p = 1.000)" in verdict(level)
    behind = verdict(rows_of([0.80, 0.82, 0.81, 0.79], [0.77, 0.80, 0.78, 0.77]))
    assert "0 of 4 seeds are the same." in behind
    assert "-2.50 ± 0.29 points, is more than the luck of the seeds (paired t-test, p = 0.003)" in behind
    assert "no test can tell" in verdict(rows_of([0.5, 0.75], [0.25, 0.5]))
    alone = verdict(rows_of([0.5], [0.6]))
    assert alone.startswith("0 of 1 seeds are the same. The file names no processor")
    assert agreement(rows_of([0.5], [0.6])) is None


def test_a_result_names_its_processor(tmp_path):
    summary = run(RunSpec("karate", "gcn", seeds=(0, 1), settings={"epochs": 3}), tmp_path / "run")
    assert summary["processors"] == [processor()]
    rows = rows_of([0.5, 0.6], [0.5, 0.7])
    assert "processor" not in verdict(rows, summary["processors"])
    assert "published from another processor (abacus; here" in verdict(rows, ["abacus"])
    (tmp_path / "x.json").write_text(json.dumps({**summary, "processors": [3]}))
    with pytest.raises(DataError, match="its processors aren't texts"):
        read_result(tmp_path / "x.json")


def test_what_an_older_file_does_not_name_is_what_was_done_then():
    """Not the preset of now, which may name it."""
    settings = {name: value for name, value in preset("cora").items() if name != "attention_temperature"}
    assert len(settings) < len(preset("cora"))
    old = RunSpec("cora", settings=settings)
    assert old.resolved().settings["attention_temperature"] < 1
    assert old.as_written().resolved().settings["attention_temperature"] == 1
    assert RunSpec("cora").as_written() == RunSpec("cora")


def test_replicate_of_something_else_is_told(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DataError, match="isn't a result"):
        read_result(tmp_path / "x.json")
    with pytest.raises(DataError, match="There is no file"):
        read_result(tmp_path / "missing.json")
