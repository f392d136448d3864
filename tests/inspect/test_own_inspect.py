"""``gdamn inspect``: the facts are right, each warning has its cause, and the picture is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from own_tables import files
from typer.testing import CliRunner

from gdamn import Graph
from gdamn.cli import inspect as cli_inspect
from gdamn.cli import root as cli
from gdamn.data import load
from gdamn.inspect.facts import between, by_doubling, collect, edge_counts
from gdamn.inspect.warnings import warnings


def called(*args: str) -> Any:
    assert cli_inspect.app is cli.app
    return CliRunner().invoke(cli.app, ["inspect", *args])


def test_facts_agree_with_networkx() -> None:
    rng = np.random.default_rng(2)
    edges = rng.integers(0, 60, (2, 70))
    labels = rng.integers(-1, 3, 60)
    graph = Graph.build(edges, np.ones((60, 2)), labels)
    other = graph.to_networkx()
    facts = collect(graph).data
    assert facts["components"]["number"] == nx.number_connected_components(other)
    assert facts["isolated_nodes"] == nx.number_of_isolates(other)
    assert facts["degree"]["largest"] == max(degree for _, degree in other.degree)
    known = [(labels[a], labels[b]) for a, b in other.edges if min(labels[a], labels[b]) >= 0]
    assert facts["between_classes"]["known_edges"] == len(known)
    assert facts["between_classes"]["share"] == pytest.approx(np.mean([a != b for a, b in known]))
    assert facts["between_classes"]["share"] == pytest.approx(graph.inter_class_share())
    assert facts["features"]["constant"] == 2
    assert facts["labels"]["classes"] == {str(c): int((labels == c).sum()) for c in range(3)}


def test_directed_edges_count_once() -> None:
    edges = np.array([[0, 1, 2, 3], [1, 0, 3, 0]])
    found = collect(Graph.build(edges, np.ones((4, 1)), [0, 0, 1, 1], directed=True)).data["between_classes"]
    assert (found["known_edges"], found["share"]) == (4, 0.25)


def test_the_interval_holds_the_true_share_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        different = int(rng.binomial(60, 0.2))
        same = 60 - different
        found = between(np.array([[2 * same, different], [different, 0]]))
        hits += found["low"] <= 0.2 <= found["high"]
    assert 0.91 < hits / 400 < 0.99


def test_counts_of_degrees_and_edges() -> None:
    assert by_doubling(np.array([0, 1, 2, 3, 4, 7, 8])) == {"0": 1, "1": 1, "2-3": 2, "4-7": 2, "8-15": 1}
    edges = np.array([[0, 0, 1, 2, 3], [1, 1, 0, 3, 3]])
    assert edge_counts(edges, 4) == {"duplicate_edges": 1, "reversed_edges": 1}


def test_test_labels_are_not_looked_at() -> None:
    graph = load("karate", seed=0)
    hidden = graph.with_labels(np.where(graph.test_mask, 0, graph.labels))
    one, two = (json.dumps(collect(each).data) for each in (graph, hidden))
    assert one == two


def good(**changes: Any) -> dict[str, Any]:
    """Facts without anything to warn of."""
    made: dict[str, Any] = {
        **{"nodes": 100, "edges": 300, "dangling_edges": 0, "duplicate_edges": 0, "self_loops": 0, "isolated_nodes": 0},
        "degree": {"largest": 9},
        "components": {"without_label": 0},
        "labels": {"known": 50, "rate": 0.5, "classes": {"a": 25, "b": 25}, "balance": 1.0},
        "splits": {"train": 30, "val": 20, "test": 0},
        "between_classes": {"known_edges": 100, "share": 0.02, "low": 0.0},
        "features": {"number": 5, "constant": 0, "empty_rows": 0, "largest": 3.0, "normalize": "none"},
    }
    for key, value in changes.items():
        made[key] = {**made[key], **value} if isinstance(value, dict) else value
    return made


def test_a_good_graph_has_no_warning() -> None:
    assert warnings(good()) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dangling_edges": 3}, "3 edges name a node"),
        ({"edges": 0}, "no edge"),
        ({"isolated_nodes": 5}, "5 nodes (5.0%)"),
        ({"duplicate_edges": 2}, "more than once"),
        ({"self_loops": 2}, "itself"),
        ({"degree": {"largest": 99}}, "hub"),
        ({"components": {"without_label": 7}}, "without any known label"),
        ({"labels": {"classes": {"a": 0}, "known": 0}}, "No label is known"),
        ({"labels": {"classes": {"a": 50, "b": 0}}}, "All known labels"),
        ({"labels": {"classes": {"a": 48, "b": 2}}}, "Fewer than 5"),
        ({"labels": {"balance": 24.0}}, "24 times"),
        ({"labels": {"rate": 0.001}}, "Only 0.10%"),
        ({"splits": {"train": 0, "val": 0}}, "No split"),
        ({"between_classes": {"known_edges": 4}}, "Only 4 edges"),
        ({"between_classes": {"share": 0.7}}, "70% of the known edges"),
        ({"between_classes": {"share": 0.3, "low": 0.2}}, "About 30%"),
        ({"features": {"number": 0}}, "no features"),
        ({"features": {"constant": 1}}, "the same for all"),
        ({"features": {"empty_rows": 4}}, "only zeros"),
        ({"features": {"largest": 5000.0}}, "standardise"),
    ],
)
def test_each_thing_that_hurts_has_its_warning(changes: dict[str, Any], said: str) -> None:
    found = warnings(good(**changes))
    assert len(found) == 1
    assert said in found[0]


def test_the_command_shows_draws_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files()(tmp_path)
    monkeypatch.chdir(tmp_path)
    with Path("edges.csv").open("a") as file:
        file.write("n1,nobody,1\nn2,n2,1\nn0,n1,3\n")
    before = set(tmp_path.iterdir())
    shown = called("nodes.csv", "edges.csv")
    assert shown.exit_code == 0, shown.stderr
    assert "edge homophily" in shown.stdout
    assert "1 edges name a node that isn't there" in shown.stdout
    assert set(tmp_path.iterdir()) == before
    facts = json.loads(called("nodes.csv", "--edges", "edges.csv", "--json").stdout)
    assert (facts["nodes"], facts["edges"]) == (24, 48)
    assert (facts["dangling_edges"], facts["self_loops"], facts["duplicate_edges"]) == (1, 1, 1)
    assert facts["weights"] == {"least": 1.5, "largest": 3.0}
    assert called("nodes.csv", "edges.csv", "--plot", "a.png", "--out", "o").exit_code == 0
    for path in ("a.png", "o/inspect.png"):
        assert Path(path).read_bytes().startswith(b"\x89PNG")
    assert json.loads(Path("o/inspect.json").read_text()) == facts


@pytest.mark.parametrize(
    "args", [("a", "b", "c"), ("nodes.csv", "e.csv", "--edges", "f.csv"), ("karate", "--plot", "x.pdf")]
)
def test_wrong_calls_are_told(args: tuple[str, ...]) -> None:
    done = called(*args)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")


def test_named_data_sets_and_graphs_without_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "karate" in called("karate", "--plot", "k.png").stdout
    Path("n.csv").write_text("id\n1\n2\n")
    Path("e.csv").write_text("source,target\n")
    done = called("n.csv", "e.csv", "--plot", "n.png")
    assert done.exit_code == 0, done.stderr
    assert "There is no edge" in done.stdout
    assert "No label is known" in done.stdout
