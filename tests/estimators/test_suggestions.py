"""Which nodes to label next: against the definition, without near-duplicates, and without reading a label."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from gdamn import GDAMN, Graph, load
from gdamn.errors import ConfigError, GraphError, NotFittedError
from gdamn.estimators.predictions import Predictions, of_fit, split_names
from gdamn.estimators.registry import make
from gdamn.estimators.suggestions import RULES, compared_rows, greedy, similarities, suggest
from gdamn.model.temperature import Temperature

pytestmark = pytest.mark.usefixtures("one_thread")
SHORT = {"pretrain_epochs": 20, "epochs": 5, "em_iterations": 1, "threads": 1}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """A graph in which most nodes are in no set, and have no label."""
    sbm = load("sbm", num_nodes=240, num_classes=3, feature_signal=2.0, train_per_class=4, val_per_class=6, seed=2)
    known = sbm.train_mask | sbm.val_mask
    names = np.array([f"n{i}" for i in range(240)])
    unlabelled = replace(sbm, node_ids=names, labels=np.where(known, sbm.labels, -1))
    return unlabelled.with_masks(sbm.train_mask, sbm.val_mask, np.zeros(240, bool))


def judged(graph: Graph, seed: int = 0) -> Predictions:
    """Random opinions."""
    p = np.random.default_rng(seed).dirichlet(np.ones(graph.num_classes), graph.num_nodes)
    return Predictions(graph, p, split_names(graph), Temperature(1.0, True, ""), {})


def numbers(table: dict[str, np.ndarray]) -> np.ndarray:
    return np.array([int(name[1:]) for name in table["node"]])


@pytest.mark.parametrize("rule", RULES)
def test_a_batch_of_unlabelled_nodes_with_reasons(graph: Graph, rule: str) -> None:
    predictions = judged(graph)
    table = suggest(predictions, 12, rule)
    nodes = numbers(table)
    assert len(set(nodes.tolist())) == 12
    assert not (graph.train_mask | graph.val_mask)[nodes].any()
    p = predictions.probabilities[nodes]
    names = np.array(graph.class_names)
    assert (table["predicted"] == names[p.argmax(1)]).all()
    assert np.allclose(table["confidence"], p.max(1))
    assert np.allclose(table["second_probability"], np.sort(p, 1)[:, -2])
    assert (table["second"] == names[p.argsort(1)[:, -2]]).all()
    assert np.allclose(table["entropy"], -(p * np.log(p)).sum(1) / np.log(3))
    assert (table["stands_for"] >= 1).all()
    assert table["stands_for"].sum() <= (split_names(graph) == "none").sum()
    again = suggest(predictions, 12, rule)
    assert all(np.array_equal(column, again[name]) for name, column in table.items())
    few = suggest(predictions, 3, rule)
    assert (few["node"] == table["node"][:3]).all()


def test_uncertainty_takes_the_closest_leading_classes(graph: Graph) -> None:
    predictions = judged(graph)
    leading = np.sort(predictions.probabilities, 1)
    margin = np.where(split_names(graph) == "none", leading[:, -1] - leading[:, -2], np.inf)
    assert (numbers(suggest(predictions, 9, "uncertainty")) == np.argsort(margin)[:9]).all()


@pytest.mark.parametrize("rule", ["diverse", "coverage"])
def test_the_first_node_against_the_definition(graph: Graph, rule: str) -> None:
    """F is summed in plain loops over all unlabelled nodes, for each of them."""
    predictions = judged(graph, 1)
    h = compared_rows(graph).astype(float)
    free = np.flatnonzero(split_names(graph) == "none")
    labelled = np.flatnonzero(split_names(graph) != "none")

    def objective(node: int) -> float:
        total = 0.0
        for i in free:
            weight = 1 - predictions.probabilities[i].max() if rule == "diverse" else 1.0
            total += weight * max(0.0, *(float(h[i] @ h[s]) for s in (node, *labelled)))
        return total

    values = [objective(node) for node in free]
    first = numbers(suggest(predictions, 1, rule))[0]
    assert values[list(free).index(first)] == pytest.approx(max(values), rel=1e-5)


def test_bounds_of_earlier_rounds_change_no_choice() -> None:
    """Lazy sums give what summing everything in every round gives."""
    random = np.random.default_rng(5)
    similarity, weights = random.random((30, 50)) ** 3, random.random(50)
    plain, covered = [], np.full(50, 0.1)
    for _ in range(10):
        gains = [-1.0 if k in plain else weights @ np.maximum(similarity[k] - covered, 0) for k in range(30)]
        plain.append(int(np.argmax(gains)))
        covered = np.maximum(covered, similarity[plain[-1]])
    assert greedy(similarity, weights, np.full(50, 0.1), 10).tolist() == plain
    assert sorted(greedy(similarity, np.zeros(50), covered, 99).tolist()) == list(range(30))


def test_no_two_are_alike(graph: Graph) -> None:
    """Of twins with the same neighbours and features only one is suggested, however unsure both are."""
    twins = np.flatnonzero(split_names(graph) == "none")[:2]
    edges = np.stack([graph.indices, graph.rows])
    edges = edges[:, ~np.isin(edges, twins).any(0)]
    more = np.array([[twin, other] for twin in twins for other in range(100, 106)]).T
    features = graph.features.copy()
    features[twins[1]] = features[twins[0]]
    masks = {f"{name}_mask": graph.mask(name) for name in ("train", "val")}
    same = Graph.build(np.concatenate([edges, more], 1), features, graph.labels, node_ids=graph.node_ids, **masks)
    h = compared_rows(same)
    assert float(h[twins[0]] @ h[twins[1]]) > 0.99
    predictions = judged(same)
    predictions.probabilities[:] = [0.98, 0.01, 0.01]
    predictions.probabilities[twins] = [0.34, 0.33, 0.33]
    assert np.isin(twins, numbers(suggest(predictions, 10, "uncertainty"))).all()
    assert np.isin(twins, numbers(suggest(predictions, 10))).sum() <= 1
    nodes = numbers(suggest(predictions, 10))
    assert all(float(h[a] @ h[b]) < 0.95 for a, b in combinations(nodes, 2))


def test_uncertain_regions_are_preferred(graph: Graph) -> None:
    predictions = judged(graph)
    predictions.probabilities[:] = [0.999, 0.0005, 0.0005]
    unsure = np.flatnonzero(split_names(graph) == "none")[-20:]
    predictions.probabilities[unsure] = [0.4, 0.3, 0.3]
    h = compared_rows(graph)
    near = {
        rule: similarities(h[numbers(suggest(predictions, 8, rule))], h[unsure]).max(1).mean()
        for rule in ("diverse", "coverage")
    }
    assert near["diverse"] > near["coverage"]


@pytest.mark.parametrize("method", ["gdamn", "gcn", "lpa"])
def test_the_estimators_door(graph: Graph, method: str) -> None:
    """The same from a fitted model, a loaded one, and one whose graph has other labels outside train and validation."""
    model = make(method, overrides={"threads": 1} if method == "lpa" else SHORT if method == "gdamn" else {"epochs": 5})
    model.fit(graph)
    table = model.suggest(5)
    assert all(np.array_equal(column, suggest(of_fit(model, graph), 5)[name]) for name, column in table.items())
    known = graph.train_mask | graph.val_mask
    oracle = replace(graph, labels=np.where(known, graph.labels, 1))
    assert all(np.array_equal(column, model.suggest(5, oracle)[name]) for name, column in table.items())
    assert len(model.suggest(5, rule="coverage")["node"]) == 5


def test_a_loaded_model_needs_its_graph(graph: Graph, tmp_path) -> None:
    model = GDAMN(**SHORT).fit(graph)
    loaded = GDAMN.load(model.save(tmp_path / "m.gdamn"))
    with pytest.raises(GraphError, match="doesn't hold its graph"):
        loaded.suggest(5)
    assert (loaded.suggest(5, graph)["node"] == model.suggest(5)["node"]).all()
    with pytest.raises(GraphError, match="knows 240 nodes"):
        loaded.suggest(5, load("karate"))
    with pytest.raises(NotFittedError):
        GDAMN().suggest(5, graph)


def test_bad_requests_have_one_sentence(graph: Graph) -> None:
    for count in (0, -3, 2.5, True, "7"):
        with pytest.raises(ConfigError, match="whole number of 1 or more"):
            suggest(judged(graph), count)
    with pytest.raises(ConfigError, match=r"no rule 'best'.*choose diverse, coverage, uncertainty"):
        suggest(judged(graph), 5, "best")
    full = load("sbm", num_nodes=60, num_classes=3, train_per_class=4, val_per_class=6)
    with pytest.raises(GraphError, match="none to label"):
        suggest(judged(full), 5)


def test_more_than_there_are_gives_all(graph: Graph) -> None:
    free = int((split_names(graph) == "none").sum())
    for rule in RULES:
        assert len(set(suggest(judged(graph), 10_000, rule)["node"])) == free


def test_a_graph_without_features_and_isolated_nodes() -> None:
    """Eigenvectors stand in for features; nodes like nobody stand for themselves."""
    labels = np.array([0, 1, *[-1] * 8])
    ring = Graph.build([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]], np.zeros((10, 0)), labels, train_mask=labels >= 0)
    table = suggest(judged(ring), 8)
    assert sorted(table["node"].tolist()) == list(range(2, 10))
    assert (table["stands_for"] >= 1).all()


def test_large_graphs_are_sampled(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    from gdamn.estimators import suggestions

    monkeypatch.setattr(suggestions, "POINTS", 40)
    monkeypatch.setattr(suggestions, "CANDIDATES", 30)
    free = int((split_names(graph) == "none").sum())
    table = suggest(judged(graph), 6)
    assert len(set(table["node"])) == 6
    assert 6 <= table["stands_for"].sum() <= free + 6
