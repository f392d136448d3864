"""The reference of a run: simple methods on the same labels, held out in turn, and what they say of gdamn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.stats import binomtest
from typer.testing import CliRunner

from gdamn import GDAMN, Graph
from gdamn.cli import display
from gdamn.cli import root as cli
from gdamn.cli.display_reference import headline
from gdamn.errors import DataError
from gdamn.fit.multihop.cross_fitting import cross_fit
from gdamn.report.reference import reference as report_section
from gdamn.report.sections import chosen_epoch, tiles
from gdamn.runs import run as runs
from gdamn.runs.reference import judging, rows, table
from gdamn.runs.reference.judging import Judged
from gdamn.runs.reference.of_run import choose_method, known_start, of_run, start_record
from gdamn.runs.reference.verdict import SIMPLE, edges_verdict, gdamn_verdict, paired, taken
from gdamn.runs.result_file import check_result
from gdamn.runs.spec import RunSpec


def blocks(within: float, spread: float, n: int = 120, labels: int = 60, width: int = 5, seed: int = 0) -> Graph:
    """Three classes: a share of the edges is within a class, the others are random; features lie around class means."""
    draw = np.random.default_rng(seed)
    y = np.arange(n) % 3
    a = draw.integers(0, n, 4 * n)
    near = 3 * draw.integers(0, n // 3, 4 * n) + a % 3
    b = np.where(draw.random(4 * n) < within, near, draw.integers(0, n, 4 * n))
    x = np.eye(3, width)[y] * 2 + draw.normal(0, spread, (n, width))
    known = np.where(np.arange(n) < labels, y, -1)
    graph = Graph.build(np.stack([a, b]), x.astype(np.float32), known, num_nodes=n, class_names=list("abc"))
    none = np.zeros(n, bool)
    return graph.with_masks(known >= 0, none, none)


def judged(right: str) -> Judged:
    """Held-out predictions, ``+`` where they are right, ``.`` where nobody asked."""
    marks = np.array(list(right))
    return Judged(marks == "+", marks != ".")


@pytest.fixture(scope="module")
def noisy() -> Graph:
    """Features decide, and edges are random."""
    return blocks(within=0.0, spread=0.7)


def test_the_p_value_is_the_binomial_test_of_the_nodes_that_differ():
    draw = np.random.default_rng(1)
    for shares in ((0.5, 0.5), (0.9, 0.6), (0.2, 0.9)):
        first, second = (Judged(draw.random(60) < share, draw.random(60) < 0.9) for share in shares)
        test = paired(first, second)
        both = first.judged & second.judged
        only = int((first.right & ~second.right)[both].sum()), int((second.right & ~first.right)[both].sum())
        assert test["right_alone"] == list(only)
        assert test["p"] == pytest.approx(binomtest(only[0], sum(only)).pvalue)
        assert test["nodes"] == both.sum()
    assert paired(judged("+-+-"), judged("+-+-"))["p"] == 1.0


def test_smoothed_rows_are_the_same_from_the_left_and_from_the_right():
    graph = blocks(within=0.8, spread=1.0)
    a, x = rows.normalised_adjacency(graph), rows.unit_features(graph)
    dense = np.linalg.matrix_power(a.toarray(), 4) @ x.toarray()
    few, many = np.array([3, 50, 7]), np.arange(60)
    assert np.allclose(rows.smoothed(a, x, few, 4), dense[few])
    assert np.allclose(rows.smoothed(a, x, many, 4), dense[many])
    assert np.allclose(rows.mean_row(a, x, 4), dense.mean(axis=0))


def test_rows_of_few_columns_give_the_same_regression():
    draw = np.random.default_rng(2)
    wide = rows.unit(draw.normal(size=(30, 200)))
    narrow = rows.compact(wide)
    assert narrow.shape == (30, 30)
    assert np.allclose(narrow @ narrow.T, wide @ wide.T)
    targets = torch.eye(3, dtype=torch.float64)[torch.arange(30) % 3]
    left_out = torch.from_numpy(np.arange(30) % 5 == np.arange(5)[:, None])
    weights = torch.ones(30, dtype=torch.float64)
    a, b = (cross_fit(torch.from_numpy(x), targets, weights, 0.3, left_out, None)[1] for x in (wide, narrow))
    assert torch.allclose(a, b, atol=2e-3)


def test_sparse_features_are_read_as_dense_ones_are():
    graph = blocks(within=0.5, spread=1.0)
    features = np.where(graph.features > 1, graph.features, 0).astype(np.float32)
    empty = np.zeros(graph.num_nodes, bool)
    build = [
        Graph.build(np.stack([graph.rows, graph.indices]), x, graph.labels, class_names=list("abc")).with_masks(
            graph.train_mask, empty, empty
        )
        for x in (features, sp.csr_array(features))
    ]
    for name, found in judging.regressions(build[0], judging.folds(build[0], 0)).items():
        again = judging.regressions(build[1], judging.folds(build[1], 0))[name]
        assert found.right.mean() == pytest.approx(again.right.mean(), abs=0.05)


def test_random_edges_hurt_and_true_ones_help(noisy):
    folds = judging.folds(noisy, 0)
    found = edges_verdict(judging.regressions(noisy, folds), False)
    assert found["verdict"] == "hurt"
    assert found["sentence"].startswith("The edges hurt: with them (SGC, ")
    graph = blocks(within=0.9, spread=3.0)
    found = edges_verdict(judging.regressions(graph, folds), False)
    assert found["verdict"] == "help"
    assert "60 labels, held out in turn" in found["sentence"]


def test_what_can_not_be_told_apart_is_said_so():
    same = dict.fromkeys(("logreg", "sgc-2", "sgc-4", "lpa", "start"), judged("++--+"))
    assert "can't be told with 5 labels" in edges_verdict(same, False)["sentence"]
    found = gdamn_verdict(same)
    assert "can't be told apart with 5 labels" in found["sentence"]
    assert taken({"gdamn": found}) is None
    assert "made from the edges" in edges_verdict(same, True)["sentence"]
    del same["start"]
    assert gdamn_verdict(same)["verdict"] == "not asked"


@pytest.mark.parametrize("name", SIMPLE)
def test_a_simple_method_that_is_better_beyond_noise_is_named(name):
    known = {**dict.fromkeys(SIMPLE, judged("+-" * 20)), name: judged("+" * 40), "start": judged("+-" * 20)}
    found = gdamn_verdict(known)
    assert (found["verdict"], found["method"]) == ("behind", name)
    assert found["right_alone"] == [20, 0]
    assert found["sentence"].startswith("A simple method is better than gdamn here: 100.0 % are right by")
    summary = {"method": "gdamn", "reference": {"gdamn": found}}
    assert f"Train it with --method {SIMPLE[name][0]}" in headline(summary)
    assert headline({**summary, "method": SIMPLE[name][0]}) == found["sentence"]
    assert gdamn_verdict({**known, "start": judged("+" * 40), name: judged("-" * 40)})["verdict"] == "ahead"


def test_the_best_of_many_methods_needs_more_than_one_of_them_would():
    """Six nodes to none are p = 0.031 alone, and 0.156 as the best of five."""
    known = {**dict.fromkeys(SIMPLE, judged("-" * 20)), "gcn": judged("++++++" + "-" * 14), "start": judged("-" * 20)}
    assert gdamn_verdict(known)["verdict"] == "unclear"
    assert gdamn_verdict(known)["p"] == pytest.approx(5 / 32)


def test_every_method_is_judged_on_the_same_labels(noisy, monkeypatch):
    monkeypatch.setattr(judging, "start", lambda g, folds, seed, known: Judged(np.ones(60, bool), judging.asked(folds)))
    found = table.reference(noisy, start=True, seed=0)
    assert [each["name"] for each in found["methods"]] == [
        "majority",
        "logreg",
        "lpa",
        "sgc-2",
        "sgc-4",
        "gcn",
        "start",
    ]
    counts = {each["name"]: each["nodes"] for each in found["methods"]}
    assert counts.pop("gcn") == int(judging.asked(judging.folds(noisy, 0)[:3]).sum()) < 60
    assert set(counts.values()) == {60}
    for each in found["methods"]:
        assert each["interval_95"][0] <= each["accuracy"] <= each["interval_95"][1]
    assert json.loads(json.dumps(found)) == found
    accuracy = {each["name"]: each["accuracy"] for each in found["methods"]}
    assert accuracy["majority"] == pytest.approx(1 / 3)
    assert accuracy["logreg"] > 0.8 > accuracy["sgc-4"]


def test_only_training_labels_are_read(noisy):
    """Labels of validation, test and other nodes are scrambled, and nothing changes."""
    draw = np.random.default_rng(5)
    y = np.where(noisy.labels >= 0, noisy.labels, draw.integers(0, 3, noisy.num_nodes))
    part = draw.permutation(60)
    train, val, test = (
        np.isin(np.arange(noisy.num_nodes), part[at]) for at in (slice(30), slice(30, 45), slice(45, 60))
    )
    bare = replace(noisy, train_mask=train, val_mask=val, test_mask=test)
    results = [
        table.reference(replace(bare, labels=labels), start=True, seed=0)
        for labels in (y, np.where(train, y, (y + 1) % 3), np.where(train, y, -1))
    ]
    assert results[0] == results[1] == results[2]
    other = replace(bare, labels=np.where(train & (draw.random(len(y)) < 0.5), (y + 1) % 3, y))
    assert table.reference(other, start=True, seed=0) != results[0]  # the comparison can fail


def test_the_start_is_told_in_the_callers_order(noisy, monkeypatch):
    """A large graph is renumbered for a fit; right and wrong belong to the caller's nodes."""
    order = np.random.default_rng(0).permutation(noisy.num_nodes)
    even = noisy.labels[noisy.train_mask].copy()
    even[1::2] = (even[1::2] + 1) % 3  # every second labelled node is wrong
    says = np.full(noisy.num_nodes, 0)
    says[noisy.train_mask] = even

    def opinion(problem, seed):
        held_out = torch.eye(3)[torch.from_numpy(says[order][problem.train.numpy()])]
        return SimpleNamespace(held_out=held_out)

    monkeypatch.setattr("gdamn.graph.order.local_order", lambda graph: order)
    monkeypatch.setattr("gdamn.fit.multihop.multihop_opinion", opinion)
    found = judging.start(noisy, judging.folds(noisy, 0), 0)
    assert np.array_equal(found.right, np.arange(60) % 2 == 0)


def test_a_fit_hands_on_what_it_knows_of_its_start(noisy, tmp_path, monkeypatch):
    """The marks of a fit, renumbered or not, are those of the reference's own regressions, which aren't made again."""
    settings = {"pretrain_epochs": 2, "epochs": 2, "em_iterations": 1, "threads": 1}
    order = np.random.default_rng(0).permutation(noisy.num_nodes)
    own = judging.start(noisy, judging.folds(noisy, 0), 0)
    assert not own.right.all()
    for moved in (None, order):
        monkeypatch.setattr("gdamn.estimators.gdamn.local_order", lambda graph, moved=moved: moved)
        monkeypatch.setattr("gdamn.graph.order.local_order", lambda graph, moved=moved: moved)
        result = start_record(GDAMN(**settings).fit(noisy).best_epoch_)
        own = judging.start(noisy, judging.folds(noisy, 0), 0)
        marks = known_start(result)
        assert marks == "".join("1" if right else "0" for right in own.right)

    def again(*_, **__):
        raise AssertionError("fitted again")

    monkeypatch.setattr("gdamn.fit.multihop.multihop_opinion", again)
    given = judging.start(noisy, judging.folds(noisy, 0), 0, marks)
    assert np.array_equal(given.right, own.right)
    assert np.array_equal(given.judged, own.judged)


def test_marks_of_labels_that_judged_themselves_are_not_handed_on():
    best = {"start": "multihop", "cross_fitted": {"accuracy": 0.5, "nodes": 2, "right": "10"}}
    assert known_start(start_record(best)) == "10"
    corrected = {**best, "label_noise": {"rate": 0.1, "corrected": True}}
    assert known_start(start_record(corrected)) is True
    assert known_start(start_record({"start": "graph"})) is False


def test_what_is_left_out_is_said(noisy, monkeypatch):
    monkeypatch.setattr(table, "MOST_NODES_GCN", 100)
    monkeypatch.setattr(table, "MOST_LABELS", 30)
    found = table.reference(noisy, start=False, seed=0)
    assert "gcn" not in [each["name"] for each in found["methods"]]
    assert found["notes"] == [
        "The reference uses 30 of 60 training labels.",
        "GCN is left out: the graph has more than 100 nodes.",
    ]
    assert found["nodes"] == 30
    few = judging.with_labels(noisy, np.array([0, 1, 2, 3]))
    assert "it takes 8 labels" in table.reference(few, start=False, seed=0)["notes"][0]
    monkeypatch.setattr(table, "MOST_NODES", 100)
    assert "more than 100 nodes" in table.reference(noisy, start=False, seed=0)["notes"][0]


def test_drawn_labels_keep_the_shares_of_the_classes(noisy):
    drawn = judging.drawn_labels(noisy, 30, 0)
    assert np.bincount(drawn.labels[drawn.train_mask]).tolist() == [10, 10, 10]
    assert (drawn.labels[~drawn.train_mask] == -1).all()
    assert not (drawn.train_mask & ~noisy.train_mask).any()


def test_a_problem_is_told_in_place_of_numbers():
    def unreadable() -> Graph:
        raise DataError("The file is gone.")

    assert of_run(unreadable, 0, True) == {"notes": ["There is no reference: The file is gone."]}


def test_auto_takes_gdamn_unless_a_simple_method_is_better(noisy, monkeypatch):
    spec = RunSpec("nodes.csv", "auto")
    for right, method in ((True, "gdamn"), (False, "logreg")):
        answer = np.full(60, right)
        monkeypatch.setattr(judging, "start", lambda g, folds, seed, known, a=answer: Judged(a, judging.asked(folds)))
        chosen, known = choose_method(spec, noisy)
        assert chosen.method == method
        assert (taken(known) is None) == right
    validated = noisy.with_masks(noisy.train_mask & (np.arange(120) < 40), np.isin(np.arange(120), [50, 51]), [])
    chosen, known = choose_method(spec, validated)
    assert (chosen.method, known["gdamn"]["verdict"]) == ("gdamn", "not asked")


def write_files(folder: Path, graph: Graph) -> list[str]:
    """The graph as two tables, and the arguments that train on them."""
    names = [graph.class_names[c] if c >= 0 else "" for c in graph.labels]
    head = ["id,label," + ",".join(f"x{k}" for k in range(graph.num_features))]
    rows_ = [f"n{i},{names[i]}," + ",".join(f"{v:.4f}" for v in x) for i, x in enumerate(graph.features)]
    (folder / "nodes.csv").write_text("\n".join([*head, *rows_]) + "\n")
    ends = zip(graph.rows.tolist(), graph.indices.tolist(), strict=True)
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in ends))
    return ["train", "nodes.csv", "--edges", "edges.csv", "--threads", "1"]


QUICK = ["--set", "pretrain_epochs=3", "--set", "epochs=2", "--set", "em_iterations=1"]


def test_the_command_line_sets_simple_methods_beside_gdamn(noisy, tmp_path):
    arguments = write_files(tmp_path, noisy)
    environment = {**os.environ, "COLUMNS": "120"}
    command = [sys.executable, "-m", "gdamn", *arguments, *QUICK]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "The edges hurt" in done.stdout
    assert "gdamn's start" in done.stdout
    assert "--val-share 0.2 holds out a fifth" in done.stdout
    assert "nan" not in done.stdout
    run = tmp_path / "runs" / "nodes-gdamn"
    summary = json.loads((run / "summary.json").read_text())
    assert summary["reference"]["edges"]["verdict"] == "hurt"
    assert summary["reference"]["nodes"] == 60
    assert summary["val_accuracy"]["mean"] is None
    start = summary["reference"]["methods"][-1]  # the same number as the fit has found
    assert summary["cross_fitted_accuracy"]["per_seed"] == [pytest.approx(start["accuracy"])]
    assert summary["cross_fitted_accuracy"]["nodes"] == [start["nodes"]]
    assert "cross-fitted accuracy" in done.stdout
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Beside simple methods" in page
    assert "logistic regression on features" in page
    assert CliRunner().invoke(cli.app, ["report", str(run)]).exit_code == 0


@pytest.mark.usefixtures("without_pages")
def test_the_first_line_names_a_better_method_and_auto_takes_it(noisy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = np.zeros(60, bool)
    monkeypatch.setattr(judging, "start", lambda graph, folds, seed, known: Judged(wrong, judging.asked(folds)))
    arguments = write_files(tmp_path, noisy)
    done = CliRunner().invoke(cli.app, [*arguments, *QUICK])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Warning: A simple method is better than gdamn here: ")
    assert done.stdout.splitlines()[0].endswith("Train it with --method logreg.")
    done = CliRunner().invoke(cli.app, [*arguments, "--method", "auto"])
    assert done.exit_code == 0, done.stderr
    assert "--method auto takes logreg. A simple method is better" in done.stderr
    config = Path("runs/nodes-logreg/config.toml")
    assert 'method = "logreg"' in config.read_text()
    done = CliRunner().invoke(cli.app, ["train", "--config", str(config), "--no-reference", "--out", "again"])
    assert done.exit_code == 0, done.stderr
    assert "reference" not in json.loads(Path("again/summary.json").read_text())
    assert Path("again/seed-0/predictions.csv").read_bytes() == (config.parent / "seed-0/predictions.csv").read_bytes()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--set", "epochs=3"], "--method auto chooses the settings, too"),
        (["--budget", "5"], "--method auto chooses the settings, too"),
        (["--workers", "2"], "--method auto chooses in one process"),
    ],
)
def test_auto_refuses_what_it_can_not_choose_for(noisy, tmp_path, monkeypatch, more, sentence):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli.app, [*write_files(tmp_path, noisy), "--method", "auto", *more])
    assert done.exit_code == 2
    assert sentence in done.stderr
    done = CliRunner().invoke(cli.app, ["train", "karate", "--method", "auto"])
    assert done.exit_code == 2
    assert "chooses by your own files" in done.stderr


def summary_of(best: dict, reference: dict | None = None) -> dict:
    """The summary of a run without validation nodes whose fit ended with this record."""
    result = {
        "split": "all labels train",
        "selection": "last epoch (no validation nodes)",
        "test_accuracy": None,
        "val_accuracy": None,
        "test_nodes": 0,
        "val_nodes": 0,
        "seconds": 1.0,
        "epochs": 2,
        "peak_rss_mb": 1.0,
        "noise": None,
        **start_record(best),
    }
    summary = runs.summarise(RunSpec("nodes.csv"), [result])
    return json.loads(json.dumps({**summary, "reference": reference or {}}))


BEST = {"start": "multihop", "phase": "E-step 2", "epoch": 9, "cross_fitted": {"accuracy": 0.8, "nodes": 60}}


def test_the_cross_fitted_accuracy_stands_in_the_place_of_validation(capsys):
    summary = check_result(summary_of(BEST), Path("summary.json"))
    assert summary["cross_fitted_accuracy"]["per_seed"] == [0.8]
    assert summary["cross_fitted_accuracy"]["nodes"] == [60]
    assert "confidence_warning" not in summary
    few = summary_of({**BEST, "cross_fitted": {"accuracy": 0.8, "nodes": 30}})
    assert few["confidence_warning"].startswith("The confidence is uncalibrated: it rests on only 30 labelled nodes")
    wide = summary_of({**BEST, "cross_fitted": {"accuracy": 0.5, "nodes": 55}})
    display.show_summary(check_result(wide, Path("summary.json")), "runs/x")
    assert "uncalibrated: the 55 labelled nodes that it rests on tell" in capsys.readouterr().out
    display.show_summary(summary, "runs/x")
    shown = capsys.readouterr().out
    assert "uncalibrated" not in shown
    assert "cross-fitted accuracy" in shown
    assert "80.0 % (68.2–88.2)" in shown
    assert "60 nodes" in shown
    assert "nan" not in shown
    assert "–  " not in shown
    run = SimpleNamespace(summary=summary)
    assert ("Cross-fitted accuracy", "80.0 %", "60 nodes, 95 % interval 68.2–88.2") in tiles(run, [])[:1]
    assert chosen_epoch(SimpleNamespace(best=BEST)).startswith(
        "epoch 10 of E-step 2; cross-fitted accuracy of its start"
    )
    assert "cross_fitted_accuracy" not in summary_of({"start": "graph"})
    assert start_record({}) == {}


@pytest.mark.parametrize(
    "broken",
    [
        [],
        {"notes": [1]},
        {"methods": [{}]},
        {"methods": [{"title": "x", "accuracy": 0.5, "nodes": 3, "interval_95": [0, 1]}]},
        {"edges": 3},
    ],
)
def test_a_damaged_reference_gets_one_sentence(broken):
    summary = summary_of(BEST)
    check_result(summary, Path("summary.json"))
    with pytest.raises(DataError, match="reference"):
        check_result({**summary, "reference": broken}, Path("summary.json"))


def test_a_run_without_a_reference_has_no_section():
    assert report_section(SimpleNamespace(summary={})) is None
    section = report_section(SimpleNamespace(summary={"reference": {"notes": ["<b>none</b>"]}}))
    assert section == {"sentences": ["<b>none</b>"], "chart": None}


def test_the_command_line_says_what_the_budget_left_out(noisy, tmp_path, monkeypatch):
    """A budget that is spent when the fit begins, in the terminal, the summary and the page."""
    monkeypatch.chdir(tmp_path)
    arguments = [*write_files(tmp_path, noisy), "--no-reference", "--set", "epochs=2", "--budget", "0.000001"]
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 0, done.stderr
    left_out = "pre-train (multihop) after 20 of 200 epochs; pre-train (multihop, sage); EM iteration 1"
    sentence = f"Seed 0: The budget left out: {left_out}."
    assert sentence in done.stdout
    run = Path("runs/nodes-gdamn")
    assert json.loads((run / "summary.json").read_text())["remarks"] == [sentence]
    assert "budget = 1e-06" in (run / "config.toml").read_text()
    shown = CliRunner().invoke(cli.app, ["report", str(run)])
    assert shown.exit_code == 0, shown.stderr
    assert sentence in (run / "report.html").read_text(encoding="utf-8")
    refused = CliRunner().invoke(cli.app, [*arguments, "--method", "gcn"])
    assert refused.exit_code == 2
    assert "no setting 'budget'" in refused.stderr
