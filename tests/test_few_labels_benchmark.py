"""The benchmark of few labels: which labels are drawn, what a method sees, what is run again, and the table."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdamn import load

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

import few_labels  # noqa: E402
import few_labels_table  # noqa: E402


def record(method: str, seed: int, accuracy: float, graph: str = "cora", labels: int = 5) -> dict[str, Any]:
    return {"graph": graph, "labels": labels, "seed": seed, "method": method, "accuracy": accuracy, "seconds": 1.5}


def row(text: str, *start: str) -> list[str]:
    """The cells of the row that starts so."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return next(cells for cells in rows if cells[: len(start)] == list(start))


def test_draw_takes_k_of_each_class_and_half_of_a_small_one() -> None:
    labels = np.repeat([0, 1, 2, 3, -1], [40, 10, 9, 1, 20])
    chosen = few_labels.draw(labels, 5, seed=0)
    assert np.bincount(labels[chosen]).tolist() == [5, 5, 4, 1]
    assert not chosen[labels < 0].any()


def test_draw_depends_on_the_seed_alone() -> None:
    labels = np.random.default_rng(0).integers(0, 4, 300)
    first, same, other = (few_labels.draw(labels, 5, seed) for seed in (3, 3, 4))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_draw_takes_every_node_of_a_class_about_equally_often() -> None:
    labels = np.zeros(20, np.int64)
    times = sum(few_labels.draw(labels, 5, seed).astype(int) for seed in range(400))
    assert times.sum() == 2000
    assert times.min() > 60
    assert times.max() < 140


def test_a_method_sees_the_drawn_labels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load("karate")
    seen = []

    def predict(shown: Any, seed: int, method: str) -> Any:
        seen.append(shown)
        return np.zeros(shown.num_nodes, np.int64)

    monkeypatch.setattr(few_labels, "predict", predict)
    accuracy, _ = few_labels.fit(graph, 5, 0, "gcn")
    (shown,) = seen
    train = few_labels.draw(graph.labels, 5, 0)
    assert np.array_equal(shown.labels >= 0, train)
    assert np.array_equal(shown.train_mask, train)
    assert not shown.val_mask.any()
    assert not shown.test_mask.any()
    assert shown.num_classes == graph.num_classes
    assert accuracy == (graph.labels[~train] == 0).mean()


def test_the_table_has_means_errors_ranks_and_leads() -> None:
    values = {"gdamn": [0.8, 0.9, 0.7], "gcn": [0.7, 0.7, 0.7], "lpa": [0.6, 0.8, 0.8]}
    fits = [record(method, seed, value) for method, all_ in values.items() for seed, value in enumerate(all_)]
    text = few_labels_table.table(fits, ["cora"], few_labels.METHODS, few_labels.OURS)
    head = row(text, "graph")
    cells = dict(zip(head, row(text, "cora", "5"), strict=True))
    error = statistics.stdev([80, 90, 70]) / 3**0.5
    assert cells["gdamn"] == f"80.0 ± {error:.1f} (3)"
    assert cells["gcn"] == "70.0 ± 0.0 (3)"
    assert cells["best rival"] == "lpa"
    lead = [20, 10, -10]
    assert cells["lead of gdamn"] == f"{statistics.fmean(lead):+.1f} ± {statistics.stdev(lead) / 3**0.5:.1f}"
    assert cells["lead of gdamn-plus"] == "–"
    ranks = dict(zip(head, row(text, "mean rank"), strict=True))
    assert [ranks[method] for method in ("gdamn", "lpa", "gcn")] == ["1.0", "2.0", "3.0"]


def test_the_lead_and_the_means_are_of_what_both_have() -> None:
    fits = [record("gcn", seed, 0.5) for seed in range(10)] + [record("gdamn", 0, 0.6)]
    fits += [record("gcn", 0, 0.1, labels=20)]
    text = few_labels_table.table(fits, ["cora"], few_labels.METHODS, few_labels.OURS)
    cells = dict(zip(row(text, "graph"), row(text, "cora", "5"), strict=True))
    assert cells["gcn"] == "50.0 ± 0.0"  # ten seeds are not counted
    assert cells["gdamn"] == "60.0 (1)"
    assert cells["lead of gdamn"] == "+10.0"
    assert dict(zip(row(text, "graph"), row(text, "mean"), strict=True))["gcn"] == "50.0"
    assert row(text, "mean")[1] == "of 1 rows"


def test_equal_accuracies_share_a_rank() -> None:
    fits = [record(method, 0, 0.5) for method in ("gcn", "lpa")] + [record("sgc", 0, 0.4)]
    text = few_labels_table.table(fits, ["cora"], few_labels.METHODS, few_labels.OURS)
    ranks = dict(zip(row(text, "graph"), row(text, "mean rank"), strict=True))
    assert [ranks[method] for method in ("gcn", "lpa", "sgc")] == ["1.5", "1.5", "3.0"]


def run(monkeypatch: pytest.MonkeyPatch, out: Path, *options: str) -> None:
    monkeypatch.setattr(sys, "argv", ["few_labels.py", "--out", str(out), *options])
    few_labels.main()


def test_only_what_is_missing_or_has_other_settings_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "few.json"
    part = ("--graphs", "digits + noise", "--labels", "5", "--methods", "majority")
    run(monkeypatch, out, *part, "--seeds", "1")
    assert "digits + noise 5 0 majority" in capsys.readouterr().out
    content = json.loads(out.read_text())
    (fit,) = content["fits"]
    assert content["settings"][fit["settings"]] == {"method": "majority"}
    fit["accuracy"] = 0.5
    out.write_text(json.dumps(content))
    run(monkeypatch, out, *part, "--seeds", "2")
    assert "digits + noise 5 1 majority" in capsys.readouterr().out
    assert [one["accuracy"] == 0.5 for one in json.loads(out.read_text())["fits"]] == [True, False]
    fit["settings"] = "other"
    out.write_text(json.dumps(content))
    run(monkeypatch, out, *part, "--seeds", "1")
    assert json.loads(out.read_text())["fits"][0]["accuracy"] != 0.5


def test_a_setting_that_came_since_counts_as_its_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kept fit stays where the settings that it names are today's; a default that has changed makes it stale."""
    monkeypatch.setattr(few_labels, "fit", lambda *given: (0.75, 1.0))
    monkeypatch.setattr(few_labels, "warm_up", lambda method: None)
    out = tmp_path / "few.json"
    part = ("--graphs", "digits + noise", "--labels", "5", "--methods", "logreg", "--seeds", "1")
    for changes, runs in (({"metric": None, "class_weight": None}, False), ({"epochs": 7}, True), ({"old": 1}, True)):
        settings = {**few_labels.settings_of("logreg"), **changes}
        settings = {key: value for key, value in settings.items() if value is not None}
        number = few_labels.hash_of(settings)
        fits = [{**record("logreg", 0, 0.5, "digits + noise"), "settings": number}]
        out.write_text(json.dumps({"settings": {number: settings}, "fits": fits}))
        run(monkeypatch, out, *part)
        assert ("logreg 75.0 %" in capsys.readouterr().out) == runs


@pytest.mark.parametrize("options", [["--methods", "nonsense"], ["--graphs", "cora,nonsense"]])
def test_an_unknown_name_is_refused(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(monkeypatch, tmp_path / "few.json", *options)
    assert "there is no 'nonsense'" in capsys.readouterr().err


def test_the_kept_fits_are_of_the_published_protocol() -> None:
    path = ROOT / "benchmarks" / "few_labels.json"
    content = json.loads(path.read_text())
    keys = [(one["graph"], one["labels"], one["seed"], one["method"]) for one in content["fits"]]
    assert len(keys) == len(set(keys)) > 0
    assert content["protocol"] == few_labels.PROTOCOL
    assert {one["settings"] for one in content["fits"]} == set(content["settings"])
    assert all(few_labels.hash_of(settings) == number for number, settings in content["settings"].items())
    for graph, labels, seed, method in keys:
        assert graph in few_labels.GRAPHS
        assert labels in few_labels.LABELS
        assert seed in range(10)
        assert method in few_labels.METHODS
