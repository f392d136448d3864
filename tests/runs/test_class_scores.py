"""Scores of a run class by class: in summary.json, in the terminal, on the page, in a comparison, by two ways each."""

from __future__ import annotations

import csv
import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from several import Said, several
from sklearn.metrics import balanced_accuracy_score, f1_score, recall_score
from unequal import SHARES, unequal_graph

from gdamn import Graph
from gdamn.errors import DataError
from gdamn.estimators.accuracy import interval
from gdamn.runs.class_scores import balanced_interval, lowest_recall
from gdamn.runs.result_file import check_result


@pytest.fixture(scope="module")
def graph() -> Graph:
    return unequal_graph(signal=1.5, wrong=0.5)


@pytest.fixture(scope="module")
def files(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables of the graph, with its split."""
    folder = tmp_path_factory.mktemp("unequal")
    split = np.select([graph.train_mask, graph.val_mask], ["train", "val"], "test")
    with (folder / "nodes.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "label", "split", *(f"x{at}" for at in range(graph.num_features))])
        for node, label in enumerate(graph.labels):
            rows.writerow([node, graph.class_names[label], split[node], *graph.features[node].tolist()])
    with (folder / "edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["source", "target"], *zip(graph.rows, graph.indices, strict=True)])
    return folder


TABLES = ("nodes.csv", "--edges", "edges.csv", "--split-column", "split", "--no-reference")
TRAIN = ("train", *TABLES, "--method", "gcn", "--set", "epochs=60")
OPTIONS = [f"--option={pair}" for pair in ("edges=edges.csv", "split_column=split")]
REFUSED = {
    "class_weight=spam=3": "names the class 'spam', but the graph's are common, rare, rarest.",
    "class_weight=rare=0": "the weight '0', but a weight must be a positive, finite number.",
    "class_weight=even": "it must be none, balanced, or weights by class name such as spam=3,ham=1.",
    "metric=recall": "it must be one of accuracy, balanced_accuracy, macro_f1.",
}
COMMANDS = {
    "plain": [*TRAIN],
    "weighed": [*TRAIN, "--set", "class_weight=balanced"],
    "named": [*TRAIN, "--set", "class_weight=rare=3,rarest=8"],
    "again": ["train", "--config", "named/config.toml", "--no-reference"],
    "compared": ["compare", "nodes.csv", *OPTIONS, "--methods", "gcn,mlp", "--seeds", "1", "--set", "epochs=30"],
    **{setting: [*TRAIN, "--set", setting] for setting in REFUSED},
}


@pytest.fixture(scope="module")
def said(files: Path) -> dict[str, Said]:
    """What each command says; it writes to a folder of its name."""
    commands = [[*words, "--out", name] for name, words in COMMANDS.items()]
    found = dict(zip(COMMANDS, several(commands, cwd=files, COLUMNS="80"), strict=True))
    for name, each in found.items():
        assert each.code == (2 if name in REFUSED else 0), each.err
    return found


def truth(folder: Path, run: str, part: str, graph: Graph) -> tuple[list[str], list[str]]:
    """Labels and predictions of the nodes of a part, as the files have them."""
    with (folder / run / "seed-0" / "predictions.csv").open() as file:
        predicted = [row["predicted"] for row in csv.DictReader(file)]
    nodes = np.flatnonzero(graph.mask(part))
    return [graph.class_names[graph.labels[n]] for n in nodes], [predicted[n] for n in nodes]


def test_a_run_tells_every_recall_and_both_scores(files: Path, graph: Graph, said: dict[str, Said]) -> None:
    summaries = {
        name: json.loads((files / name / "summary.json").read_text()) for name in ("plain", "weighed", "named")
    }
    for name, summary in summaries.items():
        for part in ("test", "val"):
            labels, predicted = truth(files, name, part, graph)
            recall = recall_score(labels, predicted, labels=list(SHARES), average=None)
            rows = summary["recall"][part]
            assert [row["class"] for row in rows] == list(SHARES)
            assert [row["mean"] for row in rows] == pytest.approx(recall)
            assert [row["nodes"] for row in rows] == [[labels.count(c)] for c in SHARES]
            assert rows[2]["interval_95"] == [pytest.approx(interval(recall[2], labels.count("rarest")))]
            wanted = balanced_accuracy_score(labels, predicted), f1_score(labels, predicted, average="macro")
            assert summary[f"{part}_balanced_accuracy"]["mean"] == pytest.approx(wanted[0])
            assert summary[f"{part}_macro_f1"]["mean"] == pytest.approx(wanted[1])
    assert summaries["weighed"]["config"]["settings"]["class_weight"] == "balanced"
    assert summaries["named"]["config"]["settings"]["class_weight"] == "rare=3,rarest=8"
    lowest = [lowest_recall(summaries[name]["recall"]["test"])["mean"] for name in ("plain", "weighed")]
    assert lowest[1] > lowest[0] + 0.3
    for name in summaries:
        scores = said[name].out.split("Scores")[1].split("In brackets")[0]
        assert f"{100 * summaries[name]['test_macro_f1']['mean']:.1f} %" in scores
        assert "balanced accuracy" in scores
        assert "lowest recall" in scores
        assert max(map(len, scores.splitlines())) <= 80
    page = (files / "weighed" / "report.html").read_text(encoding="utf-8")
    text = " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())
    share = summaries["weighed"]["recall"]["val"][2]["mean"]
    assert "Recall by class" in text
    assert f"{100 * share:.1f} % (" in text
    assert "Balanced accuracy" in text
    assert f"{100 * summaries['weighed']['test_macro_f1']['mean']:.1f} %" in text


@pytest.mark.usefixtures("said")
def test_a_run_with_weights_by_name_repeats_to_the_bit(files: Path) -> None:
    first, second = ((files / name / "seed-0" / "predictions.csv").read_bytes() for name in ("named", "again"))
    assert first == second


@pytest.mark.parametrize(("setting", "sentence"), REFUSED.items())
def test_what_cannot_be_is_refused_in_one_sentence(
    files: Path, said: dict[str, Said], setting: str, sentence: str
) -> None:
    (line,) = (line for line in said[setting].err.splitlines() if line.startswith("error:"))
    assert sentence in line
    assert "Traceback" not in said[setting].err
    assert not (files / setting / "summary.json").exists()


def test_a_comparison_shows_the_scores_beside_the_accuracy(files: Path, said: dict[str, Said]) -> None:
    result = json.loads((files / "compared" / "compare.json").read_text())
    with (files / "compared" / "compare.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    for entry in result["results"]:
        assert "recall" not in entry
        for key in ("test_balanced_accuracy", "test_macro_f1", "val_balanced_accuracy", "val_macro_f1"):
            assert float(rows[entry["method"]][key]) == pytest.approx(entry[key]["mean"], abs=1e-5)
        shown = f"{100 * entry['test_balanced_accuracy']['mean']:.1f} ("
        assert shown in said["compared"].out.split("Scores on test nodes")[1]
        assert shown in (files / "compared" / "compare.md").read_text()
        assert shown in (files / "compared" / "compare.html").read_text()


def test_the_interval_of_a_balanced_accuracy_holds_the_truth_as_often_as_it_says() -> None:
    """Three classes of 60, 12 and 6 nodes, drawn anew 2,000 times."""
    luck, nodes, recalls = np.random.default_rng(0), np.array([60, 12, 6]), np.array([0.95, 0.6, 0.4])
    held = 0
    for right in luck.binomial(nodes, recalls, (2000, 3)):
        table = [{"nodes": int(n), "right": int(r)} for n, r in zip(nodes, right, strict=True)]
        low, high = balanced_interval([*table, {"nodes": 0, "right": 0}])
        held += low <= recalls.mean() <= high
    assert 0.93 < held / 2000 < 0.98


def test_of_one_class_the_interval_is_wilsons() -> None:
    assert balanced_interval([{"nodes": 9, "right": 7}]) == pytest.approx(interval(7 / 9, 9))


@pytest.mark.parametrize(
    "change",
    [
        {"recall": []},
        {"recall": {"train": []}},
        {"recall": {"test": [{"class": 3}]}},
        {"recall": {"test": [{"class": "a", "mean": 2, "std": 0, "per_seed": [2]}]}},
        {"test_macro_f1": 0.5},
        {"test_balanced_accuracy": {"mean": 0.5, "std": 0, "per_seed": [0.5], "interval_95": [[0.1]]}},
    ],
)
def test_a_summary_with_impossible_scores_is_refused(change: dict[str, object]) -> None:
    spread = {"mean": 0.5, "std": 0.0, "per_seed": [0.5]}
    protocol = {"seeds": [0], "split": "own", "selection": "last"}
    accuracies = {"test_accuracy": spread, "val_accuracy": spread}
    result = {"config": {"dataset": "karate"}, "protocol": protocol, "dataset": "karate", "method": "gcn", **accuracies}
    check_result(result, Path("summary.json"))
    with pytest.raises(DataError, match="isn't a result of gdamn train"):
        check_result({**result, **change}, Path("summary.json"))
